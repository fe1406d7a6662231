"""One module a command, and what they share."""
