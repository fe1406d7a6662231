"""The doors: Python, scikit-learn, the command line."""
