"""Public. A promise about false findings: how many variables are expected to be selected where there is no association."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.candidates import vote_units
from dpselect.assume.edge_rule import EdgeRule, idle_deviation
from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE
from dpselect.assume.recipe import Recipe
from dpselect.assume.vote_rule import deals_equally
from dpselect.assume.wide_rule import WideRule, wide_deviation

Floats = NDArray[np.float64]

NULL_TABLES = 400
"""Tables without any association over which the mean is taken."""
MAX_LISTED_TERMS = 64
"""Of more terms only those that chance has favoured most are looked at; the others weigh nothing."""


def expected_false(recipe: Recipe) -> float | None:
    """How many terms a choice by votes is expected to select where the response has nothing to do with any of them.

    None where the recipe holds no votes, or no number of rows is known. An estimate from public facts, not a bound: leads of idle
    columns are taken for normal with the deviations that the rules are made with. For a table of such leads, sorted by size, all
    models of k terms whose weakest is the r-th, C(r - 1, k - 1) of them, score at most what the r-th lead allows; the empty model
    scores what the largest leaves of the threshold. Permute-and-flip takes another model than the best with about W/(2 + W) where
    those others weigh W times as much, the exponential mechanism with W/(1 + W).

    It is a mean over tables, and a single table may be far above: chance can favour an idle column in all dealings, as for BIC
    (.25 in one of 17 lognormal tables of 2,000 rows at epsilon 1, where this says .04). Measured by exact laws at 2,000 rows, 12
    tables of 8 columns a setting, epsilon 1 and .35: means were a third of this or less (docs/VOTES.md).

    Source: ours.
    Tested: tests/assume/models/test_false_findings.py
    """
    rule, rows = recipe.votes, recipe.study.expected_rows or recipe.rows
    terms = [unit.bit_count() for unit in vote_units(recipe.candidates)]
    if rule is None or rows is None:
        return None
    if not terms:
        return 0.0
    if not 0 < rows < 2**60:  # of an edited report
        return None
    if isinstance(rule, EdgeRule):
        mean_width = sum(terms) / len(terms)
        deviations = [
            idle_deviation(blocks, rows / blocks, 2 + k * mean_width, rule.partitions)
            for k, blocks in enumerate(rule.blocks)
        ]
        bars = [bar / (WHOLE_VOTE * rule.partitions) for bar in rule.thresholds]
    elif isinstance(rule, WideRule):
        sizes = min(len(terms), MAX_LISTED_TERMS) + 1
        deviations = [wide_deviation(rule, equal=deals_equally(recipe.study, recipe.rows))] * sizes
        bars = [rule.threshold / (WHOLE_VOTE * rule.partitions)] * sizes
    else:
        size, columns, sizes = rows / rule.blocks, len(recipe.study.columns), min(len(terms), MAX_LISTED_TERMS) + 1
        # A block of fewer rows than columns has little but the ridge to tell them apart: it votes as if on each alone.
        fitted = columns if size >= columns else 2
        deviations = [idle_deviation(rule.blocks, size, fitted, rule.partitions)] * sizes
        bars = [rule.threshold / (WHOLE_VOTE * rule.partitions)] * sizes
    leads = _sorted_leads(terms)[:, :MAX_LISTED_TERMS]
    rate = float(recipe.choice_epsilon) / 4
    with np.errstate(all="ignore"):  # an edited report may hold any number
        found = _picked(leads, np.array(deviations), np.array(bars), rule.price, rate)
        best = 1.0 if recipe.mechanism == "exponential" else 2.0
        expected = float(np.mean([terms_in * weight / (best + weight) for terms_in, weight in found]))
    return expected if math.isfinite(expected) else None


def _sorted_leads(widths: list[int]) -> Floats:
    """The largest |normal| of the columns of each term, in every table, sorted: from points that fill the cube evenly."""
    columns = sum(widths)
    steps = np.sqrt(_primes(columns)) % 1
    points = (np.arange(1, NULL_TABLES + 1)[:, None] * steps + 0.5) % 1
    grid = np.linspace(0.5 / 2**12, 1 - 0.5 / 2**12, 2**12)
    normal = NormalDist()
    quantiles = np.array([normal.inv_cdf((1 + float(each)) / 2) for each in grid])
    sizes = np.interp(points, grid, quantiles)
    starts = np.cumsum([0, *widths[:-1]])
    return np.asarray(-np.sort(-np.maximum.reduceat(sizes, starts, axis=1), axis=1))


def _primes(count: int) -> Floats:
    """So many primes, whose square roots have nothing to do with each other."""
    most = max(16, int(count * (math.log(count + 1) + math.log(math.log(count + 3)) + 2)))
    sieve = np.ones(most, bool)
    sieve[:2] = False
    for each in range(2, math.isqrt(most) + 1):
        sieve[each * each :: each] &= not sieve[each]
    return np.flatnonzero(sieve)[:count].astype(np.float64)


def _picked(leads: Floats, deviations: Floats, bars: Floats, price: float, rate: float) -> list[tuple[float, float]]:
    """For every table: how many terms the models that are not empty have on average, and what they weigh beside the empty one."""
    most = leads.shape[1]
    sizes = np.arange(1, min(most, len(bars) - 1) + 1)
    ways = np.array([[_log_choose(rank - 1, size - 1) for rank in range(1, most + 1)] for size in sizes])
    found = []
    for own in leads:
        empty = bars[0] - deviations[0] * own[0]
        scores = deviations[sizes - 1][:, None] * own[None, :] - bars[sizes - 1][:, None]
        # Terms that are out, the largest of which is the first unless it is in, leave at most the next threshold.
        scores = np.minimum(scores, bars[np.minimum(sizes, len(bars) - 1)][:, None])
        logs = ways + rate * (scores - empty) - price * sizes[:, None]
        weights = np.exp(np.minimum(logs, 50.0))
        total = float(weights.sum())
        found.append((float((weights.sum(axis=1) @ sizes) / total) if total > 0 else 1.0, total))
    return found


def _log_choose(total: int, some: int) -> float:
    if some > total:
        return -math.inf
    return math.lgamma(total + 1) - math.lgamma(some + 1) - math.lgamma(total - some + 1)
