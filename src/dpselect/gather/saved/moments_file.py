"""Private. Moments on disk, so that several sites can pool theirs without sharing a row."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from dpselect.assume.study.assumptions import Assumptions
from dpselect.errors import DataError
from dpselect.gather.saved.answers import check_possible
from dpselect.gather.sources.files import listed_files
from dpselect.gather.sources.source import is_path
from dpselect.gather.sums.accumulate import checked
from dpselect.gather.sums.moments import Moments

FORMAT = "dpselect moments 1"
SUFFIX = ".moments"
WARNING = "PRIVATE: exact sums over the rows, without noise. Keep this file as you keep the rows; never publish it."


def save_moments(moments: Moments, path: str | os.PathLike[str]) -> None:
    """Write moments to a file that only its owner can read, whole or not at all.

    Example: `save_moments(gather(frame, assumptions), "site-a.moments")`.
    """
    values = {
        "format": FORMAT,
        "warning": WARNING,
        "assumptions": moments.assumptions,
        "columns": list(moments.columns),
        "n": moments.n,
        "products": [[int(value) for value in row] for row in moments.products],
    }
    target = Path(path)
    partial = target.with_name(target.name + ".part")
    try:
        partial.unlink(missing_ok=True)
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump(values, file)
        partial.replace(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        reason = error.strerror or "the disk refused"
        raise DataError(f"The moments cannot be written to {str(path)!r}: {reason}.") from None


def load_moments(path: str | os.PathLike[str], assumptions: Assumptions) -> Moments:
    """Read moments that were saved under the same assumptions. Pool several with `+`.

    Example: `load_moments("site-a.moments", assumptions) + load_moments("site-b.moments", assumptions)`.
    """
    values = _read(path)
    columns = tuple(column.name for column in assumptions.columns)
    if values["assumptions"] != assumptions.hash or tuple(values["columns"]) != columns:
        raise DataError(f"{str(path)!r} was gathered under other assumptions: gather it again with these.")
    products = np.array(values["products"], dtype=object)
    if products.shape != (len(columns) + 1,) * 2 or not (products == products.T).all():
        raise DataError(f"{str(path)!r} is damaged: gather it again.")
    check_possible(values["n"], products, f"{str(path)!r} holds sums that no table has: gather it again.")
    return checked(Moments(values["n"], products, columns, assumptions.hash), assumptions)


def moments_files(source: Any) -> list[str]:
    """The files meant by a source, if all of them are moments."""
    if not is_path(source):
        return []
    paths = source if isinstance(source, list) else [source]
    return listed_files(paths) if all(os.fspath(path).endswith(SUFFIX) for path in paths) else []


def _read(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        values = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise DataError(f"The moments {str(path)!r} cannot be read: {reason}.") from None
    except ValueError:
        values = None  # refused below, where no __context__ remembers the file's text
    if not isinstance(values, dict) or values.get("format") != FORMAT or not _is_well_formed(values):
        raise DataError(f"{str(path)!r} is not a file of moments, or is damaged: gather it again.")
    return values


def _is_well_formed(values: dict[str, Any]) -> bool:
    products, columns = values.get("products"), values.get("columns")
    rows = isinstance(products, list) and all(isinstance(row, list) for row in products)
    if not rows or not isinstance(columns, list) or type(values.get("n")) is not int:
        return False
    assert isinstance(products, list)
    return all(type(value) is int for row in products for value in row) and len({len(row) for row in products}) == 1
