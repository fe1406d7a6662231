"""A release that the studio plans is the one that `analyze` makes, and the command and the Python that it shows say the same."""

import numpy as np
import pytest

from dpselect.release.ledger.ledger import Ledger
from dpselect.use.studio.releases import plan_report, release
from dpselect.use.studio.reports import past_report, same_command, same_python
from dpselect.use.studio.sources import Source

STUDY = """
radius = 1.0
[response]
name = "visits"
{}
[[predictors]]
name = "age"
lower = 18
upper = 90
"""
COUNT, BINARY, NUMBER = 'kind = "count"\nupper = 20', 'kind = "binary"\ncategories = [0, 1]', "lower = 0\nupper = 20"
ASKED = {"epsilon": "1", "delta": "1e-6", "title": "", "what": "both"}


@pytest.fixture
def planned(tmp_path, monkeypatch):
    """Plans a release of a study with this response."""
    monkeypatch.chdir(tmp_path)

    def planned(response, **asked):
        rows = np.random.default_rng(3).integers((0, 18), (2, 90), (400, 2))
        (tmp_path / "people.csv").write_text("visits,age\n" + "".join(f"{y},{age}\n" for y, age in rows))
        (tmp_path / "study.toml").write_text(STUDY.format(response))
        source = Source(address="people.csv", form=(), columns=())
        Ledger(source.ledger, epsilon="3", delta="1e-5")
        return plan_report(tmp_path / "study.toml", source, {**ASKED, **asked})

    return planned


@pytest.mark.parametrize(("response", "family"), [(COUNT, "poisson"), (BINARY, "binomial"), (NUMBER, "gaussian")])
def test_the_family_follows_from_the_response_as_in_the_command(planned, response, family):
    plan = planned(response)
    assert plan.order.estimating.family.name == family
    assert "family" not in same_command(plan) + same_python(plan)


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_a_family_that_was_asked_for_is_in_the_command_and_in_the_python(planned, family):
    plan = planned(BINARY, family=family)
    assert plan.order.estimating.family.name == family
    assert f"--family {family}" in same_command(plan)
    assert f"family='{family}'" in same_python(plan)


def test_a_selection_has_no_family(planned):
    plan = planned(BINARY, family="binomial", what="choice")
    assert "family" not in same_command(plan) + same_python(plan)


def test_an_old_report_keeps_its_family(planned):
    plan = planned(BINARY, family="binomial")
    release(plan, print)
    old = past_report(plan.study_file, plan.number, plan.source)
    assert "--family binomial" in same_command(old)
    assert "family='binomial'" in same_python(old)
