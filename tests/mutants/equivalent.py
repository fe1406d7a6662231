"""Faults that no test can notice, or that make nothing less private or less right; each with its reason."""

EQUIVALENT: dict[str, str] = {}
