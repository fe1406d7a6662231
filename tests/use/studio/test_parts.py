"""Parts of the studio by themselves; the other tests ask a running one, in a program of its own."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from dpselect import Numeric, Study
from dpselect.errors import StudyError
from dpselect.use.studio import plan_pages, release_pages, study_pages
from dpselect.use.studio.forms import holds_already, save_study
from dpselect.use.studio.ledgers import LedgerFacts
from dpselect.use.studio.previews import _scenarios, plan_facts
from dpselect.use.studio.session import Session
from dpselect.use.studio.sources import Source, study_mark

STUDY = Study(Numeric("y", 0, 9), [Numeric("a", 0, 1)])


def test_a_form_that_was_sent_twice_is_known(tmp_path):
    file = tmp_path / "study.toml"
    assert not holds_already(STUDY.to_dict(), file)
    save_study(STUDY.to_dict(), file)
    assert holds_already(STUDY.to_dict(), file)
    assert not holds_already(Study(STUDY.response, [Numeric("a", 0, 2)]).to_dict(), file)


def test_the_mark_of_a_study_follows_its_text_and_its_data(tmp_path):
    file, place = tmp_path / "study.toml", Source(address="a.csv", form=(), columns=())
    marks = [study_mark(file, None)]
    for text in ("one", "two"):
        file.write_text(text)
        marks += [study_mark(file, None), study_mark(file, place)]
    assert len(set(marks)) == 5 and study_mark(file, place) == marks[-1]


def test_scenarios_say_once_what_all_begin_with():
    assert _scenarios(["4 effects, alike", "4 effects, apart"]) == "4 effects: alike; apart"
    assert _scenarios(["4 effects, alike", "2 effects, apart"]) == "4 effects, alike; 2 effects, apart"


@pytest.mark.parametrize(("share", "gone"), [(0.25, 180), (1.0, 720), (1.5, 720)])
def test_the_bar_of_a_budget_is_no_longer_than_all_of_it(share, gone):
    words = dict.fromkeys(("place", "epsilon", "delta", "spent", "left", "method"), "")
    facts = LedgerFacts(**words, share=share, records=(), holders={}, waiting=())
    assert [float(each) for each in re.findall(r'<rect[^>]* width="([\d.]+)"', facts.bar)] == [720, gone]


@pytest.mark.parametrize("share", ["0", "1", "1.5", "-0.1", "nan"])
def test_no_model_explains_all_nothing_or_more(share):
    with pytest.raises(StudyError, match=f"The expected R² is {share}; it must be between 0 and 1"):
        plan_facts(STUDY, 500, "1", share, "")


def test_a_form_waits_until_it_is_shown():
    session = Session(Path("study.toml"))
    session.keep("variables", {"a": "1"}, {"a": "wrong"})
    assert session.kept("variables", forget=False).form == session.kept("variables").form == {"a": "1"}
    assert session.kept("variables").form == {}


def test_a_check_has_a_way_back_and_says_when_it_is_stale(tmp_path, monkeypatch):
    file = tmp_path / "study.toml"
    file.write_text("one")
    session = Session(file)
    session.check = SimpleNamespace(page="<main>rows</main>", mark=study_mark(file, None))
    monkeypatch.setattr(plan_pages, "session_of", lambda request: session)
    fresh = plan_pages.show_check_page(None).body.decode()
    assert fresh == f"{plan_pages.BACK}rows</main>"
    file.write_text("two")
    assert plan_pages.show_check_page(None).body.decode() == f"{plan_pages.BACK}{plan_pages.STALE}rows</main>"


@pytest.mark.parametrize(
    ("rows", "taken"),
    [
        ("2", True),
        ("70,000", True),
        (str(2**32), True),
        ("1", False),
        (str(2**32 + 1), False),
        ("x", False),
        ("", False),
    ],
)
def test_a_plan_takes_as_many_rows_as_a_table_may_have(tmp_path, monkeypatch, rows, taken):
    session = Session(tmp_path / "study.toml")
    save_study(STUDY.to_dict(), session.study_file)
    monkeypatch.setattr(plan_pages, "session_of", lambda request: session)
    monkeypatch.setattr(plan_pages, "form_of", lambda request: {"rows": rows, "epsilon": "1", "r_squared": "0.3"})
    monkeypatch.setattr(plan_pages, "plan_facts", lambda study, rows, *_: rows)
    plan_pages.make_plan(None)
    assert (session.plan == int(rows.replace(",", ""))) if taken else session.plan is None
    assert ("rows" in session.kept("plan").problems) != taken


@pytest.mark.parametrize("busy", [True, False])
def test_what_waits_is_offered_unless_a_release_is_under_way(monkeypatch, tmp_path, busy):
    session = SimpleNamespace(
        study_file=tmp_path / "study.toml", source=None, busy=busy, kept=Session(tmp_path / "study.toml").kept
    )
    shown = {}
    monkeypatch.setattr(release_pages, "session_of", lambda request: session)
    monkeypatch.setattr(release_pages, "ledger_facts", lambda *_: SimpleNamespace(waiting=("one",)))
    monkeypatch.setattr(release_pages, "answer", lambda request, screen, **facts: shown.update(facts))
    release_pages.show_release(None)
    assert shown["waiting"] == (() if busy else ("one",))


def test_the_form_of_variables_shows_the_study_until_something_else_was_typed(tmp_path, monkeypatch):
    session, shown = Session(tmp_path / "study.toml"), {}
    save_study(STUDY.to_dict(), session.study_file)
    monkeypatch.setattr(study_pages, "session_of", lambda request: session)
    monkeypatch.setattr(study_pages, "answer", lambda request, screen, **facts: shown.update(facts))
    study_pages.show_variables(None)
    assert {each.name for each in shown["entries"]} == {"y", "a"}
