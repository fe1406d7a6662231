"""Claim: one record moves the answer to a query of a round by no more than its lemma says, and some pair comes close.

The numbers are the program's own, noise aside: tables of one row go through `gather`'s summary and the rounding of what is
released. 10,000 hostile pairs a query: far out, on axes, opposite, equal but for the response, beyond every clamp.
"""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from dpselect.assume.lemmas.rounds import (
    PRODUCT_SHIFT,
    VECTOR_BITS,
    clip_bits,
    query_sensitivity,
    release_bits,
    squared_norm,
    squared_radius,
)
from dpselect.assume.queries import (
    MAX_COLUMN_SUM,
    Gradient,
    Gram,
    Histograms,
    Norms,
    Rows,
    Sandwich,
    Standard,
    center_of,
    column_kinds,
    rows_of,
)
from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Categorical, Numeric
from dpselect.errors import StudyError
from dpselect.gather.grid import Chunks
from dpselect.gather.rounds import RoundSummary
from dpselect.gather.rows import gather
from dpselect.gather.sources.arrays import array_cells
from dpselect.randomize.rounds_noise import released_numbers

PAIRS = [800, pytest.param(10_000, marks=pytest.mark.thorough)]
"""Neighbours that each query is attacked with."""
WIDTH = 5


def a_study(response, neighbors="replace-one", **settings):
    predictors = [
        Numeric("u"),
        Numeric("v"),
        Numeric("w", -1, 1),
        Binary("sex", [0, 1]),
        Categorical("town", [0, 1, 2]),
    ]
    return Study(response, predictors, neighbors=neighbors, **settings)


RESPONSES = {"gaussian": Numeric("y"), "binomial": Binary("y", [0, 1])}


def hostile_rows(count, seed, binary):
    """Cells: ordinary, huge, tiny, exactly zero but for one; responses too."""
    generator = np.random.default_rng(seed)
    cells = generator.standard_normal((count, 3)) * 10 ** generator.uniform(-3, 6, (count, 1))
    kind = generator.integers(0, 4, count)
    cells[kind == 1] *= generator.random((int((kind == 1).sum()), 3)) < 0.3
    cells[kind == 2] = np.sign(cells[kind == 2]) * np.where(np.arange((kind == 2).sum()) % 2, 1e300, 1e70)[:, None]
    others = np.column_stack([generator.integers(0, 2, count), generator.integers(0, 3, count)])
    response = generator.integers(0, 2, count) if binary else generator.standard_cauchy(count) * 10.0
    table = np.column_stack([cells, others, response])
    # Every third pair (rows 2i and 2i+1): the same cells turned around, or the same with another response.
    table[1::6, :3] = -table[0::6, :3][: len(table[1::6])]
    table[3::6, :5] = table[2::6, :5][: len(table[3::6])]
    return table


def standard(study, seed=1):
    generator = np.random.default_rng(seed)
    columns = tuple(place for place, column in enumerate(study.columns) if column.factors)
    scales = [0.7, 30.0, 2.0**20, 2.0**20, 2.0**18, 2.0**19]
    return Standard(
        columns=columns,
        centers=tuple(generator.standard_normal(len(columns)).tolist()),
        factors=tuple(2.0**12 / each for each in scales),
        response_center=0.3,
        response_factor=2.0**12 / 1.7,
    )


def queries(family, study, seed=2):
    generator = np.random.default_rng(seed)
    own, center = standard(study), center_of(generator.normal(0, 0.3, 7))
    matrix = rows_of(generator.standard_normal((7, WIDTH)))
    about = {"family": family, "standard": own, "matrix": matrix}
    halves = "response" if family == "binomial" else "none"
    edges = (0.5, 2.0, 8.0, 64.0)
    return {
        "rows": Rows(),
        "histograms": Histograms(
            columns=own.columns,
            edges=((-1.0, 0.0, 1.0), (-100.0, 0.0, 50.0), (0.0, 2.0**19), (), (), ()),
            response_edges=() if family == "binomial" else (-1.0, 0.0, 2.0),
            family=family,
        ),
        "gram": Gram(**about, radius=3.7, center=center),
        "gram with response": Gram(
            **about, radius=3.7, response_top=1.0 if family == "binomial" else 2.5, response_scale=1.1
        ),
        "gradient": Gradient(**about, radius=2.9, center=center),
        "balanced gradient": Gradient(**about, radius=2.9, center=center, balanced=family == "binomial"),
        "sandwich": Sandwich(**about, radius=2.9, center=center),
        "norms": Norms(**about, center=center, edges=edges, halves=halves),
    }


def answers_one_by_one(study, query, table):
    """What each row alone adds to the exact sums, through the summary's own code and a chunk of one row."""
    made = []
    for row in table:
        made.append(gather((row[None, :5], row[5:]), study, RoundSummary(study, [query]))[0])
    return made


