"""Public. What a column costs: a number, AIC, BIC, a number a column, or a default from public facts alone."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.candidates import Candidates, SubsetRule, columns_of
from dpselect.assume.lemmas.sensitivity import loss_range, loss_sensitivity, profile_change, profile_shift
from dpselect.assume.study import Study
from dpselect.assume.variables import as_number
from dpselect.errors import StudyError

Penalty = float | str | Sequence[float]


def column_penalties(penalty: Penalty, width: int, rows: int | None) -> NDArray[np.float64]:
    """The price of each column: AIC is 2, BIC is log n (only where n is public), a number is itself."""
    if isinstance(penalty, str):
        each = [_criterion(penalty, rows)] * width
    elif np.ndim(penalty) == 0:
        each = [as_number(penalty, "The penalty")] * width
    else:
        each = [as_number(value, "A column's penalty") for value in np.asarray(penalty).tolist()]
    if len(each) != width:
        raise StudyError(f"There are {len(each)} penalties for {width} columns; give one number, or one a column.")
    if not all(value >= 0 for value in each):
        raise StudyError(f"The penalty is {min(each):g}; it must be at least 0.")
    return np.array(each, np.float64)


def _criterion(name: str, rows: int | None) -> float:
    if name == "aic":
        return 2.0
    if name != "bic":
        raise StudyError(f"The penalty is {name!r}; it must be a number, 'aic' or 'bic'.")
    if rows is None:
        raise StudyError("BIC uses the number of rows, which is private with add-remove-one: give a number.")
    return math.log(rows)


def candidate_penalties(each: NDArray[np.float64], candidates: Candidates) -> NDArray[np.float64]:
    """The price of each candidate: the sum over its columns. A public vector, the same for every table."""
    if (each == each[0]).all():
        return candidates.sizes().astype(np.float64) * float(each[0])
    masks = candidates.masks()
    total = np.zeros(len(masks))
    for j, value in enumerate(each):
        total += ((masks >> np.uint64(j)) & np.uint64(1)).astype(np.float64) * value
    return total


def default_penalty(
    study: Study,
    candidates: Candidates,
    epsilon: float,
    method: str,
    rows: int | None,
    delta: float = 1e-6,
) -> float | list[float]:
    """The least penalty that keeps idle columns out, given the noise of the choice and that of the sample.

    The choice adds noise of scale w/epsilon to each score; and an idle column lowers the loss by chance, by deviation^2
    times a chi-squared of one degree, whose tail falls like exp(-x / (2 deviation^2)). A response whose standard deviation is
    half its bound stands for the unknown one: 2 deviation^2 = r^2/2, and all columns together lower the loss by n r^2/4.
    With PCPL the same response gives -2 log-likelihoods, and 2G/epsilon takes the place of w/epsilon. `epsilon` is the
    price of the choice alone; n is used only where it is public.

    A term of c columns that enter together costs  L (noise of the choice + c * noise of the sample), where L is what
    `balanced_penalty` asks for a unit of noise, and each of its columns a c-th of that. Why: the choice's noise is
    added to the score of a model once, whatever the model's size, so a competing term must beat it once; but a term
    of c idle columns lowers the loss by c chi-squared variables, so it pays the sample's part for each. The result is a
    number where all terms have one column, and one number a column else.

    Source: ours; measured in docs/RESULTS.md.
    Tested: tests/assume/models/test_penalty.py, tests/claims/test_paper_open_problem.py
    """
    sizes = term_sizes(study, candidates)
    if method == "pcpl":
        assert rows is not None
        facts = (study.rho, candidates.count, epsilon, rows, delta, study.rows_per_person)
        price = {size: profile_penalty(*facts, columns=size) for size in set(sizes)}
    else:
        scale = loss_range(1.0, study.rho, study.neighbors, study.rows_per_person) / epsilon
        unit = study.r**2
        price = {size: loss_penalty(scale, rows, candidates.count, columns=size) * unit for size in set(sizes)}
    return price[1] if set(sizes) == {1} else [price[size] / size for size in sizes]


def term_sizes(study: Study, candidates: Candidates) -> list[int]:
    """For each column, how many enter together with it: those of its term, unless a candidate has some of them only."""
    sizes = [1] * candidates.width
    if isinstance(candidates, SubsetRule):
        groups: Iterable[Sequence[int]] = map(columns_of, candidates.terms)
    else:
        masks, together = candidates.masks(), defaultdict[tuple[int, bytes], list[int]](list)
        for place, column in enumerate(study.columns):
            members = np.packbits((masks >> np.uint64(place)).astype(np.uint8) & 1).tobytes()
            together[column.term, members].append(place)
        groups = together.values()
    for group in groups:
        for place in group:
            sizes[place] = len(group)
    return sizes


def loss_penalty(scale: float, rows: int | None, count: int, *, columns: int = 1) -> float:
    """PCLS's default penalty of a term, the response in [-1, 1], for a choice with noise of this scale: see `default_penalty`."""
    alone = balanced_penalty(scale + 0.5, None if rows is None else rows / 4, count)
    return alone * ((scale + 0.5 * columns) / (scale + 0.5))


PLENTY = 150.0
"""Signal over noise from which there is so much room between idle columns and effects that the penalty may grow."""


def balanced_penalty(noise: float, signal: float | None, count: int) -> float:
    """The penalty noise * (log(2c) + log(max(1, signal / (150 noise))) / 2), where c = log2(count + 1) columns compete.

    Why: a model with k idle columns weighs exp(-k penalty/noise) of the one without. With log(2c) alone they weigh at most
    (1 + 1/(2c))^c - 1 < exp(1/2) - 1 together, and no effect above noise * log(2c) is lost. The second term lets the
    errors vanish as the table grows, like n^(-1/2), while the smallest effect that is found stays negligible next to
    the signal. It is never more than signal / sqrt(c): if sqrt(c) columns share the signal, more would refuse them all.
    `signal` is None where n is private, and then the first term is all.

    Source: ours; of the formulas tried, the one with the least loss against the best penalty (docs/RESULTS.md).
    Tested: tests/assume/models/test_penalty.py
    """
    columns = math.log2(count + 1)
    penalty = noise * math.log(2 * columns)
    if signal is None:
        return penalty
    penalty += noise * math.log(max(1.0, signal / (PLENTY * noise))) / 2
    return min(penalty, signal / math.sqrt(columns))


def profile_penalty(
    rho: float, count: int, epsilon: float, rows: int, delta: float, records: int = 1, *, columns: int = 1
) -> float:
    """PCPL's default penalty of a term, in units of -2 log-likelihood; epsilon for the choice and as much for its bound."""
    sensitivity = loss_sensitivity(1.0, rho, records)
    least_loss = rows / 4 - sensitivity / epsilon * profile_shift(delta)
    change = profile_change(least_loss, rows, sensitivity)
    if not math.isfinite(change):
        # The bound will probably be infinite and the choice uniform: no penalty helps, so the usual one.
        return math.log(rows) * columns
    scale = 2 * change / epsilon
    return balanced_penalty(scale + 2, rows / 4, count) * ((scale + 2 * columns) / (scale + 2))
