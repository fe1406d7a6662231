import gzip

import numpy as np
import pytest

from dpselect.errors import DataError
from dpselect.rehearse.paper.housing import COLUMNS, COUNTIES, housing_table

RAW = """price,sale_year,lat,long,county,bsqft
675000,2004,37.3,-121.9,Santa Clara,1848
360000,2005,37.8,-122.3,Alameda,660
104000,2005,37.8,-122.3,Alameda,660
505000,2006,37.85,-122.4,San Francisco,3001
505000,2006,37.85,-122.4,San Francisco,3000
"""


def test_raw_rows_are_filtered_and_scaled_by_public_bounds(tmp_path):
    path = tmp_path / "houses.csv"
    path.write_text(RAW)
    table = housing_table(path)
    assert table.rows == 3
    assert table.columns == COLUMNS
    place = {name: j for j, name in enumerate(COLUMNS)}
    one_each = np.diag(table.products)
    assert one_each[place["intercept"]] == 3
    assert one_each[place["county_Santa_Clara"]] == one_each[place["county_San_Francisco"]] == 1
    assert one_each[place["size"]] == pytest.approx((1848 / 1500 - 1) ** 2 + (660 / 1500 - 1) ** 2 + 1)
    assert one_each[-1] == pytest.approx(0.425**2 + 0.3625**2 + 0)
    assert not table.synthetic


def test_a_design_file_is_taken_as_it_is(tmp_path):
    path = tmp_path / "design.csv.gz"
    lines = [",".join([*COLUMNS, "y_minmax"])] + [",".join(["1"] + ["0.5"] * 12 + ["-0.25"])] * 4
    with gzip.open(path, "wt") as file:
        file.write("\n".join(lines))
    table = housing_table(path)
    assert (table.rows, table.largest) == (4, 0.25)
    assert table.products[0, 1] == 2


def test_a_file_without_the_columns_is_refused_in_one_sentence(tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("price,year\n1,2\n")
    with pytest.raises(DataError, match="price, year, lat, long and size"):
        housing_table(path)


def test_the_stand_in_has_the_paper_s_shape_and_says_what_it_is():
    table = housing_table()
    assert table.synthetic
    assert "synthetic" in table.name
    assert (table.rows, len(table.columns), len(COUNTIES)) == (235_760, 13, 8)
    assert table.largest <= 1
    assert (table.products == housing_table().products).all()
