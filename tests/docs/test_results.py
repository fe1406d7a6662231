"""Every command that a page names for its numbers is in the list of `make results`, and every one of the list can be run."""

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

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
