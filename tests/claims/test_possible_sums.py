"""Claim: sums that no table has are refused exactly, wherever sums enter; and no gathering is added twice."""

import os
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.errors import DataError
from dpselect.gather.moments import Moments
from dpselect.gather.possible import GRID, are_possible, is_positive_semidefinite
from dpselect.gather.rows import gather
from dpselect.gather.saved import load_moments, save_moments
from dpselect.gather.sql import answer_names, moments_from_answer, product_places
from tests.examples import examples

PLAIN = Study(Numeric("y", -1, 1), [Numeric(name, -1, 1) for name in "abc"], intercept="none")


def determinant(matrix: list[list[Fraction]]) -> Fraction:
    """By the rule that defines it, along the first row."""
    if not matrix:
        return Fraction(1)
    return sum(
        (-1) ** j * value * determinant([row[:j] + row[j + 1 :] for row in matrix[1:]])
        for j, value in enumerate(matrix[0])
    )


def by_all_minors(matrix: list[list[int]]) -> bool:
    """Semidefinite exactly if no principal minor is below zero."""
    places = range(len(matrix))
    return all(
        determinant([[Fraction(matrix[i][j]) for j in chosen] for i in chosen]) >= 0
        for size in range(1, len(matrix) + 1)
        for chosen in combinations(places, size)
    )


@st.composite
def matrices(draw) -> list[list[int]]:
    """Symmetric ones: anything small, and sums of squares of few rows, some of them off by one."""
    width = draw(st.integers(1, 4))
    small = st.integers(-3, 3)
    if draw(st.booleans()):
        matrix = [[0] * width for _ in range(width)]
        for i in range(width):
            for j in range(i + 1):
                matrix[i][j] = matrix[j][i] = draw(small)
        return matrix
    rows = np.array(draw(st.lists(st.lists(small, min_size=width, max_size=width), min_size=1, max_size=width)))
    table = (rows.T @ rows).tolist()
    place = draw(st.integers(0, width - 1))
    table[place][place] -= draw(st.integers(0, 1))
    return table


@given(matrices())
@settings(max_examples=examples(600))
def test_elimination_in_whole_numbers_agrees_with_all_minors(matrix):
    assert is_positive_semidefinite(matrix) == by_all_minors(matrix)


def test_one_too_little_is_seen_among_sixty_five_columns_and_nothing_less():
    """Fewer rows than columns: the sums are singular, and one grid step below is impossible. No double could tell."""
    rows = np.random.default_rng(3).integers(-GRID, GRID + 1, size=(64, 66)).astype(object)
    sums = rows.T @ rows
    assert is_positive_semidefinite(sums.tolist())
    sums[65, 65] -= 1
    assert not is_positive_semidefinite(sums.tolist())


STUDIES = [
    Study(
        Numeric("y", 0, 10),
        [Numeric("a", -1, 1), Categorical("c", ["u", "v", "w"]), Categorical("k", [1, 2])],
        intercept=intercept,
        missing=missing,
        terms=terms,
        person=person,
        max_rows_per_person=person and 2,
    )
    for intercept in ("always", "none")
    for missing in ("midpoint", "zero-row")
    for terms in (None, ["a", "c", "k", ["a", "c"], ["c", "k"], ["a", "a", "k"]])
    for person in (None, "who")
]
ROW = st.fixed_dictionaries(
    {
        "y": st.floats(-2, 12) | st.none(),
        "a": st.floats(-2, 2) | st.none(),
        "c": st.sampled_from(["u", "v", "w", "x", None]),
        "k": st.sampled_from([1, 2, 3, None]),
        "who": st.sampled_from(["p", "q", "r"]),
    }
)


def table_of(rows):
    import pyarrow as pa

    kinds = {"y": pa.float64(), "a": pa.float64(), "c": pa.string(), "k": pa.int64(), "who": pa.string()}
    return pa.Table.from_pylist(rows, pa.schema(list(kinds.items())))


@given(st.lists(ROW, min_size=1, max_size=12), st.sampled_from(STUDIES))
@settings(max_examples=examples(300))
def test_the_sums_of_every_table_are_possible(rows, study):
    moments = gather(table_of(rows), study)
    assert are_possible(moments.n, moments.products, study)


