"""Votes in wide tables: what they are by the definition, symmetric under no association, and as a whole selection."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from dpselect import Numeric, Study, select
from dpselect.assume.candidates import SubsetRule
from dpselect.assume.power import too_short
from dpselect.assume.recipe import Choice, make_recipe
from dpselect.assume.wide_rule import DUAL_ROWS, PAIR_ROWS, WideRule, is_wide, wide_rule
from dpselect.errors import DataError, ShortTableWarning
from dpselect.gather.wide_rows import STAYS
from dpselect.minimize.votes.wide import blocks_by_size, dual_votes, pair_votes, ring_votes
from dpselect.penalize.margins import Margins
from dpselect.rehearse.chances.votes import VoteChances


def a_study(p, **more):
    return Study(Numeric("y"), [Numeric(f"x{j}") for j in range(p)], **more)


def a_table(rng, n, p):
    X = rng.normal(size=(n, p))
    return X, X[:, [1, 3, 5]].sum(axis=1) + rng.normal(size=n)


def test_pairs_and_rings_by_their_definition():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (40, 7)).astype(np.float32), rng.integers(0, 3, 40).astype(float)
    for size in (2, 3, 5):
        places = rng.permutation(40)[: 40 // size * size].reshape(-1, size)
        votes = pair_votes(X, y, places)
        for own, found in zip(places, votes, strict=True):
            ring = list(zip(own, np.roll(own, -1), strict=True))[: 1 if size == 2 else size]
            signs = [np.sign(X[i] - X[k]) * np.sign(y[i] - y[k]) for i, k in ring]
            assert (found == np.rint(64 * np.mean(signs, axis=0))).all()


def test_dual_votes_by_their_definition():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(8, 300)).astype(np.float32), rng.normal(size=8)

    def ranks(values):
        return np.sign(values[:, None] - values[None]).sum(axis=1)

    Z, own = ranks(X), ranks(y)
    K = Z @ Z.T
    K = K / (np.trace(K) / 8) + 0.05 * np.eye(8)
    score = Z.T @ np.linalg.solve(K, np.linalg.solve(K, np.linalg.solve(K, own)))
    clear = np.abs(score) > 1e-3 * np.abs(score).max()
    assert clear.mean() > 0.9
    assert (dual_votes(X, y, np.arange(8)[None])[0] == 64 * np.sign(score))[clear].all()


NOTHING = {
    "8% x 8%": lambda rng, n, p: (rng.random((n, p)) < 0.08, rng.random(n) < 0.08),
    "16% x 16%": lambda rng, n, p: (rng.random((n, p)) < 0.16, rng.random(n) < 0.16),
    "mostly zero x 16%": lambda rng, n, p: (
        rng.lognormal(size=(n, p)) * (rng.random((n, p)) < 0.2),
        rng.random(n) < 0.16,
    ),
    "heavy tails": lambda rng, n, p: (rng.pareto(0.5, (n, p)), rng.pareto(0.5, n)),
}


def deviations_of_nothing(kind, size):
    """How many standard errors the mean vote of independent blocks is away from zero, where x has nothing to do with y."""
    rng = np.random.default_rng(2)
    n = 4000
    X, y = NOTHING[kind](rng, n, 300)
    places = rng.permutation(n).reshape(-1, size)
    votes = (pair_votes if size == PAIR_ROWS else dual_votes)(X.astype(np.float32), y.astype(float), places)
    each = votes.mean(axis=1)
    return each.mean() / (each.std() / np.sqrt(len(each)))


@pytest.mark.parametrize("size", [PAIR_ROWS, DUAL_ROWS])
@pytest.mark.parametrize("kind", NOTHING)
def test_votes_are_symmetric_where_there_is_nothing(kind, size):
    """Within 4.5 standard errors, which a right rule leaves seven times in a million."""
    assert abs(deviations_of_nothing(kind, size)) < 4.5


@pytest.mark.parametrize("kind", [kind for kind in NOTHING if kind != "heavy tails"])
def test_signs_alone_are_biased_where_ties_lie_on_one_side(kind, monkeypatch):
    """So it is the rings that make dual votes symmetric: without them the mean is off by .07 to .14 of a vote."""
    monkeypatch.setattr("dpselect.minimize.votes.wide._cubes", lambda ranks: np.zeros(ranks[0].shape, np.int32))
    assert deviations_of_nothing(kind, DUAL_ROWS) < -9


def test_blocks_by_size_have_every_row_once():
    dealt = np.random.default_rng(3).integers(0, 30, 100).astype(np.uint32)
    seen = np.concatenate([places.ravel() for places in blocks_by_size(dealt)])
    assert len(set(seen.tolist())) == len(seen) == sum(c for c in np.bincount(dealt) if c > 1)


def test_the_rule_is_a_function_of_public_facts():
    assert not is_wide(20_000, 30, 30, 1.0)
    assert is_wide(20_000, 200, 200, 1.0)
    assert is_wide(1000, 100, 100, 1.0)
    assert wide_rule(2000, 10_001, 10_000, 1.0).size == PAIR_ROWS
    assert wide_rule(8000, 10_001, 10_000, 1.0).size == DUAL_ROWS
    long = wide_rule(10**6, 2000, 2000, 1.0)
    assert long.share == pytest.approx(0.06)
    for rule in (long, wide_rule(10, 20_000, 20_000, 0.01)):
        assert WideRule.from_dict(rule.to_dict()) == rule


@pytest.mark.parametrize("equal", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_a_selection_of_the_right_columns(equal):
    """Of 400 columns, from arrays and from a table; with a stated number of rows blocks are not equal."""
    rng = np.random.default_rng(4)
    X, y = a_table(rng, 3000, 400)
    study = a_study(400) if equal else a_study(400, neighbors="add-remove-one", rows=3000)
    names = {f"x{j}": X[:, j] for j in range(400)}
    for source in ((X, y), pa.table(names | {"y": y})):
        selection = select(source, study, epsilon=2)
        assert selection.variables == ("intercept", "x1", "x3", "x5")
        assert selection.directions == {"x1": "up", "x3": "up", "x5": "up"}
    assert isinstance(selection.recipe.votes, WideRule)


def test_a_short_table_is_told_before_it_is_charged(tmp_path):
    X, y = a_table(np.random.default_rng(5), 300, 400)
    ledger = tmp_path / "l.db"
    with pytest.warns(ShortTableWarning, match=r"^300 rows are too few for 401 columns at epsilon 0\.5"):
        select((X, y), a_study(400), epsilon=0.5)
    assert not ledger.exists()
    enough = make_recipe(a_study(400), Choice(), rows=20_000, epsilon=1)
    assert too_short(enough) is None


def test_a_cluster_of_machines_is_refused_in_one_sentence():
    dask = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.zeros((20, 401)), columns=[*(f"x{j}" for j in range(400)), "y"])
    with pytest.raises(DataError, match=STAYS[:30]):
        select(dask.from_pandas(frame, npartitions=2), a_study(400, rows=3000), epsilon=2)


def test_chances_of_a_model_by_its_terms_are_those_by_levels():
    """The quick way for thousands of terms against the one by levels, with and without directions and limits."""
    rng = np.random.default_rng(6)
    for directions in (False, True):
        for rule in (SubsetRule(6, (2, 4, 24, 32), 1, empty=True), SubsetRule(6, (2, 4, 24, 32), 1, 3, at_least=1)):
            margins = Margins(rng.integers(-90, 90, 6), 40, Fraction(9), rule, 64.0, directions)
            chances = VoteChances(margins, 2.0)
            masks = rule.masks().tolist()
            slow = [
                sum(
                    family.chance_of(rule.parts(mask))
                    for family in chances.families
                    if family.has(sum(part > 0 for part in rule.parts(mask)))
                )
                for mask in masks
            ]
            assert [chances.chance_of(mask) for mask in masks] == pytest.approx(slow, rel=1e-9)
            assert sum(slow) == pytest.approx(1, abs=1e-8)


def test_rings_are_within_a_vote():
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(90, 5)).astype(np.float32), rng.normal(size=90)
    X[:, 0] = y
    votes = ring_votes(X, y, np.arange(90)[None])
    assert votes[0, 0] == 64
    assert np.abs(votes).max() == 64
