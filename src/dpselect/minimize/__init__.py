"""Moments to the least loss of every candidate, each certified."""
