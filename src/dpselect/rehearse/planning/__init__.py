"""What to expect, from public facts alone."""
