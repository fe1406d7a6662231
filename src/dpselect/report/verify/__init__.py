"""Public. Checking a release as a stranger would."""