def answers(study, query, table):
    """The same through the inside of the summary, a row at a time, which is quicker; compared with one by one below."""
    summary, made = RoundSummary(study, [query]), []
    for chunk in Chunks(study).of(array_cells(table[:, :5], table[:, 5], study)):
        lines = chunk.lines[chunk.order].copy()
        left_out = np.zeros(chunk.count, dtype=bool) if chunk.left_out is None else chunk.left_out
        for k in range(chunk.count):
            summary._views.look(lines[:, k : k + 1] if not left_out[k] else lines[:, :0])
            with np.errstate(all="ignore"):
                made.append(tuple(summary._answers[0].of(query, summary._views).tolist()))
    return made


def moved(query, study, base, one, two):
    """How far the released numbers of two tables that differ in a row are apart, in l2: exact, as a square."""
    first, second = (
        released_numbers(query, tuple(b + each for b, each in zip(base, own, strict=True)), study) for own in (one, two)
    )
    return sum((a - b) ** 2 for a, b in zip(first, second, strict=True))


ATTAINED = {
    "rows": 0.0,
    "histograms": 0.99,
    "gram": 0.9,
    "gram with response": 0.9,
    "gradient": 0.99,
    "balanced gradient": 0.9,
    "sandwich": 0.9,
    "norms": 0.99,
}


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
@pytest.mark.parametrize("name", ATTAINED)
@pytest.mark.parametrize("pairs", PAIRS)
def test_no_replaced_record_moves_an_answer_farther(family, name, pairs):
    study = a_study(RESPONSES[family])
    query = queries(family, study)[name]
    table = hostile_rows(2 * pairs, 3, family == "binomial")
    made = answers(study, query, table)
    base = tuple(sum(part) for part in zip(*made[:50], strict=True))
    limit = query_sensitivity(query, study)
    squares = [moved(query, study, base, one, two) for one, two in zip(made[0::2], made[1::2], strict=True)]
    assert len(squares) == pairs and max(squares) <= limit**2
    assert max(squares) >= (ATTAINED[name] * limit) ** 2


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
@pytest.mark.parametrize("name", ATTAINED)
@pytest.mark.parametrize("pairs", PAIRS)
def test_no_added_record_moves_an_answer_farther(family, name, pairs):
    study = a_study(RESPONSES[family], "add-remove-one", rows=100)
    query = queries(family, study)[name]
    made = answers(study, query, hostile_rows(pairs, 4, family == "binomial"))
    base = tuple(sum(part) for part in zip(*made[:50], strict=True))
    limit = query_sensitivity(query, study)
    squares = [moved(query, study, base, one, (0,) * len(one)) for one in made]
    assert max(squares) <= limit**2 and max(squares) >= 0.98 * limit**2


def test_a_row_by_itself_is_read_as_any_table_is():
    study = a_study(Numeric("y"))
    table = hostile_rows(40, 5, False)
    for query in queries("gaussian", study).values():
        assert answers(study, query, table) == answers_one_by_one(study, query, table)


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove-one"])
def test_no_person_moves_an_answer_farther(neighbors):
    """Persons of 0 to 5 rows, of which at most 3 count: all rows alike and far out, and drawn ones."""
    most, names = 3, ["u", "v", "w", "sex", "town", "y"]
    study = a_study(Numeric("y"), neighbors, person="id", max_rows_per_person=most, rows=100)
    alone = a_study(Numeric("y"), neighbors)
    rows, generator = hostile_rows(4000, 6, False), np.random.default_rng(7)
    for name, query in queries("gaussian", study).items():
        # The rows whose answers are the farthest apart, five times each, and 20 persons of drawn rows.
        made = answers(alone, query, rows[:400])
        far = max(range(0, 400, 2), key=lambda k: moved(query, study, (0,) * len(made[0]), made[k], made[k + 1]))
        versions = [rows[[far] * 5], rows[[far + 1] * 5], rows[:0]]
        versions += [rows[generator.integers(0, len(rows), generator.integers(1, 6))] for _ in range(20)]
        sums = []
        for version in versions:
            frame = pd.DataFrame(np.vstack([rows[:2], version]), columns=names)
            frame["id"] = ["other", "other", *["one"] * len(version)]
            sums.append(gather(frame, study, RoundSummary(study, [query]))[0])
        limit, base = query_sensitivity(query, study), (0,) * len(sums[0])
        pairs = [(a, b) for a in range(len(sums)) for b in range(a)] if neighbors == "replace-one" else []
        pairs += [(2, b) for b in range(len(sums)) if b != 2]
        worst = max(moved(query, study, base, sums[a], sums[b]) for a, b in pairs)
        assert worst <= limit**2, name
        assert worst > query_sensitivity(query, alone) ** 2, name  # the rows of a person do add up


