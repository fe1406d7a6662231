"""The one table of results: every case of direction, estimate and interval, and the same cells wherever it is shown."""

import numpy as np
import pytest
from msgspec.structs import replace

import dpselect
from dpselect import Binary, Categorical, Numeric, Study
from dpselect.release.drawn import Term
from dpselect.report.exports import to_latex, to_markdown
from dpselect.report.facts import facts_of
from dpselect.report.page import analysis_lines, report_page
from dpselect.report.phrases import plain
from dpselect.report.table import _widest_step, estimate_table, table_of

MINUS, TIMES = "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}"
STUDY = Study(
    Numeric("days", 0, 60, label="length of stay", unit="days"),
    [
        Numeric("age", 0, 100, label="age", unit="years"),
        Numeric("income", 0, 200, label="income", unit="$1,000"),
        Binary("smoker", ["no", "yes"], label="smokers"),
        Categorical("ward", ["a", "b", "c"], label="ward", category_labels=["internal", "surgery", "other"]),
        Numeric("bare", 0, 1),
    ],
)


@pytest.fixture(scope="module")
def analysis() -> dpselect.Analysis:
    rng = np.random.default_rng(3)
    rows = {
        "age": rng.uniform(0, 100, 60),
        "income": rng.uniform(0, 200, 60),
        "smoker": rng.choice(["no", "yes"], 60),
        "ward": rng.choice(["a", "b", "c"], 60),
        "bare": rng.uniform(0, 1, 60),
        "days": rng.uniform(0, 60, 60),
    }
    every = [["age", "income", "smoker", "ward", "bare"]]
    return dpselect.analyze(rows, STUDY, epsilon=1, delta="1e-6", candidates=every)


def term(name, value, half, wide=None):
    wide = 2 * half if wide is None else wide
    return Term(name, value, half / 2, value - half, value + half, value - wide, value + wide, 0.5, half)


TERMS = (
    term("intercept", 5.0, 1.0),
    term("age", 0.0312, 0.0071),
    term("income", -0.0071, 0.0029),
    term("smoker", 1.5, 0.6),
    term("ward[b]", -1.4, 0.5),
    Term("ward[c]", None, None, None, 4.4, None, None, None, None),
    term("bare", 0.4, 2.0),
)
DIRECTIONS = {"age": "up", "income": "down", "smoker": "down", "ward": None, "ward[b]": "down", "bare": "down"}


def test_a_unit_keeps_its_letters_in_the_head_of_a_table(analysis):
    """EUR was Eur in the exported tables, and eur on the terminal."""
    estimate = analysis.coefficients
    study = replace(estimate.study, response=replace(estimate.study.response, unit="kWh in EUR"))
    changed = replace(analysis, coefficients=replace(estimate, study=study))
    assert any(" kWh in EUR  " in line for line in analysis_lines(changed))
    assert "| Variable | KWh in EUR | 95% interval |" in to_markdown(changed)
    assert "Variable & KWh in EUR & 95" in to_latex(changed)


def made(analysis, terms=TERMS, directions=DIRECTIONS, **facts):
    coefficients = replace(analysis.coefficients, terms=terms, directions={}, **facts)
    return replace(analysis, selection=replace(analysis.selection, directions=directions), coefficients=coefficients)


def rows_of(analysis):
    return {row.term: row for row in table_of(analysis).rows}


def test_cells_are_rounded_to_their_error_in_units_scaled_by_tens(analysis):
    rows = rows_of(made(analysis))
    age, income = rows["age"], rows["income"]
    assert (age.effect, age.per, age.interval, age.arrow) == ("+0.31", "per 10 years", "0.24 to 0.39", "▲")
    assert (income.effect, income.per) == (f"{MINUS}0.71", "per $100,000")
    assert income.interval == f"{MINUS}1.00 to {MINUS}0.42" and age.adjusted == "0.16 to 0.46"


def test_categories_stand_under_their_variable_with_their_reference(analysis):
    listed = [(row.label, row.note, row.level, row.bar is None) for row in table_of(made(analysis)).rows]
    assert listed[-3:] == [
        ("Ward", "compared with internal", False, True),
        ("Surgery", "", True, False),
        ("Other", "", True, False),
    ]
    assert ("Smokers", "yes compared with no", False, False) in listed


