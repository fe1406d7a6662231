"""Public. What the rounds of an estimate have found."""

from __future__ import annotations

from dataclasses import dataclass

from dpselect.release.equations.findings import Amount, Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Public. What the rounds have found, in the user's units: a finding for each name, of ratios for their logarithm.

    `predictive` are the coefficients to predict with, `scales` the standard deviations of columns of numbers. `radius` is that of
    the last clip in units of a usual gradient, and `clip_bound` what it may have cut off, in deviations of the noise: what the
    report says about tails.
    """

    names: tuple[str, ...]
    findings: tuple[Finding, ...]
    residual_deviation: Amount
    r_squared: Amount
    rows: float
    nu: float
    predictive: tuple[float, ...]
    radius: float
    clip_bound: float
    scales: dict[str, float]
