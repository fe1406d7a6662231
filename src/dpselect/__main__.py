"""`python -m dpselect` is `dpselect`."""

from dpselect.use.command_line import main

if __name__ == "__main__":
    main()
