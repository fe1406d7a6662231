"""Public. Everything about a selection but its outcome, fixed from public values before a row is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any, Literal, get_args

from msgspec.structs import force_setattr, replace

from dpselect.assume.budget import (
    EXACT,
    Budget,
    Guarantee,
    Price,
    exact_delta,
    exact_epsilon,
    split_for_scores,
    split_for_votes,
)
from dpselect.assume.candidates import (
    Candidates,
    Model,
    SubsetRule,
    Subsets,
    candidates_for,
    vote_units,
)
from dpselect.assume.edge_rule import EdgeRule, clear_edge_directions, edge_rule_for
from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE, loss_range
from dpselect.assume.penalty import Penalty, column_penalties, default_penalty
from dpselect.assume.records import Public, sha256_of
from dpselect.assume.study import Study
from dpselect.assume.vote_rule import VoteRule, clear_directions, deals_equally, expected_nats, spread, vote_rule
from dpselect.assume.wide_rule import (
    SOMETIMES_WIDE,
    WideRule,
    clear_wide_directions,
    is_wide,
    looks_again,
    visible_in_wide,
    wide_rule,
)
from dpselect.errors import StudyError

Method = Literal["votes", "pcls", "pcpl"]
Mechanism = Literal["permute-and-flip", "exponential", "laplace"]
KNOWN_METHODS: tuple[Method, ...] = get_args(Method)
MECHANISMS: tuple[Mechanism, ...] = get_args(Mechanism)


@dataclass(frozen=True, slots=True)
class Choice:
    """Public. Method, mechanism, the models that compete and what a column costs; made once, at the door.

    `penalty` None stands for a public default, the only one with votes; `as_printed` asks for the looser bound that the
    paper prints for PCPL.
    """

    method: Method = "votes"
    mechanism: Mechanism = "permute-and-flip"
    candidates: Subsets | Iterable[Model] | Candidates | None = None
    penalty: Penalty | None = None
    as_printed: bool = False

    def __post_init__(self) -> None:
        if self.method not in KNOWN_METHODS:
            raise StudyError(f"method is {self.method!r}; it must be one of {', '.join(map(repr, KNOWN_METHODS))}.")
        if self.mechanism not in MECHANISMS:
            raise StudyError(f"mechanism is {self.mechanism!r}; it must be one of {', '.join(map(repr, MECHANISMS))}.")
        if RULES[self.method].holds_votes and self.mechanism == "laplace":
            raise StudyError("Votes are drawn by 'permute-and-flip' or 'exponential': choose one of them.")
        if self.candidates is not None and not isinstance(self.candidates, Subsets | Candidates):
            _require_list(self.candidates)
            # Models may come from a generator, and a recipe may be made more than once.
            object.__setattr__(self, "candidates", [_model(each) for each in self.candidates])


def _require_list(given: object) -> None:
    if not isinstance(given, Iterable):
        raise StudyError(f"candidates is {given!r}; it must be a list of models, Subsets(...) or left out.")


def _model(model: Model) -> Model:
    return model if isinstance(model, str) or not isinstance(model, Iterable) else list(model)


class Recipe(Public, frozen=True, kw_only=True, dict=True):
    """Method, mechanism, price and study of a selection; `study_hash` is written out, so that an edited study shows.

    `penalties` are per column, in squared units of the response for PCLS and in units of -2 log-likelihood for PCPL; with
    votes there are none, and `votes` says how they are held. `bound_epsilon` is the part of epsilon that buys PCPL's bound,
    else zero; `rows` is n where it is public. `directions` says whether the choice tells of its variables which way they go.
    """

    method: Method
    mechanism: Mechanism
    guarantee: Guarantee
    bound_epsilon: Decimal
    penalties: tuple[float, ...]
    rows: int | None
    candidates: Candidates
    study: Study
    as_printed: bool = False
    votes: VoteRule | EdgeRule | WideRule | None = None
    directions: bool = False
    study_hash: str = ""

    def __post_init__(self) -> None:
        if not self.study_hash:
            force_setattr(self, "study_hash", self.study.hash)
        Choice(self.method, self.mechanism)  # refuses what it does not know, for a recipe may come from a file
        if self.directions and not isinstance(self.candidates, SubsetRule):
            raise StudyError("Directions are for votes on sets of terms, not on models that are named one by one.")
        if RULES[self.method].holds_votes != (self.votes is not None):
            raise StudyError("A recipe for votes says how they are held, and no other recipe does.")

    @property
    def choice_epsilon(self) -> Decimal:
        """The part of epsilon that pays for the choice itself."""
        return EXACT.subtract(self.guarantee.epsilon, self.bound_epsilon)

    @property
    def step(self) -> Fraction:
        """With votes, the price of a term in units of the score: price * range / epsilon, a whole multiple of 2^-20.

        So that scores are exact in doubles. Rounded down; public, so that rounding it costs nothing.
        """
        assert self.votes is not None
        exact = Fraction(self.votes.price) * self.votes.range / Fraction(self.choice_epsilon)
        return min(Fraction(int(exact * 2**20), 2**20), Fraction(2**30))

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the recipe in canonical JSON: the ledger keeps it, so that no part of it can be changed afterwards."""
        return sha256_of(self.to_dict())


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodRule:
    """Public. What a method needs before a row is read, and what follows from public facts alone.

    `counts_rows` says that it has to know about how many rows there are before they are gathered; `needs_delta` that its choice
    costs a delta, without which it is pure; `holds_votes` that its recipe says how votes are held. `settle` completes the facts
    of a recipe, `split` divides epsilon between the choice and the estimate (by rows, columns and epsilon), and `visible` is
    the share of the response's variance that a variable must explain to be found, where there are so many rows.
    """

    needs_bounds: bool
    needs_delta: bool
    counts_rows: bool
    holds_votes: bool
    settle: Callable[[dict[str, Any], Choice], Recipe]
    split: Callable[[int | None, int, Price], tuple[int, int]]
    visible: Callable[[Recipe, int, float, int], float]


