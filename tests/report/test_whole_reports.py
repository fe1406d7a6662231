"""Whole reports against the text that they had, letter by letter: what no single sentence of the other tests looks at.

Every number of a case is written here, so that a report depends on no draw. After a change of words or looks, read what changed:
`WRITE=1 python -m pytest tests/report/test_whole_reports.py` writes the files of tests/report/whole anew, and `git diff` shows it.
"""

import io
import os
import re
from dataclasses import replace as with_other
from decimal import Decimal
from functools import cache
from pathlib import Path

import docx
import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

import dpselect
from dpselect import Binary, Categorical, Numeric, Study
from dpselect.assume.recipe import Choice, make_recipe
from dpselect.assume.variables import Count
from dpselect.gather.fit import TableFit, VariableFit, WeightFit
from dpselect.rehearse.check.effects import EffectPreview, Setting
from dpselect.rehearse.check.preview import Curve, Preview
from dpselect.release.analysis import AnalysisRecord
from dpselect.release.drawn import Amount
from dpselect.report.board import board_facts
from dpselect.report.confidential import advice, confidential_page
from dpselect.report.curves import curve_chart
from dpselect.report.exports import to_csv, to_docx, to_latex, to_markdown
from dpselect.report.facts import facts_of
from dpselect.report.figure import axis_cell, axis_of, effects_figure, row_cell
from dpselect.report.page import analysis_lines, report_page
from dpselect.report.registry_entry import Deployment, as_yaml, registry_entry
from dpselect.use.shell.files import REPORT_BYTES
from tests.report.test_table import DIRECTIONS, TERMS, term

WHOLE = Path(__file__).with_name("whole")
DRAWN = ("release", "fingerprint", "study_hash", "version", "citation")
"""Facts that hold what was drawn, or the version."""
PREDICTORS = (
    Numeric("age", 0, 100, label="age", unit="years", reason="a form"),
    Numeric("income", 0, 200, label="income", unit="$1,000", one_more="each further thousand dollars"),
    Binary("smoker", ["no", "yes"], label="smokers"),
    Categorical("ward", ["a", "b", "c"], label="ward", category_labels=["internal", "surgery", "other"]),
    Numeric("bare", 0, 1),
)
DAYS = Study(Numeric("days", 0, 60, label="length of stay", unit="days"), PREDICTORS)


def table_of_rows():
    rng = np.random.default_rng(3)
    return {
        "age": rng.uniform(0, 100, 60), "income": rng.uniform(0, 200, 60), "smoker": rng.choice(["no", "yes"], 60),
        "ward": rng.choice(["a", "b", "c"], 60), "bare": rng.uniform(0, 1, 60), "days": rng.uniform(0, 60, 60),
        "died": rng.choice(["no", "yes"], 60), "falls": rng.integers(0, 9, 60), "who": np.arange(60) // 2,
    }  # fmt: skip


@cache
def drawn(study, family="gaussian"):
    """An analysis of sixty rows; what it drew is replaced by numbers that are written here."""
    every = [[each.name for each in study.predictors]]
    return dpselect.analyze(table_of_rows(), study, epsilon=1, delta="1e-6", candidates=every, family=family)


SCALES = {"age": 18.0, "income": 40.0, "bare": 0.3}


def record(study=DAYS, family="gaussian", terms=TERMS, directions=DIRECTIONS, **facts):
    """A report of which every number is stated."""
    found = drawn(study, family)
    stated = {
        "unadjusted": (term("bare", 1.2345, 0.4), term("age", 0.0101, 0.0302)), "residual_deviation": Amount(7.123, 6.02, 8.31),
        "r_squared": Amount(0.1234, 0.0812, 0.1822), "rows": 61.7, "directions": {}, "terms": terms,
    }  # fmt: skip
    coefficients = replace(found.coefficients, **stated | facts)
    selection = replace(found.selection, directions=directions)
    return AnalysisRecord(title="", made="2026-11-05", selection=selection, coefficients=coefficients)


