"""Public. Assumptions as a TOML file that people write, read and keep under version control."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.formula import with_formula
from dpselect.errors import AssumptionError

_SETTINGS = ("intercept", "radius", "neighbors", "missing", "rows", "terms", "person", "max_rows_per_person")


def read_assumptions(path: str | os.PathLike[str]) -> Assumptions:
    """Read a study file. Example: `read_assumptions("study.toml")`."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise AssumptionError(f"The study file {str(path)!r} is not UTF-8 text: save it as UTF-8.") from None
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise AssumptionError(f"The study file {str(path)!r} cannot be read: {reason}.") from None
    return parse_assumptions(text, str(path))


def parse_assumptions(text: str, where: str = "the study file") -> Assumptions:
    """The assumptions in a TOML text."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise AssumptionError(f"{where} is not valid TOML: {error}.") from None
    return assumptions_from(values, where)


def assumptions_from(values: dict[str, Any], where: str = "the study file") -> Assumptions:
    """The assumptions in the tables of a study file."""
    if not isinstance(values.get("response"), dict):
        raise AssumptionError(f"{where} needs a [response] table with name, lower and upper.")
    predictors = values.get("predictors", [])
    if not (isinstance(predictors, list) and all(isinstance(each, dict) for each in predictors)):
        raise AssumptionError(f"{where} must give each predictor as a [[predictors]] table.")
    formula = values.get("formula")
    if formula is not None:
        rest = {name: value for name, value in values.items() if name != "formula"}
        return with_formula(formula, {**rest, "predictors": predictors})
    return Assumptions.from_dict({**values, "predictors": predictors})


def format_assumptions(assumptions: Assumptions) -> str:
    """The TOML text of some assumptions."""
    values = assumptions.to_dict()
    lines = ["# A dpselect study: public statements only. Nothing here may be read from the rows.", ""]
    lines += [f"{name} = {_toml(values[name])}" for name in _SETTINGS if values.get(name) is not None]
    lines += ["", "[response]", *_entries(values["response"])]
    for predictor in values["predictors"]:
        lines += ["", "[[predictors]]", *_entries(predictor)]
    return "\n".join(lines) + "\n"


def write_assumptions(assumptions: Assumptions, path: str | os.PathLike[str]) -> None:
    """Write a study file, whole or not at all."""
    target = Path(path)
    partial = target.with_name(target.name + ".part")
    try:
        partial.write_text(format_assumptions(assumptions), encoding="utf-8")
        partial.replace(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        reason = error.strerror or "the disk refused"
        raise AssumptionError(f"The study file {str(path)!r} cannot be written: {reason}.") from None


def _entries(values: dict[str, Any]) -> list[str]:
    return [f"{name} = {_toml(value)}" for name, value in values.items()]


def _toml(value: Any) -> str:
    # JSON's strings, numbers and lists are TOML's too, once surrogates and DEL are escaped TOML's way.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
