"""Private. Moments to the least loss of every candidate, each with a proved bound: paths, the lattice, sets of terms."""
