"""Moments to the least loss of every candidate, each certified; block sums to votes and leads."""
