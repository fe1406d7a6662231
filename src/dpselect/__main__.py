"""`python -m dpselect` is `dpselect`."""

from dpselect.use.start import main

if __name__ == "__main__":
    main()
