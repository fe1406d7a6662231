"""The figures of a plan: every line, point and band where the numbers are."""

from types import SimpleNamespace

import pytest

from dpselect.rehearse.planning.plan import plan
from dpselect.report.plan_figure import outlook_figure, plan_figure, save_figure


def test_a_plan_is_drawn_with_its_verdict(tmp_path):
    made = plan(rows=50, epsilon=0.5, columns=5, r=1.0)
    paths = save_figure(plan_figure(made), tmp_path, "plan")
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert "needed: about" in paths[1].read_text()
    assert "this plan" in paths[1].read_text()


OUTLOOK = SimpleNamespace(
    expected=SimpleNamespace(kept=0.7), epsilon=1.0, rows=500, rows_needed=900, verdict="Enough.",
    by_epsilon=[(0.5, 0.4), (1.0, 0.7), (2.0, 0.9)], by_rows=[(250, 0.3), (500, 0.7), (1000, 0.85)],
)  # fmt: skip
LENGTHS = "age", [(0.5, None), (1.0, 4.0), (2.0, 2.0)], [(250, None), (500, None), (1000, None)]


def lines(panel):
    return [[list(map(float, each)) for each in line.get_xydata()] for line in panel.get_lines()]


def test_an_outlook_is_drawn_where_its_numbers_are():
    upper = outlook_figure(OUTLOOK).axes
    assert len(upper) == 2 and [each.get_ylim() for each in upper] == [(-0.02, 1.04)] * 2
    left, right = map(lines, upper)
    assert left == [[[0, 0.8], [1, 0.8]], [[0.5, 0.4], [1, 0.7], [2, 0.9]], [[1, 0.7]]]  # wanted, expected, this plan
    assert right == [[[0, 0.8], [1, 0.8]], [[250, 0.3], [500, 0.7], [1000, 0.85]], [[500, 0.7]], [[900, 0], [900, 1]]]
    found = [(each.get_text(), each.xy, each.get_fontsize()) for each in upper[1].texts]
    assert found == [("needed: about 900 ", (900, 0.93), 8)]


def test_lengths_that_noise_hides_are_a_grey_band():
    panels = outlook_figure(OUTLOOK, LENGTHS).axes
    assert len(panels) == 4
    seen, blind = panels[2:]
    assert lines(seen) == [[[1, 4], [2, 2]], [[1, 4]]] and lines(blind) == []
    bands = [(patch.get_x(), patch.get_x() + patch.get_width()) for panel in (seen, blind) for patch in panel.patches]
    assert bands == [pytest.approx((0.5 / 1.15, 1)), pytest.approx((250 / 1.15, 1150))]
    assert [panel.get_xlim() for panel in (seen, blind)] == [
        pytest.approx((0.5 / 1.15, 2.3)),
        pytest.approx((250 / 1.15, 1150)),
    ]
    for panel in (seen, blind):
        found = [(each.get_text(), each.get_position(), each.get_fontsize()) for each in panel.texts]
        assert found == [("hidden by noise", (0.03, 0.93), 8)]