def make_recipe(study: Study, choice: Choice, *, rows: int | None, epsilon: Price, delta: Price = 0) -> Recipe:
    """Everything about the selection but the outcome; from public values alone. `rows` is n where it is public."""
    guarantee, bound_epsilon = _price(study, choice.method, exact_epsilon(epsilon), delta)
    facts = {
        "method": choice.method,
        "mechanism": choice.mechanism,
        "guarantee": guarantee,
        "bound_epsilon": bound_epsilon,
        "penalties": (),
        "rows": rows,
        "candidates": candidates_for(study, choice.candidates),
        "study": study,
        "as_printed": choice.as_printed,
    }
    return RULES[choice.method].settle(facts, choice)


def price_choice(study: Study, choice: Choice, *, epsilon: Price, delta: Price = 0) -> tuple[Guarantee, Decimal]:
    """The guarantee of a choice, and the part of its epsilon that buys a bound; refused is what no rows would make right."""
    rule = RULES[choice.method]
    price = _price(study, choice.method, exact_epsilon(epsilon), delta)
    models = candidates_for(study, choice.candidates)
    if rule.holds_votes:
        _require_no_penalty(choice)
    if rule.needs_bounds:
        study.require_bounds(f"The method {choice.method!r}")
        models.require_listable()
        if choice.penalty is not None:
            column_penalties(choice.penalty, models.width, study.public_rows(2))
    return price


def _require_no_penalty(choice: Choice) -> None:
    if choice.penalty is not None:
        raise StudyError(
            "A penalty is for the methods 'pcls' and 'pcpl'; block votes need none: leave it out, or name a method."
        )


def _settle_votes(facts: dict[str, Any], choice: Choice) -> Recipe:
    study, models, rows = facts["study"], facts["candidates"], facts["rows"]
    _require_no_penalty(choice)
    held = held_votes(study, models, rows, float(facts["guarantee"].epsilon))
    recipe = Recipe(**facts | {"votes": held})
    return replace(recipe, directions=tells_directions(recipe))


def _settle_scores(facts: dict[str, Any], choice: Choice) -> Recipe:
    recipe = Recipe(**facts)
    recipe.study.require_bounds(f"The method {choice.method!r}")
    recipe.candidates.require_listable()
    return replace(recipe, penalties=_penalties(recipe, choice.penalty))


def _penalties(recipe: Recipe, penalty: Penalty | None) -> tuple[float, ...]:
    if penalty is None:
        left, slack = float(recipe.choice_epsilon), float(recipe.guarantee.delta)
        penalty = default_penalty(recipe.study, recipe.candidates, left, recipe.method, recipe.rows, slack)
    return tuple(column_penalties(penalty, recipe.candidates.width, recipe.rows).tolist())


