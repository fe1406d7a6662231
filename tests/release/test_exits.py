"""Every exit: what is handed to the samplers adds up to what was charged, is never more, and is drawn after the charge.

A recorder stands in the place of each function that draws; it writes down what it was given and then does its work. An exit is
one line of EXITS; the ranges and spreads are compared with rational numbers computed here, in the direction that matters.
"""

import json
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import dpselect
from dpselect.assume.models.candidates import LISTED_AT_MOST
from dpselect.gather.responses import count_responses
from dpselect.gather.table import gather_table
from dpselect.randomize.interval import edges
from dpselect.release.account import Account
from dpselect.release.estimate import plan_estimate, release_estimate
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.select import release_selection, selection_charge
from dpselect.release.tune import release_bounds, release_penalty, release_radius

NEIGHBORS = ("replace-one", "add-remove-one")
MECHANISMS = ("permute-and-flip", "exponential", "laplace")
EPSILON, DELTA = "0.7", "0.000001"
ROWS = 300
A_HAIR = Fraction(1, 10**9)

# What draws, where the exits find it, and which of its arguments are the price.
DRAWS = {
    "choose": ("dpselect.release.select.choose", lambda scores, mechanism, epsilon: (epsilon, scores.range, mechanism)),
    "tune": ("dpselect.release.tune.choose", lambda scores, mechanism, epsilon: (epsilon, scores.range, mechanism)),
    "set": ("dpselect.release.select.draw_set", lambda margins, epsilon: (epsilon, margins.range, "exponential")),
    "bound": (
        "dpselect.release.select.noisy_least_loss",
        lambda loss, sensitivity, epsilon, delta: (epsilon, sensitivity, delta),
    ),
    "moments": ("dpselect.randomize.noisy_moments.draw", lambda numbers, noise: (noise.epsilon, numbers, noise)),
    "gaussian": (
        "dpselect.release.odds.release.gaussian_draw",
        lambda numbers, sensitivity, mu: (mu, sensitivity, None),
    ),
}


@dataclass(frozen=True)
class Event:
    what: str
    price: object
    about: object
    more: object


@pytest.fixture
def events(monkeypatch):
    """All charges and draws, in order."""
    seen = []
    for what, (where, read) in DRAWS.items():
        module, name = where.rsplit(".", 1)
        real = getattr(__import__(module, fromlist=[name]), name)

        def recorder(*arguments, real=real, read=read, what=what):
            seen.append(Event(what, *read(*arguments)))
            return real(*arguments)

        monkeypatch.setattr(where, recorder)
    charge = Ledger.charge

    def charging(ledger, record):
        receipt = charge(ledger, record)
        seen.append(Event("charge", record.epsilon, record, receipt))
        return receipt

    monkeypatch.setattr(Ledger, "charge", charging)
    return seen


def study(neighbors, width=3):
    named = [dpselect.Numeric(f"x{j}", -1, 1) for j in range(width)]
    more = {"rows": ROWS} if neighbors == "add-remove-one" else {}
    return dpselect.Assumptions(dpselect.Numeric("y", -2, 2), named, radius=1.5, neighbors=neighbors, **more)


def table(width=3):
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, (ROWS, width))
    return {**{f"x{j}": x[:, j] for j in range(width)}, "y": np.clip(x[:, 0] + rng.normal(0, 0.5, ROWS), -2, 2)}


def binary(neighbors):
    more = {"rows": ROWS} if neighbors == "add-remove-one" else {}
    return dpselect.Assumptions(
        dpselect.Binary("y", [0, 1]), [dpselect.Numeric("x0", -1, 1)], neighbors=neighbors, **more
    )


def exact_rho(assumptions):
    return Fraction(assumptions.radius) / Fraction(assumptions.r)


def loss_range(assumptions):
    """w of DESIGN 1.3 in rational numbers, with the response scaled to [-1, 1]."""
    rho = exact_rho(assumptions)
    once = (1 + rho) ** 2 - max(1 - rho, Fraction(0)) ** 2
    return 2 * once if assumptions.neighbors == "replace-one" else once


def selected(method, mechanism, neighbors, width=3, **more):
    def release(ledger):
        delta = DELTA if method == "pcpl" else 0
        return dpselect.select(
            table(width), study(neighbors, width), epsilon=EPSILON, delta=delta, method=method, mechanism=mechanism,
            ledger=ledger, **more,
        )  # fmt: skip

    return release


