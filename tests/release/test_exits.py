"""Every exit: what is handed to the samplers adds up to what was charged, is never more, and is committed before it is seen.

A recorder stands in the place of each function that draws; it writes down what it was given and then does its work. An exit is
one line of EXITS; the ranges and spreads are compared with rational numbers computed here, in the direction that matters.
"""

import json
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas
import pytest

import dpselect
from dpselect.assume.candidates import LISTED_AT_MOST
from dpselect.assume.lemmas.sensitivity import margin_range
from dpselect.gather.rows import gather
from dpselect.release.account import Account
from dpselect.release.drawn import Drawn
from dpselect.release.estimate import solved
from dpselect.release.families import BOX
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.sealed import Sealed
from dpselect.release.selection import selection_charge
from dpselect.use.methods import METHODS
from tests.release.exits import plan_estimate, release_estimate, release_selection

NEIGHBORS = ("replace-one", "add-remove-one")
MECHANISMS = ("permute-and-flip", "exponential", "laplace")
EPSILON, DELTA = "0.7", "0.000001"
ROWS = 300
A_HAIR = Fraction(1, 10**9)

# What draws, where the exits find it, and which of its arguments are the price.
DRAWS = {
    "choose": (
        "dpselect.release.selection.choose",
        lambda scores, mechanism, epsilon: (epsilon, scores.range, mechanism),
    ),
    "set": (
        "dpselect.release.selection.draw_candidate",
        lambda margins, epsilon, mechanism: (epsilon, margins.range, mechanism),
    ),
    "edges": (
        "dpselect.release.selection.draw_edge_candidate",
        lambda margins, epsilon, mechanism: (epsilon, margins.range, mechanism),
    ),
    "bound": (
        "dpselect.release.selection.noisy_least_loss",
        lambda loss, sensitivity, epsilon, delta: (epsilon, sensitivity, delta),
    ),
    "moments": ("dpselect.randomize.noisy_moments.draw", lambda numbers, noise: (noise.epsilon, numbers, noise)),
    "gaussian": (
        "dpselect.randomize.rounds_noise.gaussian_draw",
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
    commit = Ledger.commit

    def committing(ledger, charges, text, **more):
        commitment = commit(ledger, charges, text, **more)
        seen.extend(Event("charge", charge.epsilon, charge, commitment) for charge in charges)
        return commitment

    monkeypatch.setattr(Ledger, "commit", committing)
    for name in ("keep", "delivered"):
        real = getattr(Ledger, name)

        def noting(ledger, id, *text, name=name, real=real, **after):
            real(ledger, id, *text, **after)
            seen.append(Event(name, None, id, text))

        monkeypatch.setattr(Ledger, name, noting)
    return seen


def a_study(neighbors, width=3):
    named = [dpselect.Numeric(f"x{j}", -1, 1) for j in range(width)]
    more = {"rows": ROWS} if neighbors == "add-remove-one" else {}
    return dpselect.Study(dpselect.Numeric("y", -2, 2), named, radius=1.5, neighbors=neighbors, **more)


def table(width=3):
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, (ROWS, width))
    return {**{f"x{j}": x[:, j] for j in range(width)}, "y": np.clip(x[:, 0] + rng.normal(0, 0.5, ROWS), -2, 2)}


def exact_rho(study):
    return Fraction(study.radius) / Fraction(study.r)


def loss_range(study):
    """w of DESIGN 1.3 in rational numbers, with the response scaled to [-1, 1]."""
    rho = exact_rho(study)
    once = (1 + rho) ** 2 - max(1 - rho, Fraction(0)) ** 2
    return 2 * once if study.neighbors == "replace-one" else once


def selected(method, mechanism, neighbors, width=3, **more):
    def release(ledger):
        delta = DELTA if method == "pcpl" else 0
        return dpselect.select(
            table(width), a_study(neighbors, width), epsilon=EPSILON, delta=delta, method=method, mechanism=mechanism,
            ledger=ledger, **more,
        )  # fmt: skip

    return release


def estimated(noise, neighbors):
    def release(ledger):
        stated = a_study(neighbors)
        delta = DELTA if noise == "gaussian" else 0
        plan = plan_estimate(stated, (0, 1), epsilon=EPSILON, delta=delta, noise=noise, family=BOX)
        return release_estimate(gather(table(), stated), plan, Account(ledger))

    return release


def rounds(family, neighbors):
    def release(ledger):
        rows = table(1)
        rows["y"] = np.floor(rows["y"] + 2) if family == "poisson" else rows["y"]
        rows["y"] = (rows["y"] > 0).astype(int) if family == "binomial" else rows["y"]
        stated = RESPONSES[family]
        more = {"rows": ROWS} if neighbors == "add-remove-one" else {}
        study = dpselect.Study(stated, [dpselect.Numeric("x0", -1, 1)], neighbors=neighbors, **more)
        return dpselect.estimate(rows, ["x0"], epsilon=EPSILON, delta=DELTA, study=study, ledger=ledger)

    return release


RESPONSES = {
    "gaussian": dpselect.Numeric("y", -2, 2),
    "binomial": dpselect.Binary("y", [0, 1]),
    "poisson": dpselect.Count("y", upper=5),
}


CHOICES = {
    f"{method} {mechanism} {neighbors}": (method, mechanism, neighbors)
    for method in ("votes", "pcls", "pcpl")
    for mechanism in MECHANISMS
    for neighbors in NEIGHBORS
    if not (method == "pcpl" and neighbors == "add-remove-one") and not (method == "votes" and mechanism == "laplace")
}
EXITS = {
    **{f"select {name}": selected(*each) for name, each in CHOICES.items()},
    **{f"set {each}": selected("votes", "permute-and-flip", each, width=26) for each in NEIGHBORS},
    **{f"list {each}": selected("votes", "permute-and-flip", each, candidates=[["x0"], ["x1"]]) for each in NEIGHBORS},
    **{
        f"long list {each}": selected(
            "votes", "permute-and-flip", each, width=26, candidates=[[f"x{j}"] for j in range(26)]
        )
        for each in NEIGHBORS
    },
    **{f"estimate {noise} {each}": estimated(noise, each) for noise in ("laplace", "gaussian") for each in NEIGHBORS},
    **{f"rounds {family} {each}": rounds(family, each) for family in RESPONSES for each in NEIGHBORS},
}


def handed(events):
    """The pure prices that were handed out, exactly."""
    return [Fraction(each.price) for each in events if each.what in ("choose", "set", "edges", "bound", "moments")]


@pytest.mark.parametrize("release", EXITS.values(), ids=EXITS)
def test_what_is_drawn_adds_up_to_what_was_charged(release, events):
    ledger = Ledger(epsilon=5, delta="0.001")
    released = release(ledger)
    (charge,) = [each.about for each in events if each.what == "charge"]
    (entry,) = ledger.entries()
    assert (entry.mechanism, entry.parameters, entry.epsilon) == (charge.mechanism, charge.parameters, charge.epsilon)
    assert Fraction(charge.epsilon) == Fraction(EPSILON)
    if not any(each.what == "gaussian" for each in events):
        total = sum(handed(events))
        assert total <= Fraction(charge.epsilon)
        assert total >= Fraction(charge.epsilon) * (1 - A_HAIR)  # nothing that was paid for is thrown away
    assert (entry.neighbors, entry.unit) == (released.guarantee.neighbors, "row")
    assert Fraction(released.guarantee.epsilon) == Fraction(charge.epsilon)
    assert Fraction(released.guarantee.delta) == Fraction(charge.delta)


def read_back(ledger, id):
    """The release that a ledger holds."""
    text, receipts = ledger.release(id), ledger.receipts(id)
    if json.loads(text.split("\n")[0])["format"] == "dpselect sealed 1":
        sealed = Sealed.from_text(text).with_receipts(receipts)
        return sealed.selection if sealed.estimate is None else solved(sealed.estimate)
    return solved(Drawn.from_json(text).with_receipts(receipts))


@pytest.mark.parametrize("release", EXITS.values(), ids=EXITS)
def test_what_is_handed_over_was_committed_as_it_is(release, events):
    """Draws may come before the charge, since nobody sees them; what anybody sees, or draws from, is in the ledger before."""
    ledger = Ledger(epsilon=5, delta="0.001")
    released = release(ledger)
    order = [each.what for each in events]
    assert order.count("charge") == 1
    assert order[-1] == "delivered"
    (id,) = {each.about for each in events if each.what in ("keep", "delivered")}
    assert id == ledger.entries()[0].release
    assert read_back(ledger, id) == released
    assert order[order.index("charge") :] == ["charge", "delivered"]
    assert ledger.undelivered() == ()


@pytest.mark.parametrize("release", [value for name, value in EXITS.items() if name.startswith("rounds")])
@pytest.mark.parametrize("place", ["file", "memory"])
def test_rounds_of_rows_that_are_read_again_are_kept_one_by_one(release, place, events, monkeypatch, tmp_path):
    """The answers of each ask are in the ledger before the next one follows from them; but for rows that have no address."""
    monkeypatch.setattr("dpselect.release.rounds.drawing.MAX_ROUND_BYTES", 0)
    ledger = Ledger(epsilon=5, delta="0.001")
    if place == "memory":
        release(ledger)
        order = [each.what for each in events]
        assert order == ["gaussian"] * (len(order) - 2) + ["charge", "delivered"]
        return
    real, file = dpselect.estimate, tmp_path / "rows.csv"

    def of_a_file(rows, *given, **more):
        pandas.DataFrame(rows).to_csv(file, index=False)
        return real(file, *given, **more)

    monkeypatch.setattr(dpselect, "estimate", of_a_file)
    released = release(ledger)
    (id,) = {each.release for each in ledger.entries()}
    assert read_back(ledger, id) == released
    drawn = [part for ask in released.released.asks for part in (*["gaussian"] * len(ask), "keep")]
    assert [each.what for each in events] == ["charge", *drawn, "delivered"]
    assert len(released.released.asks) > 3


@pytest.mark.parametrize("release", EXITS.values(), ids=EXITS)
def test_without_a_ledger_the_same_is_drawn(release, events):
    with_ledger = release(Ledger(epsilon=5, delta="0.001"))
    prices = [(each.what, each.price) for each in events if each.what in DRAWS and each.what != "gaussian"]
    events.clear()
    assert release(None).guarantee == with_ledger.guarantee
    assert [(each.what, each.price) for each in events if each.what != "gaussian"] == prices


@pytest.mark.parametrize(("method", "mechanism", "neighbors"), CHOICES.values(), ids=CHOICES)
def test_a_choice_is_drawn_by_the_charged_mechanism_over_the_whole_range(method, mechanism, neighbors, events):
    released = selected(method, mechanism, neighbors)(Ledger(epsilon=5, delta="0.001"))
    (charge,) = [each.about for each in events if each.what == "charge"]
    (choice,) = [each for each in events if each.what == ("edges" if method == "votes" else "choose")]
    assert choice.more == mechanism
    assert charge.mechanism == (f"pcpl/{mechanism}" if method == "pcpl" else mechanism)
    assert choice.about == released.range
    stated = released.study
    if method == "votes":
        assert choice.about == margin_range(released.recipe.votes.partitions)
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
def test_a_set_beyond_every_list_is_drawn_at_the_same_price(neighbors, events):
    released = EXITS[f"set {neighbors}"](Ledger(epsilon=5))
    assert released.recipe.candidates.count > LISTED_AT_MOST
    (drawn,) = [each for each in events if each.what == "set"]
    assert Fraction(drawn.price) == Fraction(EPSILON)
    assert drawn.about == margin_range(released.recipe.votes.partitions)
    assert [each.about.mechanism for each in events if each.what == "charge"] == ["permute-and-flip"] == [drawn.more]


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize(("name", "what"), [("list", "edges"), ("long list", "choose")])
def test_models_named_one_by_one_are_drawn_from_the_list(neighbors, name, what, events):
    released = EXITS[f"{name} {neighbors}"](Ledger(epsilon=5))
    (drawn,) = [each for each in events if each.what in ("choose", "set", "edges")]
    assert drawn.what == what
    assert drawn.about == margin_range(released.recipe.votes.partitions)
    assert set(released.directions.values()) == {None}


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_noise_on_moments_is_as_wide_as_its_price_says(noise, neighbors, events):
    released = estimated(noise, neighbors)(Ledger(epsilon=5, delta="0.001"))
    (drawn,) = [each for each in events if each.what == "moments"]
    (charge,) = [each.about for each in events if each.what == "charge"]
    stated = drawn.more
    assert len(drawn.about) == len(stated.scale.weights)
    assert set(charge.parameters) == {"version"}  # nothing that depends on columns, which may be drawn with the noise
    assert charge.mechanism == "noisy-moments"
    sensitivity, spread = Fraction(stated.scale.sensitivity), Fraction(stated.spread)
    if noise == "laplace":
        assert Fraction(charge.delta) == 0
        assert sensitivity / spread <= Fraction(EPSILON)
    else:
        assert Fraction(charge.delta) == Fraction(DELTA)
        assert sensitivity**2 / (2 * spread**2) <= Fraction(stated.rho)
    assert released.released.noise is stated


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("family", RESPONSES)
def test_the_rounds_of_an_estimate_share_one_mu(family, neighbors, events):
    released = rounds(family, neighbors)(Ledger(epsilon=5, delta="0.001"))
    (charge,) = [each.about for each in events if each.what == "charge"]
    draws = [each for each in events if each.what == "gaussian"]
    spent = sum(Fraction(each.price) ** 2 for each in draws)
    rho = Fraction(charge.parameters["rho"])
    assert 2 * rho * (1 - A_HAIR) < spent <= 2 * rho
    made = [each.draw for each in released.released.draws]
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
    text = json.dumps(released.to_dict()) + str(released) + str([dict(each.parameters) for each in ledger.entries()])
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
    assert ledger.entries() == ()


def test_what_does_not_belong_together_is_refused_before_the_charge(events):
    """The refusals of check_selection, none of which a caller can reach through the doors."""
    from dpselect.assume.recipe import Choice, make_recipe
    from dpselect.penalize.scores import Scores

    account = Account(Ledger(epsilon=5))

    def recipe_of(method, width=3):
        return make_recipe(a_study("replace-one", width), Choice(method), rows=ROWS, epsilon=EPSILON)

    def scored(method):
        made = recipe_of(method)
        sums, _ = METHODS[method].gather(table(), made.study, made, None, None)
        return METHODS[method].scores(sums, made)

    recipe, values = recipe_of("pcls"), scored("pcls").values
    unlike = Scores(values[:-1].copy(), 1.0, "pcls")
    broken = Scores(np.where(np.arange(values.size) == 1, np.nan, values), 1.0, "pcls")
    for scores, sentence in ((unlike, "do not belong"), (broken, "must be finite")):
        with pytest.raises(dpselect.DataError, match=sentence):
            release_selection(scores, recipe, account)
    wider = recipe_of("pcls", 4)
    from msgspec.structs import replace

    with pytest.raises(dpselect.StudyError, match="other columns"):
        release_selection(Scores(values, 1.0, "pcls"), replace(recipe, candidates=wider.candidates), account)
    with pytest.raises(dpselect.DataError, match="margins do not belong"):
        release_selection(scored("votes"), recipe, account)
    assert events == []


def test_a_charge_says_what_the_recipe_is():
    from dpselect.assume.recipe import Choice, make_recipe

    recipe = make_recipe(a_study("replace-one"), Choice("pcpl", "exponential"), rows=ROWS, epsilon=EPSILON, delta=DELTA)
    charge = selection_charge(recipe)
    assert charge.parameters["recipe"] == recipe.hash
    assert charge.study == recipe.study.hash
    assert charge.parameters["candidates"] == recipe.candidates.count
    assert charge.parameters["method"] == "pcpl"
    assert math.isclose(float(charge.delta), 1e-6)