def held_votes(study: Study, models: Candidates, rows: int | None, epsilon: float) -> VoteRule | EdgeRule | WideRule:
    """How the votes are held, by the public rules: each set of terms in blocks of its own where that serves, else all in one.

    Where there are too many columns for that, each column is judged in blocks of a few rows. `rows` is n where it is public; what
    the study states comes first.
    """
    about = study.expected_rows or rows
    if about is None:
        raise StudyError(
            "Votes need to know about how many rows there are, and here that number is private: state rows in the study, such "
            "as rows = 20000 (a wrong one costs accuracy, never privacy)."
        )
    if edges := edge_rule_for(study, models, about, epsilon):
        return edges
    if isinstance(models, SubsetRule) and models.needs:
        models.require_listable()
    columns, terms = len(study.columns), max(len(vote_units(models)), 1)
    if is_wide(about, columns, terms, epsilon) and study.intercept != "candidate":
        return wide_rule(
            about, columns, terms, epsilon, equal=deals_equally(study, rows), again=looks_again(study, models)
        )
    return vote_rule(about, columns, terms, epsilon)


def tells_directions(recipe: Recipe) -> bool:
    """Whether a choice by votes tells directions: where they cost it nothing, by the public rule."""
    rule, models = recipe.votes, recipe.candidates
    if rule is None or not isinstance(models, SubsetRule):
        return False
    widths, epsilon = [term.bit_count() for term in models.terms], float(recipe.choice_epsilon)
    if isinstance(rule, EdgeRule):
        return clear_edge_directions(rule, widths, epsilon)
    if models.needs:  # drawn from a list
        return False
    clear = clear_wide_directions if isinstance(rule, WideRule) else clear_directions
    return clear(rule, widths, epsilon)  # type: ignore[arg-type]


def _price(study: Study, method: Method, epsilon: Decimal, delta: Price) -> tuple[Guarantee, Decimal]:
    """The guarantee, and the part of its epsilon that buys PCPL's bound."""
    if not RULES[method].needs_delta:
        if exact_delta(delta) != 0:
            raise StudyError(f"delta buys nothing with {method}, whose guarantee is pure: leave it out or set it to 0.")
        return Guarantee(epsilon=epsilon, delta=Decimal(0), neighbors=study.neighbors), Decimal(0)
    if study.neighbors != "replace-one":
        raise StudyError("pcpl uses the number of rows, so it needs neighbors='replace-one'; or use method 'pcls'.")
    whole = Guarantee(epsilon=epsilon, delta=exact_delta(delta, positive=True), neighbors=study.neighbors)
    return whole, Budget(epsilon).split(1, 1)[0].epsilon


CHANCE = 0.8
"""Of being found."""
ODDS = math.log(CHANCE / (1 - CHANCE))


def visible_share(recipe: Recipe, width: float, beside: int = 0) -> float | None:
    """The share of the response's variance that a variable must explain to be in the chosen model with chance .8, about.

    `width` is the range that the choice was paid for; `beside` is how many other variables are in the model, which counts in
    votes beside sets of them. 1 where nothing could be seen, None where no number of rows is public.

    Where all other variables are idle, one that raises the score by g is in with the odds exp(g / scale), scale = range/epsilon,
    under the exponential mechanism, and about as often under the others: so g is log 4 scales, and its penalty. How a share
    raises the score is for the method to say.

    Source: ours; measured for votes at 1,000 to 30,000 rows, where the chance was near .8, between .63 and .97 by the table
    (tests/assume/models/test_visible.py).
    """
    rows = recipe.rows if recipe.study.expected_rows is None else recipe.study.expected_rows
    if rows is None:
        return None
    return RULES[recipe.method].visible(recipe, rows, width, beside)


HOPELESS_SHARE = 0.9
"""Of the variance: a variable that would have to explain more is not found."""


def too_short(recipe: Recipe) -> str | None:
    """One sentence where a table of many columns has too few rows for them, from public facts alone; else None.

    Of a wide table: where five variables that explain the response together could not be found. Of others: where none could. A
    table of few columns that is short for its price is one of which a report says so.
    """
    rows, rule = recipe.study.expected_rows or recipe.rows, recipe.votes
    if rule is None or rows is None or len(recipe.study.columns) < SOMETIMES_WIDE:
        return None
    columns, price = len(recipe.study.columns), float(recipe.choice_epsilon)
    facts = f"{rows:,} rows are too few for {columns:,} columns at epsilon {price:g} for the selection"
    alone = RULES[recipe.method].visible(recipe, rows, float(rule.range), 0)
    if alone >= HOPELESS_SHARE:
        return f"{facts}: expect to find nothing. Use more rows, fewer columns or a larger epsilon."
    if isinstance(rule, WideRule):
        terms, equal = max(len(vote_units(recipe.candidates)), 1), deals_equally(recipe.study, recipe.rows)
        if 5 * visible_in_wide(rule, terms, price, equal=equal, effects=5) > 1:
            return (
                f"{facts} to find several effects: only a variable that explains {alone:.0%} of the variance or more is likely to "
                "be found. Use more rows, fewer columns or a larger epsilon."
            )
    return None


