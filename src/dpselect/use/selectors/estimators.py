"""Which estimators may vote: those of which every block gets a fresh copy, and which can fit a block at all.

Both are asked before anything is charged, and no row is needed for either: an estimator is tried on a block that is made up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dpselect.errors import AssumptionError
from dpselect.minimize.estimator_votes import fit_unheard

FEWEST_ROWS = 40
"""Rows of the made-up block, at least: enough for five folds with both labels in each."""


def unfitted(estimator: Any) -> Any:
    """The same estimator as if it had never seen a row, and silent: what compiled code prints passes every other guard."""
    fresh = clone(estimator)
    loud = {
        name: False if isinstance(value, bool) else 0
        for name, value in fresh.get_params().items()
        if name.rpartition("__")[2] == "verbose"
    }
    return fresh.set_params(**loud) if loud else fresh


def check_fresh(estimator: Any) -> None:
    """Refuse what cannot be cloned, and what its clone remembers: one row would reach every block by it."""
    try:
        remembers = _remembers(estimator, clone(estimator))
        fits = remembers or callable(unfitted(estimator).fit)
    except Exception:
        remembers = fits = False
    if remembers:
        raise AssumptionError(
            "The estimator, or a part of it, remembers what it was fitted on when it is cloned, as a frozen one does, and each "
            "block needs a fresh copy; give one that forgets, such as LogisticRegression()."
        )
    if not fits:
        raise AssumptionError(
            "The estimator cannot be cloned and fitted; give one of scikit-learn's kind, such as LogisticRegression()."
        )


def check_fits(estimator: Any, rows: int, width: int, *, text: bool) -> None:
    """Refuse what cannot fit a block that was made up, with as many columns and a response of the same type.

    Whether numbers are labels is a matter of cells, so that both are tried, and one that can be fitted is enough.
    """
    X, responses = _made_up_block(max(rows, FEWEST_ROWS), width, text=text)
    failure: Exception | None = None
    for y in responses:
        try:
            found = fit_unheard(lambda X, y: unfitted(estimator).fit(X, y), X, y)
        except Exception as error:
            failure = error
            continue
        if found.shape == (width,) and np.isfinite(found).all():
            return
    if failure is None:
        raise AssumptionError(
            "The estimator finds something else than one coefficient a column in a block that was made up; give one whose "
            "coef_ has a number for each, such as LogisticRegression()."
        )
    kind = "text" if text else "numbers"
    raise AssumptionError(
        f"The estimator fails on a block that was made up, with as many columns and a response of {kind} "
        f"({type(failure).__name__}); correct its parameters, or give one for such responses, such as LogisticRegression()."
    ) from failure


def _made_up_block(rows: int, width: int, *, text: bool) -> tuple[NDArray[np.float64], list[NDArray[Any]]]:
    """Columns between 0 and 1, in the order of a block's rows, and what their sum and chance make of a response.

    Nothing is 0 or negative but labels, so that logarithms and positive responses can be fitted too.
    """
    drawn = np.random.default_rng(0).uniform(0.05, 0.95, (rows, width + 1))  # noqa: TID251
    drawn = drawn[np.lexsort(drawn.T[::-1])]
    places = np.argsort(np.argsort(drawn.sum(axis=1)))
    upper = places >= rows // 2
    if text:
        return drawn[:, :width], [np.where(upper, "yes", "no")]
    return drawn[:, :width], [np.where(upper, 1.0, 0.0), np.where(upper, 1.0, -1.0), (places + 0.5) / rows]


def _remembers(estimator: Any, fresh: Any) -> bool:
    """Whether a clone shares a part with its origin, or has a part that counts as fitted by scikit-learn's signs."""
    origin = {id(part) for part in _parts(estimator)}
    return any(id(part) in origin or _is_fitted(part) for part in _parts(fresh))


def _parts(value: Any) -> Iterator[Any]:
    """An estimator and all those among its parameters, in lists and dictionaries too."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _parts(each)
    elif not isinstance(value, type) and (hasattr(value, "get_params") or hasattr(value, "__sklearn_clone__")):
        yield value
        if hasattr(value, "get_params"):
            yield from _parts(value.get_params(deep=False))


def _is_fitted(part: Any) -> bool:
    """What fitting finds has a name that ends in an underscore; or coefficients can be read; or the part itself says so."""
    stated = _parameters(part)
    found = [
        value
        for name, value in getattr(part, "__dict__", {}).items()
        if name.endswith("_") and not name.startswith("__") and name not in stated
    ]
    return any(value is not None and value is not False for value in found) or _tells(part, stated)


def _tells(part: Any, stated: dict[str, Any]) -> bool:
    """Whether a part has coefficients, or says that it is fitted where one that is made anew from its parameters does not."""
    try:
        if part.coef_ is not None:
            return True
    except Exception:  # as it should be: nothing is fitted
        pass
    try:
        return bool(part.__sklearn_is_fitted__()) and not type(part)(**stated).__sklearn_is_fitted__()
    except Exception:
        return False


def _parameters(part: Any) -> dict[str, Any]:
    return part.get_params(deep=False) if hasattr(part, "get_params") else {}
