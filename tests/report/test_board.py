"""The board's page: what was promised, in words that hold."""

import math
from decimal import Decimal

import pytest

from dpselect.report.board import board_facts, board_page
from dpselect.report.page import require_public
from dpselect.report.phrases import belief_after


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize("belief", [0.01, 0.3, 0.5, 0.9])
def test_no_outcome_that_the_promise_allows_moves_a_belief_further(epsilon, belief):
    """Bayes for every outcome whose chances under the two tables are within the factor, and the limit is attained."""
    most = belief_after(belief, Decimal(epsilon))
    factor = math.exp(float(epsilon))
    after = [belief * ratio / (belief * ratio + 1 - belief) for ratio in (1 / factor, 0.7, 1, factor / 1.5, factor)]
    assert max(after) == pytest.approx(most)
    assert belief < most < 1


def test_beliefs_stay_numbers_whatever_was_paid():
    assert belief_after(0.5, Decimal("1e9")) == 1
    assert belief_after(0.01, Decimal("1e-9")) == pytest.approx(0.01)


def test_the_page_says_who_is_protected_and_what_was_released(document):
    page, facts = board_page(document), board_facts(document)
    require_public(facts)
    for sentence in (*facts.protected, facts.missing):
        assert sentence in page
    assert any("number of rows, 3,000" in sentence for sentence in facts.released)  # it leaves, and is said to
    assert facts.report.fingerprint in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")


def test_many_variables_are_counted_instead_of_listed(document, monkeypatch):
    monkeypatch.setattr("dpselect.report.board.MAX_LISTED", 1)
    facts = board_facts(document)
    assert facts.more == len(facts.report.predictors) - 1
    assert f"and {facts.more} more" in board_page(document)
