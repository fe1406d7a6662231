"""dpselect through its public functions, as a user calls it: nothing here knows how it works."""

import multiprocessing
import resource
import time
import warnings
from dataclasses import dataclass
from multiprocessing.queues import SimpleQueue

import numpy as np
import pandas as pd

import dpselect

DELTA = 1e-6
"""Of every method that has one."""


@dataclass(frozen=True)
class Coefficients:
    """In the order of the table's columns, without the intercept; what has no value is NaN, an end that is open infinite."""

    estimates: np.ndarray
    lows: np.ndarray
    highs: np.ndarray


def study_of(table) -> dpselect.Study:
    predictors = [
        dpselect.Numeric(name, low, high)
        for name, low, high in zip(table.columns, table.lower.tolist(), table.upper.tolist(), strict=True)
    ]
    return dpselect.Study(dpselect.Numeric("response", *table.y_limits), predictors)


def frame_of(table) -> pd.DataFrame:
    return pd.DataFrame(table.x, columns=list(table.columns)).assign(response=table.y)


def select(source, study: dpselect.Study, epsilon: float, method: str = "votes") -> tuple[int, ...]:
    """Places of the selected variables."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpselect.errors.NoLedgerWarning)
        found = dpselect.select(source, study, epsilon=epsilon, method=method)
    names = [each.name for each in study.predictors]
    return tuple(place for place, name in enumerate(names) if name in found.variables)


def coefficients(source: pd.DataFrame, study: dpselect.Study, epsilon: float) -> Coefficients:
    """Of the model of all the study's variables."""
    names = [each.name for each in study.predictors]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpselect.errors.NoLedgerWarning)
        found = dpselect.estimate(source, names, study=study, epsilon=epsilon, delta=DELTA)
    rows = {row["term"]: row for row in found.tidy()}

    def of(key: str, missing: float) -> np.ndarray:
        return np.array([missing if rows[name][key] is None else rows[name][key] for name in names], dtype=float)

    return Coefficients(of("estimate", np.nan), of("conf_low", -np.inf), of("conf_high", np.inf))


def _wide(x: np.ndarray, y: np.ndarray, epsilon: float, seconds: int, answers: SimpleQueue) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    names = [f"c{place}" for place in range(x.shape[1])]
    began = time.process_time()
    try:
        study = dpselect.Study(dpselect.Numeric("response"), [dpselect.Numeric(name) for name in names])
        chosen = select(
            (x, y), study, epsilon
        )  # a frame of 10,000 columns takes longer to take apart than to select from
    except dpselect.DpselectError as error:
        answers.put(str(error))
    else:
        answers.put((chosen, time.process_time() - began))


def select_wide(x: np.ndarray, y: np.ndarray, epsilon: float, seconds: int) -> tuple[tuple[int, ...], float] | str:
    """(selected places, processor seconds) without limits on any variable, or why there is none.

    In a process of its own, which the operating system ends after `seconds` of processor time.
    """
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=_wide, args=(x, y, epsilon, seconds, answers))
    child.start()
    child.join()
    return f"not done in {seconds} s" if answers.empty() else answers.get()
