"""The path of rounds: what it asks, that it can be replayed, and that no answer breaks it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import numpy as np
import pytest
from msgspec.structs import replace

from dpselect.assume.queries import Answer, Ask, Gradient, Gram, Histograms, Noisy, Norms, Query, RoundsPlan, Sandwich
from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Categorical, Numeric
from dpselect.errors import DpselectError
from dpselect.release.rounds.intervals import Found
from dpselect.release.rounds.path import path, replay

PREDICTORS = [
    Numeric("size", 0, 10),
    Numeric("age", 20, 60),
    Categorical("county", ["a", "b", "c"]),
    Binary("new", [0, 1]),
]
RESPONSES = {
    "gaussian": Numeric("price", 0, 100),
    "binomial": Binary("sold", ["no", "yes"]),
    "poisson": Numeric("visits"),
}


def plan_of(family: str = "gaussian", rows: float = 10_000, mu: float = 0.2, intercept: str = "always") -> RoundsPlan:
    study = Study(RESPONSES[family], PREDICTORS, intercept=intercept)
    return RoundsPlan(study=study, columns=tuple(range(len(study.columns))), family=family, rows=rows, mu=mu)


def shape_of(query: Query) -> tuple[int, ...]:
    """Of the sums that answer a query."""
    if isinstance(query, Histograms):
        bins = sum(len(edges) + 1 if edges else 1 for edges in query.edges)
        return (bins + (len(query.response_edges) + 1 if query.response_edges else 1),)
    width = len(query.matrix[0])
    if isinstance(query, Norms):
        return query.lines, len(query.edges)
    if isinstance(query, Gradient):
        return (width,)
    extra = isinstance(query, Gram) and query.response_top is not None
    return width + extra, width + extra


def walk(plan: RoundsPlan, answer: Iterator[Answer] | None = None, *, seed: int = 0, size: float = 1e4):
    """All asks and answers of a path that is answered by chance, and what it finds."""
    rng = np.random.default_rng(seed)
    asks: list[Ask] = []
    answers: list[Answer] = []
    steps = path(plan)
    try:
        ask = next(steps)
        while True:
            asks.append(ask)
            replies = []
            for query, _ in ask:
                sums = rng.standard_cauchy(shape_of(query)) * size
                sums = (sums + sums.T) / 2 if isinstance(query, Gram | Sandwich) else sums
                replies.append(Noisy(query, sums, float(abs(rng.standard_cauchy()) * size / 100)))
            answers.append(tuple(replies))
            ask = steps.send(answers[-1])
    except StopIteration as end:
        return asks, answers, end.value


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
@pytest.mark.parametrize("intercept", ["always", "none"])
@pytest.mark.parametrize("size", [0.0, 1.0, 1e4, 1e12, 1e300])
def test_no_answer_breaks_the_path(family, intercept, size):
    for seed in range(6):
        plan = plan_of(family, intercept=intercept)
        asks, _, found = walk(plan, seed=seed, size=size)
        assert isinstance(found, Found)
        assert sum(mu**2 for ask in asks for _, mu in ask) <= plan.mu**2 * (1 + 1e-9)
        for finding in found.findings:
            assert finding.lower <= finding.upper
            assert finding.adjusted_lower <= finding.lower
            assert finding.value is None or (math.isfinite(finding.value) and math.isfinite(finding.error))
        for ask in asks:
            for query, mu in ask:
                assert mu > 0
                assert all(np.isfinite(part).all() for part in _floats(query))


def _floats(query: Query) -> Iterator[np.ndarray]:
    for name in ("matrix", "center", "radius", "response_edges", "response_scale"):
        value = getattr(query, name, None)
        if value is not None:
            yield np.asarray(value, dtype=float)
    if not isinstance(query, Histograms):
        yield np.asarray(query.standard.factors)
        yield np.asarray(query.standard.centers)


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_a_path_is_replayed_to_the_last_digit(family):
    plan = plan_of(family)
    asks, answers, found = walk(plan)
    assert [replay(plan, answers[:k]) for k in range(len(asks))] == asks
    assert replay(plan, answers) == found
    # Answers to other questions are refused: without the response, another kind of sum, a question too few.
    at = next(k for k, answer in enumerate(answers) if isinstance(answer[0].query, Gram))
    shorter = dataclasses.replace(answers[at][0], query=replace(answers[at][0].query, response_top=None))
    for other in ((shorter,), answers[at + 1], ()):
        with pytest.raises(DpselectError, match="other questions than this version"):
            replay(plan, [*answers[:at], other])


def test_nothing_is_asked_where_the_price_shows_nothing():
    found = replay(plan_of(rows=300), ())
    assert isinstance(found, Found)
    assert all(finding.value is None for finding in found.findings)


@pytest.mark.parametrize("rows", [1000, 10_000, 10**6])
@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_more_steps_are_paid_by_the_last_gradient(family, rows, monkeypatch):
    """However far each step moves there are three more, and a last look at the Hessian; together they cost what there was."""
    monkeypatch.setattr("dpselect.release.rounds.path.FAR_MOVE", -1.0)
    monkeypatch.setattr("dpselect.release.rounds.path.NEAR_MOVE", -1.0)
    plan = plan_of(family, rows=rows)
    asks, _, _ = walk(plan)
    last = asks[-1]
    steps = [ask for ask in asks[:-1] if any(isinstance(query, Gradient) for query, _ in ask)]
    assert len(steps) == 5
    assert [isinstance(query, Gram) for query, _ in last].count(True) == 1
    assert sum(mu**2 for ask in asks for _, mu in ask) == pytest.approx(plan.mu**2)
    assert last[0][1] ** 2 > 0.01 * plan.mu**2  # four looks take their part too
    monkeypatch.setattr("dpselect.release.rounds.path.FAR_MOVE", np.inf)
    monkeypatch.setattr("dpselect.release.rounds.path.NEAR_MOVE", np.inf)
    fewer, _, _ = walk(plan)
    assert len(fewer) == len(asks) - 3
    assert not any(isinstance(query, Gram) for query, _ in fewer[-1])
    assert sum(mu**2 for ask in fewer for _, mu in ask) == pytest.approx(plan.mu**2)
