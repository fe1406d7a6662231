"""Private. Spark and Dask: each worker adds up its rows, and only sums travel."""
