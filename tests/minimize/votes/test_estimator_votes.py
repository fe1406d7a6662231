"""Votes of any estimator: what a block says is a function of its own rows, and nothing else is heard."""

import logging
import os
import random
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import HuberRegressor, LinearRegression, LogisticRegression, SGDRegressor

import dpselect
from dpselect.assume.lemmas.sensitivity import WHOLE_VOTE
from dpselect.errors import DataError
from dpselect.minimize.votes import estimator_votes as door
from dpselect.minimize.votes.estimator_votes import estimator_votes
from dpselect.use.selectors.estimators import cell_by_cell, one_kind, unfitted

BLOCKS, PARTITIONS = 10, 3
RNG = np.random.default_rng(3)
TABLE = RNG.normal(size=(300, 2))
RESPONSE = TABLE[:, 0] + RNG.normal(size=300)


class Dealt:
    """The same blocks each time."""

    def draw(self, cells, rows):
        return np.random.default_rng(8).integers(0, BLOCKS, (PARTITIONS, rows)).astype(np.uint32)


def leads(fit, y, table=TABLE):
    found = estimator_votes(
        fit,
        table,
        y,
        blocks=BLOCKS,
        partitions=PARTITIONS,
        columns=("x0", "x1"),
        intercept=False,
        study="",
        assigner=Dealt(),
    )
    assert (found.leads % WHOLE_VOTE == 0).all()
    return found.leads // WHOLE_VOTE


class Greedy(BaseEstimator):
    """Draws once from the program's own generators, or twice where a response is large; a column's vote is a chance."""

    def fit(self, X, y):
        for _ in range(1 + (np.abs(y).max() > 100)):
            self.coef_ = np.array([np.random.normal(), random.random() - 0.5])
        return self


def test_a_block_does_not_hear_how_much_another_drew(monkeypatch):
    monkeypatch.setattr(door.os, "urandom", bytes)
    changed = RESPONSE.copy()
    changed[np.flatnonzero(Dealt().draw({}, 300)[0] == 0)[0]] = 1e6
    found = []
    for y in (RESPONSE, changed):
        np.random.seed(0)
        random.seed(0)
        found.append(leads(lambda X, y: Greedy().fit(X, y), y))
    assert np.abs(found[0] - found[1]).max() <= 2 * PARTITIONS
    assert np.abs(found[0]).min() == BLOCKS * PARTITIONS  # the same chances in every block, as the test has it


def test_the_programs_own_generators_are_as_they_were():
    np.random.seed(5)
    random.seed(5)
    wanted = np.random.normal(), random.random()
    np.random.seed(5)
    random.seed(5)
    leads(lambda X, y: Greedy().fit(X, y), RESPONSE)
    assert (np.random.normal(), random.random()) == wanted


def test_nothing_that_an_estimator_says_is_heard(capfd, caplog):
    class Loud(LinearRegression):
        def fit(self, X, y):
            print(y[0])
            logging.warning("%s", y[0])
            warnings.warn(str(y[0]), stacklevel=1)
            return super().fit(X, y)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert leads(lambda X, y: Loud().fit(X, y), RESPONSE)[0] == BLOCKS * PARTITIONS
    dpselect.PrivateSelector(SGDRegressor(verbose=1), epsilon=1, ledger=dpselect.Ledger(epsilon=1)).fit(TABLE, RESPONSE)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
    logging.getLogger("heard").warning("again")
    assert len(caplog.records) == 1


def test_threads_take_turns_and_leave_the_program_as_it_was(capfd, caplog):
    """What silences a program belongs to all of its threads: four that did so at once were heard, and left it mute for good."""
    inside, most = [0], [0]

    class Slow(BaseEstimator):
        def fit(self, X, y):
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            time.sleep(0.0005)  # the others' turn
            print(y[0])
            logging.warning("%s", y[0])
            warnings.warn(str(y[0]), stacklevel=1)
            self.coef_ = np.array([1.0, -1.0])
            inside[0] -= 1
            return self

    before = sys.stdout, sys.stderr, logging.root.manager.disable
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        filters = list(warnings.filters)
        threads = [threading.Thread(target=leads, args=(lambda X, y: Slow().fit(X, y), RESPONSE)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert warnings.filters == filters
    assert (sys.stdout, sys.stderr, logging.root.manager.disable) == before
    assert [str(each.message) for each in heard] == []
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
    assert most == [1]


def test_compiled_code_is_told_to_be_silent():
    assert unfitted(LogisticRegression(verbose=3)).verbose == 0
    assert unfitted(LinearRegression()).get_params() == LinearRegression().get_params()


def test_both_zeros_are_one_and_text_is_as_wide_as_its_block():
    seen = []

    def look(X, y):
        seen.append(
            (np.signbit(X[X == 0]).any() or np.signbit(y[y == 0]).any()) if y.dtype.kind == "f" else y.dtype.itemsize
        )
        return LinearRegression().fit(X, y)

    leads(look, np.where(RESPONSE < 0, -0.0, RESPONSE), np.where(TABLE < 0, -0.0, TABLE))
    assert len(seen) == BLOCKS * PARTITIONS
    assert not any(seen)
    seen.clear()
    labels = np.where(RESPONSE < 0, "no", "yes").astype(object)
    labels[0] = "a long answer"
    leads(look, labels)
    assert sorted(set(seen)) == [12, 52]
    assert seen.count(52) == PARTITIONS


@pytest.mark.parametrize("estimator", [HuberRegressor(), LogisticRegression()])
@pytest.mark.parametrize("kind", [list, tuple, lambda cells: np.array(cells, dtype=object)])
def test_text_among_numbers_is_refused_before_it_changes_every_block(estimator, kind):
    cells = RESPONSE.tolist()
    cells[7] = "secret"
    selector = dpselect.PrivateSelector(estimator, epsilon=1, ledger=dpselect.Ledger(epsilon=1))
    with pytest.raises(DataError, match=r"^y must hold numbers alone, or text alone; correct it\.$"):
        selector.fit(TABLE, kind(cells))
    assert selector.ledger.spent().epsilon == 0


@pytest.mark.parametrize(
    ("cells", "doubles"),
    [
        ([2, 10, 2.5], [2, 10, 2.5]),
        ([True, False], [1, 0]),
        ([10**400, 1], [np.inf, 1]),
        (np.array([2, 10], dtype=np.int8), [2, 10]),
        (np.array([0.5], dtype=np.float32), [0.5]),
    ],
)
def test_numbers_are_doubles_whatever_the_others_are(cells, doubles):
    found = one_kind(np.asarray(cell_by_cell(cells)))
    assert (found.dtype, found.tolist()) == (np.float64, doubles)


def test_text_stays_text():
    assert one_kind(np.array(["b", "a"])).tolist() == ["b", "a"]
    assert one_kind(cell_by_cell(["b", "a"])).tolist() == ["b", "a"]
    with pytest.raises(DataError, match="numbers alone"):
        one_kind(cell_by_cell(["b", None]))
    for neither in (np.array(["2020-01-01"], "M8[D]"), np.array([b"a"]), np.zeros(1, dtype=[("a", float)])):
        with pytest.raises(DataError, match="numbers or text"):
            one_kind(neither)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that are forked")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_process_that_is_forked_while_others_vote_has_turns_of_its_own():
    taken, done = threading.Event(), threading.Event()

    def vote():
        with door._TURN:
            taken.set()
            done.wait(60)

    thread = threading.Thread(target=vote)
    thread.start()
    assert taken.wait(60)
    child = os.fork()
    if child == 0:
        os._exit(0 if door._TURN.acquire(blocking=False) else 1)
    done.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
