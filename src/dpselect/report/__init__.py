"""Releases to text, JSON, HTML and figures."""