def test_hidden_unbounded_and_disagreeing_effects_are_called_so(analysis):
    rows = rows_of(made(analysis))
    assert (rows["ward[c]"].effect, rows["ward[c]"].interval) == ("hidden by noise", "below 4.4")
    assert rows["ward[c]"].adjusted == "unbounded" and rows["ward[c]"].direction is None
    assert rows["bare"].hidden and rows["bare"].direction == "down"  # the selection knows the direction all the same
    assert rows["smoker"].clash == "The selection says down, the estimate says up. Treat both as unclear."
    assert rows["smoker"].direction is None
    facts = facts_of(made(analysis))
    assert facts.clashes == (("Smokers", rows["smoker"].clash),)
    assert facts.hidden[0] == "Hidden by noise: 2 of 6 effects."
    assert plain(facts.headline) == (
        "Length of stay rises with age. It falls with income and bare. It also differs by ward. "
        "Smokers was selected, without a clear direction."
    )


def test_one_of_three_categories_and_its_coefficient_do_not_clash(analysis):
    """The votes compare a category with all others, its coefficient with the reference: opposite signs may both be right."""
    for way in ("up", "down"):
        told = made(analysis, directions=DIRECTIONS | {"ward[b]": way, "ward[c]": way})
        rows = rows_of(told)
        own = next(term.value for term in TERMS if term.name == "ward[b]")
        assert not rows["ward[b]"].clash and rows["ward[b]"].direction == ("up" if own > 0 else "down")
        assert rows["ward[c]"].hidden and rows["ward[c]"].direction is None
        assert facts_of(told).clashes == (("Smokers", rows["smoker"].clash),)


def test_without_directions_a_clear_estimate_gives_its_own(analysis):
    rows = rows_of(made(analysis, directions={}))
    assert (rows["age"].direction, rows["income"].direction, rows["bare"].direction) == ("up", "down", None)
    assert not rows["smoker"].clash


def test_the_effect_to_quote_is_the_clearest_that_has_words(analysis):
    said = plain(facts_of(made(analysis, directions={})).quote)
    assert said.startswith(
        "Each further 10 years of age goes with about 0.31 more days (95% interval 0.24 to 0.39), with the"
    )
    nameless = tuple(each if each.name == "bare" else replace(each, lower=-9.0, upper=9.0) for each in TERMS)
    assert facts_of(made(analysis, terms=nameless)).quote == ()


def test_deviations_that_were_released_make_effects_comparable(analysis):
    table = table_of(made(analysis, scales={"age": 18.0, "income": 40.0, "bare": 0.3}))
    assert table.compared
    rows = {row.term: row for row in table.rows}
    assert rows["age"].note == "for 36 years (2 SD)" and rows["income"].note == "for $80,000 (2 SD)"
    assert rows["age"].bar.value == pytest.approx(36 * 0.0312)
    assert [row.term for row in table.effects[:4]] == ["smoker", "age", "income", "bare"]  # by size, hidden last
    decimals = {len(row.bar.text.partition(".")[2]) for row in table.effects if row.bar.text}
    assert len(decimals) == 1


def test_some_deviations_are_not_enough(analysis):
    table = table_of(made(analysis, scales={"age": 18.0}))
    assert not table.compared and all("2 SD" not in row.note for row in table.rows)


def test_ratios_are_ratios_and_one_is_no_effect(analysis):
    """Of whatever family: terms are logarithms there."""

    class Odds:
        ratios, words = True, dpselect.release.families.Words(one="odds ratio", many="odds ratios", quantity="odds")

    estimate = made(analysis).coefficients
    names = ("terms", "study", "directions", "level", "selected", "scales")
    shown = type("Shown", (), {name: getattr(estimate, name) for name in names} | {"kind": Odds})()
    table = estimate_table(shown, DIRECTIONS)
    rows = {row.term: row for row in table.rows}
    assert (rows["age"].effect, rows["age"].per) == (f"{TIMES} 1.032", "per year")
    assert rows["age"].interval == "1.024 to 1.040"
    assert rows["bare"].hidden and table.measure == "odds ratio"


def test_a_probability_is_told_in_percentage_points(analysis):
    response = Binary("died", ["no", "yes"], label="death")
    estimate = made(analysis).coefficients
    study = replace(STUDY, response=response)
    table = estimate_table(replace(estimate, study=study, terms=(term("age", 0.00263, 0.00016),)))
    (row,) = table.effects
    assert (row.effect, row.per, table.measure) == ("+0.263", "per year", "percentage points")


