import gzip
import math

import numpy as np
import pytest

from dpselect.errors import DataError
from dpselect.rehearse.check.listed import probabilities
from dpselect.rehearse.simulate import Setting, draw
from paper.real_tables import (
    COUNTIES,
    HOUSING_COLUMNS,
    PROSTATE_COLUMNS,
    PROSTATE_RESPONSE,
    housing_table,
    one_table_curves,
    paper_table,
    prostate_figure,
    prostate_table,
)
from paper.simulations import AS_PRINTED, EPSILONS, NO_PRIVACY, curve


@pytest.fixture(scope="module")
def arrays():
    return draw(Setting("s", 80, (1.0, 0.0, 0.5)), np.random.SeedSequence(4))


def test_curves_are_the_exact_probabilities_of_the_release(arrays):
    X, y = arrays
    table = paper_table("s", ("a", "b", "c"), X, y)
    rows = one_table_curves(table, [1.2], np.array([3.0]), 0b101)
    for epsilon in EPSILONS:
        ours = probabilities(X, y, epsilon=epsilon, r=table.largest, R=1.2, phi=3.0)[0b101 - 1]
        assert curve(rows, "ours", epsilon=epsilon)[1] == pytest.approx([ours], abs=1e-4)


def test_the_criterion_is_the_usual_one(arrays):
    X, y = arrays
    table = paper_table("s", ("a", "b", "c"), X, y)
    scores = {}
    for mask in range(1, 8):
        chosen = [j for j in range(3) if mask >> j & 1]
        coefficients, *_ = np.linalg.lstsq(X[:, chosen], y, rcond=None)
        residual = float(((y - X[:, chosen] @ coefficients) ** 2).sum())
        scores[mask] = 80 * math.log(residual / 80) + math.log(80) * len(chosen)
    assert table.best() == min(scores, key=scores.get)
    full, *_ = np.linalg.lstsq(X, y, rcond=None)
    assert table.norm() == pytest.approx(np.abs(full).sum())
    assert table.names(0b101) == ("a", "c")
    assert "private" in repr(table)


def test_agreement_is_with_the_non_private_choice_of_the_same_penalty(arrays):
    table = paper_table("s", ("a", "b", "c"), *arrays)
    rows = one_table_curves(table, [1.2], np.array([0.0, 3.0, 1e6]), None)
    assert curve(rows, NO_PRIVACY, epsilon=1.0)[1].tolist() == [1, 1, 1]
    assert {row["size"] for row in rows if row["penalty"] == 1e6} == {1}
    assert curve(rows, AS_PRINTED, epsilon=10.0)[1].max() <= 1


def test_the_paper_s_prostate_radius_and_choice_come_out():
    table = prostate_table()
    assert table.rows == 97
    assert round(table.norm(), 2) == 5.68
    assert table.names(table.best()) == ("intercept", "lcavol", "lweight")


def test_a_prostate_file_with_the_same_columns_will_do(tmp_path):
    path = tmp_path / "men.csv"
    header = ",".join(["id", *PROSTATE_COLUMNS, PROSTATE_RESPONSE])
    path.write_text(header + "\n" + "\n".join(f"{i},{i},{i * i},{i % 3},{i % 5},{i % 7},{i / 2}" for i in range(20)))
    table = prostate_table(path)
    assert table.rows == 20
    assert table.largest == 9.5
    path.write_text("lcavol\n1\n")
    with pytest.raises(DataError, match="lpsa"):
        prostate_table(path)


def test_the_prostate_figure_has_three_radii_and_reports_progress():
    seen = []
    rows = prostate_figure(prostate_table(), seen.append)
    assert sorted({row["R"] for row in rows}) == pytest.approx([2.84, 5.68, 11.36])
    assert seen[-1] == 1


RAW_HOUSES = """price,sale_year,lat,long,county,bsqft
675000,2004,37.3,-121.9,Santa Clara,1848
360000,2005,37.8,-122.3,Alameda,660
104000,2005,37.8,-122.3,Alameda,660
505000,2006,37.85,-122.4,San Francisco,3001
505000,2006,37.85,-122.4,San Francisco,3000
"""


def test_raw_houses_are_filtered_and_scaled_by_public_bounds(tmp_path):
    path = tmp_path / "houses.csv"
    path.write_text(RAW_HOUSES)
    table = housing_table(path)
    assert table.rows == 3
    assert table.columns == HOUSING_COLUMNS
    place = {name: j for j, name in enumerate(HOUSING_COLUMNS)}
    one_each = np.diag(table.products)
    assert one_each[place["intercept"]] == 3
    assert one_each[place["county_Santa_Clara"]] == one_each[place["county_San_Francisco"]] == 1
    assert one_each[place["size"]] == pytest.approx((1848 / 1500 - 1) ** 2 + (660 / 1500 - 1) ** 2 + 1)
    assert one_each[-1] == pytest.approx(0.425**2 + 0.3625**2 + 0)
    assert not table.synthetic


def test_a_housing_design_file_is_taken_as_it_is(tmp_path):
    path = tmp_path / "design.csv.gz"
    lines = [",".join([*HOUSING_COLUMNS, "y_minmax"])] + [",".join(["1"] + ["0.5"] * 12 + ["-0.25"])] * 4
    with gzip.open(path, "wt") as file:
        file.write("\n".join(lines))
    table = housing_table(path)
    assert (table.rows, table.largest) == (4, 0.25)
    assert table.products[0, 1] == 2


def test_a_housing_file_without_the_columns_is_refused_in_one_sentence(tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("price,year\n1,2\n")
    with pytest.raises(DataError, match="price, year, lat, long and size"):
        housing_table(path)


def test_the_housing_stand_in_has_the_paper_s_shape_and_says_what_it_is():
    table = housing_table()
    assert table.synthetic
    assert "synthetic" in table.name
    assert (table.rows, len(table.columns), len(COUNTIES)) == (235_760, 13, 8)
    assert table.largest <= 1
    assert (table.products == housing_table().products).all()
