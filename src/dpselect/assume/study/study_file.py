"""Public. Assumptions as a TOML file that people write, read and keep under version control."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.formula import with_formula
from dpselect.assume.study.names import is_printable, shown
from dpselect.errors import AssumptionError

MOST_CHARACTERS = 1 << 22
_SETTINGS = ("intercept", "radius", "neighbors", "missing", "rows", "terms", "person", "max_rows_per_person")


def read_assumptions(path: str | os.PathLike[str]) -> Assumptions:
    """Read a study file. Example: `read_assumptions("study.toml")`."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(MOST_CHARACTERS + 1)
    except UnicodeDecodeError:
        raise AssumptionError(f"The study file {str(path)!r} is not UTF-8 text: save it as UTF-8.") from None
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise AssumptionError(f"The study file {str(path)!r} cannot be read: {reason}.") from None
    return parse_assumptions(text, f"The study file {str(path)!r}")


def parse_assumptions(text: str, where: str = "The study file") -> Assumptions:
    """The assumptions in a TOML text."""
    values = parse_tables(text, where)
    return assumptions_from(values, where)


def assumptions_from(values: dict[str, Any], where: str = "The study file") -> Assumptions:
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


def parse_tables(text: str, where: str = "The study file") -> dict[str, Any]:
    """The plain values in a TOML text."""
    if len(text) > MOST_CHARACTERS:
        raise AssumptionError(f"{where} has more than {MOST_CHARACTERS:,} characters; no study needs as many.")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason = shown(str(error))[1:-1]
    except (ValueError, RecursionError):
        reason = "a number is too long, or brackets are nested too deeply"
    raise AssumptionError(f"{where} is not valid TOML: {reason}.")


def format_assumptions(assumptions: Assumptions) -> str:
    """The TOML text of some assumptions."""
    values = assumptions.to_dict()
    lines = ["# A dpselect study: public statements only. Nothing here may be read from the rows.", ""]
    lines += [f"{name} = {toml(values[name])}" for name in _SETTINGS if values.get(name) is not None]
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
    return [f"{name} = {toml(value)}" for name, value in values.items()]


def toml(value: Any) -> str:
    """A value as TOML writes it, on one line that can be printed: names and levels may hold whatever files hold."""
    # JSON's strings, numbers and lists are TOML's too; what cannot be printed is escaped TOML's way.
    text = json.dumps(value, ensure_ascii=False)
    return "".join(each if is_printable(each) else f"\\U{ord(each):08x}" for each in text)
