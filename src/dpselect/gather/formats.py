"""Public. Ends of names of files: how rows are written, and how they are packed."""

from __future__ import annotations

STATISTICS_SUFFIXES = (".dta", ".sav", ".zsav", ".por", ".sas7bdat", ".xpt")
WORKBOOK_SUFFIXES = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
    ".csv": "csv",
    ".tsv": "csv",
    **dict.fromkeys(STATISTICS_SUFFIXES, "statistics"),
    **dict.fromkeys(WORKBOOK_SUFFIXES, "excel"),
}
"""What is read by the end of its name alone."""
COMPRESSIONS = (".gz", ".bz2", ".zst", ".lz4")

NOT_THE_ROWS = frozenset((*FORMATS, ".tab", ".txt", ".dat", *COMPRESSIONS, ".xz", ".br", ".snappy", ".zstd", ".zip"))
"""Ends that say how rows are written and packed, and not which rows they are: what is read, and what may lie beside it."""
