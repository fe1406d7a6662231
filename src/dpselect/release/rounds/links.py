"""Public. What tells the families apart: the mean of a linear predictor, the weight of a row, and the link of a mean."""

from __future__ import annotations

import math

from dpselect.assume.queries import FamilyName


def link_of(family: FamilyName, mean: float) -> float:
    """The linear predictor whose mean this is."""
    if family == "binomial":
        return math.log(mean / (1 - mean))
    return math.log(mean) if family == "poisson" else mean


def weight_of(family: FamilyName, mean: float) -> float:
    """The variance of a response with this mean, as the family has it; one for the gaussian, whose residuals have a scale."""
    if family == "binomial":
        return mean * (1 - mean)
    return mean if family == "poisson" else 1.0
