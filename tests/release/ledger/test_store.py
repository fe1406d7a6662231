"""How long an operation waits for others who use a ledger, by a clock of the test's own."""

from types import SimpleNamespace

import pytest

from dpselect.errors import LedgerError
from dpselect.release.ledger import store
from dpselect.release.ledger.store import Patience


@pytest.fixture
def clock(monkeypatch):
    """Pauses take their time on it and none of ours."""
    made = SimpleNamespace(now=1000.0)

    def sleep(seconds):
        made.now += seconds

    monkeypatch.setattr(store, "time", SimpleNamespace(monotonic=lambda: made.now, sleep=sleep))
    return made


@pytest.mark.parametrize("limit", [0.0, 1.5, 60.0])
def test_each_attempt_has_what_is_left_of_the_wait_and_the_last_has_nothing(limit, clock):
    began, last = clock.now, limit
    with pytest.raises(LedgerError, match=f"was busy for {limit:g} s and nothing was charged"):
        for left in Patience(limit=limit, announce=lambda said: None).attempts("The ledger"):
            assert left == max(0.0, limit - (clock.now - began)) <= last
            last = left
            clock.now += min(left, 0.4)  # as long as the attempt itself takes
    assert last <= 0.4 and clock.now - began == pytest.approx(limit)


def test_a_wait_is_announced_once_and_not_before_it_is_long(clock):
    said = []
    with pytest.raises(LedgerError):
        for _ in Patience(limit=9.0, quiet=2.0, announce=said.append).attempts("The ledger"):
            if clock.now - 1000.0 < 2.0:
                assert not said
            clock.now += 0.05
    assert said == ["Waiting for the ledger, which others are using (for at most 9 s)."]
