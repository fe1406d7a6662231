"""Exact chances of every outcome of a mechanism."""
