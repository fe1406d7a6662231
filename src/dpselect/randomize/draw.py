"""The private choice among all candidates of a rule, thousands of terms or more: drawn exactly, and none of them listed.

The exponential mechanism draws a level in proportion to its weight (`randomize.levels`) and then, slot by slot, an option.

Permute-and-flip is the exponential mechanism with a memory. Let every candidate i be proposed at the points of a Poisson process
of rate 1, with a coin at each point that shows heads with the chance p_i = exp(rate * (its score - the best)). First proposals
come in a random order, and the first of them whose coin shows heads is the outcome. That is permute-and-flip, and the same as the
largest of all scores with exponential noise added (Ding et al. 2021).

Now look at heads only. They come at the rate Z, the sum of all p, and each is candidate i with the chance p_i/Z: a draw of the
exponential mechanism. The first of them that is a first proposal is the outcome. Heads for i at the time t are no first proposal
if there were tails for i before, which has the chance 1 - exp(-(1 - p_i) t); then none after them is either, and i is struck out.
There is no third case, for earlier heads for i were the outcome, or found i struck out. So: let time pass, draw by the
exponential mechanism, toss a coin with the chance exp(-(1 - p_i) t), and accept or strike out. The best candidate has no tails, so
this ends: after 1.3 draws at most, on average.

No number is rounded: `randomize.digits` draws as many random digits as the enclosures of all numbers need.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from dpselect.assume.candidates import SubsetRule
from dpselect.assume.recipe import Mechanism
from dpselect.penalize.margins import Margins, Option
from dpselect.randomize.digits import NOTHING, ONE, Between, Chance, Shares, certain, one_of, picked, some_of
from dpselect.randomize.levels import Levels, State, Weights, families_of

Candidate = tuple[Option, ...]
"""Private until it is released. An option of each slot of the rule; of none where too many terms lead (`Margins.crowded`)."""


def draw_candidate(margins: Margins, epsilon: Fraction, mechanism: Mechanism = "permute-and-flip") -> Candidate:
    """A candidate of a rule, drawn at a pure price of epsilon, exactly.

    Formal guarantee: candidate i is drawn with the chance that permute-and-flip (or the exponential mechanism) gives it among all
    candidates of the rule, for its score and the scale range/epsilon. So on neighbouring tables the chances of any outcome differ
    by a factor of at most exp(epsilon); no number was rounded on the way.

    Tested: tests/randomize/test_draw.py
    """
    if isinstance(margins.candidates, SubsetRule) and not margins.candidates.slots:
        return ()  # no term competes
    draws = Draws(margins, epsilon)
    return {"permute-and-flip": draws.permute_and_flip, "exponential": draws.exponential}[mechanism]()


class Draws:
    """Private. Draws of candidates at a price; a release makes one."""

    def __init__(self, margins: Margins, epsilon: Fraction) -> None:
        self.rate = epsilon / Fraction(margins.range)
        self._families, self._step = families_of(margins), margins.step
        self._crowded = margins.crowded
        bests = [self._crowded, *(levels.best for levels in self._families)]
        self._best = max(best for best in bests if best is not None)
        self._known: dict[int, Weights] = {}

    def weights(self, digits: int) -> Weights:
        """The weights of all levels to so many digits."""
        if digits not in self._known:
            self._known[digits] = Weights(self._families, self.rate, self._best, digits)
        return self._known[digits]

    def permute_and_flip(self) -> Candidate:
        """The exponential mechanism with a memory: see the head of this file."""
        waits: list[Chance] = []
        struck_out: set[Candidate] = set()
        while True:
            waits.append(Chance())
            drawn = self.exponential()
            if drawn in struck_out:
                continue
            if self._is_first(drawn, waits):
                return drawn
            struck_out.add(drawn)

    def _is_first(self, drawn: Candidate, waits: list[Chance]) -> bool:
        """Whether a candidate was not proposed with tails before the time t: a coin with the chance exp(-(1 - p) t).

        A wait for heads is -log(U)/Z with an even U, and t their sum; the coin is -log(U) > (1 - p) t. Both sides times Z.
        """
        behind = self._best - self._score(drawn)
        if behind == 0:
            return True
        coin = Chance()

        def compared(digits: int) -> bool | None:
            weights = self.weights(digits)
            arithmetic = weights.arithmetic
            time = arithmetic.sum(arithmetic.minus_log(wait.between(arithmetic)) for wait in waits)
            needed = arithmetic.times(arithmetic.less(ONE, arithmetic.exp(-self.rate * behind)), time)
            lasted = arithmetic.times(arithmetic.minus_log(coin.between(arithmetic)), weights.levels.total)
            if lasted[0] > needed[1]:
                return True
            return False if lasted[1] < needed[0] else None

        return certain(compared)

    def _score(self, drawn: Candidate) -> Fraction:
        """The price of its terms taken off."""
        if not drawn:
            assert self._crowded is not None
            return self._crowded
        return min(option.value for option in drawn) - self._step * sum(option.mask > 0 for option in drawn)

    def exponential(self) -> Candidate:
        """A candidate by the exponential mechanism: its level, then an option of every other slot."""
        place = picked(lambda digits: self.weights(digits).levels)
        for levels in self._families:
            if place < len(levels.options):
                break
            place -= len(levels.options)
        else:
            return ()
        before: list[list[Option]] = [[] for _ in levels.rule.slots]
        for option, slot in zip(levels.options[:place], levels.slots[:place], strict=True):
            before[slot].append(option)
        before[levels.slots[place]] = [levels.options[place]]
        if levels.limited:
            return self._within_limits(levels, before)
        return tuple(options[0] if len(options) == 1 else self._of_slot(options) for options in before)

    def _of_slot(self, options: list[Option]) -> Option:
        """An option of a slot without limits, a term that is in at its price."""
        inside = [option for option in options if option.mask]
        if len(inside) < len(options) and not picked(lambda digits: self.weights(digits).in_or_out(len(inside))):
            return next(option for option in options if not option.mask)
        return one_of(inside)

    def _within_limits(self, levels: Levels, before: list[list[Option]]) -> Candidate:
        """An option of every slot, together within the limits: of slots that are alike, how many have a term in, then which."""
        left, taken = (levels.rule.limit or 0, levels.fewest), [options[0] for options in before]
        alike: dict[tuple[int, int], list[int]] = {}
        for slot, options in enumerate(before):
            widths = {option.mask.bit_count() for option in options}
            if len(widths) == 1:
                taken[slot] = one_of(options)
                left = levels.after(left, taken[slot].mask.bit_count(), taken[slot].mask > 0)
            else:  # a slot that may have no term in is like those with as many options and columns; any other like none
                alike.setdefault((max(widths), len(options)) if 0 in widths else (-1, slot), []).append(slot)
        bundles = [_Bundle(levels, before[slots[0]], len(slots)) for slots in alike.values()]
        start, known = left, dict[int, list[dict[State, list[Between]]]]()
        for place, (bundle, slots) in enumerate(zip(bundles, alike.values(), strict=True)):

            def shares(digits: int, place: int = place, left: State = left) -> Shares:
                weights = self.weights(digits)
                if digits not in known:
                    known[digits] = _following(bundles, start, weights)
                return Shares(known[digits][place][left], weights.arithmetic)

            width, count = bundle.parts[picked(shares)]
            left = levels.after(left, width * count, count)
            inside = set(some_of(slots, count))
            for slot in slots:
                wanted = width if slot in inside else 0
                taken[slot] = one_of([option for option in before[slot] if option.mask.bit_count() == wanted])
        return tuple(taken)


class _Bundle:
    """Private. Slots that are alike; `parts` are what they may take: (columns of a term, in how many slots one is in)."""

    def __init__(self, levels: Levels, options: list[Option], slots: int) -> None:
        self.levels, self._slots = levels, slots
        self._ways = Counter(option.mask.bit_count() for option in options)
        width, limit = max(self._ways), levels.rule.limit
        most = min(slots, slots if limit is None else limit // width, levels.fewest if levels.exact else slots)
        self._may_be_out = 0 in self._ways
        self.parts = [(width, count) for count in range(most + 1)] if self._may_be_out else [(w, 1) for w in self._ways]

    def weighed(self, weights: Weights) -> list[Between]:
        """What each part weighs: all ways to choose slots and options for it, each at its price."""
        arithmetic = weights.arithmetic
        if not self._may_be_out:
            return [arithmetic.scaled(weights.price, self._ways[width]) for width, _ in self.parts]
        found, ways = [ONE], self._ways[self.parts[0][0]]
        for _, count in self.parts[1:]:
            one_more = arithmetic.scaled(found[-1], ways * (self._slots - count + 1), count)
            found.append(arithmetic.times(one_more, weights.price))
        return found


def _following(bundles: list[_Bundle], start: State, weights: Weights) -> list[dict[State, list[Between]]]:
    """For each bundle, by what is left of the limits: each of its parts with all that may follow it, weighed."""
    arithmetic = weights.arithmetic
    reached = [{start}]
    for bundle in bundles:
        ends = (bundle.levels.after(left, w * count, count) for left in reached[-1] for w, count in bundle.parts)
        reached.append({left for left in ends if min(left) >= 0})
    # What follows the last: nothing, in one way, if no more terms are needed.
    rest = {left: ONE if left[1] == 0 else NOTHING for left in reached.pop()}
    found: list[dict[State, list[Between]]] = []
    for bundle, lefts in zip(reversed(bundles), reversed(reached), strict=True):
        here, own = dict[State, list[Between]](), bundle.weighed(weights)
        for left in lefts:
            each = zip(own, (bundle.levels.after(left, w * count, count) for w, count in bundle.parts), strict=True)
            here[left] = [arithmetic.times(weight, rest.get(end, NOTHING)) for weight, end in each]
        rest = {left: arithmetic.sum(parts) for left, parts in here.items()}
        found.append(here)
    return found[::-1]
