"""Private. Confidential: how well these rows fit a study, and what a release would find in them."""
