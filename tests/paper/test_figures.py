import csv
import json

import pytest

from dpselect.errors import StudyError
from dpselect.report.plan_figure import save_figure
from paper.figures import penalty_figure, run_figure
from paper.simulations import FIRST, simulation_figure


def test_a_figure_is_drawn_tabulated_and_compared(tmp_path):
    run = run_figure("fig3", tmp_path / "new" / "folder")
    names = {path.name for path in run.paths}
    assert names == {"fig3.png", "fig3.svg", "fig3.csv", "fig3_statements.csv", "fig3_statements.json"}
    folder = tmp_path / "new" / "folder"
    assert (folder / "fig3.png").read_bytes().startswith(b"\x89PNG")
    assert "Figure 3" in (folder / "fig3.svg").read_text()
    with (folder / "fig3.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * 98 * 4 * 3
    assert {"n", "R", "penalty", "epsilon", "noise", "chance"} <= set(rows[0])
    statements = json.loads((folder / "fig3_statements.json").read_text())
    assert [each["verdict"] for each in statements] == ["reproduced"] * 4
    assert "5.6837" in str(run)


def test_the_same_numbers_give_the_same_bytes(tmp_path):
    rows = simulation_figure(FIRST, sizes=[100], radii=[1.0, 2.5], count=2)
    for name in ("a", "b"):
        save_figure(penalty_figure(rows, "title", "note"), tmp_path, name)
    for kind in ("png", "svg"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


def test_a_figure_that_the_paper_does_not_have_is_refused(tmp_path):
    with pytest.raises(StudyError, match="fig1, fig2, fig3, fig4"):
        run_figure("fig5", tmp_path)