def claimed(correlation: float, n: int = 1000) -> np.ndarray:
    """Three columns and a response; the columns have one correlation with each other."""
    sums = np.full((4, 4), round(correlation * n * GRID**2), dtype=object)
    sums[3, :] = sums[:, 3] = 0
    for i in range(4):
        sums[i, i] = n * GRID**2
    return sums


def forged(sums: np.ndarray, n: int = 1000) -> Moments:
    return Moments(n, sums, ("a", "b", "c"), PLAIN.hash)


def answer(sums: np.ndarray, n: int, study: Study) -> dict:
    named = {f"p_{i}_{j}": sums[i, j] for i, j in product_places(study)}
    return {"study": study.hash, "n": n, **dict.fromkeys(answer_names(study)[2:], 0), **named}


def honest(seed: int = 1) -> Moments:
    rows = np.random.default_rng(seed).uniform(-1, 1, size=(50, 4))
    return gather((rows[:, :3], rows[:, 3]), PLAIN)


def doors(sums: np.ndarray, folder) -> list:
    """Every way by which sums enter."""
    save_moments(forged(sums), folder / "new.moments")
    return [
        lambda: load_moments(folder / "new.moments", PLAIN),
        lambda: gather([folder / "new.moments"], PLAIN),
        lambda: moments_from_answer(answer(sums, 1000, PLAIN), PLAIN),
        lambda: gather(forged(sums), PLAIN),
        lambda: honest() + forged(sums),
        lambda: forged(sums) + honest(),
        lambda: honest() + replace(honest(2), products=sums),
    ]


def test_three_columns_that_all_oppose_each_other_are_refused_at_every_door(tmp_path):
    """Each pair is possible; all three are not, beyond -1/2. With such a claim one row of another site decided every draw."""
    for enter in doors(claimed(-0.95), tmp_path):
        with pytest.raises(DataError, match="no table"):
            enter()


def test_three_columns_that_oppose_each_other_by_half_are_taken(tmp_path):
    sums = claimed(-0.5)
    for enter in doors(sums, tmp_path)[:-1]:
        enter()
    sums[0, 1] -= 1
    sums[1, 0] -= 1
    for enter in doors(sums, tmp_path):
        with pytest.raises(DataError, match="no table"):
            enter()


FACTS = Study(Numeric("y", 0, 10), [Numeric("a", -1, 1), Categorical("c", ["u", "v", "w"])], missing="midpoint")
FACTS_WITH_PERSONS = Study(FACTS.response, FACTS.predictors, missing="midpoint", person="who", max_rows_per_person=2)


@pytest.mark.parametrize(
    ("what", "n", "changes"),
    [
        ("the intercept is in every row", 41, {}),
        ("a count is a whole number", 40, {(2, 2): 1, (0, 2): 1}),
        ("a dummy is its own product with the intercept", 40, {(0, 2): GRID**2}),
        ("two levels do not meet", 40, {(2, 3): GRID**2}),
        ("a sum is a whole number of grid steps", 40, {(0, 1): 1}),
        ("a sum is within its rows", 40, {(2, 4): 12 * GRID**2}),
        ("a square is within its rows", 40, {(1, 1): 41 * GRID**2}),
        ("a square is not below zero", 40, {(1, 1): -41 * GRID**2}),
        ("there are not fewer than no rows", -1, {}),
        ("there are not more rows than the error bounds cover", 2**32 + 1, {}),
    ],
)
def test_each_fact_about_zeros_and_ones_is_asked(what, n, changes):
    rng = np.random.default_rng(8)
    rows = [{"y": 10 * rng.random(), "a": rng.uniform(-1, 1), "c": "uvw"[i % 3], "k": 1, "who": "p"} for i in range(40)]
    moments = gather(table_of(rows), FACTS)
    sums = moments.products.copy()
    assert are_possible(40, sums, FACTS)
    for (i, j), change in changes.items():
        sums[i, j] += change
        sums[j, i] = sums[i, j]
    assert not are_possible(n, sums, FACTS), what


def test_the_number_of_rows_is_a_multiple_of_a_persons():
    nothing = np.zeros((5, 5), dtype=object)
    assert are_possible(4, nothing, FACTS_WITH_PERSONS)
    assert not are_possible(3, nothing, FACTS_WITH_PERSONS)


