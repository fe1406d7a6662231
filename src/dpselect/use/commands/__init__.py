"""One module a command: its options and its help, and nothing that takes long to import."""
