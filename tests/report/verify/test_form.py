"""Every input gets an answer: yes, no or not checked; never a traceback, and never a yes for what was edited."""

import copy
import dataclasses
import json
import math
import random
import re
from decimal import Decimal

import pytest
from msgspec.structs import replace

from dpselect.assume.recipe import Choice, make_recipe
from dpselect.errors import DataError, StudyError
from dpselect.release import linear
from dpselect.release.account import software_version
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.checks import Check, overall
from dpselect.release.ledger.ledger import Ledger
from dpselect.release.rounds.drawing import what_follows
from dpselect.release.rounds.intervals import Found
from dpselect.report import form
from dpselect.report.form import read_report, report_schema
from dpselect.report.page import report_page
from dpselect.report.selection_checks import least_profile_range
from dpselect.report.verify import check_report
from dpselect.use import command_line
from dpselect.use.analyze import analyze
from dpselect.use.select import select


@pytest.fixture(scope="module")
def study(document):
    return document.selection.study


@pytest.fixture(scope="module")
def charged(table, study):
    """Reports of every method and noise, and the ledger that all were charged to."""
    ledger = Ledger(epsilon=100, delta="1e-3")
    made = [
        analyze(table, study, epsilon=6, delta="1e-6", method=method, ledger=ledger)
        for method in ("votes", "pcls", "pcpl")
    ]
    made.append(analyze(table, study, epsilon=20, delta="1e-4", ledger=ledger, level=0.9))
    reports = [
        AnalysisRecord(title="A title", made="", selection=m.selection, coefficients=m.coefficients) for m in made
    ]
    return [*reports, AnalysisRecord(title="", made="", selection=made[0].selection, coefficients=None)], ledger


def answer(text, ledger=None):
    try:
        return overall(check_report(text, ledger))
    except DataError:
        return "failed"


def changed(document, *path, value):
    values = copy.deepcopy(document.to_dict())
    inner = values
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return json.dumps(values)


def test_true_reports_have_the_published_form_and_verify(charged):
    reports, ledger = charged
    for report in reports:
        for text in (report.to_json(), report_page(report), report.selection.to_json()):
            assert answer(text, ledger) == "ok"


def test_another_validator_agrees(charged):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    schema = report_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for report in charged[0]:
        assert not list(validator.iter_errors(report.to_dict()))
        assert not list(validator.iter_errors(report.selection.to_dict()))


ODD = [None, True, -1, 0, 1.5, 10**400, "", "x", "nan", "1e999999999", [], {}, [[]], {"a": 1}, "9" * 5000]


def _places(values, path=()):
    yield path
    inner = values.items() if isinstance(values, dict) else enumerate(values) if isinstance(values, list) else ()
    for key, value in inner:
        yield from _places(value, (*path, key))


def test_wrong_types_and_values_anywhere_are_a_no(charged):
    reports, ledger = charged
    generator = random.Random(12)
    for report in reports[:4]:
        places = [path for path in _places(report.to_dict()) if path and path[0] not in ("title", "made")]
        # A noisy count below zero is read as zero, so another such number is the same release for every reader.
        places = [path for path in places if path[-3:-1] != ("draw", "values")]
        for path in generator.sample(places, 25):
            value = generator.choice(ODD)
            text = changed(report, *path, value=value)
            if json.loads(text) != report.to_dict():
                assert answer(text, ledger) in ("failed", "not checked"), (path, value)


def test_every_name_that_is_left_out_or_added_is_a_no(charged):
    report = charged[0][0]
    for path in _places(report.to_dict()):
        values = copy.deepcopy(report.to_dict())
        inner = values
        for key in path[:-1]:
            inner = inner[key]
        if path and isinstance(inner, dict):
            del inner[path[-1]]
            assert answer(json.dumps(values)) == "failed", path
            inner["added"] = 1
            assert answer(json.dumps(values)) == "failed", path


NO_REPORTS = {
    "nothing": "",
    "brackets": "[" * 100_000,
    "objects": '{"a":' * 100_000,
    "digits": '{"format": ' + "9" * 5000 + "}",
    "a list": "[1, 2]",
    "a number": "3",
    "text": "hello",
    "not finite": '{"format": NaN}',
    "too large": '{"format": 1e999}',
    "a page without a report": "<html></html>",
    "a page with junk": '<script type="application/json" id="release">[[</script>',
    "a format that is a list": '{"format": []}',
}


