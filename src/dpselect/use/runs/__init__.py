"""What the commands do, imported when one runs."""
