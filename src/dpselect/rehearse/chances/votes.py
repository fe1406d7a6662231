"""Private. Confidential: the exact chance of every model, term and direction in a selection by votes, without listing models.

The exponential mechanism gives a candidate of weight p the chance p/Z, Z being the sum of all weights: by levels in closed form
(`randomize.levels`). Permute-and-flip gives it G(p) = p * integral over 0 < t < 1 of E(t)/(1 - p t), E(t) the product over all
candidates of 1 - p_j t (`chances.scores`). Both are power series: log E(t) = -sum_m S_m t^m/m with S_m the sum of all p^m, and
G(p) = sum_m c_m p^m with c_m the integral of t^(m-1) E(t). And p^m is the weight at m times the price: so permute-and-flip is a
mixture of exponential mechanisms, each in closed form. The series end early, because E has died away where t is above 48/Z; only
where Z is small do a few candidates with p above 1/2 need to be counted by themselves.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations, islice, product, takewhile

import numpy as np
from numpy.typing import NDArray

from dpselect.assume.candidates import SubsetRule
from dpselect.assume.recipe import Mechanism
from dpselect.errors import StudyError
from dpselect.penalize.margins import Margins, Option
from dpselect.randomize.levels import Levels, Sizes, divided, families_of
from dpselect.rehearse.chances.scores import DECAY, require_votes_law, unit_rule

Floats = NDArray[np.float64]
Candidate = tuple[Option, ...]

TERMS = 56
"""Of the power series in numbers that are at most 1/2."""
_NODES, _WEIGHTS = unit_rule(40)  # enough: see `survival_integrals`
FEW = 1e-13
"""The chance of a level that is not worth its time."""
MANY_SLOTS, FREE_TERMS = 200, 7
"""Terms from which the likeliest models are looked for near the threshold, and how many terms are then in or out."""


class VoteChances:
    """Private. What a choice by votes would give, for one assignment of rows to blocks; right to about 1e-9."""

    def __init__(self, margins: Margins, epsilon: float, mechanism: Mechanism = "permute-and-flip") -> None:
        if not isinstance(margins.candidates, SubsetRule):
            raise StudyError("The chances of votes by levels need a rule of candidates, not a list.")
        require_votes_law(mechanism)
        self.margins, self.rule = margins, margins.candidates
        rate = epsilon / margins.range
        families = families_of(margins) if self.rule.slots else []
        crowded = margins.crowded if families else None
        bests = [crowded, *(levels.best for levels in families)]
        best = max((each for each in bests if each is not None), default=0)
        self.powers = np.arange(1, (TERMS if mechanism == "permute-and-flip" else 1) + 1)
        self.price = rate * float(margins.step)
        self.families = [_Family(levels, _heights(levels, rate, float(best)), self) for levels in families]
        self._log_crowded = None if crowded is None else rate * float(crowded - best)
        """Log of the weight of the outcome that nothing is selected because too many terms lead, where it competes."""

    def __repr__(self) -> str:
        return "VoteChances(values=<private>)"

    # The law of one candidate, from its weight p.

    @cached_property
    def _log_sums(self) -> Floats:
        """Log S_m."""
        weights = [family.log_weights for family in self.families]
        if self._log_crowded is not None:
            weights.append(np.asarray(self.powers[:, None] * self._log_crowded, np.float64))
        return np.asarray(np.logaddexp.reduce(np.concatenate(weights, axis=1), axis=1))

    @cached_property
    def _large(self) -> list[tuple[float, float, Candidate | None]]:
        """(log p, how many, who) of all candidates of weights above 1/2, where they need to be counted by themselves."""
        if len(self.powers) == 1 or self._log_sums[0] >= math.log(2 * DECAY):
            return []
        crowd = self._log_crowded
        crowded = [(crowd, 1.0, None)] if crowd is not None and crowd > -math.log(2) else []
        if self.families[0].levels.limited:
            each = (one for family in self.families for one in zip(family.log_classes, family.log_counts, strict=True))
            return crowded + [(log, math.exp(count), None) for log, count in each if log > -math.log(2)]
        levels, heights = self.families[0].levels, dict[int, float]()
        for option, height in zip(levels.options, self.families[0].heights, strict=True):
            heights[option.value] = float(height)

        def log_weight(candidate: Candidate) -> float:
            score = min(option.value for option in candidate)
            return heights[score] - self.price * sum(option.mask > 0 for option in candidate)

        large = takewhile(lambda one: one[0] > -math.log(2), ((log_weight(one), one) for one in likely([levels])))
        return crowded + [(log, 1.0, candidate) for log, candidate in large]

    @cached_property
    def _survival(self) -> tuple[Floats, Floats]:
        """Times t, in units of 1/Z, and what E(t) weighs there in an integral over them."""
        total = self._log_sums[0]
        length = min(math.exp(min(total, 700.0)), DECAY)
        times = length * _NODES
        large = np.array([(log, count) for log, count, _ in self._large]).reshape(-1, 2)
        sums = np.exp(self._log_sums - self.powers * total)
        sums -= (large[:, 1] * np.exp(self.powers[:, None] * (large[:, 0] - total))).sum(axis=1)
        log = -(times[:, None] ** self.powers / self.powers) @ np.maximum(sums, 0.0)
        log += (large[:, 1] * np.log1p(-times[:, None] * np.exp(large[:, 0] - total))).sum(axis=1)
        return times, length * _WEIGHTS * np.exp(log)

    def log_chance(self, logs: Floats) -> Floats:
        """Log of the chance of one candidate, from the log of its weight."""
        shares: Floats = np.minimum(logs, 0.0) - self._log_sums[0]
        if len(self.powers) == 1:
            return shares
        times, survival = self._survival
        others: Floats = np.log((survival / (1 - times * np.exp(shares)[..., None])).sum(axis=-1))
        return shares + others

    @cached_property
    def _mixture(self) -> Floats:
        """c_m S_m: the chance of the exponential mechanism at m times the price; what is missing from 1 are the large ones."""
        if len(self.powers) == 1:
            return np.ones(1)
        times, survival = self._survival
        moments = (survival[:, None] * times[:, None] ** (self.powers - 1)).sum(axis=0)
        mixture: Floats = moments * np.exp(self._log_sums - self.powers * self._log_sums[0])
        return mixture

    @cached_property
    def _missing(self) -> Floats:
        """What the series leaves out of the chance of each large candidate."""
        logs = np.array([log for log, _, _ in self._large])
        with np.errstate(divide="ignore"):
            series = np.exp(np.log(self._mixture) - self._log_sums + self.powers * logs[:, None]).sum(axis=1)
        missing: Floats = np.maximum(np.exp(self.log_chance(logs)) - series, 0.0)
        return missing

    # What is asked: models, terms, directions.

    def chance_of(self, mask: int) -> float:
        """The chance of one model, by its mask, whichever the directions."""
        inside = self.rule.terms_in(mask)
        if inside is None:
            return 0.0
        if not self.families:
            return 1.0
        own = [family for family in self.families if family.has(len(inside))]
        if not self.rule.one_of:
            none = 0.0 if inside else self._crowded
            return none + sum(family.chance_of_terms(inside) for family in own)
        return sum(family.chance_of(self.rule.parts(mask)) for family in own)

    @cached_property
    def _crowded(self) -> float:
        """The chance that nothing is selected because too many terms lead."""
        return 0.0 if self._log_crowded is None else float(np.exp(self.log_chance(np.array(self._log_crowded))))

    def listed(self) -> Floats:
        """The chance of every model, in the order of the rule: as `chance_of`, for all of them at once."""
        masks = self.rule.masks()
        terms = np.array([(masks & np.uint64(term)) != 0 for term in self.rule.terms]).sum(axis=0)
        chances = np.zeros(masks.size) if self.families else np.ones(1)
        for family in self.families:
            own = family.has(terms)
            chances[own] = family.listed(masks[own], terms[own])
        chances[terms == 0] += self._crowded if self.families else 0.0
        return chances

    def leading(self, most: int) -> list[tuple[int, float]]:
        """The likeliest models as masks, with their chances: of the four times as many whose scores are best."""
        if not self.families:
            return [(self.rule.always, 1.0)]
        if len(self.rule.slots) > MANY_SLOTS and not (self.rule.one_of or self.families[0].levels.limited):
            found = [(mask, self.chance_of(mask)) for mask in self._nearest()]
            return sorted(found, key=lambda each: -each[1])[:most]
        plain = replace(self.margins, directions=False)
        masks = [sum(option.mask for option in each) for each in islice(likely(families_of(plain)), 4 * most)]
        masks += [0] * (self._log_crowded is not None and 0 not in masks)
        found = [(self.rule.always | mask, self.chance_of(self.rule.always | mask)) for mask in masks]
        return sorted(found, key=lambda each: -each[1])[:most]

    def _nearest(self) -> list[int]:
        """Of thousands of terms the models that are likely: the terms nearest to the threshold in or out, the others as they lead.

        And those of the largest leads alone, down to none.
        """
        above = self.margins.agreement - self.margins.threshold
        order, near = np.argsort(-above), np.argsort(np.abs(above), kind="stable")[:FREE_TERMS].tolist()
        sure = set(np.flatnonzero(above > 0).tolist()) - set(near)
        sets = [{*sure, *some} for size in range(len(near) + 1) for some in combinations(near, size)]
        sets += [set(order[:size].tolist()) for size in range(min(len(order), 2 * len(sure) + MANY_SLOTS // 10))]
        masks = (self.rule.always | sum(self.rule.terms[place] for place in each) for each in sets)
        return list(dict.fromkeys(masks))

    @cached_property
    def options(self) -> list[tuple[Option, float]]:
        """Every option with its chance."""
        found = []
        for family in self.families:
            options = family.levels.options
            if family.levels.limited:
                chances = family.option_chances()
            else:
                chances = self._mixture @ family.option_shares(self._log_sums)
                places = {each: place for place, each in enumerate(zip(family.levels.slots, options, strict=True))}
                for (_, _, candidate), chance in zip(self._large, self._missing, strict=True):
                    for each in enumerate(candidate or ()):
                        chances[places[each]] += chance
            found += list(zip(options, chances.tolist(), strict=True))
        return found

    @cached_property
    def inclusion(self) -> Floats:
        """The chance of every term of the rule."""
        found = dict.fromkeys(self.rule.terms, 0.0)
        for option, chance in self.options:
            if option.mask:
                found[option.mask] += chance
        return np.array(list(found.values()))

    @cached_property
    def directions(self) -> Floats:
        """The chances of every column to be told to go up, and those to be told to go down."""
        found = np.zeros((2, self.rule.width))
        for option, chance in self.options:
            if option.sign:
                found[int(option.sign < 0), option.column] += chance
        return found

    def simulate(self, rng: np.random.Generator, count: int) -> list[int]:
        """Models drawn from these chances, as masks, spread evenly over what is likely; without limits of size.

        A simulation, which protects nothing, so NumPy's generator will do.
        """
        (family,) = self.families
        levels = family.levels
        assert not levels.limited
        shares = self._mixture[:, None] * np.exp(family.log_weights - self._log_sums[:, None])
        crowded = max(
            self._crowded - sum(self._missing[place] for place, one in enumerate(self._large) if not one[2]), 0
        )
        ends = np.cumsum(np.concatenate([shares.ravel(), self._missing, [crowded]]))
        drawn = []
        for place in np.searchsorted(ends, (np.arange(count) + rng.uniform()) / count * ends[-1]).tolist():
            if place >= shares.size:
                large = place - shares.size
                candidate: Sequence[Option] = (self._large[large][2] or ()) if large < len(self._large) else ()
            else:
                power, level = divmod(place, len(levels.options))
                # By its weight an option of each slot: the largest of log weight and Gumbel noise, which comes last.
                noisy = rng.gumbel(size=level) - (power + 1) * self.price * np.array(levels.terms[:level])
                last = {levels.slots[each]: levels.options[each] for each in np.argsort(noisy)}
                candidate = tuple((last | {levels.slots[level]: levels.options[level]}).values())
            drawn.append(self.rule.always | sum(option.mask for option in candidate))
        return drawn


def _heights(levels: Levels, rate: float, best: float) -> Floats:
    """The logarithm of the weight of each level's score, terms not yet priced."""
    return np.array([rate * (option.value - best) for option in levels.options])


