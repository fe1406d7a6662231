"""The guarantee in words: the right factor, the right neighbours, and no weak promise sold as a strong one."""

import math
from decimal import Decimal

import pytest

from dpselect.assume.budget import Guarantee
from dpselect.report.public.words import choice_note, factor_text, guarantee_sentence, guarantee_symbols, weaknesses


def promise(epsilon, delta=0, neighbors="replace-one"):
    return Guarantee(epsilon=Decimal(epsilon), delta=Decimal(delta), neighbors=neighbors)


@pytest.mark.parametrize(("epsilon", "word"), [("0.1", "strong"), ("1", "strong"), ("8", "middling"), ("20", "weak")])
def test_a_promise_is_called_what_it_is(epsilon, word):
    sentence = guarantee_sentence(promise(epsilon))
    assert word in sentence.split("That is a")[1].split(":")[0]
    assert factor_text(Decimal(epsilon)) in sentence


@pytest.mark.parametrize(
    ("epsilon", "delta", "said"),
    [("1", "0", []), ("10", "1e-5", []), ("10.5", "1e-6", ["Epsilon 10.5"]), ("1", "0.01", ["Delta 0.01"])],
)
def test_a_weak_price_is_called_one_before_it_is_paid(epsilon, delta, said):
    assert [" ".join(each.split()[:2]) for each in weaknesses(Decimal(epsilon), Decimal(delta))] == said


def test_delta_and_neighbours_are_told():
    assert "except with probability 1e-6" in guarantee_sentence(promise(1, "1e-6"))
    assert "except" not in guarantee_sentence(promise(1))
    assert "replaced by any other" in guarantee_sentence(promise(1))
    assert "left out" in guarantee_sentence(promise(1, neighbors="add-remove-one"))
    assert "your records (3 at most count) had been left out" in guarantee_sentence(
        promise(1, neighbors="add-remove-one"), 3
    )
    assert guarantee_symbols(promise("0.5", "1e-6")).endswith("+ 1e-6")
    assert "exp(0.5)" in guarantee_symbols(promise("0.5"))


@pytest.mark.parametrize("epsilon", ["0.001", "0.05", "0.5", "2", "10", "50", "1000"])
def test_the_factor_is_exp_epsilon(epsilon):
    stated = float(factor_text(Decimal(epsilon)).replace(",", ""))
    assert stated == pytest.approx(math.exp(min(float(epsilon), 700)), rel=0.05)


def test_a_lottery_is_called_one():
    assert choice_note(math.inf).startswith("A lottery")
    assert "random on purpose" in choice_note(8.0)
