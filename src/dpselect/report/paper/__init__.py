"""Figures and pages of the experiments."""
