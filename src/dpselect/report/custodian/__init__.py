"""Private. Pages for the custodian's eyes only."""
