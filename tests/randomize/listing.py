"""Candidates with their directions one by one: a slow second program for what the draws and chances by levels say."""

from fractions import Fraction
from itertools import product

import numpy as np

from dpselect.assume.candidates import SubsetRule
from dpselect.errors import StudyError
from dpselect.penalize.margins import Margins
from dpselect.rehearse.chances.scores import selection_probabilities


def random_margins(rng, *, most_terms=5, directions=None, limits=True, crowds=True):
    """Leads and thresholds in all kinds of rules: wide terms, limits of size, groups, something or nothing always in."""
    widths = rng.integers(1, 4, rng.integers(1, most_terms + 1))
    terms, start = [], int(rng.integers(0, 2))
    always = start  # column 0, where no term has it
    for width in widths:
        terms.append(((1 << int(width)) - 1) << start)
        start += int(width)
    limit = int(rng.integers(0, start + 1)) if limits and rng.random() < 0.4 else None
    at_least = int(rng.integers(0, 4)) if limits and rng.random() < 0.4 else 0
    group = ((0, len(terms) - 1),) if limits and len(terms) > 1 and rng.random() < 0.3 else ()
    empty = not limits or bool(rng.random() < 0.5)
    try:
        rule = SubsetRule(start, tuple(terms), always, limit, empty, at_least, group)
    except StudyError:
        rule = SubsetRule(start, tuple(terms), always, empty=True)
    told = bool(rng.random() < 0.6) if directions is None else directions
    step = Fraction(int(rng.integers(0, 4)), 2)
    leads, threshold = rng.integers(-15, 16, start), int(rng.integers(0, 12))
    crowd = int(rng.integers(0, len(terms) + 2)) if crowds else 0
    return Margins(leads, threshold, step, rule, 4.0, told, crowd)


def listed(margins):
    """Every candidate, an option of each slot, with its score, low is good: by the definition; () is `Margins.crowded`."""
    found, rule = {}, margins.candidates
    for excused in (True, False):
        for candidate in product(*margins.options(excused=excused)):
            mask = rule.always | sum(option.mask for option in candidate)
            terms = sum(option.mask > 0 for option in candidate)
            if mask in rule and excused == (0 < rule.fewest == terms):
                found[candidate] = float(margins.step) * terms - min((option.value for option in candidate), default=0)
    if margins.crowded is not None:
        leads = [max(abs(margins.lead[j]) for j in range(rule.width) if term >> j & 1) for term in rule.terms]
        found[()] = margins.threshold + 2 * float(margins.step) - sorted(leads, reverse=True)[margins.crowd - 1]
    return found


def law(margins, epsilon, mechanism):
    """The chance of every candidate, listed."""
    scores = listed(margins)
    chances = selection_probabilities(np.array(list(scores.values())), margins.range, float(epsilon), mechanism)
    return dict(zip(scores, chances.tolist(), strict=True))
