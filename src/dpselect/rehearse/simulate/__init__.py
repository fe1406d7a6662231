"""Tables made up for experiments; no real row, and NumPy's generator."""