def chosen(study=DAYS, rows=300, epsilon="0.5", columns=(), directions=None, **choice):
    """A selection alone, by a recipe that nothing was drawn with."""
    recipe = make_recipe(study, Choice(**choice), rows=rows, epsilon=Decimal(epsilon))
    variables = tuple(dict.fromkeys(factor.variable for at in columns for factor in study.columns[at].factors))
    selection = dpselect.Selection(
        columns=columns, variables=variables, directions=directions or {}, range=12.5, recipe=recipe,
        receipt=None, version="0",
    )  # fmt: skip
    return AnalysisRecord(title="Stay", made="long ago", selection=selection, coefficients=None)


DIED = replace(DAYS, response=Binary("died", ["no", "yes"], label="death"))
FALLS = replace(DAYS, response=Count("falls", 0, 20, label="falls", unit="falls"))
BARE = Study(Numeric("days", unit="days"), [Numeric("age"), *PREDICTORS[2:4], Numeric("bare", unit="mm")])
WIDE = Study(Numeric("y", label="blood pressure"), [Numeric(f"x{k}") for k in range(400)])
COUNTED_DAYS = replace(DAYS, neighbors="add-remove-one", rows=60)
WARDS = Study(Numeric("days", 0, 60000), [PREDICTORS[0], Categorical("ward", ["a", *"bcdefgh"])])
MANY = (
    term("intercept", 5000.0, 1000.0), term("age", -120.0, 30.0), term("ward[b]", 9000.0, 2000.0), 
    term("ward[c]", 2500.0, 900.0, 2600.0),
    *(term(f"ward[{name}]", 100.0, 700.0) for name in "defgh"),
)  # fmt: skip
WIDE_RATIOS = (
    TERMS[0],
    term("age", -0.05, 0.01),
    term("income", 0.002, 0.0002),
    term("smoker", 2.5, 0.6),
    term("ward[b]", -1.4, 0.5, 9.0),
)


def priced(analysis, **facts):
    return replace(analysis, selection=replace(analysis.selection, recipe=replace(analysis.selection.recipe, **facts)))


def added_up():
    """Coefficients from sums that a site has sent, which are not found by rounds; with several rows a person."""
    study = replace(DAYS, person="who", max_rows_per_person=2, rows=60)
    moments = dpselect.gather(table_of_rows(), study)
    found = dpselect.estimate(moments, [0, 1, 2], study=study, epsilon=1)
    coefficients = replace(
        found, terms=TERMS[:3], unadjusted=(), residual_deviation=Amount(7.0, 6.0, 8.0), r_squared=Amount(0.2, 0.1, 0.3)
    )
    return replace(record(study), coefficients=coefficients)


REPORTS = {
    "effects": lambda: record(scales=SCALES),
    "steps": lambda: record(terms=TERMS[:4]),
    "odds": lambda: record(DIED, "binomial", scales=SCALES),
    "rates": lambda: record(FALLS, "poisson", terms=TERMS[:6]),
    "points": lambda: record(DIED, scales=SCALES),
    "hidden": lambda: record(terms=(TERMS[0], TERMS[5], TERMS[6]), r_squared=Amount(None, None, None)),
    "selected": lambda: chosen(columns=(0, 1, 2), directions={"age": "up", "income": None}),
    "none": chosen,
    "losses": lambda: chosen(columns=(0, 1), method="pcls"),
    "unbounded": lambda: chosen(BARE, rows=2000, epsilon="2", columns=(0, 1), directions={"age": "down"}),
    "penalties": lambda: priced(chosen(columns=(0, 1), method="pcls"), penalties=(2.5, 1.25, 2.5, 7.0, 1.25, 7.0, 7.0)),
    "penalty": lambda: priced(chosen(columns=(0, 1), method="pcls"), penalties=(2.5,) * 7),
    "private": lambda: chosen(COUNTED_DAYS, rows=None, columns=(0, 1)),
    "secret": lambda: chosen(replace(COUNTED_DAYS, rows=None), rows=None, columns=(0, 1), method="pcls"),
    "counted": lambda: record(COUNTED_DAYS, rows=12345.6, terms=TERMS[:3]),
    "persons": lambda: record(replace(DAYS, person="who", max_rows_per_person=2, rows=60)),
    "summed": added_up,
    "many": lambda: record(WARDS, terms=MANY, directions={"ward": None, "age": "down"}, scales={"age": 12.0}),
    "ratios": lambda: record(DIED, "binomial", terms=WIDE_RATIOS, scales=SCALES),
    "wide": lambda: chosen(WIDE, rows=200, columns=(0, 7), directions={"x6": "up"}),
}


