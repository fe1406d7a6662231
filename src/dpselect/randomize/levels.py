"""All candidates of a rule by levels, none of them listed: what those of one level weigh together, in closed form.

A candidate takes one option of every slot (`Margins.options`); its score is the least value of those, and every term costs a step.
Sort all options from the best to the worst. The worst option that a candidate takes is its *level*: all others are options that
stand before it, one of each other slot. So the weight exp(rate * (score - step * terms)) of all candidates of a level is a product
over slots. Limits of size need more: how many candidates of a level have so many terms, from a polynomial a level.

Where a rule asks for some terms at least, candidates with just so many are excused from the threshold: a family of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from dpselect.assume.candidates import SubsetRule
from dpselect.penalize.margins import Margins, Option
from dpselect.randomize.digits import NOTHING, ONE, Arithmetic, Between, Shares

State = tuple[int, int]
"""Of the options of a slot that stand before a level: how many leave its terms out, and how many have one in."""
Sizes = dict[int, int]
"""How many candidates have so many terms."""


@dataclass(frozen=True, eq=False)
class Levels:
    """Private. All options from the best to the worst; each is the level of the candidates whose worst option it is.

    `slots` says whose option each is, `terms` whether it has a term in, `states` what of its slot stands before it. The levels
    before `first` have no candidates: some slot has no option yet. Candidates have `fewest` terms at least, and no more if
    `exact`.
    """

    margins: Margins
    fewest: int
    exact: bool
    options: tuple[Option, ...]
    slots: tuple[int, ...]
    terms: tuple[int, ...]
    states: tuple[State, ...]
    first: int

    def __repr__(self) -> str:
        return "Levels(values=<private>)"

    @property
    def rule(self) -> SubsetRule:
        """The rule of the candidates."""
        assert isinstance(self.margins.candidates, SubsetRule)
        return self.margins.candidates

    @property
    def limited(self) -> bool:
        """Whether some of what the options make is no candidate."""
        return self.rule.limit is not None or self.fewest > 0

    @cached_property
    def best(self) -> Fraction | None:
        """The highest score, the price of terms taken off; None where there is no candidate."""
        price, unit = self.margins.step.as_integer_ratio()
        each = zip(self.options, self.fewest_terms, strict=True)
        nets = (option.value * unit - price * size for option, size in each if size is not None)
        highest = max(nets, default=None)
        return None if highest is None else Fraction(highest, unit)

    @cached_property
    def fewest_terms(self) -> list[int | None]:
        """The fewest terms of a candidate of each level; None where there is none."""
        if self.rule.limit is not None:
            return [min(sizes, default=None) for sizes in self.sizes]
        found: list[int | None] = []
        allowed, most = self.fewest, self.fewest if self.exact else len(self.options)
        able = forced = 0  # other slots that have an option with a term in, and that have no other options
        for place, (term, (out, inside)) in enumerate(zip(self.terms, self.states, strict=True)):
            able, forced = able - (inside > 0), forced - (inside > 0 and out == 0)
            fewest = max(forced + term, allowed)
            possible = place >= self.first and fewest <= min(able + term, most)
            found.append(fewest if possible else None)
            able, forced = able + (inside + term > 0), forced + (inside + term > 0 and out + 1 - term == 0)
        return found

    @cached_property
    def sizes(self) -> list[Sizes]:
        """How many candidates of each level have so many terms; without a limit of columns or terms, how many have *too few*."""
        limit = self.rule.limit
        if limit is None and not self.exact:
            return [level for level, _ in self.polynomials(self.fewest)]
        most = limit if limit is not None else self.fewest
        return [self.allowed(level) for level, _ in self.polynomials(most + 1)]

    def allowed(self, level: Sizes) -> Sizes:
        """Of what `polynomials` count, what has as many terms as it should, by terms."""
        sizes: Sizes = {}
        for power, count in level.items():
            terms = self.terms_of(power)
            if terms == self.fewest or (terms > self.fewest and not self.exact):
                sizes[terms] = sizes.get(terms, 0) + count
        return sizes

    def after(self, left: State, columns: int, terms: int) -> State:
        """What is left of the room for columns, and of the terms that are needed, when so many more are in; below 0 none fits."""
        room, need = left[0] - (0 if self.rule.limit is None else columns), left[1] - terms
        return room, need if self.exact else max(need, 0)

    def polynomials(self, most: int) -> Iterator[tuple[Sizes, list[Sizes]]]:
        """For each level, the sum over its candidates of one power each, and the factor of every slot before the level.

        A product over slots of one power for each option before the level: of one unknown for a term and of another for each
        column, and these in one, see `power_of`. A level divides it by the factor of its own slot. Columns are counted as far as
        `most` says, or terms where there is no limit of columns.
        """
        end = self.end(most)
        # Factors are kept over their least powers, and those in `shift`, so that no coefficient below `end` is ever cut off.
        product, shift, factors = {0: 1}, 0, [dict[int, int]() for _ in self.rule.slots]
        for place, (option, slot) in enumerate(zip(self.options, self.slots, strict=True)):
            factor = factors[slot]
            least = min(factor, default=0)
            rest = divided(product, {power - least: count for power, count in factor.items()})
            power, shift = self.power_of(option), shift - least
            level = {} if place < self.first else {key + shift + power: count for key, count in rest.items()}
            yield {key: count for key, count in level.items() if key < end}, factors
            factor[power] = factor.get(power, 0) + 1
            least = min(factor)
            shift += least
            product = _multiplied(rest, {power - least: count for power, count in factor.items()}, end)

    def end(self, most: int) -> int:
        """The power at which `polynomials` are cut off."""
        return most if self.rule.limit is None else most * (self.rule.limit + 1)

    def power_of(self, option: Option) -> int:
        """Of an option in `polynomials`: 1 for a term, and for each column more than all terms within the limit."""
        limit = self.rule.limit
        return int(option.mask > 0) + (0 if limit is None else (limit + 1) * option.mask.bit_count())

    def terms_of(self, power: int) -> int:
        """How many terms a power in `polynomials` stands for."""
        return power if self.rule.limit is None else power % (self.rule.limit + 1)


def _multiplied(product: Sizes, factor: Sizes, end: int) -> Sizes:
    """The product of two polynomials, coefficients by powers, below a power."""
    if factor == {0: 1}:
        return product
    grown: Sizes = {}
    for power, times in factor.items():
        for key, count in product.items():
            if key + power < end:
                grown[key + power] = grown.get(key + power, 0) + count * times
    return grown


def divided(product: Sizes, factor: Sizes) -> Sizes:
    """What a factor with a constant was multiplied by, as far as the product is known; no coefficient is negative."""
    if factor in ({}, {0: 1}):
        return product
    quotient: Sizes = {}
    others = [(power, times) for power, times in factor.items() if power]
    for key in sorted(product):
        if left := product[key] - sum(times * quotient.get(key - power, 0) for power, times in others):
            quotient[key] = left // factor[0]
    return quotient


def families_of(margins: Margins) -> list[Levels]:
    """All candidates: those that have just the terms they must, excused from the threshold; and all others."""
    rule = margins.candidates
    assert isinstance(rule, SubsetRule)
    if rule.fewest == 0:
        return [_levels(margins, margins.options(), 0, exact=False)]
    families = [
        _levels(margins, margins.options(excused=True), rule.fewest, exact=True),
        _levels(margins, margins.options(), rule.fewest + 1, exact=False),
    ]
    return [family for family in families if family.best is not None]


def _levels(margins: Margins, slots_options: list[list[Option]], fewest: int, *, exact: bool) -> Levels:
    """The options in their order. Equal values keep the order of the slots: any order would do."""
    listed = [(option, slot) for slot, options in enumerate(slots_options) for option in options]
    listed.sort(key=lambda each: -each[0].value)
    states, first, now = list[State](), 0, dict[int, State]()
    for place, (option, slot) in enumerate(listed):
        if slot not in now:
            first = place
        out, inside = now.get(slot, (0, 0))
        states.append((out, inside))
        now[slot] = (out + (option.mask == 0), inside + (option.mask > 0))
    options, slots = (tuple(each) for each in zip(*listed, strict=True)) if listed else ((), ())
    terms = tuple(int(option.mask > 0) for option in options)
    return Levels(margins, fewest, exact, options, slots, terms, tuple(states), first)


class Weights:
    """Private. What the candidates of each level of all families weigh together, to so many digits; the best of all weighs 1.

    `rate` is the nats that a unit of the score is worth, and `price` the factor that a term costs. After all levels comes what
    `Margins.crowded` weighs, where it competes.
    """

    def __init__(self, families: list[Levels], rate: Fraction, best: Fraction, digits: int) -> None:
        self.arithmetic = Arithmetic(digits)
        self.price = self.arithmetic.exp(-rate * families[0].margins.step)
        self._factors: dict[State, Between] = {}
        self._in_or_out: dict[int, Shares] = {}
        weights: list[Between] = []
        for levels in families:
            each = zip(self._of_scores(levels, rate, best), self._of_sums(levels), strict=True)
            weights += [self.arithmetic.times(score, prices) for score, prices in each]
        if (crowded := families[0].margins.crowded) is not None:
            weights.append(self.arithmetic.exp(rate * (crowded - best)))
        self.levels = Shares(weights, self.arithmetic)

    def in_or_out(self, inside: int) -> Shares:
        """Of a slot the option that leaves its term out, and so many that have it in."""
        if inside not in self._in_or_out:
            weights = [ONE, self.arithmetic.scaled(self.price, inside)]
            self._in_or_out[inside] = Shares(weights, self.arithmetic)
        return self._in_or_out[inside]

    def _of_scores(self, levels: Levels, rate: Fraction, best: Fraction) -> list[Between]:
        """exp(rate (score - best)) of each level, each from the one before it."""
        arithmetic, values = self.arithmetic, [option.value for option in levels.options]
        powers: dict[int, Between] = {}  # of e^-rate: those of one digit to the base of 256
        falls: dict[int, Between] = {0: ONE}
        now = arithmetic.exp(rate * (values[0] - best))
        found = [now]
        for before, value in pairwise(values):
            if (fall := before - value) not in falls:
                factor = ONE
                for shift in range(0, fall.bit_length(), 8):
                    if digit := fall & 255 << shift:
                        if digit not in powers:
                            powers[digit] = arithmetic.exp(-rate * digit)
                        factor = powers[digit] if factor is ONE else arithmetic.times(factor, powers[digit])
                falls[fall] = factor
            now = arithmetic.times(now, falls[fall]) if fall else now
            found.append(now)
        return found

    def _of_sums(self, levels: Levels) -> list[Between]:
        """The sum of the prices of all candidates of each level."""
        if levels.rule.limit is not None or levels.exact:
            return self._of_sizes(levels)
        sums = self._of_products(levels)
        if not levels.fewest:
            return sums
        # Nothing is nothing, and no difference of two numbers that may be far larger than what other levels weigh.
        each = zip(sums, self._of_sizes(levels), levels.fewest_terms, strict=True)
        return [NOTHING if size is None else self.arithmetic.less(whole, short) for whole, short, size in each]

    def _of_products(self, levels: Levels) -> list[Between]:
        """The product over slots of what their options before a level weigh, that of the level's own slot replaced by the level."""
        arithmetic = self.arithmetic
        product, found, known = ONE, list[Between](), dict[tuple[State, int], tuple[Between, Between]]()
        for place, (state, term) in enumerate(zip(levels.states, levels.terms, strict=True)):
            if (state, term) not in known:
                own = self._factor(state) if any(state) else ONE
                after = self._factor((state[0] + 1 - term, state[1] + term))
                known[state, term] = arithmetic.over(self.price if term else ONE, own), arithmetic.over(after, own)
            share, growth = known[state, term]
            found.append(arithmetic.times(product, share) if place >= levels.first else NOTHING)
            product = arithmetic.times(product, growth)
        return found

    def _factor(self, state: State) -> Between:
        """What the options of a slot weigh together."""
        if state not in self._factors:
            out, inside = Decimal(state[0]), state[1]
            self._factors[state] = self.arithmetic.sum([(out, out), self.arithmetic.scaled(self.price, inside)])
        return self._factors[state]

    def _of_sizes(self, levels: Levels) -> list[Between]:
        """The sum over sizes of how many candidates have it, each at its price."""
        arithmetic, powers = self.arithmetic, [ONE]
        for _ in levels.rule.terms:
            powers.append(arithmetic.times(powers[-1], self.price))
        return [
            arithmetic.sum(arithmetic.scaled(powers[size], count) for size, count in sizes.items())
            for sizes in levels.sizes
        ]