class _Family:
    """Private. The levels of one family of candidates, and the law that all families share."""

    def __init__(self, levels: Levels, heights: Floats, law: VoteChances) -> None:
        self.levels, self.heights, self.law = levels, heights, law

    def has(self, terms: NDArray[np.int64] | int) -> NDArray[np.bool_] | bool:
        """Whether candidates with so many terms are of this family."""
        return terms == self.levels.fewest if self.levels.exact else terms >= self.levels.fewest

    # Weights by levels, or where limits matter by classes: candidates of one level with the same number of terms.

    @cached_property
    def log_weights(self) -> Floats:
        """Log of the sum of p^m over the candidates of each level (or class), one row a power m."""
        powers = self.law.powers[:, None]
        if self.levels.limited:
            return np.asarray(powers * self.log_classes + self.log_counts)
        states, terms = np.array(self.levels.states), np.array(self.levels.terms)
        before = self._factors(states)
        before[:, ~states.any(axis=1)] = 0.0  # of a slot without options so far: 1
        weights = np.cumsum(self._factors_after - before, axis=1) - self._factors_after
        weights += powers * (self.heights - self.law.price * terms)
        weights[:, : self.levels.first] = -np.inf
        return np.asarray(weights)

    def _factors(self, states: NDArray[np.int64]) -> Floats:
        """Log of the sum of p^m over the options of a slot, as far as their terms are priced; one row a power."""
        with np.errstate(divide="ignore"):
            out, inside = np.log(states[:, 0]), np.log(states[:, 1])
            return np.asarray(np.logaddexp(out, inside - self.law.powers[:, None] * self.law.price))

    @cached_property
    def _factors_after(self) -> Floats:
        """Of the slot of each level, the level's own option counted too."""
        terms = np.array(self.levels.terms)
        return self._factors(np.array(self.levels.states) + np.stack([1 - terms, terms], axis=1))

    @property
    def _counted(self) -> int:
        """As many columns as there may be, or as many terms."""
        limit, terms = self.levels.rule.limit, len(self.levels.rule.terms)
        return 1 + (limit if limit is not None else self.levels.fewest if self.levels.exact else terms)

    @cached_property
    def _classes(self) -> list[tuple[int, int, int]]:
        """(level, terms, how many candidates)."""
        found = []
        for place, (level, _) in enumerate(self.levels.polynomials(self._counted)):
            found += [(place, terms, count) for terms, count in self.levels.allowed(level).items()]
        return found

    @cached_property
    def log_classes(self) -> Floats:
        """Log p of a candidate of each class."""
        return np.array([self.heights[level] - self.law.price * terms for level, terms, _ in self._classes])

    @cached_property
    def log_counts(self) -> Floats:
        """Log of how many candidates each class has."""
        return np.array([math.log(count) for _, _, count in self._classes])

    # Chances.

    @cached_property
    def _places(self) -> tuple[NDArray[np.int64], dict[int, list[int]]]:
        """Of a rule without groups: where each slot's option "out" stands among the levels, and where those that are in do."""
        out, inside = np.zeros(len(self.levels.rule.slots), np.int64), dict[int, list[int]]()
        for place, (slot, term) in enumerate(zip(self.levels.slots, self.levels.terms, strict=True)):
            if term:
                inside.setdefault(slot, []).append(place)
            else:
                out[slot] = place
        return out, inside

    @cached_property
    def _last_out(self) -> list[int]:
        return np.argsort(-self._places[0], kind="stable").tolist()  # type: ignore[no-any-return]

    def chance_of_terms(self, terms: tuple[int, ...]) -> float:
        """Of a model of a rule without groups, by its terms: those that are out have one option, at a level that is known."""
        out, inside = self._places
        taken = set(terms)
        first = next((int(out[slot]) for slot in self._last_out if slot not in taken), -1)
        listed = sorted((place, slot) for slot in taken for place in inside[slot])
        ways, found = dict.fromkeys(terms, 0), dict[int, int]()  # how many candidates have their level there
        for place, slot in listed:
            rest = math.prod(count for other, count in ways.items() if other != slot)
            ways[slot] += 1
            if rest and place > first:
                found[place] = rest
        if first >= 0:
            found[first] = math.prod(sum(place < first for place in inside[slot]) for slot in taken)
        places = [place for place, count in found.items() if count]
        logs = self.law.log_chance(self.heights[places] - self.law.price * len(terms))
        return float(
            sum(math.exp(math.log(found[place]) + log) for place, log in zip(places, logs.tolist(), strict=True))
        )

    def chance_of(self, parts: tuple[int, ...]) -> float:
        """Of a model, by the mask that it takes of each slot: by levels, but only with options that agree with it."""
        logs = self.law.log_chance(self.heights - self.law.price * sum(part > 0 for part in parts))
        chance, ways, all_ways = 0.0, [0] * len(parts), 1
        for option, slot, log in zip(self.levels.options, self.levels.slots, logs.tolist(), strict=True):
            if option.mask == parts[slot]:
                rest = all_ways // max(ways[slot], 1)
                ways[slot] += 1
                all_ways = rest * ways[slot]
                if all(ways):
                    chance += math.exp(math.log(rest) + log)
        return chance

    def listed(self, masks: NDArray[np.uint64], terms: NDArray[np.int64]) -> Floats:
        """Of many models at once."""
        slots = [np.uint64(sum(slot)) for slot in self.levels.rule.slots]
        sizes = np.arange(len(self.levels.rule.terms) + 1)
        chances, all_ways, ways = np.zeros(masks.size), np.ones(masks.size), np.zeros((len(slots), masks.size))
        for option, slot, height in zip(self.levels.options, self.levels.slots, self.heights, strict=True):
            agree = masks & slots[slot] == np.uint64(option.mask)
            rest = all_ways[agree] / np.maximum(ways[slot, agree], 1)
            ways[slot, agree] += 1
            all_ways[agree] = rest * ways[slot, agree]
            each = np.exp(self.law.log_chance(height - self.law.price * sizes))
            chances[agree] += rest * each[terms[agree]] * ways[:, agree].all(axis=0)
        return chances

    def option_shares(self, log_sums: Floats) -> Floats:
        """The share of each option in S_m, one row a power, without limits.

        A level takes its own option; of any other slot one that stands before it, by its share among those: that share is the
        same until the slot's next option comes.
        """
        powers, end = self.law.powers[:, None], len(self.levels.slots)
        terms = np.array(self.levels.terms)
        share = np.exp(self.log_weights - log_sums[:, None])
        until = np.concatenate([np.zeros((len(share), 1)), np.cumsum(share, axis=1)], axis=1)
        following = np.full(end, end)  # the next option of the same slot
        seen: dict[int, int] = {}
        for place in reversed(range(end)):
            following[place] = seen.get(self.levels.slots[place], end)
            seen[self.levels.slots[place]] = place
        found, own = share.copy(), np.arange(end)
        here = own  # an option of the same slot, from which on to its next one the share is the same
        while own.size:
            between = until[:, following[here]] - until[:, here + 1]
            found[:, own] += between * np.exp(-powers * self.law.price * terms[own] - self._factors_after[:, here])
            kept = following[here] < end
            own, here = own[kept], following[here][kept]
        return found

    def option_chances(self) -> Floats:
        """The chance of each option where limits matter: the same for options of slots that are alike."""
        levels = self.levels
        chances, sizes = np.zeros(len(levels.options)), np.arange(len(levels.rule.terms) + 1)
        before: list[list[int]] = [[] for _ in levels.rule.slots]
        for place, (level, factors) in enumerate(levels.polynomials(self._counted)):
            logs = self.law.log_chance(self.heights[place] - self.law.price * sizes)
            if (own := self._of_all(level, logs)) > FEW:
                chances[place] += own
                alike: dict[tuple[tuple[int, int], ...], dict[int, float]] = {}
                for slot, others in enumerate(before):
                    known = alike.setdefault(tuple(factors[slot].items()), {})
                    for other in others if slot != levels.slots[place] else ():
                        power = levels.power_of(levels.options[other])
                        if power not in known:
                            known[power] = self._of_all(self._with(level, factors[slot], power), logs)
                        chances[other] += known[power]
            before[levels.slots[place]].append(place)
        return chances

    def _with(self, level: Sizes, factor: Sizes, power: int) -> Sizes:
        """The candidates of a level that take an option with that power of a slot with that factor."""
        least, end = min(factor), self.levels.end(self._counted)
        rest = divided(level, {each - least: count for each, count in factor.items()})
        return {key + power - least: count for key, count in rest.items() if key + power - least < end}

    def _of_all(self, level: Sizes, logs: Floats) -> float:
        """The chance of all candidates that a polynomial counts, from that of one with so many terms."""
        return sum(math.exp(math.log(count) + logs[terms]) for terms, count in self.levels.allowed(level).items())


