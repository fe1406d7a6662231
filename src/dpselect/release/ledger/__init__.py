"""Public. What was charged, when and for what, and what it adds up to."""
