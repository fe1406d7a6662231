"""The sentences, one pattern at a time: every case that a report can meet, and no weak promise sold as a strong one."""

import math
from decimal import Decimal

import pytest

from dpselect.assume.budget import Guarantee
from dpselect.assume.study import Study
from dpselect.assume.variables import Binary, Numeric
from dpselect.report import numbers, phrases
from dpselect.report.phrases import named, plain, text

MINUS = "\N{MINUS SIGN}"


def study(**words):
    return Study(Numeric("weeks", 0, 52, **words), [Numeric("age", 18, 35)])


def headline(subject="Weeks worked", plural=True, **lists):
    full = {name: [] for name in ("up", "down", "higher", "lower", "differs", "unclear")} | lists
    return plain(phrases.headline(text(subject), plural, **{k: [text(n) for n in v] for k, v in full.items()}))


@pytest.mark.parametrize(
    ("lists", "said"),
    [
        ({"up": ["age"]}, "Weeks worked rise with age."),
        (
            {"up": ["age", "education"], "down": ["children", "income"], "lower": ["Hispanic mothers"]},
            "Weeks worked rise with age and education. They fall with children and income, and are lower for Hispanic mothers.",
        ),
        ({"higher": ["smokers"], "down": ["age"]}, "Weeks worked are higher for smokers. They fall with age."),
        ({"differs": ["ward"]}, "Weeks worked differ by ward."),
        ({"up": ["age"], "differs": ["ward", "admission"]}, "Weeks worked rise with age. They also differ by ward and admission."),
        ({"unclear": ["age", "sex"]}, "age and sex were selected, without a clear direction."),
        ({"down": ["age"], "unclear": ["sex"]}, "Weeks worked fall with age. sex was selected, without a clear direction."),
        ({}, ""),
    ],
)  # fmt: skip
def test_the_headline(lists, said):
    assert headline(**lists) == said


def test_a_selection_without_directions_calls_none_unclear():
    said = plain(phrases.headline(text("x"), False, [], [], [], [], [], [text("age"), text("sex")], tells=False))
    assert said == "age and sex were selected. Directions are not part of this selection."


def test_what_is_in_every_model_is_not_said_to_be_selected():
    said = [
        plain(phrases.headline(text("x"), False, [], [], [], [], [], [], some))
        for some in ([text("a")], [text("a"), text("b")])
    ]
    lead = "In every model by statement, not selected, "
    assert said == [f"{lead}is a.", f"{lead}are a and b."]


def test_one_thing_rises_and_is_called_it():
    assert (
        headline("Length of stay", False, up=["age"], down=["bed"])
        == "Length of stay rises with age. It falls with bed."
    )
    assert phrases.headline(text("x"), False, [], [], [], [], [], [named("age", True)])[0] == ("Age", "name")


@pytest.mark.parametrize(
    ("label", "plural"),
    [
        ("Weeks worked", True), ("Doctor visits", True), ("Hours per week", True), ("Children", True), ("Length of stay", False),
        ("Income in thousands", False), ("Happiness", False), ("Gas", False), ("Sales price", False), ("Diabetes", False),
        ("Employment status", False), ("", False), ("Time at work", False),
    ],
)  # fmt: skip
def test_a_label_takes_the_right_verb(label, plural):
    assert numbers.is_plural(label) == plural


@pytest.mark.parametrize(
    ("unit", "one", "ten", "steps"),
    [
        ("years", "year", "10 years", "7.2 years"), ("$1,000", "$1,000", "$10,000", "$7,200"),
        ("", "unit", "10 units", "7.2 units"),
        ("hours a week", "hour a week", "10 hours a week", "7.2 hours a week"), ("m²", "m²", "10 m²", "7.2 m²"),
        ("children", "child", "10 children", "7.2 children"), ("g/L", "g/L", "10 g/L", "7.2 g/L"), ("$", "$1", "$10", "$7.2"),
        ("%", "1%", "10%", "7.2%"), ("countries", "country", "10 countries", "7.2 countries"),
        ("inches", "inch", "10 inches", "7.2 inches"),
    ],
)  # fmt: skip
def test_units(unit, one, ten, steps):
    assert (numbers.unit_text(unit), numbers.unit_text(unit, 1), numbers.steps_text(7.2, unit)) == (one, ten, steps)


@pytest.mark.parametrize(
    ("label", "unit", "one_more", "power", "said"),
    [
        ("number of children", "children", "each further child", 0, "each further child"),
        ("number of children", "children", "", 0, "each further child"),
        ("number of beds", "bed", "", 0, "each further bed"),
        ("number of beds", "wards", "", 0, "each further ward of number of beds"),
        ("age", "years", "", 0, "each further year of age"),
        ("age", "years", "", 1, "each further 10 years of age"),
        ("other income", "$1,000", "", 1, "each further $10,000 of other income"),
        ("chronic conditions", "conditions", "", 0, "each further chronic condition"),
        ("year of admission", "years", "", 0, "each further year of admission"),
        ("hours worked", "hours", "", 0, "each further hour worked"),
        ("medicines", "medicines", "", 0, "each further medicine"),
    ],
)
def test_one_more(label, unit, one_more, power, said):
    assert plain(phrases.further(unit, power, one_more, named(label, True))) == said


