"""Public. What to expect of a run before a row is read: one plan of block votes, one of the paper's methods."""
