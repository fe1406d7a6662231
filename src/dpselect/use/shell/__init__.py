"""What the commands share: options, files, the terminal, failures."""