def _visible_to_losses(recipe: Recipe, rows: int, width: float, beside: int) -> float:
    """The share q lowers the loss by q times the response's squares, n r^2/4 of a response whose deviation is half its bound."""
    study = recipe.study
    scale = loss_range(1.0, study.rho, study.neighbors, study.rows_per_person) / float(recipe.choice_epsilon)
    return min((_cheapest(recipe) / study.r**2 + ODDS * scale) / (rows / 4), 1.0)


def _visible_to_profiles(recipe: Recipe, rows: int, width: float, beside: int) -> float:
    """The share q lowers -2 log-likelihood by -n log(1 - q)."""
    if math.isinf(width):
        return 1.0
    return -math.expm1(-(_cheapest(recipe) + ODDS * width / float(recipe.choice_epsilon)) / rows)


def _cheapest(recipe: Recipe) -> float:
    """What the cheapest term costs."""
    if not isinstance(recipe.candidates, SubsetRule):
        return min(recipe.penalties)
    terms = recipe.candidates.terms or (1,)
    return min(sum(price for j, price in enumerate(recipe.penalties) if term >> j & 1) for term in terms)


def _visible_to_votes(recipe: Recipe, rows: int, width: float, beside: int) -> float:
    """A column whose effect is tau residual deviations wins a block of k rows with the chance Phi(tau sqrt(k')), k' = k^2/(k + d).

    Its mean vote must lie above the threshold by what the choice blurs, for its own odds and for half of the nats that other
    sets weigh, and by .84 deviations of the sample. Where each set of terms has blocks of its own, those beside as many terms as
    are in the model count; d is 2 there, the column and an intercept, and what these terms have. A pair of rows, where nothing is
    beside, counts as two thirds of one.
    """
    rule, columns, epsilon = recipe.votes, len(recipe.study.columns), float(recipe.choice_epsilon)
    assert rule is not None
    if isinstance(rule, WideRule):
        equal = deals_equally(recipe.study, recipe.rows)
        return visible_in_wide(rule, max(len(vote_units(recipe.candidates)), 1), epsilon, equal=equal)
    terms = len(recipe.candidates.terms) if isinstance(recipe.candidates, SubsetRule) else columns
    _, nats = expected_nats(max(terms, 1))
    if isinstance(rule, EdgeRule):
        place = min(beside, rule.top)
        fitted = 4 if place == 0 else 2 + place * columns / max(terms, 1)
        blocks, bar = rule.blocks[place], rule.thresholds[place]
    else:
        blocks, bar, fitted = rule.blocks, rule.threshold, float(columns)
    size = rows / blocks
    blur = (ODDS + nats / 2) / (epsilon * blocks)
    sample = NormalDist().inv_cdf(CHANCE) * spread(rows, fitted, blocks, rule.partitions)
    mean = bar / (WHOLE_VOTE * blocks * rule.partitions) + blur + sample
    if not mean < 1:
        return 1.0
    tau = NormalDist().inv_cdf((1 + mean) / 2) / (size / math.sqrt(size + fitted))
    return tau**2 / (1 + tau**2)


_OF_SCORES: dict[str, Any] = {
    "needs_bounds": True,
    "counts_rows": False,
    "holds_votes": False,
    "settle": _settle_scores,
}

RULES: dict[Method, MethodRule] = {
    "votes": MethodRule(
        needs_bounds=False,
        needs_delta=False,
        counts_rows=True,
        holds_votes=True,
        settle=_settle_votes,
        split=split_for_votes,
        visible=_visible_to_votes,
    ),
    "pcls": MethodRule(**_OF_SCORES, needs_delta=False, split=split_for_scores, visible=_visible_to_losses),
    "pcpl": MethodRule(**_OF_SCORES, needs_delta=True, split=split_for_scores, visible=_visible_to_profiles),
}
"""The part of the table of methods that is known before a row is read; `use.methods` has the whole."""