def likely(families: list[Levels]) -> Iterator[Candidate]:
    """All candidates, those of the best scores first, the price of terms taken off."""
    queue: list[tuple[int, int, int, int]] = []
    for number, levels in enumerate(families):
        sizes = enumerate(levels.fewest_terms)
        queue += [_entry(levels, number, place, size) for place, size in sizes if size is not None]
    heapq.heapify(queue)
    while queue:
        _, number, place, size = heapq.heappop(queue)
        levels = families[number]
        before: list[list[Option]] = [[] for _ in levels.rule.slots]
        for option, slot in zip(levels.options[:place], levels.slots[:place], strict=True):
            before[slot].append(option)
        before[levels.slots[place]] = [levels.options[place]]
        inside = [sum(option.mask > 0 for option in options) for options in before]
        free = [slot for slot, options in enumerate(before) if 0 < inside[slot] < len(options)]
        more = size - sum(inside[slot] == len(options) for slot, options in enumerate(before))
        if more < len(free) and not levels.exact:
            heapq.heappush(queue, _entry(levels, number, place, size + 1))
        for chosen in combinations(free, more):
            wanted = [
                [option for option in options if (option.mask > 0) == (slot in chosen)] if slot in free else options
                for slot, options in enumerate(before)
            ]
            for candidate in product(*wanted):
                columns = sum(option.mask.bit_count() for option in candidate)
                if levels.rule.limit is None or columns <= levels.rule.limit:
                    yield candidate


def _entry(levels: Levels, number: int, place: int, size: int) -> tuple[int, int, int, int]:
    """Candidates of a level with so many terms, to be sorted by their scores, the highest first."""
    price, unit = levels.margins.step.as_integer_ratio()
    return price * size - levels.options[place].value * unit, number, place, size
