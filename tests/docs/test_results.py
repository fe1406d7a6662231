"""Every command that a page names for its numbers is in the list of `make results`, and every one of the list can be run."""

import math
import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.results import RESULTS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]


def program_of(command):
    """The module that a command runs, in one spelling."""
    first, *rest = shlex.split(command)
    return rest[0] if first == "-m" else first.removesuffix(".py").replace("/", ".")


def test_every_program_that_a_page_names_is_listed_for_that_page():
    listed = {(program_of(result.base), page) for result in RESULTS for page in result.pages}
    missing = []
    for page in PAGES:
        name = page.relative_to(ROOT).as_posix()
        for found in re.findall(
            r"python -m (benchmarks(?:\.\w+)?)|`(benchmarks/\w+\.py)", page.read_text(encoding="utf-8")
        ):
            program = found[0] or found[1].removesuffix(".py").replace("/", ".")
            if program != "benchmarks.results" and (program, name) not in listed:
                missing.append((program, name))
    assert missing == []


def test_every_listed_program_and_page_is_there():
    assert len({result.name for result in RESULTS}) == len(RESULTS)
    for result in RESULTS:
        assert find_spec(program_of(result.base)) is not None, result
        assert all((ROOT / page).exists() for page in result.pages), result


def test_every_option_of_a_listed_command_is_one_of_its_program():
    for result in RESULTS:
        if program_of(result.base) in ("benchmarks", "paper", "benchmarks.field", "benchmarks.kills"):
            continue  # their options are made, or stand in a folder
        source = Path(find_spec(program_of(result.base)).origin).read_text(encoding="utf-8")
        for option in re.findall(r"--\w+", f"{result.base} {result.few} {result.all}"):
            assert f'"{option}"' in source, (result.name, option)


OTHERWISE = {
    "docs/privacy.md": "a formula, tested below",
    "docs/how-to/epsilon.md": "a formula, tested below",
    "docs/how-to/eight-tables.md": "eight releases, each drawn once",
}
"""Pages with tables of numbers that no benchmark measures, and where these come from."""


def has_numbers(page):
    """Whether a row of a table has two cells or more that begin with a number."""
    rows = re.findall(r"^\|(.*)\|$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return any(len([cell for cell in row.split("|") if re.match(r"\s*-?\.?\d", cell)]) >= 2 for row in rows)


def test_every_page_with_a_table_of_numbers_has_a_command_that_makes_them():
    listed = {page for result in RESULTS for page in result.pages}
    numbered = {page.relative_to(ROOT).as_posix() for page in PAGES if has_numbers(page)}
    assert numbered - listed == OTHERWISE.keys()
    assert "README.md" in numbered and "docs/RESULTS.md" in numbered


@pytest.mark.parametrize("page", ["docs/privacy.md", "docs/how-to/epsilon.md"])
def test_a_suspicion_rises_as_the_tables_say(page):
    """The odds of 1 to 9 are multiplied by e^epsilon at most."""
    rows = re.findall(
        r"^\| ([\d.]+) \| [^|]* \| (over )?(\d+)% \|$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(rows) == 6
    for epsilon, over, percent in rows:
        most = 100 * math.exp(float(epsilon)) / (math.exp(float(epsilon)) + 9)
        assert (int(percent) < most < int(percent) + 1) if over else int(percent) == round(most)
