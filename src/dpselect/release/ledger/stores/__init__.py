"""Public. Where the records of a ledger are kept: a file, memory, a server."""
