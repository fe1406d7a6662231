"""Study files as people write them: read with open places, begun from column names, filled from a code book."""
