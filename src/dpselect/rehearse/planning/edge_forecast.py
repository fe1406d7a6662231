"""Public. What edge votes would say in a supposed world: every column beside every set of terms, by the law of a block's fit.

A block of B rows that fits f columns votes on a column with the partial effect tau (coefficient over standard error, for one row)
 with the mean 2 Phi(tau sqrt(B^2/(B + f))) - 1; a pair of rows, which fits none, with (2/pi) asin(correlation).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.candidates import SubsetRule, columns_of
from dpselect.assume.edge_rule import EdgeRule, all_sets
from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE
from dpselect.minimize.edges import EdgeLeads
from dpselect.penalize.edges import EdgeMargins
from dpselect.rehearse.chances.edges import EdgeChances
from dpselect.rehearse.planning.worlds import World

Floats = NDArray[np.float64]

PAIR = 2.5
"""Rows up to which a block is a pair."""
LEAST_SHARE_LEFT = 1e-9
"""Share of a column's variance below which nothing is left of it beside a set."""


@lru_cache(maxsize=8)
def sets_of(terms: int, top: int) -> NDArray[np.int64]:
    """All sets of at most `top` terms, in the order of the votes."""
    return np.array(all_sets(terms, top), np.int64)


@lru_cache(maxsize=32)
def correlations(world: World, rule: EdgeRule, rows: int) -> Floats:
    """What is left of the correlation of every column with the response beside every set of terms; 0 of its own columns.

    A small block's ridge leaves something of what a set explains to the columns that go along with it.
    """
    covariance, cross = world.pilot
    last = len(cross)
    whole = np.empty((last + 1, last + 1))
    whole[:last, :last], whole[last, last] = covariance, 1.0 + world.r2 / (1 - world.r2)
    whole[:last, last] = whole[last, :last] = cross
    roots = np.sqrt(np.maximum(np.diag(whole), 1e-300))
    whole = whole / roots / roots[:, None]
    first, terms = world.layout.first, len(world.layout.widths)
    own = [np.flatnonzero(first == term).tolist() for term in range(terms)]
    found: list[Floats] = []

    def visit(left: Floats, first_free: int, missing: int, ridge: float) -> None:
        if not missing:
            squares = np.diag(left)
            live = squares[:last] > LEAST_SHARE_LEFT
            found.append(
                np.where(live, left[:last, last] / np.sqrt(np.where(live, squares[:last], 1.0) * squares[last]), 0.0)
            )
            return
        for term in range(first_free, terms - missing + 1):
            swept = left
            for column in own[term]:
                line = swept[column]
                if line[column] > LEAST_SHARE_LEFT:
                    swept = swept - line[:, None] * (line / (line[column] + ridge))
                swept[column] = swept[:, column] = 0.0
            visit(swept, term + 1, missing - 1, ridge)

    for size, (blocks, ridge) in enumerate(zip(rule.blocks, rule.ridges, strict=True)):
        # A block uses the less of it the more its columns go along with the response: by chance one over its rows.
        visit(whole, 0, size, ridge * (1 - min(blocks / rows, 1.0)) ** 16)
    return np.clip(np.array(found), -1 + 1e-9, 1 - 1e-9)


def edge_votes(found: Floats, rule: EdgeRule, rows: int, widths: tuple[int, ...]) -> Floats:
    """Mean votes (sets, columns) from partial correlations."""
    sizes, fitted = _blocks(rule, rows, widths)
    reach = sizes / np.sqrt(sizes + fitted)
    effects = found / np.sqrt(1 - found**2) * reach[:, None]
    sign = np.tanh(math.sqrt(2 / math.pi) * (np.clip(effects, -9, 9) + 0.044715 * np.clip(effects, -9, 9) ** 3))
    return np.where((sizes < PAIR)[:, None], 2 / math.pi * np.arcsin(found), sign)


def edge_blur(means: Floats, rule: EdgeRule, rows: int, widths: tuple[int, ...]) -> Floats:
    """The standard deviation that sample and dealing give each mean vote: that of an idle one, less as blocks agree."""
    sizes, fitted = _blocks(rule, rows, widths)
    sample = 0.64 * (sizes / (sizes + fitted))[:, None] * (1 - means**2)
    rest = np.maximum(1 - means**2 - sample, 0.0) / rule.partitions
    return np.asarray(np.sqrt((sample + rest) / (rows / sizes)[:, None]))


def _blocks(rule: EdgeRule, rows: int, widths: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Rows of a block and columns that it fits, for every set."""
    sizes = np.bitwise_count(sets_of(len(widths), rule.top)).astype(np.int64)
    return rows / np.array(rule.blocks)[sizes], 2 + sizes * sum(widths) / len(widths)


def edge_chances(votes: Floats, candidates: SubsetRule, rule: EdgeRule, epsilon: float) -> EdgeChances:
    """The chances of all sets of terms, from mean votes. Directions are left out: where they are told, they cost nothing."""
    sets = sets_of(len(candidates.terms), rule.top)
    whole = np.array(rule.blocks)[np.bitwise_count(sets)] * (rule.partitions * WHOLE_VOTE)
    terms = tuple(columns_of(term) for term in candidates.terms)
    leads = EdgeLeads(np.rint(votes * whole[:, None]).astype(np.int64), sets, terms, rule.blocks, rule.partitions)
    step = Fraction(rule.price * rule.range / epsilon)
    everyone = np.arange(len(sets))
    return EdgeChances(EdgeMargins(leads, rule, candidates, everyone, step, False, float(rule.range)), epsilon)