def estimated(noise, neighbors):
    def release(ledger):
        stated = study(neighbors)
        plan = plan_estimate(stated, (0, 1), epsilon=EPSILON, delta=DELTA if noise == "gaussian" else 0, noise=noise)
        return release_estimate(gather_table(table(), stated), plan, Account(ledger))

    return release


def tuned(what, neighbors):
    def release(ledger):
        stated, account = study(neighbors), Account(ledger)
        if what == "bounds":
            beyond = count_responses(table(), stated, edges(*stated.response.bounds, 256))
            return release_bounds(beyond, stated, epsilon=EPSILON, account=account)
        door = {"radius": release_radius, "penalty": release_penalty}[what]
        return door(gather_table(table(), stated), stated, epsilon=EPSILON, choice_epsilon=1, account=account)

    return release


def odds(neighbors):
    def release(ledger):
        rows = table(1)
        rows["y"] = (rows["y"] > 0).astype(int)
        return dpselect.estimate(
            rows, ["x0"], epsilon=EPSILON, delta=DELTA, assumptions=binary(neighbors), scale="odds", ledger=ledger
        )

    return release


CHOICES = {
    f"{method} {mechanism} {neighbors}": (method, mechanism, neighbors)
    for method in ("votes", "pcls", "pcpl")
    for mechanism in MECHANISMS
    for neighbors in NEIGHBORS
    if not (method == "pcpl" and neighbors == "add-remove-one")
}
EXITS = {
    **{f"select {name}": selected(*each) for name, each in CHOICES.items()},
    **{f"set {each}": selected("votes", "exponential", each, width=26) for each in NEIGHBORS},
    **{f"estimate {noise} {each}": estimated(noise, each) for noise in ("laplace", "gaussian") for each in NEIGHBORS},
    **{f"tune {what} {each}": tuned(what, each) for what in ("bounds", "radius", "penalty") for each in NEIGHBORS},
    **{f"odds {each}": odds(each) for each in NEIGHBORS},
}


def handed(events):
    """The pure prices that were handed out, exactly."""
    return [Fraction(each.price) for each in events if each.what in ("choose", "tune", "set", "bound", "moments")]


@pytest.mark.parametrize("release", EXITS.values(), ids=EXITS)
def test_what_is_drawn_adds_up_to_what_was_charged_and_comes_after_it(release, events):
    ledger = Ledger(epsilon=5, delta="0.001")
    released = release(ledger)
    assert [each.what for each in events].index("charge") == 0
    (charge,) = [each.about for each in events if each.what == "charge"]
    (record,) = ledger.records()
    assert (record.mechanism, record.parameters, record.epsilon) == (
        charge.mechanism,
        charge.parameters,
        charge.epsilon,
    )
    assert Fraction(charge.epsilon) == Fraction(EPSILON)
    if not any(each.what == "gaussian" for each in events):
        total = sum(handed(events))
        assert total <= Fraction(charge.epsilon)
        assert total >= Fraction(charge.epsilon) * (1 - A_HAIR)  # nothing that was paid for is thrown away
    assert record.parameters["neighbors"] == released.guarantee.neighbors
    assert Fraction(released.guarantee.epsilon) == Fraction(charge.epsilon)
    assert Fraction(released.guarantee.delta) == Fraction(charge.delta)


@pytest.mark.parametrize("release", EXITS.values(), ids=EXITS)
def test_without_a_ledger_the_same_is_drawn(release, events):
    with_ledger = release(Ledger(epsilon=5, delta="0.001"))
    prices = [(each.what, each.price) for each in events if each.what not in ("charge", "gaussian")]
    events.clear()
    assert release(None).guarantee == with_ledger.guarantee
    assert [(each.what, each.price) for each in events if each.what != "gaussian"] == prices


