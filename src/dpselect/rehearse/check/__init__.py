"""Private. Custodian's eyes only: what a release would choose on these rows."""
