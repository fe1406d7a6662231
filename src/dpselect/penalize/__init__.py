"""Losses to scores: values, a range and a name."""
