"""The study file beside which the studio stands: read whether or not it is complete, and written as the commands read it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.study_file import read_assumptions, write_assumptions
from dpselect.errors import AssumptionError
from dpselect.use.statement.study import read_study


def study_values(study: Path) -> dict[str, Any]:
    """The study file as plain values, whether or not it is complete; empty if there is none.

    A radius that is no more than the default is left out, so that it follows the response's bounds when they change.
    """
    if not study.exists():
        return {}
    try:
        values = tomllib.loads(study.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        read_assumptions(study)  # says what is wrong with it
        raise
    if "formula" in values:
        values = read_study(str(study)).to_dict()
    response = values.get("response", {})
    bounds = [response.get(side) for side in ("lower", "upper")]
    if all(isinstance(bound, int | float) for bound in bounds) and values.get("radius") == (bounds[1] - bounds[0]) / 2:
        del values["radius"]
    return values


def stated(study: Path) -> Assumptions:
    """The study, complete; or one sentence about what is open."""
    if not study.exists():
        raise AssumptionError("There is no study yet: state where the rows are, then the variables.")
    return read_study(str(study))


def save_study(values: dict[str, Any], study: Path) -> None:
    """Write the study file that the commands read."""
    write_assumptions(Assumptions.from_dict(values), study)


def holds_already(values: dict[str, Any], study: Path) -> bool:
    """Whether the study file says just this: the same form was sent twice."""
    return study.exists() and Assumptions.from_dict(values).to_dict() == stated(study).to_dict()
