"""Private. Custodian's eyes only: the exact chance of every model and of every term, by levels, without a list of models.

Candidates of one class (`randomize.levels`) have one score, so a mechanism gives each of them the same chance. Permute-and-flip
gives a candidate with p = exp(-distance) the chance p * integral over 0 < t < 1 of prod over the others of (1 - p_j t), see
`chances.all`; with n_j candidates of class j that product is a product of powers, and its logarithm a short sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.models.candidates import SubsetRule
from dpselect.assume.models.choice import Mechanism
from dpselect.errors import AssumptionError
from dpselect.penalize.margins import Margins
from dpselect.randomize.levels import Class, Levels, levels_of
from dpselect.rehearse.chances.survival import unit_rule

Floats = NDArray[np.float64]

PANELS, NODES, DECAY = 24, 20, 60.0


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class VoteChances:
    """Private. What a choice by votes would give, for one assignment of rows to blocks.

    `each` is the chance of every single candidate of a class; `inclusion` that of every term of the rule.
    """

    margins: Margins
    levels: Levels
    each: Floats
    inclusion: Floats

    def __repr__(self) -> str:
        return "VoteChances(values=<private>)"

    def chance_of(self, mask: int) -> float:
        """The chance of one candidate, by its mask."""
        rule = _rule(self.margins)
        taken = [bool(rule.terms[j] & mask) for j in self.levels.order]
        wrong = [place for place, inside in enumerate(taken) if inside != self.levels.star[place]]
        level = wrong[-1] + 1 if wrong else 0
        nearer = [place for place in range(max(level - 1, 0)) if taken[place]]
        key = (level, len(nearer), sum(self.levels.widths[place] for place in nearer)) if level else (0, 0, 0)
        for one, chance in zip(self.levels.classes, self.each, strict=True):
            if (one.level, one.terms, one.columns) == key:
                return float(chance)
        return 0.0

    def leading(self, most: int) -> list[tuple[int, float]]:
        """The likeliest candidates as masks, with their chances."""
        found: list[tuple[int, float]] = []
        for place in np.argsort(-self.each, kind="stable"):
            left = most - len(found)
            if left <= 0:
                break
            members = islice(_members(self.margins, self.levels, self.levels.classes[place]), left)
            found += [(mask, float(self.each[place])) for mask in members]
        return found


def vote_chances(margins: Margins, epsilon: float, mechanism: Mechanism) -> VoteChances:
    """The chances under permute-and-flip or the exponential mechanism, right to about 1e-9."""
    levels = levels_of(margins)
    scores = np.array([float(margins.step) * one.size - one.margin for one in levels.classes])
    counts = np.array([float(one.count) for one in levels.classes])
    distances = (scores - scores.min()) * (epsilon / margins.range)
    weights = np.exp(-distances)
    if mechanism == "exponential":
        each = weights / (weights * counts).sum()
    elif mechanism == "permute-and-flip":
        each = weights * _survival(weights, counts)
    else:
        raise AssumptionError(
            "The chances of votes are known for permute-and-flip and exponential: choose one of them."
        )
    return VoteChances(margins, levels, each, _inclusion(margins, levels, each * counts))


def _survival(weights: Floats, counts: Floats) -> Floats:
    """For each class the integral over 0 < t < 1 of prod_j (1 - p_j t)^(n_j), one factor of its own left out."""
    # Beyond DECAY / sum the product is below exp(-DECAY).
    length = min(1.0, DECAY / float((weights * counts).sum()))
    edges = length * np.linspace(0, 1, PANELS + 1) ** 2
    nodes, node_weights = unit_rule(NODES)
    steps = np.diff(edges)
    places = (edges[:-1, None] + steps[:, None] * nodes).ravel()
    shares = (steps[:, None] * node_weights).ravel()
    logs = np.log1p(-weights[:, None] * places)
    whole: Floats = np.exp((counts[:, None] * logs).sum(axis=0) - logs) @ shares
    return whole


def _inclusion(margins: Margins, levels: Levels, totals: Floats) -> Floats:
    """The chance of every term of the rule, from the chances of whole classes."""
    inside = np.zeros(len(levels.order))
    star = np.array(levels.star, dtype=float)
    for one, total in zip(levels.classes, totals, strict=True):
        if one.level == 0:
            inside += total * star
            continue
        inside[one.level :] += total * star[one.level :]
        inside[one.level - 1] += total * (1 - star[one.level - 1])
        if one.level > 1 and one.terms:
            inside[: one.level - 1] += total * _shares(levels, one)
    found = np.zeros(len(inside))
    found[list(levels.order)] = inside
    return found


def _shares(levels: Levels, one: Class) -> Floats:
    """Of the sets of a class, the share that has each nearer term."""
    near = one.level - 1
    widths = levels.widths[:near]
    if len(set(widths)) <= 1:
        return np.full(near, one.terms / near)
    shares = []
    for place in range(near):
        others = {(0, 0): 1}
        for width in (*widths[:place], *widths[place + 1 :]):
            grown = dict(others)
            for (terms, columns), count in others.items():
                key = terms + 1, columns + width
                grown[key] = grown.get(key, 0) + count
            others = grown
        shares.append(others.get((one.terms - 1, one.columns - widths[place]), 0) / one.count)
    return np.array(shares)


def _members(margins: Margins, levels: Levels, one: Class) -> Iterator[int]:
    """The candidates of a class, as masks."""
    rule = _rule(margins)

    def mask_of_places(places: list[int]) -> int:
        mask = rule.always
        for place in places:
            mask |= rule.terms[levels.order[place]]
        return mask

    if one.level == 0:
        yield mask_of_places([place for place, inside in enumerate(levels.star) if inside])
        return
    fixed = [place for place in range(one.level, len(levels.star)) if levels.star[place]]
    fixed += [] if levels.star[one.level - 1] else [one.level - 1]
    for nearer in combinations(range(one.level - 1), one.terms):
        if sum(levels.widths[place] for place in nearer) == one.columns:
            yield mask_of_places([*nearer, *fixed])


def _rule(margins: Margins) -> SubsetRule:
    if not isinstance(margins.candidates, SubsetRule):
        raise AssumptionError("The chances of votes by levels need a rule of candidates, not a list.")
    return margins.candidates