def quotable(value, ends, others=True, **words):
    sentence = phrases.quotable_effect(
        text("each further child"), value, ends, study(**words), others=others, level="95%"
    )
    return plain(sentence)


def test_the_effect_to_quote():
    said = quotable(-4.62, (-5.11, -4.13), label="Weeks worked", unit="weeks of work a year")
    assert said == (
        "Each further child goes with about 4.6 fewer weeks of work a year (95% interval 4.1 to 5.2), "
        "with the other selected variables held constant."
    )
    assert quotable(0.85, (0.76, 0.94), others=False) == (
        "Each further child goes with a rise of about 0.85 in weeks (95% interval 0.76 to 0.94)."
    )
    assert "about $1,930 more (" in quotable(1930.0, (1790.0, 2070.0), unit="$")
    assert "about 12 less snow (" in quotable(-12.0, (-15.0, -9.0), unit="snow")
    group = phrases.quotable_group(
        text("Hispanic mothers"),
        -7.2,
        (-8.0, -6.4),
        study(label="Weeks worked", unit="weeks"),
        others=False,
        level="95%",
    )
    assert plain(group) == "Weeks worked are about 7.2 weeks lower for Hispanic mothers (95% interval 6.4 to 8.0)."


def test_ratios_in_words():
    for_age, for_school = text("for each further year of age"), text("for each further year of school")
    odds = phrases.ratio_effect(
        text("The odds of falling ill"), for_age, 1.04, (1.03, 1.05), odds=True, others=False, level="95%"
    )
    assert plain(odds).startswith(
        "The odds of falling ill are about 1.040 times as high for each further year of age (95% interval"
    )
    rate = phrases.ratio_effect(
        text("The rate of doctor visits"), for_school, 0.92, (0.9, 0.94), odds=False, others=True, level="95%"
    )
    assert plain(rate) == (
        "The rate of doctor visits is about 8.0% lower for each further year of school (95% interval 6.0% to 10.0%), "
        "with the other selected variables held constant."
    )


def test_hidden_effects_disagreements_and_weights():
    assert phrases.clash("up", "down") == "The selection says up, the estimate says down. Treat both as unclear."
    assert "includes zero" in phrases.hidden_note(1, 4, directions=False, ratios=False)
    assert "arrow" in phrases.hidden_note(2, 4, directions=True, ratios=True)
    assert phrases.weights_note(5.0).endswith("Weights above 5 were moved to 5.")
    assert phrases.weights_note(None) == "Effects describe the population that the weights stand for."


def test_nothing_selected_and_few_rows():
    assert (
        phrases.nothing_selected("", "1", 0.1)
        == phrases.nothing_selected("90", "1", None)
        == "No variable was selected."
    )
    said = phrases.nothing_selected("1,000", "1", 0.126)
    assert said == (
        "No variable was selected. With 1,000 rows and ε = 1, only a variable that explains 13% or more of the variance "
        "would have been found."
    )
    assert "none could have been found" in phrases.nothing_selected("40", "1", 1.0)
    assert "expect to miss most effects" in phrases.small_table("900", "1", 0.12)
    assert "no variable could have been found" in phrases.found_share(0.95, any_left=True)
    assert phrases.found_share(None, any_left=False) == ""
    assert phrases.found_share(0.001, any_left=False).startswith("A variable that explains 0.1% or more")


@pytest.mark.parametrize(
    ("share", "said"), [(0.00097, "0.1%"), (0.0014, "0.14%"), (0.0009, "0.09%"), (0.126, "13%"), (0.044, "5%")]
)
def test_a_share_that_is_enough_is_rounded_up(share, said):
    assert phrases.share_text(share) == said


def promise(epsilon, delta=0, neighbors="replace-one", most=None, person=False):
    guarantee = Guarantee(epsilon=Decimal(epsilon), delta=Decimal(delta), neighbors=neighbors)
    return phrases.promise(guarantee, most, person=person)


@pytest.mark.parametrize(
    ("epsilon", "word", "after"),
    [("0.1", "strong", "11% at most"), ("1", "strong", "23% at most"), ("3", "moderate", "69% at most"), ("8", "weak", "over 99%"),
     ("20", "weak", "over 99.9%")],
)  # fmt: skip
def test_a_promise_is_called_what_it_is(epsilon, word, after):
    sentence = promise(epsilon)
    assert f"{word.capitalize()} privacy: taking part can raise a 10% suspicion about a person to {after}." in sentence
    assert ("almost as likely" in sentence) == (word == "strong")
    # Round a number that is stated as a maximum up or not at all: 23.2% is said as 23%, as WORDS has it.
    assert phrases.belief_after(0.1, Decimal(1)) == pytest.approx(0.23196, abs=1e-5)