def test_sums_cannot_be_changed_after_they_were_checked():
    with pytest.raises(ValueError, match="read-only"):
        honest().products[0, 0] = 0


def test_no_gathering_is_added_twice(tmp_path):
    one, two = honest(1), honest(2)
    for twice in (lambda: one + one, lambda: (one + two) + one, lambda: one + gather(one, PLAIN)):
        with pytest.raises(DataError, match="added twice"):
            twice()
    unnamed = forged(claimed(0.0))
    with pytest.raises(DataError, match="added twice"):
        unnamed + unnamed
    save_moments(one, tmp_path / "one.moments")
    save_moments(one + two, tmp_path / "both.moments")
    with pytest.raises(DataError, match="added twice"):
        load_moments(tmp_path / "one.moments", PLAIN) + one
    with pytest.raises(DataError, match=r"both\.moments' and .*one\.moments' hold the same gathering"):
        gather(str(tmp_path / "*.moments"), PLAIN)
    (tmp_path / "copy.moments").write_bytes((tmp_path / "one.moments").read_bytes())
    with pytest.raises(DataError, match="hold the same gathering"):
        gather([tmp_path / "one.moments", tmp_path / "copy.moments"], PLAIN)


def test_two_gatherings_of_different_rows_are_pooled_even_if_their_sums_are_equal(tmp_path):
    """Or a site that guesses another's rows would learn from the refusal that it guessed right."""
    save_moments(honest(1), tmp_path / "a.moments")
    save_moments(honest(1), tmp_path / "b.moments")
    assert gather(str(tmp_path / "*.moments"), PLAIN).n == 100


def test_answers_meet_themselves_again_saved_or_not(tmp_path):
    first, second = (moments_from_answer(answer(honest(seed).products, 50, PLAIN), PLAIN) for seed in (1, 2))
    save_moments(first, tmp_path / "a.moments")
    save_moments(second, tmp_path / "b.moments")
    assert gather(str(tmp_path / "*.moments"), PLAIN).integers() == (honest(1) + honest(2)).integers()
    save_moments(moments_from_answer(answer(honest(1).products, 50, PLAIN), PLAIN), tmp_path / "c.moments")
    with pytest.raises(DataError, match=r"a\.moments' and .*c\.moments' hold the same gathering"):
        gather(str(tmp_path / "*.moments"), PLAIN)
    with pytest.raises(DataError, match="added twice"):
        first + moments_from_answer(answer(honest(1).products, 50, PLAIN), PLAIN)
    with pytest.raises(DataError, match="added twice"):
        first + load_moments(tmp_path / "a.moments", PLAIN)


def test_a_claim_about_the_number_of_rows_is_not_compared_with_another_sites(tmp_path):
    """A site that claims nearly 2^32 rows is refused whatever the other has; else its refusal would tell the other's."""
    save_moments(forged(claimed(0.0, 2**31 + 1), 2**31 + 1), tmp_path / "a.moments")
    save_moments(honest(), tmp_path / "b.moments")
    with pytest.raises(DataError, match=r"a\.moments' has more than 2,147,483,648 rows, the most that each of 2 files"):
        gather(str(tmp_path / "*.moments"), PLAIN)
    assert load_moments(tmp_path / "a.moments", PLAIN).n == 2**31 + 1


@pytest.mark.parametrize("place", range(0, 100, 4))
def test_a_changed_digit_is_damage(tmp_path, place):
    """Without the checksum 70 of 3,000 changed files were taken for whole."""
    save_moments(honest(), tmp_path / "a.moments")
    text = bytearray((tmp_path / "a.moments").read_bytes())
    start = text.index(b'"n"')
    digits = [i for i in range(start, len(text)) if chr(text[i]).isdigit()]
    at = digits[place * len(digits) // 100]
    text[at] = ord("9") if text[at] != ord("9") else ord("8")
    (tmp_path / "a.moments").write_bytes(text)
    with pytest.raises(DataError, match="damaged"):
        load_moments(tmp_path / "a.moments", PLAIN)


def test_a_file_that_is_no_file_of_moments_is_not_read_to_its_end(tmp_path):
    with open(tmp_path / "a.moments", "wb") as file:
        os.truncate(file.fileno(), 1 << 40)
    with pytest.raises(DataError, match="not a file of moments"):
        load_moments(tmp_path / "a.moments", PLAIN)
