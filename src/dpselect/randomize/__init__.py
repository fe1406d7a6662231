"""Scores to one index, moments to noisy moments: OpenDP behind a small interface."""