def test_delta_and_neighbors_are_told():
    assert "can fail with probability 10⁻⁶ at most" in promise(1, "1e-6")
    assert "fail" not in promise(1)
    assert "your row had been replaced by someone else's" in promise(1)
    assert "your row had been left out" in promise(1, neighbors="add-remove-one")
    assert "your rows (3 at most count) had been left out" in promise(1, 0, "add-remove-one", 3, True)
    assert "your rows had been replaced" in promise(1, person=True)
    assert "by a factor of 20 at most" in promise(3)
    symbols = phrases.promise_symbols(Guarantee(epsilon=Decimal("0.5"), delta=Decimal("1e-6"), neighbors="replace-one"))
    assert symbols.endswith("+ 10⁻⁶") and "exp(0.5)" in symbols


@pytest.mark.parametrize(
    ("epsilon", "delta", "said"),
    [("1", "0", []), ("3", "1e-5", []), ("10.5", "1e-6", ["Epsilon 10.5"]), ("1", "0.01", ["Delta 0.01"])],
)
def test_a_weak_cost_is_called_one_before_it_is_spent(epsilon, delta, said):
    assert [" ".join(each.split()[:2]) for each in phrases.warnings(Decimal(epsilon), Decimal(delta))] == said


def test_a_random_selection_is_called_one():
    assert "every model was equally likely" in phrases.selection_note(math.inf)
    assert "partly random, by design" in phrases.selection_note(8.0)


def test_so_many_models_that_nobody_could_read_are_a_power_of_ten():
    assert phrases.count_words(10**15 - 1) == "999,999,999,999,999" and phrases.count_words(2 * 10**15) == "about 10^15"


def test_what_is_explained():
    assert phrases.subject_of(study(), "") == (("weeks", "code"),)
    assert phrases.subject_of(study(label="weeks worked"), "") == (("Weeks worked", ""),)
    died = Study(Binary("died", ["no", "yes"], label="death"), [Numeric("age", 0, 1)])
    assert plain(phrases.subject_of(died, "odds")) == "The odds of death"
    vote = Study(Binary("vote", ["stay", "leave"], label="Vote"), [Numeric("age", 0, 1)])
    assert plain(phrases.subject_of(vote, "odds")) == "The odds of Vote = leave"
    assert plain(phrases.subject_of(study(label="doctor visits"), "rates")) == "The rate of doctor visits"
    assert phrases.response_unit(died) == "percentage points"


def test_so_many_times_a_unit_that_is_an_amount():
    assert numbers.with_unit("0.52", "$1,000") == "0.52 \N{MULTIPLICATION SIGN} $1,000"
    assert (numbers.with_unit("40", "$"), numbers.with_unit("12", "%"), numbers.with_unit("4.6", "weeks")) == (
        "$40",
        "12%",
        "4.6 weeks",
    )


def test_a_promise_is_called_strong_to_1_moderate_to_3_and_weak_beyond():
    called = {epsilon: phrases.strength(Decimal(epsilon), Decimal("1e-5")) for epsilon in ("1", "1.01", "3", "3.01")}
    assert called == {"1": "strong", "1.01": "moderate", "3": "moderate", "3.01": "weak"}
    assert phrases.strength(Decimal(1), Decimal("1.1e-5")) == "weak"  # one that may well fail is not strong


ALIKE, HIDES = " times as long as without privacy", ": noise would hide most effects."


@pytest.mark.parametrize(
    ("times", "selected", "said"),
    [
        ((1.2, 1.5, 2.25), None, f"about 1.5{ALIKE} (half of them 1.2 to 2.2 times)."),
        ((1.2, 8.0, 20.0), 1, f"about 8{ALIKE} (half of them 1.2 to 20 times) if 1 variable is selected."),
        ((1.2, 5.0, 21.0), 2, f"about 5{ALIKE} (a quarter of them far longer) if 2 variables are selected."),
        ((1.2, 8.1, 9.0), 2, f"about 8.1{ALIKE} if 2 variables are selected{HIDES}"),
        ((1.2, 20.5, 30.0), None, f"more than 20{ALIKE}{HIDES}"),
    ],
)
def test_how_long_intervals_will_be(times, selected, said):
    assert phrases.length_sentence(times, selected) == f"95% intervals should be {said}"
    assert phrases.are_long(times) == (times[1] > 8 or times[2] > 20)
    assert phrases.length_sentence(None, selected).startswith("Noise would hide all effects if ")


def test_how_long_they_are_with_fewer_and_with_all():
    assert phrases.other_lengths(None, None) == ""
    assert phrases.other_lengths((2, 1.5), None) == "With 2, about 1.5 times."
    assert phrases.other_lengths((2, 1.5), (9, None)) == "With 2, about 1.5 times; with all 9, none would be estimated."
    assert phrases.other_lengths(None, (9, 25.0)) == "With all 9, more than 20 times."


def test_how_many_chance_alone_would_select():
    lead = "If no variable were associated with y, "
    assert phrases.false_findings(0.009, "y") == f"{lead}fewer than one run in 100 would select any."
    assert phrases.false_findings(0.01, "y") == f"{lead}at most about one run in 100 would select any."
    assert phrases.false_findings(0.25, "y") == f"{lead}at most about one run in 4 would select any."
    assert phrases.false_findings(0.5, "y") == f"{lead}about 0.5 variables would be selected on average."