def test_a_category_is_one_choice():
    wide = Study(Numeric("y"), [Categorical("town", [f"t{j}" for j in range(60)])])
    places = tuple(range(1, len(wide.columns)))
    query = Histograms(columns=places, edges=((),) * len(places), response_edges=(0.0,), family="gaussian")
    assert set(column_kinds(wide, places)) == {"level"}
    assert query_sensitivity(query, wide) == 2 * 2**10
    assert query_sensitivity(query, Study(wide.response, wide.predictors, neighbors="add-remove-one")) == math.ceil(
        math.sqrt(2) * 2**10
    )
    crossed = Study(
        Numeric("y"),
        [Categorical("a", [0, 1, 2]), Categorical("b", [0, 1]), Numeric("x")],
        terms=["a", "b", ["a", "b"], ["x", "b"]],
    )
    kinds = column_kinds(crossed, range(1, len(crossed.columns)))
    assert kinds == ("level", "level", "dummy", "level", "level", "number")
    # Of each of two categories two counts move, and one dummy and one histogram: 2 * 2 + 1 + 2.
    both = Histograms(columns=tuple(range(1, 7)), edges=((),) * 5 + ((0.0,),), response_edges=(), family="gaussian")
    assert query_sensitivity(both, crossed) == math.ceil(math.sqrt(7) * 2**10)


def test_a_clipped_vector_is_whole_and_no_longer_than_said():
    for radius in (2.0**-30, 1e-3, 0.99999, 1.0, 2.9, 3.99999999, 4.0, 1e6, 2.0**30):
        square = Fraction(radius) ** 2
        bits = clip_bits(square)
        assert square * Fraction(4) ** bits <= 4**VECTOR_BITS < square * Fraction(4) ** (bits + 1)
        assert squared_norm(square) >= math.floor(square * Fraction(4) ** bits)
        # The slack is worth less than a step of the longest vector.
        assert math.isqrt(squared_norm(square)) <= 2**VECTOR_BITS


def test_the_rounding_of_doubles_never_makes_a_vector_longer_than_the_slack():
    """Vectors whose clipped cells have nearly whole lengths: searched for, with 50 cells, through the real code."""
    study = Study(Numeric("y"), [Numeric(f"x{j}") for j in range(50)])
    generator = np.random.default_rng(8)
    own = Standard(
        columns=tuple(range(1, 51)),
        centers=(0.0,) * 50,
        factors=(2.0**12,) * 50,
        response_center=0.0,
        response_factor=2.0**12,
    )
    matrix = rows_of(np.vstack([np.zeros(50), np.eye(50) + generator.normal(0, 0.1, (50, 50))]))
    query = Gradient(family="gaussian", standard=own, matrix=matrix, center=(0.0,) * 51, radius=math.sqrt(50))
    limit, worst = squared_norm(squared_radius(query)), 0
    rows = generator.standard_normal((500, 50)) * 100
    for row, response in zip(rows, generator.normal(0, 50, 500), strict=True):
        made = gather((row[None], np.array([response])), study, RoundSummary(study, [query]))[0]
        worst = max(worst, sum(each**2 for each in made))
    # Cutting towards zero takes about half a step from each of 50 cells.
    assert limit * (1 - 1e-4) < worst <= limit


@pytest.mark.parametrize("bad", [0.0, math.nan, math.inf, 2.0**31, -1.0])
def test_a_radius_that_proves_nothing_is_refused(bad):
    query = queries("gaussian", a_study(Numeric("y")))["gram with response"]
    for field, value in (("radius", bad), ("response_top", bad if bad else -0.5)):
        about = {name: getattr(query, name) for name in query.__struct_fields__} | {field: value}
        with pytest.raises(StudyError, match="radius of a round"):
            query_sensitivity(Gram(**about), a_study(Numeric("y")))


def test_numbers_off_their_grid_are_refused():
    study = a_study(Numeric("y"))
    query = queries("gaussian", study)["gradient"]
    about = {name: getattr(query, name) for name in query.__struct_fields__}
    for change in (
        {"center": (*query.center[:-1], 1 / 3)},
        {"center": query.center[:-1]},
        {"matrix": ((MAX_COLUMN_SUM * 2,) * WIDTH, *query.matrix[1:])},
        {"matrix": ((math.nan,) * WIDTH, *query.matrix[1:])},
        {"family": "binomial"},
        {"balanced": True},
    ):
        with pytest.raises(StudyError, match=r"fault of the program|has no odds"):
            RoundSummary(study, [Gradient(**about | change)])
    with pytest.raises(StudyError, match="edges for each of its columns"):
        RoundSummary(study, [Histograms(columns=(1, 2), edges=(), response_edges=(), family="gaussian")])


def test_units_of_what_is_released():
    made = queries("gaussian", a_study(Numeric("y")))
    assert release_bits(made["rows"]) == release_bits(made["norms"]) == 10
    bits = clip_bits(squared_radius(made["gradient"]))
    assert release_bits(made["gradient"]) == bits and release_bits(made["sandwich"]) == 2 * bits - PRODUCT_SHIFT
