from dpselect.rehearse.planning.plan import plan
from dpselect.report.plan_figure import plan_figure, save_figure


def test_a_plan_is_drawn_with_its_verdict(tmp_path):
    made = plan(rows=50, epsilon=0.5, columns=5, r=1.0)
    paths = save_figure(plan_figure(made), tmp_path, "plan")
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert "needed: about" in paths[1].read_text()
    assert "this plan" in paths[1].read_text()