@pytest.mark.parametrize("text", NO_REPORTS.values(), ids=NO_REPORTS)
def test_what_is_no_report_is_one_sentence(text, tmp_path, capsys):
    path = tmp_path / "report.json"
    path.write_text(text)
    assert command_line.run(["verify", str(path)]) == 4
    assert re.fullmatch(r"[^\n]*\.\n", capsys.readouterr().err)
    assert command_line.run(["verify", str(path), "--json"]) == 4
    assert json.loads(capsys.readouterr().out)["answer"] == "failed"


def test_bytes_folders_and_what_is_not_there(tmp_path, capsys):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    for name, code in (("bytes", 4), ("nothing", 2), (".", 2)):
        assert command_line.run(["verify", str(tmp_path / name)]) == code
        assert re.fullmatch(r"[^\n]*\.\n", capsys.readouterr().err)
    assert command_line.run(["verify"]) == 2


def test_a_name_that_stands_twice_is_a_no(charged):
    text = charged[0][0].to_json()
    twice = text.replace('"title": "A title"', '"title": "A title", "title": "forged"', 1)
    assert twice != text
    with pytest.raises(DataError, match="stands twice"):
        check_report(twice)


def test_the_schema_is_printed_and_shipped(capsys):
    assert command_line.run(["verify", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(report_schema()))


@pytest.mark.parametrize(
    "forge",
    [
        lambda page: page.replace("income ~ ", "wealth ~ "),
        lambda page: page.replace("</main>", "<p>Certified.</p></main>"),
        lambda page: page.replace("<body>", "<body><p hidden>more</p>"),
        lambda page: page,
    ],
    ids=["other words", "more words", "hidden words", "untouched"],
)
def test_a_forged_version_does_not_let_a_forged_page_pass(charged, forge, monkeypatch):
    """In 0.1.0 a page that stated another version had to hold a few strings somewhere, hidden ones too."""
    report, ledger = charged[0][0], charged[1]
    values = report.to_dict()
    values["selection"]["version"] = values["coefficients"]["version"] = "9.9.9"
    other = report_page(AnalysisRecord.from_dict(values))
    page = forge(other)
    found = {check.what: check.answer for check in check_report(page)}
    if page != other:
        assert found["page shows the release inside it"] == "not checked"
        assert answer(page) != "ok"
    assert answer(page, ledger) == "failed"  # the ledger was told the version


@pytest.mark.parametrize(
    "before", ["", "\ufeff", "\u200b", "x", "{}", "\ufeff\ufeff\n", '{"a": "', "&#8203;", "[", "\x00"]
)
def test_no_mark_before_a_forged_page_lets_it_pass(charged, before):
    """A browser shows a page whatever stands before it; what began with an invisible mark was once not compared at all."""
    report, ledger = charged[0][0], charged[1]
    page = report_page(report)
    # The numbers that a reader sees are forged, and the release that the page carries is not.
    head, release, tail = re.fullmatch(
        r"(.*?)(<script type=.application/json. id=.release.>.*</script>)(.*)", page, re.S
    ).groups()
    forged = before + head.replace("income", "wealth") + release + tail.replace("income", "wealth")
    assert forged != before + page
    assert answer(page, ledger) == "ok"
    assert answer(forged, ledger) == "failed"


def test_json_that_a_browser_would_show_as_a_page_is_refused(charged, tmp_path, capsys):
    """A release whose title draws a page over all else was true JSON, and verified, in a file named .html."""
    selection = charged[0][0].selection
    report = AnalysisRecord(
        title='<h1 style="position: fixed">All effects are nil</h1>', made="", selection=selection, coefficients=None
    )
    for name, code in (("report.json", 0), ("report.html", 4), ("report.HTM", 4), ("report.svg", 4), ("report", 4)):
        (tmp_path / name).write_text(json.dumps(report.to_dict()))
        assert command_line.run(["verify", str(tmp_path / name)]) == code
        assert code == 0 or "JSON with the marks of a page in it" in capsys.readouterr().err


def test_what_is_written_is_no_markup_wherever_it_is_shown(charged):
    selection = charged[0][0].selection
    for title in ("<script>", "</p>", "<!--", "<?x", "ages < 25", "<25", "a<b"):
        text = AnalysisRecord(title=title, made="", selection=selection, coefficients=None).to_json()
        assert json.loads(text)["title"] == title
        assert re.search("<[A-Za-z/!?]", text) is None
        assert ("<" in text) == (title in ("ages < 25", "<25"))


def test_notes_cannot_be_forged(charged):
    """They follow from the terms, and have no place in the file."""
    report = charged[0][0]
    values = copy.deepcopy(report.to_dict())
    values["coefficients"]["caveats"] = ["Audited, and free of any doubt."]
    for version in (values["coefficients"]["version"], "9.9.9"):
        values["coefficients"]["version"] = version
        assert answer(json.dumps(values)) == "failed"


def test_an_edited_receipt_shows_in_the_ledger(charged):
    reports, ledger = charged
    for part in ("selection", "coefficients"):
        for name in ("epsilon", "delta"):
            text = changed(reports[0], part, "receipt", "remaining", name, value="0.0001234")
            found = [check.what for check in check_report(text, ledger) if check.holds is False]
            assert found == ["receipt matches the remaining budget"]


def test_what_was_left_under_another_versions_theorem_is_not_checked(charged, monkeypatch):
    reports, ledger = charged
    text = changed(reports[0], "selection", "receipt", "remaining", "epsilon", value="1")
    monkeypatch.setattr("dpselect.release.checks.software_version", lambda: "9.9.9")
    checks = check_report(text, ledger)
    assert [check.what for check in checks if check.holds is None] == ["receipt matches the remaining budget"]
    assert overall(checks) == "not checked"


def _ask_otherwise(*about):
    ask = what_follows(*about)
    return ask if isinstance(ask, Found) else [*ask, *ask]


OTHER_RULES = {
    "block votes follow the public rule": ("report.selection_checks.held_votes", lambda *_: None),
    "directions belong to the selected variables": ("report.selection_checks.tells_directions", lambda _: False),
    "each round asks what follows from the one before it": ("release.rounds.checking.what_follows", _ask_otherwise),
    "effects follow from the released sums": ("report.verify._same_term", lambda *_: False),
}


def _of_version(report, version):
    values = report.to_dict()
    values["selection"]["version"] = values["coefficients"]["version"] = version
    return values


@pytest.mark.parametrize("what", OTHER_RULES)
def test_what_the_rule_of_another_version_gave_is_not_checked(charged, monkeypatch, what):
    """After a public constant changes, reports of before are neither failures nor verified; those of this version fail."""
    place, rule = OTHER_RULES[what]
    monkeypatch.setattr(f"dpselect.{place}", rule)
    document = charged[0][0]
    checks = check_report(document.to_json())
    assert what in [check.what for check in checks if check.holds is False]
    checks = check_report(json.dumps(_of_version(document, "0.0.1")))
    assert overall(checks) == "not checked"
    (found,) = [check.found for check in checks if check.what == what]
    assert found == f"made with version 0.0.1, and this is {software_version()}"


def test_moments_of_another_versions_layout_are_not_checked(table, study, monkeypatch):
    made, what = analyze(table, study, epsilon=6, delta=0), "noise scale matches the cost"
    report = AnalysisRecord(title="", made="", selection=made.selection, coefficients=made.coefficients)
    assert answer(changed(report, "coefficients", "version", value="0.0.1")) == "ok"
    plan = linear.planned_moments(made.coefficients)
    monkeypatch.setattr(linear, "planned_moments", lambda _: dataclasses.replace(plan, layout=None))
    for version, said in ((software_version(), "failed"), ("0.0.1", "not checked")):
        checks = check_report(json.dumps(_of_version(report, version)))
        assert (overall(checks), [check.what for check in checks if not check.holds]) == (said, [what])
    noise = dataclasses.replace(plan, noise=replace(plan.noise, spread=2 * plan.noise.spread))
    monkeypatch.setattr(
        linear, "planned_moments", lambda _: noise
    )  # less noise than the price asks for, in any version
    assert answer(json.dumps(_of_version(report, "0.0.1"))) == "failed"


def test_another_version_excuses_no_draws_that_cost_more(charged, monkeypatch):
    def costly(*_):
        raise StudyError("too much")

    monkeypatch.setattr("dpselect.release.rounds.checking.require_within", costly)
    checks = check_report(changed(charged[0][0], "coefficients", "version", value="0.0.1"))
    assert [check.what for check in checks if not check.holds] == ["noise scale matches the cost"]
    assert overall(checks) == "failed"


def test_the_range_of_pcpl_is_bounded_from_below(table, study):
    """A range of almost nothing would mean that nothing was disturbed; 0.1.0 took any."""
    for epsilon in ("0.1", "1", "50"):
        report = AnalysisRecord(
            title="",
            made="",
            selection=select(table, study, epsilon=epsilon, delta="1e-6", method="pcpl"),
            coefficients=None,
        )
        least = least_profile_range(report.selection.recipe)
        assert 0 < least <= report.selection.range
        assert answer(report.to_json()) == "ok"
        assert answer(changed(report, "selection", "range", value=least / 2)) == "failed"


def test_a_release_of_another_version_is_not_what_its_entry_states(charged):
    reports, ledger = charged
    checks = check_report(changed(reports[0], "selection", "version", value="0.0.1"), ledger)
    assert [check.holds for check in checks if check.what == "ledger entry is unchanged"] == [False, True]


@pytest.mark.parametrize("as_printed", [True, False])
@pytest.mark.parametrize("most", [None, 3])
def test_the_least_range_of_pcpl_is_that_of_the_formula(study, as_printed, most):
    """2G at the largest noisy least loss but for a chance of e^-50; the paper prints nB/(m - B) where -n log(1 - B/m) is enough."""
    stated = study if most is None else replace(study, person="who", max_rows_per_person=most)
    recipe = make_recipe(stated, Choice("pcpl", as_printed=as_printed), rows=900, epsilon=2, delta=Decimal("1e-6"))
    change, rows = (most or 1) * (1 + stated.rho) ** 2, 900
    largest = rows + 1 + 51 * (change + 1) / float(recipe.bound_epsilon)
    bound = rows * change / (largest - change) if as_printed else -rows * math.log(1 - change / largest)
    assert recipe.bound_epsilon == 1 and least_profile_range(recipe) == pytest.approx(2 * bound, rel=2e-9)
    assert least_profile_range(recipe) < 2 * bound


def test_a_list_that_nobody_could_score_is_a_no_and_not_a_full_memory(charged):
    report = charged[0][1]
    values = copy.deepcopy(report.selection.to_dict())
    values["recipe"]["candidates"]["terms"] = [[place] for place in range(1, 60)]
    values["recipe"]["candidates"]["width"] = 60
    assert answer(json.dumps(values)) == "failed"


def test_an_error_of_the_checker_itself_is_a_no(charged, monkeypatch):
    def fails(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("dpselect.report.selection_checks.required_range", fails)
    checks = check_report(charged[0][0].to_json())
    assert Check("report can be recomputed", False, "it cannot (ZeroDivisionError)") in checks


def test_answers():
    yes, no, unknown = (Check("", holds, "") for holds in (True, False, None))
    assert [overall(each) for each in ([yes], [yes, unknown], [no, unknown], [])] == [
        "ok",
        "not checked",
        "failed",
        "failed",
    ]


def test_a_form_names_the_first_place():
    for text, where in (
        ('{"format": "dpselect analysis 1"}', "missing required field `title`"),
        ('{"format": "dpselect selection 1", "columns": [0, "x"]}', "Expected `int`, got `str` - at `$.columns[1]`"),
    ):
        with pytest.raises(DataError, match=re.escape(where)):
            read_report(text)


def test_a_ledger_entry_states_version_and_price_both(charged):
    """Either alone is not enough: a page of another version, or at another price, is not what was charged."""
    report, ledger = charged[0][0], charged[1]

    def unchanged(**edited):
        values = report.to_dict()
        values["selection"].update(edited)
        found = check_report(AnalysisRecord.from_dict(values).to_json(), ledger)
        return next(check.answer for check in found if check.what.endswith("ledger entry is unchanged"))

    assert unchanged() == "ok"
    assert unchanged(version="9.9.9") == "failed"


def test_a_text_far_too_long_is_refused_before_it_is_read(monkeypatch):
    monkeypatch.setattr(form, "MAX_TEXT_LENGTH", 20)
    assert form.plain_values('{"a": 1}') == {"a": 1}
    with pytest.raises(DataError, match="far too long"):
        form.plain_values('{"a": 1}'.ljust(21))
