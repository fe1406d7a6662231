"""Private. Blocks of rows to votes: on all columns at once, beside sets of terms, in wide tables, and by any estimator."""
