"""Private. Exact sums of rows on the grid."""
