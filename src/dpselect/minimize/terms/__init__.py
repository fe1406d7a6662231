"""Private. The losses of all sets of terms: columns that enter together."""
