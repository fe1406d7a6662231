"""Private. Sums that were made elsewhere: SQL answers and moments files."""
