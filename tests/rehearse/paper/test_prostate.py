import pytest

from dpselect.errors import DataError
from dpselect.rehearse.paper.prostate import COLUMNS, RESPONSE, bic_choice, prostate_figure, prostate_table


def test_the_paper_s_radius_and_choice_come_out():
    table = prostate_table()
    assert table.rows == 97
    assert round(table.norm(), 2) == 5.68
    assert bic_choice(table) == ("intercept", "lcavol", "lweight")


def test_a_file_with_the_same_columns_will_do(tmp_path):
    path = tmp_path / "men.csv"
    header = ",".join(["id", *COLUMNS, RESPONSE])
    path.write_text(header + "\n" + "\n".join(f"{i},{i},{i * i},{i % 3},{i % 5},{i % 7},{i / 2}" for i in range(20)))
    table = prostate_table(path)
    assert table.rows == 20
    assert table.largest == 9.5
    path.write_text("lcavol\n1\n")
    with pytest.raises(DataError, match="lpsa"):
        prostate_table(path)


def test_the_figure_has_three_radii_and_reports_progress():
    seen = []
    rows = prostate_figure(prostate_table(), seen.append)
    assert sorted({row["R"] for row in rows}) == pytest.approx([2.84, 5.68, 11.36])
    assert seen[-1] == 1