def lines_of(value, name=""):
    """A record as lines, each with the names that lead to it."""
    if isinstance(value, dict):
        return [line for key, each in value.items() for line in lines_of(each, f"{name}.{key}".lstrip("."))]
    if isinstance(value, list | tuple) and all(isinstance(each, list | tuple) and len(each) == 2 for each in value):
        return [f"{name}: {' '.join(f'{first} [{second}]' for first, second in value)}"]
    if isinstance(value, list | tuple):
        return [line for place, each in enumerate(value) for line in lines_of(each, f"{name}[{place}]")]
    return [f"{name}: {value}"]


def rendered(analysis):
    facts = facts_of(analysis)
    values = {name: each for name, each in msgspec.to_builtins(facts).items() if name not in DRAWN}
    if len(facts.predictors) > len(PREDICTORS):
        del values["predictors"]
    board = msgspec.to_builtins(board_facts(analysis)) | {"report": None}
    return "\n".join([*lines_of(values), *lines_of(board, "board"), *analysis_lines(analysis)])


def exported(analysis):
    facts = facts_of(analysis)
    drawing = effects_figure(facts)
    if facts.table is not None and facts.table.effects:
        axis = axis_of(facts.table)
        drawing += axis_cell(axis) + "".join(
            row_cell(row, axis, adjusted=facts.table.adjusted) for row in facts.table.effects
        )
    entry = as_yaml(registry_entry(analysis, Deployment(curator="Office", use="Yearbook", authors=("Ada",))))
    texts = (to_markdown(analysis), to_latex(analysis), to_csv(analysis), entry, drawing.replace("><", ">\n<"))
    return "\n".join([*texts, *word_lines(to_docx(analysis))])


def word_lines(content):
    """A Word document: its paragraphs, pictures and tables with their sizes in twentieths of a point."""
    document = docx.Document(io.BytesIO(content))
    yield from (f"{each.style.name}: {each.text}" for each in document.paragraphs)
    yield from (f"picture {each.width // 635}" for each in document.inline_shapes)
    for table in document.tables:
        for row in table.rows:
            yield " | ".join(f"{cell.text} ({cell.grid_span} of {(cell.width or 0) // 635})" for cell in row.cells)


def check(name, found):
    """The same as it was, or written anew. Hashes are those of what was drawn."""
    found = re.sub(r"\b[0-9a-f]{16,64}\b", "HASH", found.replace(record().selection.version, "VERSION")) + "\n"
    file = WHOLE / f"{name}.txt"
    if os.environ.get("WRITE"):
        WHOLE.mkdir(exist_ok=True)
        file.write_text(found, encoding="utf-8")
    assert found.splitlines() == file.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_what_it_was(name):
    """The first with coefficients and the first without whole, of others the lines in which they differ from it."""
    first = "effects" if REPORTS[name]().coefficients is not None else "selected"
    same = rendered(REPORTS[first]()).splitlines() if name != first else ()
    check(name, "\n".join(line for line in rendered(REPORTS[name]()).splitlines() if line not in same))


@pytest.mark.parametrize("name", ["effects", "odds", "hidden", "selected", "many", "ratios"])
def test_an_export_is_what_it_was(name):
    check(f"{name}-exported", exported(REPORTS[name]()))


