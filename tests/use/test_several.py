"""Several responses from one budget: one transaction, parts that add up, a report each; all of them or none."""

import json
from decimal import Decimal

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv

import dpselect
from dpselect.errors import BudgetExceeded, DataError, LedgerError, StudyError
from dpselect.release.ledger.entries import Charge
from dpselect.report.page import report_page
from dpselect.use import spend as spending
from dpselect.use.command_line import dpselect as commands

PREDICTORS = [dpselect.Numeric("age", -4, 4), dpselect.Numeric("luck", -4, 4)]
STUDIES = [dpselect.Study(dpselect.Numeric(name, -9, 9), PREDICTORS) for name in ("wage", "hours")]

ADDED = dpselect.Study(dpselect.Numeric("hours", -9, 9), PREDICTORS, neighbors="add-remove-one")


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(260)
    age, luck, one, two = rng.normal(size=(4, 3000))
    return pa.table({"age": age, "luck": luck, "wage": age + one, "hours": 2 * two - age})


def failed(page, ledger):
    return [check.what for check in dpselect.verify(page, ledger).checks if check.holds is not True]


def test_parts_add_up_in_one_transaction_and_each_has_a_report(people, tmp_path):
    ledger = dpselect.Ledger(tmp_path / "budget.db", epsilon=2, delta="1e-6")
    wage, hours = dpselect.analyze_several(people, STUDIES, epsilon=2, shares=(3, 1), ledger=ledger)
    assert (wage.selection.directions["age"], hours.selection.directions["age"]) == ("up", "down")
    assert (wage.guarantee.epsilon, hours.guarantee.epsilon) == (Decimal("1.5"), Decimal("0.5"))
    assert ledger.spent().epsilon == 2 and ledger.spent().delta == Decimal("1e-6")
    assert len({(entry.release, entry.time) for entry in ledger.entries()}) == 1 and len(ledger.entries()) == 4
    assert not ledger.undelivered()
    assert (wage.beside, hours.beside) == (("hours",), ("wage",))
    assert "released together with reports on wage, from one budget" in " ".join(report_page(hours).split())
    for name, analysis in (("wage", wage), ("hours", hours)):
        page = analysis.to_html(tmp_path / f"{name}.html")
        assert failed(page, ledger) == []
        for others in ((), ("weight",)):  # that there are others was left out, or changed, and the report verified
            page.write_text(report_page(msgspec.structs.replace(analysis, beside=others)))
            assert failed(page, ledger) == ["report is the release in the ledger"]


def test_too_much_for_all_is_nothing_for_any(people, tmp_path):
    ledger = dpselect.Ledger(tmp_path / "budget.db", epsilon=1, delta="1e-6")
    with pytest.raises(BudgetExceeded):
        dpselect.analyze_several(people, STUDIES, epsilon="1.5", ledger=ledger)
    assert not ledger.entries()


@pytest.fixture
def stopped(people, tmp_path, monkeypatch):
    """A ledger whose release of both responses is paid for and waits."""
    csv.write_csv(people, tmp_path / "people.csv")
    ledger = dpselect.Ledger(tmp_path / "people.budget.db", epsilon=2, delta="1e-6")
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(spending, "_finished", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        dpselect.analyze_several(tmp_path / "people.csv", STUDIES, epsilon=2, ledger=ledger)
    return ledger


def test_an_entry_pays_once(stopped, tmp_path):
    """A copy of a part, with its receipt, was drawn anew: four estimates for one charge, by one text."""
    (waiting,) = stopped.undelivered()
    values = json.loads(waiting.text)
    values["beside"] *= 2
    dear, *cheap = [
        Charge(**{name: getattr(entry, name) for name in Charge.__struct_fields__}) for entry in stopped.entries()
    ]
    ledger = dpselect.Ledger(epsilon=4, delta="1e-5")
    ledger.commit([dear, *cheap], json.dumps(values))
    with pytest.raises(LedgerError, match="other parts than were charged"):
        spending.resume(ledger, tmp_path / "people.csv", lambda released: pytest.fail("it was handed over"))
    ledger = dpselect.Ledger(epsilon=4, delta="1e-5")
    free = msgspec.structs.replace(dear, epsilon="0.0000001", what="nothing")
    ledger.commit([dear, *cheap, free, free], json.dumps(values))
    with pytest.raises(LedgerError, match="states another price"):
        spending.resume(ledger, tmp_path / "people.csv", lambda released: pytest.fail("it was handed over"))


def test_what_was_stopped_after_the_commit_waits_whole(stopped, tmp_path):
    ledger = stopped
    assert ledger.spent().epsilon == 2 and len(ledger.undelivered()) == 1
    asked = ["resume", str(tmp_path / "people.csv"), "-o", str(tmp_path / "report.html")]
    answer = CliRunner().invoke(commands, asked)
    assert answer.exit_code == 0, answer.output
    for name in ("report.html", "report-2.html"):
        assert all(check.holds for check in dpselect.verify(tmp_path / name, ledger).checks)
    assert not ledger.undelivered() and ledger.spent().epsilon == 2


@pytest.mark.parametrize(
    ("studies", "shares", "said"),
    [
        ([], None, "at least one"),
        (STUDIES[:1] * 2, None, "each response once"),
        (STUDIES, (1,), "one share for each"),
        ([STUDIES[0], ADDED], None, "about the same"),
    ],
)
def test_what_cannot_be_is_refused(people, studies, shares, said):
    with pytest.raises(StudyError, match=said):
        dpselect.analyze_several(people, studies, epsilon=1, shares=shares)


def test_a_stream_is_refused_before_it_is_read(people):
    """The first response read it to its end, and of the second it was said that the table has no rows."""
    stream = pa.RecordBatchReader.from_batches(people.schema, people.to_batches())
    stated = [msgspec.structs.replace(study, rows=3000) for study in STUDIES]
    with pytest.raises(DataError, match="a stream can be read once"):
        dpselect.analyze_several(stream, stated, epsilon=1)
    assert stream.read_all().num_rows == 3000


def test_formulas_serve(people):
    found = dpselect.analyze_several(people, ["wage ~ age + luck", "hours ~ age + luck"], epsilon=4)
    assert [analysis.selection.study.response.name for analysis in found] == ["wage", "hours"]