@pytest.mark.parametrize(("method", "mechanism", "neighbors"), CHOICES.values(), ids=CHOICES)
def test_a_choice_is_drawn_by_the_charged_mechanism_over_the_whole_range(method, mechanism, neighbors, events):
    released = selected(method, mechanism, neighbors)(Ledger(epsilon=5, delta="0.001"))
    (charge,) = [each.about for each in events if each.what == "charge"]
    (choice,) = [each for each in events if each.what == "choose"]
    assert choice.more == mechanism
    assert charge.mechanism == (f"pcpl/{mechanism}" if method == "pcpl" else mechanism)
    assert choice.about == released.range
    stated = released.assumptions
    if method == "votes":
        assert choice.about == 4 * released.recipe.votes.partitions
    elif method == "pcls":
        tau = (1 + exact_rho(stated)) ** 2 / 2**20
        least = loss_range(stated) + 4 * tau
        assert least < Fraction(choice.about) < least * (1 + Fraction(1, 10**5))
    else:
        (bound,) = [each for each in events if each.what == "bound"]
        half = Fraction(EPSILON) / 2
        assert [Fraction(bound.price) <= half, Fraction(choice.price) <= half] == [True, True]
        assert Fraction(charge.parameters["bound_epsilon"]) == half
        assert Fraction(charge.parameters["choice_epsilon"]) == half
        assert Fraction(bound.more) <= Fraction(DELTA)
        assert Fraction(bound.more) >= Fraction(DELTA) * (1 - A_HAIR)
        assert Fraction(bound.about) > (1 + exact_rho(stated)) ** 2


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_a_set_beyond_every_list_is_drawn_by_the_exponential_mechanism(neighbors, events):
    released = EXITS[f"set {neighbors}"](Ledger(epsilon=5))
    assert released.recipe.candidates.count > LISTED_AT_MOST
    (drawn,) = [each for each in events if each.what == "set"]
    assert Fraction(drawn.price) == Fraction(EPSILON)
    assert drawn.about == 4 * released.recipe.votes.partitions
    assert [each.about.mechanism for each in events if each.what == "charge"] == ["exponential"]


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_noise_on_moments_is_as_wide_as_its_price_says(noise, neighbors, events):
    released = estimated(noise, neighbors)(Ledger(epsilon=5, delta="0.001"))
    (drawn,) = [each for each in events if each.what == "moments"]
    (charge,) = [each.about for each in events if each.what == "charge"]
    stated = drawn.more
    assert len(drawn.about) == len(stated.scale.weights)
    assert charge.parameters["sensitivity"] == stated.scale.sensitivity
    assert charge.parameters["spread"] == stated.spread
    sensitivity, spread = Fraction(stated.scale.sensitivity), Fraction(stated.spread)
    if noise == "laplace":
        assert (charge.mechanism, Fraction(charge.delta)) == ("laplace-moments", 0)
        assert "rho" not in charge.parameters
        assert sensitivity / spread <= Fraction(EPSILON)
    else:
        assert (charge.mechanism, Fraction(charge.delta)) == ("gaussian", Fraction(DELTA))
        assert sensitivity**2 / (2 * spread**2) <= Fraction(charge.parameters["rho"])
        assert Fraction(charge.parameters["rho"]) == Fraction(stated.rho)
    assert released.noisy.noise is stated


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("what", ["bounds", "radius", "penalty"])
def test_what_is_tuned_is_drawn_over_the_whole_range(what, neighbors, events):
    released = tuned(what, neighbors)(Ledger(epsilon=5))
    (drawn,) = [each for each in events if each.what == "tune"]
    (charge,) = [each.about for each in events if each.what == "charge"]
    assert (drawn.more, charge.mechanism, charge.what) == ("permute-and-flip", "permute-and-flip", f"tune {what}")
    assert drawn.about == released.range
    stated = study(neighbors)
    if what == "penalty":
        assert Fraction(drawn.about) > 2 * loss_range(stated)
    elif what == "radius":
        largest = (1 + Fraction(4)) ** 2  # the largest of RADII, and then max(r - R, 0) = 0
        assert Fraction(drawn.about) > (2 if neighbors == "replace-one" else 1) * largest
    else:
        assert Fraction(drawn.about) >= (2 if neighbors == "replace-one" else 1) * Fraction(3, 4)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_the_rounds_of_odds_ratios_share_one_mu(neighbors, events):
    released = odds(neighbors)(Ledger(epsilon=5, delta="0.001"))
    (charge,) = [each.about for each in events if each.what == "charge"]
    draws = [each for each in events if each.what == "gaussian"]
    spent = sum(Fraction(each.price) ** 2 for each in draws)
    rho = Fraction(charge.parameters["rho"])
    assert 2 * rho * (1 - A_HAIR) < spent <= 2 * rho
    made = [released.counts, *(part for one in released.rounds for part in (one.gradient, one.gram))]
    assert len(made) == len(draws)
    for each, part in zip(draws, made, strict=True):
        assert part.sensitivity == each.about
        # whole_mu keeps 2^-30 of mu back for what doubles lose here
        assert Fraction(part.sensitivity) / Fraction(part.spread) <= Fraction(each.price) * (1 + Fraction(1, 2**40))
        assert Fraction(part.sensitivity) ** 2 / (2 * Fraction(part.spread) ** 2) <= Fraction(part.rho)