def previewed():
    recipe = make_recipe(DAYS, Choice(), rows=300, epsilon=Decimal(1))
    curve = Curve(
        "price", (0.25, 0.5, 1.0, 2.0), ((0.1, 0.2, 0.05), (0.3, 0.31, 0.1), (0.5, 0.2, 0.1), (0.8, 0.01, 0.0)),
        ((0.1, 0.2), (0.3, 0.4), (0.6, 0.4), (0.95, 0.3)), (0.2, 0.5, 0.7, 0.9),
    )  # fmt: skip
    return Preview(
        models=(("age",), ("age", "ward"), ()), chances=(0.5, 0.2, 0.1), terms=("age", "ward"), inclusion=(0.6, 0.4),
        directions={"age": (0.55, 0.01), "ward[b]": (0.1, 0.2)}, asked=((("ward",), 0.04),), share=0.7,
        best=(("age", "ward"), 0.31), curves=(curve, with_other(curve, shares=(None, 0.5, 0.7, 0.9))),
        how="By so many splits.", epsilon=Decimal("1.5"), recipe=recipe,
    )  # fmt: skip


FIT = TableFit(
    300,
    (
        VariableFit("days", 9, 8, 0), VariableFit("age", 0, 0, 299, constant=True), VariableFit("income", 0, 0, 300, constant=True),
        VariableFit("smoker", 0, 0, 2, rows_by_category=(290, 8)),
        VariableFit("ward", 0, 0, 20, unused=("b", "c", "d", "e", "f", "g"), rows_by_category=(5, 275, 0)),
        VariableFit("bare", 0, 0, 0, constant=True),
    ),
    (("age", "days"), ("income", "bare")),
    WeightFit("w", 40, 3, 1000.0, 1300.0),
)  # fmt: skip
EFFECTS = [
    EffectPreview("age", 0.93, 0.012, 0.05), EffectPreview("smoker", 0.1, None, None), EffectPreview("ward[b]", 0.2, -1.0, 2.0),
    EffectPreview("ward[c]", 0.02, None, 3.0), EffectPreview("bare", 0.49, -3.0, None),
]  # fmt: skip
SETTINGS = [Setting(1.0, 0.25, 0.83, 2.31, 5), Setting(2.0, 0.5, None, 4.0, 5)]


@pytest.mark.parametrize("missing", ["error", "zero-row"])
def test_a_confidential_page_is_what_it_was(missing):
    page = confidential_page(replace(DAYS, missing=missing), FIT, previewed(), EFFECTS, SETTINGS)
    body = page[page.index("<body") :]
    check(f"confidential-{missing}", re.sub(r">\s*<", ">\n<", body))


def test_a_table_in_order_needs_no_advice():
    """Weights that add up, one row that is constant of course, and a curve of one model, which needs no letter."""
    fits = TableFit(1, (VariableFit("days", 0, 0, 0, constant=True),), (), WeightFit("w", 0, 0, 1000.0, 1000.0))
    assert (
        advice(fits, "error") == [] and curve_chart("epsilon", (0.5, 1.0), ((0.2,), (0.4,)), 1.0).count("letter") == 0
    )


def test_a_report_fits_many_times_into_the_room_that_is_kept_for_it():
    assert 4 * len(report_page(record(scales=SCALES)).encode()) < REPORT_BYTES


def test_the_numbers_of_a_report_are_those_of_its_terms():
    """What is shown, against arithmetic by hand: per step named, rounded, its interval and the price."""
    facts = facts_of(record(scales=SCALES))
    shown = {row.term: row for row in facts.table.rows}
    for name, value, half, digits in (("age", 0.312, 0.071, 2), ("income", -0.071, 0.029, 3)):  # both per ten
        ends = [float(end.replace("\N{MINUS SIGN}", "-")) for end in shown[name].interval.split(" to ")]
        size = float(shown[name].effect.replace("\N{MINUS SIGN}", "-"))
        assert size == round(value, digits)  # and the ends are rounded outwards
        assert -1e-9 <= value - half - ends[0] < 10.0**-digits and -1e-9 <= ends[1] - value - half < 10.0**-digits
    assert [charge.epsilon for charge in facts.charges] == [
        str(release.guarantee.epsilon.normalize()) for release in record().releases
    ]
    assert facts.cost == "ε = 1, δ = 10⁻⁶"
