import itertools

import numpy as np
import pytest

from dpselect.assume.lemmas.moments import entry_patterns, known_part, moment_layout
from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.errors import StudyError

PREDICTORS = [Numeric("u", -1, 1), Categorical("sex", ["f", "m"]), Categorical("county", ["a", "b", "c"])]


def a_study(**kwargs):
    return Study(Numeric("y", -1, 1), PREDICTORS, **kwargs)


def design_row(columns, u, sex, county, y, missing=False):
    """A row over the design's own columns: intercept, u, sex[m], county[b], county[c], response."""
    row = [1, u, sex == "m", county == "b", county == "c"]
    chosen = np.array([*(row[place] for place in columns), y], dtype=float)
    return 0 * chosen if missing else chosen


def model_row(layout, row):
    """The layout's z of a design row: a sign is 2d - intercept."""
    z = row.copy()
    for place, kind in enumerate(layout.kinds):
        if kind == "sign":
            z[place] = 2 * row[place] - row[layout.constant]
    return z


@pytest.mark.parametrize(
    ("neighbors", "missing"), [("replace-one", "error"), ("replace-one", "zero-row"), ("add-remove-one", "error")]
)
@pytest.mark.parametrize("columns", [(0, 1, 2, 3, 4), (0, 2), (0, 3), (1, 2, 3, 4), (2,), (0,), ()])
def test_entries_and_what_is_known_make_up_every_table(columns, neighbors, missing):
    """Random tables: cells said to be equal are equal, and entries times patterns plus the known part is sum zz'."""
    study = a_study(neighbors=neighbors, missing=missing)
    layout = moment_layout(study, columns)
    generator = np.random.default_rng(1)
    rows = [
        design_row(columns, u, sex, county, y, gone and missing == "zero-row")
        for u, sex, county, y, gone in zip(
            generator.uniform(-1, 1, 50),
            generator.choice(["f", "m"], 50),
            generator.choice(["a", "b", "c"], 50),
            generator.uniform(-1, 1, 50),
            generator.random(50) < 0.2,
            strict=True,
        )
    ]
    z = np.array([model_row(layout, row) for row in rows])
    sums = z.T @ z
    for cells in layout.entries:
        assert len({round(float(sums[cell]), 9) for cell in cells}) <= 1
    entries = np.array([sums[cells[0]] if cells else 50.0 for cells in layout.entries])
    whole = known_part(layout, 50) + np.tensordot(entries, entry_patterns(layout), axes=1)
    assert whole == pytest.approx(np.array(rows).T @ np.array(rows))


def test_kinds_follow_the_model():
    study = a_study()
    assert moment_layout(study, range(5)).kinds == ("constant", "number", "sign", "level", "level", "number")
    assert moment_layout(study, [0, 3]).kinds == ("constant", "sign", "number")
    assert moment_layout(study, [2]).kinds == ("number", "number")


def test_known_and_repeated_products_get_no_noise_of_their_own():
    layout = moment_layout(a_study(), range(5))
    listed = list(itertools.chain.from_iterable(layout.entries))
    assert (0, 0) not in listed and (2, 2) not in listed  # the number of rows, and a square of signs
    assert (3, 4) not in listed  # two levels of one category
    assert ((0, 3), (3, 3)) in layout.entries
    private = moment_layout(a_study(neighbors="add-remove-one"), range(5))
    assert ((0, 0), (2, 2)) in private.entries
    assert () in moment_layout(a_study(neighbors="add-remove-one"), [1]).entries


def test_a_column_that_is_not_there_is_refused():
    with pytest.raises(StudyError, match="does not have"):
        moment_layout(a_study(), [7])