SECRET = {name: each for name, each in EXITS.items() if "add-remove-one" in name}


@pytest.mark.parametrize("release", SECRET.values(), ids=SECRET)
def test_a_private_number_of_rows_stands_in_no_release(release, monkeypatch):
    """The study states 300 rows and the table has 287: only the first may be read anywhere."""
    real = table

    def shorter(width=3):
        return {name: values[:287] for name, values in real(width).items()}

    monkeypatch.setitem(globals(), "table", shorter)
    ledger = Ledger(epsilon=5, delta="0.001")
    released = release(ledger)
    text = json.dumps(released.to_dict()) + str(released) + str([dict(each.parameters) for each in ledger.records()])
    values = json.loads(json.dumps(released.to_dict()))
    assert 287 not in list(_numbers(values))
    assert "287" not in text.replace("0.287", "").split()


def _numbers(values):
    if isinstance(values, dict):
        values = list(values.values())
    if isinstance(values, list):
        for each in values:
            yield from _numbers(each)
    elif isinstance(values, int | float) and not isinstance(values, bool):
        yield values


@pytest.mark.parametrize("release", EXITS.values(), ids=EXITS)
def test_nothing_is_drawn_where_the_ledger_refuses(release, events):
    ledger = Ledger(epsilon="0.1", delta="0.001")
    with pytest.raises(dpselect.BudgetExceeded):
        release(ledger)
    assert events == []
    assert ledger.records() == ()


def test_what_does_not_belong_together_is_refused_before_the_charge(events):
    """The refusals of release_selection, none of which a caller can reach through the doors."""
    from dpselect.assume.models.budget import Budget
    from dpselect.assume.models.choice import Choice
    from dpselect.minimize.minimize import minimize
    from dpselect.penalize.penalize import penalize
    from dpselect.penalize.scores import Scores
    from dpselect.use.gathering import gather_for

    account = Account(Ledger(epsilon=5))
    made = {
        method: gather_for(table(), study("replace-one"), Choice(method), Budget(EPSILON))
        for method in ("pcls", "votes")
    }
    recipe = made["pcls"].recipe
    values = penalize(minimize(made["pcls"].sums, recipe), recipe).values
    unlike = Scores(values[:-1].copy(), 1.0, "pcls")
    broken = Scores(np.where(np.arange(values.size) == 1, np.nan, values), 1.0, "pcls")
    for scores, sentence in ((unlike, "do not belong"), (broken, "must be finite")):
        with pytest.raises(dpselect.DataError, match=sentence):
            release_selection(scores, recipe, account)
    wider = gather_for(table(4), study("replace-one", 4), Choice("pcls"), Budget(EPSILON)).recipe
    from dataclasses import replace

    with pytest.raises(dpselect.AssumptionError, match="other columns"):
        release_selection(Scores(values, 1.0, "pcls"), replace(recipe, candidates=wider.candidates), account)
    margins = penalize(minimize(made["votes"].sums, made["votes"].recipe), made["votes"].recipe)
    with pytest.raises(dpselect.DataError, match="margins do not belong"):
        release_selection(margins, recipe, account)
    assert events == []


def test_a_charge_says_what_the_recipe_is():
    from dpselect.assume.models.choice import Choice
    from dpselect.assume.models.recipe import make_recipe

    recipe = make_recipe(study("replace-one"), Choice("pcpl", "exponential"), rows=ROWS, epsilon=EPSILON, delta=DELTA)
    charge = selection_charge(recipe)
    assert charge.parameters["recipe"] == recipe.hash
    assert charge.assumptions == recipe.assumptions.hash
    assert charge.parameters["candidates"] == recipe.candidates.count
    assert charge.parameters["method"] == "pcpl"
    assert math.isclose(float(charge.delta), 1e-6)