def test_page_terminal_text_and_tidy_have_the_same_cells(analysis):
    shown = made(analysis)
    page, lines = report_page(shown), "\n".join(analysis_lines(shown))
    assert "\n".join(analysis_lines(shown)) == str(shown)
    for row in table_of(shown).effects:
        assert row.effect in page and row.interval in page
        assert row.effect in lines and row.interval in lines
        assert row.hidden or row.adjusted in page
    tidy = shown.tidy()
    assert list(tidy[0]) == [
        "term", "label", "category", "direction", "estimate", "std_error", "conf_low", "conf_high", "adjusted_low", "adjusted_high",
        "unit", "hidden",
    ]  # fmt: skip
    by_term = {row["term"]: row for row in tidy}
    assert by_term["ward[b]"]["category"] == "surgery" and by_term["ward[b]"]["direction"] is None
    assert by_term["income"]["unit"] == "$1,000" and by_term["income"]["estimate"] == -0.0071
    assert by_term["ward[c]"]["hidden"] and by_term["ward[c]"]["conf_low"] is None
    assert len(repr(shown)) < 100 and "\n" not in repr(shown)


def test_a_unit_is_scaled_no_further_than_its_variable_spreads(analysis):
    """No effect per 10,000 years: a step is at most two standard deviations, or the stated range; without either, one unit."""
    assert _widest_step(None, 2.0) == 4.0 and _widest_step(10.0, None) == 10.0
    assert _widest_step(3.0, 40.0) == 3.0 and _widest_step(None, None) == 1.0
    estimate = analysis.coefficients
    small = tuple(
        replace(term, value=1e-6, lower=0.5e-6, upper=1.5e-6, adjusted_lower=None, adjusted_upper=None)
        for term in estimate.terms
    )
    numbers = ("age", "income", "bare")
    seen = set()
    for spread in (0.4, 7.0, 30.0):
        table = estimate_table(replace(estimate, terms=small, scales=dict.fromkeys(numbers, spread)))
        for row in table.effects:
            if row.kind == "number":
                assert 10.0**row.power <= max(1.0, 2 * spread), row
                seen.add(row.power)
    assert seen == {0, 1}


def test_a_term_without_any_interval_leaves_the_others_comparable(analysis):
    estimate = analysis.coefficients
    terms = tuple(replace(term, value=1.0, lower=0.5, upper=1.5) for term in estimate.terms)
    drowned = tuple(
        replace(term, value=None, lower=None, upper=None) if term.name == "bare" else term for term in terms
    )
    scales = {"age": 9.0, "income": 40.0}
    assert estimate_table(replace(estimate, terms=drowned, scales=scales)).compared
    assert not estimate_table(replace(estimate, terms=terms, scales=scales)).compared


def of_categories(categories, effects):
    """The estimate of one variable with categories, each with the effect and half length given, and its analysis."""
    rng = np.random.default_rng(4)
    study = Study(Numeric("days", 0, 60), [Categorical("ward", categories)])
    rows = {"ward": rng.choice(categories, 60), "days": rng.uniform(0, 60, 60)}
    analysis = dpselect.analyze(rows, study, epsilon=1, delta="1e-6", candidates=[["ward"]])
    terms = [term(f"ward[{name}]", *effect) for name, effect in zip(categories[1:], effects, strict=True)]
    return made(analysis, (term("intercept", 5.0, 1.0), *terms), {"ward": None})


def test_a_variable_of_two_categories_is_one_row_and_has_its_direction_in_the_headline():
    found = of_categories(["no", "yes"], [(-2.0, 0.5)])
    (row,) = table_of(found).rows
    assert (row.label, row.note, row.effect) == ("ward", "yes compared with no", f"{MINUS}2.0")
    assert plain(facts_of(found).headline) == "days is lower for ward."
    named = of_categories(["day", "night"], [(2.0, 0.5)])
    assert plain(facts_of(named).headline) == "days is higher for night (ward)."


@pytest.mark.parametrize(("hidden", "folded"), [(5, False), (6, True)])
def test_more_than_five_hidden_categories_share_a_row(hidden, folded):
    names = [f"w{k}" for k in range(hidden + 2)]
    found = of_categories(names, [(3.0, 0.5), *[(0.1, 1.0)] * hidden])
    table = table_of(found)
    assert len(table.effects) == hidden + 1
    assert facts_of(found).hidden[0] == f"Hidden by noise: {hidden} of {hidden + 1} effects."
    shared = [row for row in table.shown if row.names]
    assert len(table.shown) == (3 if folded else hidden + 2)
    assert [row.names for row in shared] == ([tuple(names[2:])] if folded else [])
    for shown in (report_page(found), "\n".join(analysis_lines(found))):
        assert (f"{hidden} other categories" in shown) is folded
