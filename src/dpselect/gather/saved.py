"""Private. Moments on disk, so that several sites can pool theirs without sharing a row."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from dpselect.assume.lemmas.sensitivity import MAXIMUM_ROWS
from dpselect.assume.records import sha256_of
from dpselect.assume.study import Study
from dpselect.errors import DataError
from dpselect.gather.moments import Moments, checked, named, pooled, require_sound

MOMENTS_FORMAT = "dpselect moments 2"
WARNING = "PRIVATE: exact sums over the rows, without noise. Keep this file as you keep the rows; never publish it."


def save_moments(moments: Moments, path: str | os.PathLike[str]) -> None:
    """Write moments to a file that only its owner can read, whole or not at all. The file is confidential.

    Parameters
    ----------
    moments : Moments
        What `gather` returned.
    path : path
        The file to write.

    Examples
    --------
    >>> dpselect.save_moments(dpselect.gather(frame, study), "site-a.moments")  # doctest: +SKIP
    """
    values = {
        "format": MOMENTS_FORMAT,
        "warning": WARNING,
        "study": moments.study,
        "columns": list(moments.columns),
        "gatherings": sorted(named(moments).gatherings),
        "n": moments.n,
        "products": [[int(value) for value in row] for row in moments.products],
    }
    target = Path(path)
    partial = target.with_name(target.name + ".part")
    try:
        partial.unlink(missing_ok=True)
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump({**values, "checksum": _checksum(values)}, file)
        partial.replace(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        reason = error.strerror or "the disk refused"
        raise DataError(f"The moments cannot be written to {str(path)!r}: {reason}.") from None


def load_moments(path: str | os.PathLike[str], study: Study) -> Moments:
    """Read moments that were saved under the same study. Pool several with `+`.

    Parameters
    ----------
    path : path
        The file that `save_moments` wrote.
    study : Study
        The study under which they were gathered.

    Returns
    -------
    Moments
        Exact sums, confidential.

    Examples
    --------
    >>> dpselect.load_moments("site-a.moments", study) + dpselect.load_moments("site-b.moments", study)  # doctest: +SKIP
    """
    columns = tuple(column.name for column in study.columns)
    values = _read(path, columns)
    if values["study"] != study.hash or tuple(values["columns"]) != columns:
        raise DataError(f"{str(path)!r} was gathered under other assumptions: gather it again with these.")
    products = np.array(values["products"], dtype=object)
    if products.shape != (len(columns) + 1,) * 2:
        raise DataError(f"{str(path)!r} is damaged: gather it again.")
    found = require_sound(
        Moments(values["n"], products, columns, study.hash, frozenset(values["gatherings"])),
        study,
        f"{str(path)!r} holds sums that no table has: gather it again.",
    )
    return checked(found, study)


def pool_files(paths: Sequence[str], study: Study) -> Moments:
    """The moments in some files together.

    Each file is refused or taken by itself: a limit on the rows of all would tell one site's number of rows to another, which
    could claim as many as are just allowed.
    """
    most = MAXIMUM_ROWS // max(len(paths), 1)
    loaded: list[Moments] = []
    for place, path in enumerate(paths):
        each = load_moments(path, study)
        if not each.n <= most:
            raise DataError(f"{path!r} has more than {most:,} rows, the most that each of {len(paths)} files may have.")
        for earlier, other in zip(paths[:place], loaded, strict=True):
            if each.gatherings & other.gatherings:
                raise DataError(
                    f"{earlier!r} and {path!r} hold the same gathering: give it once, for a row that counts twice would need "
                    "twice the noise."
                )
        loaded.append(each)
    return reduce(pooled, loaded)


def _read(path: str | os.PathLike[str], columns: Sequence[str]) -> dict[str, Any]:
    values, whole, most = None, False, _most_bytes(columns)
    try:
        with open(path, "rb") as file:
            text = file.read(most + 1)
        values = json.loads(text) if len(text) <= most else None
        whole = isinstance(values, dict) and _is_well_formed(values)
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise DataError(f"The moments {str(path)!r} cannot be read: {reason}.") from None
    except (ValueError, RecursionError):
        pass  # refused below, where no __context__ remembers the file's text
    if not isinstance(values, dict) or not whole:
        raise DataError(f"{str(path)!r} is not a file of moments, or is damaged: gather it again.")
    return values


def _most_bytes(columns: Sequence[str]) -> int:
    """More than any file of so many columns has: a larger one is something else, and is not read to its end."""
    return (1 << 20) + 64 * (len(columns) + 1) ** 2 + 12 * sum(map(len, columns))


def _is_well_formed(values: dict[str, Any]) -> bool:
    if values.get("format") != MOMENTS_FORMAT or type(values.get("n")) is not int:
        return False
    products = values.get("products")
    if not isinstance(products, list) or not all(isinstance(row, list) for row in products):
        return False
    if not all(type(value) is int for row in products for value in row) or len({len(row) for row in products}) != 1:
        return False
    if not isinstance(values.get("study"), str) or not _are_texts(values.get("columns")):
        return False
    names = values.get("gatherings")
    return _are_texts(names) and bool(names) and values.pop("checksum", None) == _checksum(values)


def _are_texts(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(each, str) for each in values)


def _checksum(values: dict[str, Any]) -> str:
    """Of everything else in the file: it tells damage, not a forger, who can compute it too."""
    return sha256_of(values)
