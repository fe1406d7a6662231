import pytest

from dpselect.assume.budget import split_for_votes
from dpselect.assume.recipe import RULES


def test_votes_get_as_much_as_makes_them_nearly_certain():
    assert split_for_votes(rows=1000, columns=6, epsilon=1) == (35, 65)
    assert split_for_votes(rows=None, columns=6, epsilon=1) == (35, 65)
    assert split_for_votes(rows=100_000, columns=6, epsilon=1) == (15, 85)
    share, rest = split_for_votes(rows=10_000, columns=10, epsilon=1)
    assert 15 < share < 35 and share + rest == 100
    # 300 times .69 columns + 1, over rows times epsilon, in hundredths.
    assert share == 24 and split_for_votes(rows=20_000, columns=10, epsilon="0.5") == (24, 76)
    assert split_for_votes(rows=0, columns=10, epsilon=1) == (35, 65)


@pytest.mark.parametrize("method", ["pcls", "pcpl"])
def test_the_scores_of_the_paper_get_three_fifths(method):
    assert RULES[method].split(100_000, 6, 1) == (3, 2)


def test_more_rows_never_ask_for_more():
    shares = [split_for_votes(rows=rows, columns=12, epsilon=0.7)[0] for rows in range(100, 60_000, 500)]
    assert shares == sorted(shares, reverse=True)
