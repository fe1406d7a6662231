"""Permute-and-flip among listed candidates, exactly: each tosses a coin, and one of those that show heads is the outcome.

Permute-and-flip goes through the candidates in a random order, tosses for each a coin with the chance p = exp(-(its score - the
least)/scale), and ends at the first heads. The coins know nothing of the order, so all may be tossed before it is drawn; the first
heads is then each of the heads with the same chance. The least score always shows heads, so that there are some.

A coin is a number drawn evenly between 0 and 1 that lies below p. Sixteen bits of it and a double near p tell on which side it
lies, but for one coin in 65,000: only for these are more digits of both drawn, until they tell (`randomize.digits`).
"""

from __future__ import annotations

import secrets
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpselect.randomize.digits import Arithmetic, Chance, certain, one_of

BITS = 16
"""Of each coin at first."""
ROOM = 2.0**-40
"""How far a double that is computed here may be from its chance; see `near_chances`."""


def permute_and_flip(values: NDArray[np.float64], scale: float) -> int:
    """The place of a candidate, low scores are good: with just the chance that noise of this scale gives it.

    Formal guarantee: the outcome has the law of permute-and-flip, which is that of the least score after exponential noise of
    this scale is taken off each; no number was rounded on the way.

    Source: McKenna and Sheldon 2020, Algorithm 1; Ding et al. 2021 (the law of the noisy scores).
    Tested: tests/randomize/test_coins.py, tests/randomize/test_choice.py
    """
    near = near_chances(values, scale)
    tossed = np.frombuffer(secrets.token_bytes(values.size * BITS // 8), dtype=np.uint16)
    heads = tossed <= 2.0**BITS * (near - ROOM) - 1
    for place in np.flatnonzero(~heads & (tossed < 2.0**BITS * (near + ROOM))):
        heads[place] = _shows_heads(int(tossed[place]), Fraction(values.min()) - Fraction(values[place]), scale)
    places = np.flatnonzero(heads)
    return int(places[one_of(range(places.size))])


def near_chances(values: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """The chance of each candidate's coin, within ROOM.

    Why: let g be a true gap over the scale. Halves of doubles are exact and no difference of them overflows, so the two
    roundings leave an error of at most 2^-51 g; and exp(-g) moves by no more than 2^-51 g exp(-g (1 - 2^-51)) < 2^-52 then. Halves
    of numbers below 2^-1021 are off by 2^-1075, which is nothing beside any scale from 2^-900 on. NumPy's exp may be wrong by
    thousands of units in the last place before an error comes near ROOM.
    """
    with np.errstate(over="ignore", under="ignore"):  # an endless gap has the chance 0
        chances: NDArray[np.float64] = np.exp((values.min() / 2 - values / 2) / (scale / 2))
    return chances


def _shows_heads(tossed: int, exponent: Fraction, scale: float) -> bool:
    """Whether a coin that begins with these bits lies below exp(exponent/scale)."""
    if exponent == 0:
        return True
    coin = Chance(BITS, tossed)

    def compared(digits: int) -> bool | None:
        arithmetic = Arithmetic(digits)
        coin_low, coin_high = coin.between(arithmetic)
        low, high = arithmetic.exp(exponent / Fraction(scale))
        if coin_high <= low:
            return True
        return False if coin_low >= high else None

    return certain(compared)
