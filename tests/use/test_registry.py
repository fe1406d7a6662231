"""An entry of the registry says what its report says, in the registry's own form, and nothing of a report that does not verify."""

import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import dpselect
from dpselect.errors import ProblemFound, StudyError
from dpselect.report.form import read_report
from dpselect.report.registry_entry import Deployment, _domain, _unprotected, as_yaml, registry_entry
from dpselect.use.command_line import dpselect as program

yaml = pytest.importorskip("yaml", reason="No PyYAML: pip install pyyaml.")
STATED = {"curator": 'The "Office": yes', "use": "For the yearbook"}


def frame():
    chance = np.random.default_rng(3)
    table = pd.DataFrame(chance.uniform(-1, 1, (3000, 3)), columns=["a", "b", "c"])
    return table.assign(y=0.5 * table.a + chance.normal(size=3000) * 0.3, w=4.0, who=np.arange(3000) // 3)


def study(**stated):
    return dpselect.Study(
        dpselect.Numeric("y", -2, 2, label="Income: a year"), [dpselect.Numeric(n, -1, 1) for n in "abc"], **stated
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    stated = study(weights="w", weight_limit=5, population=12_000)
    found = dpselect.analyze(frame(), stated, epsilon=2, delta=1e-6)
    return found.to_html(tmp_path_factory.mktemp("registry") / "report.html", title="What pays? A study")


def test_an_entry_is_yaml_of_the_registrys_form(page):
    entry = yaml.safe_load(
        dpselect.registry(page, **STATED, rationale="Epsilon: set by the board.\nSecond line # no comment.")
    )
    assert entry["tier"] == 3 and entry["status"] == "Draft" and re.fullmatch(r"[a-z0-9-]+", entry["url_slug"])
    about = entry["deployment"]
    assert list(about) == [
        *("basic", "dp_variant", "privacy_loss", "deployment_model", "accounting", "implementation", "administrative"),
    ]
    assert about["basic"]["data_curators"] == [
        {"data_curator_name": 'The "Office": yes', "data_curator_type": "Government"}
    ]
    assert (
        isinstance(about["basic"]["publication_date"], str)
        and about["basic"]["data_product_type"] == "Summary statistics"
    )
    assert about["dp_variant"]["variant_name"] == "Approximate DP"
    assert about["privacy_loss"]["privacy_parameters"] == {"epsilon": 2.0, "delta": 1e-6}
    assert (
        about["privacy_loss"]["privacy_unit_details"]
        == "Tables are adjacent if they differ by replacing one row (`replace-one`)."
    )
    assert "number of rows" in about["dp_variant"]["unprotected_quantities"]
    assert "population 12,000" in about["implementation"]["preprocessing_and_hyperparameter_tuning"]
    assert about["implementation"]["justification"] == "Epsilon: set by the board.\nSecond line # no comment.\n"
    assert about["administrative"]["registry_authors"] == ['The "Office": yes']
    filled = [
        value
        for part in about.values()
        for name, value in part.items()
        if name not in ("sources", "data_product_region")
    ]
    assert all(filled)


def test_without_a_rationale_it_is_tier_two(page):
    assert yaml.safe_load(dpselect.registry(page, **STATED))["tier"] == 2


def test_the_flavor_and_the_unit_are_the_reports():
    stated = study(person="who", cluster="w", neighbors="add-remove-one", rows=3000)
    found = dpselect.select(frame().astype({"w": int}), stated, epsilon="0.5")
    record = dpselect.Analysis(title="", made="2026-11-18", selection=found, coefficients=None)
    entry = registry_entry(record, Deployment(**STATED, authors=("Ada", "Ben")))
    about = yaml.safe_load(as_yaml(entry))["deployment"]
    assert (
        about["dp_variant"]["variant_name"] == "Pure DP" and "delta" not in about["privacy_loss"]["privacy_parameters"]
    )
    assert about["dp_variant"]["unprotected_quantities"].startswith("None.")
    assert about["privacy_loss"]["privacy_unit"] == "Person-level"
    assert (
        "adding or removing all rows of one person, told apart by the column who within one cluster of w"
        in (about["privacy_loss"]["privacy_unit_details"])
    )
    assert about["administrative"]["registry_authors"] == ["Ada", "Ben"]


def test_a_report_that_does_not_verify_has_no_entry(page, tmp_path):
    edited = tmp_path / "edited.html"
    edited.write_text(page.read_text().replace('"epsilon": "0.48"', '"epsilon": "0.1"'))
    assert edited.read_text() != page.read_text()
    with pytest.raises(ProblemFound, match="does not verify"):
        dpselect.registry(edited, **STATED)
    with pytest.raises(StudyError, match="needs to say use"):
        dpselect.registry(page, curator="Office", use=" ")


def test_the_command_writes_a_file(page, tmp_path):
    asked = [
        "registry",
        str(page),
        "--curator",
        "Office",
        "--use",
        "Yearbook",
        "--author",
        "Ada",
        "-o",
        str(tmp_path / "entry.yaml"),
    ]
    done = CliRunner().invoke(program, asked)
    assert done.exit_code == 0 and "a draft" in done.output
    entry = yaml.safe_load((tmp_path / "entry.yaml").read_text())
    assert entry["deployment"]["administrative"]["registry_authors"] == ["Ada"]
    analysis, _ = read_report(page.read_text())
    assert entry["deployment"]["basic"]["name"] == analysis.title


@pytest.mark.parametrize("limits", [(), (0, 1)])
def test_values_are_said_to_be_moved_where_a_range_is_stated_and_nowhere_else(limits):
    """A category has no range: it once made the entry speak of ranges that nobody had stated."""
    study = dpselect.Study(
        dpselect.Numeric("y"), [dpselect.Numeric("x", *limits), dpselect.Categorical("c", ["a", "b"])]
    )
    assert ("moved to the nearest limit" in _domain(study)) == bool(limits)


def test_an_entry_says_whom_a_subgroup_is(tmp_path):
    chance = np.random.default_rng(4)
    frame = pd.DataFrame({"x": chance.normal(size=3000), "age": chance.uniform(0, 90, 3000)}).assign(y=lambda f: f.x)
    stated = dpselect.Study(
        dpselect.Numeric("y"), [dpselect.Numeric("x")], only=dpselect.Only("age", lower=18, upper=65), rows=1500
    )
    page = dpselect.analyze(frame, stated, epsilon=2).to_html(tmp_path / "report.html")
    about = yaml.safe_load(dpselect.registry(page, **STATED))["deployment"]
    assert "explain y, among rows with age 18 to 65: " in about["basic"]["description"]
    assert "columns y, x, age, one row" in about["dp_variant"]["data_domain"]
    assert "Subgroup: rows with age 18 to 65" in about["implementation"]["preprocessing_and_hyperparameter_tuning"]


def test_what_is_not_protected_is_counted_in_the_unit_that_is():
    """Who replaces a person leaves the number of persons as it was, not that of rows."""
    said = [_unprotected(study()), _unprotected(study(person="who", max_rows_per_person=3))]
    said.append(_unprotected(study(neighbors="add-remove-one")))
    assert [each.partition(".")[0] for each in said] == ["The number of rows", "The number of persons", "None"]
