"""How dpselect speaks: no retired word in anything that a user reads, no sentence of more than 30 words, no digit too many."""

import ast
import re
from html import unescape
from pathlib import Path

import click
import pytest
from msgspec.structs import replace

import dpselect
from dpselect.report.facts import facts_of
from dpselect.report.page import analysis_lines, report_page
from dpselect.report.table import table_of
from dpselect.use.command_line import COMMANDS
from dpselect.use.command_line import dpselect as program

RETIRED = (
    "counting the choice", "not seen", "by itself", "worlds", "dealing", "dealt", "whole price", "whole epsilon", "eyes only",
    "stranger", "competed", "hundredths", "unless stated", "all the same", "of what varies", "may not show", "middling",
)  # fmt: skip
MAX_WORDS = 30
PACKAGE = Path(dpselect.__file__).parent
ROOT = PACKAGE.parents[1]

STILL_TO_COME: tuple[str, ...] = ("docs/ARCHITECTURE.md",)
"""Pages and commands that do not speak so yet. The list only gets shorter: what is clean now may not come back."""


def strings_of(path: Path) -> list[str]:
    """The texts of a module that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    # The string after a constant says what it is, to readers of the code.
    docs |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [node.value for node in found if id(node) not in docs]


def help_of(name: str) -> str:
    command = program.get_command(click.Context(program), name)
    assert command is not None
    return command.get_help(click.Context(command, info_name=name))


def spoken() -> dict[str, str]:
    """All that a user reads, by where it stands."""
    found = {f"report/{path.name}": "\n".join(strings_of(path)) for path in (PACKAGE / "report").glob("*.py")}
    for path in (PACKAGE / "report" / "templates").glob("*.j2"):
        found[f"templates/{path.name}"] = re.sub(
            r"<style>.*?</style>|\{[%#].*?[%#]\}", "", path.read_text(), flags=re.S
        )
    found |= {f"{name} --help": help_of(name) for name in COMMANDS}
    found["dpselect --help"] = "\n".join(COMMANDS.values())
    for path in (ROOT / "docs").rglob("*.md"):
        if path.parent.name == "reference":  # made from docstrings, which readers of the code share
            continue
        found[path.relative_to(ROOT).as_posix()] = path.read_text(encoding="utf-8")
    return found


SPOKEN = spoken()


REFUSED_WORDS = (
    "custodian",
    "please",
    "compete",
    "competes",
    "levels of",
    "unknown level",
    "bounds",
    "a record",
    "nobody foresaw",
)
"""Beside the retired words: what no refusal says. Limits, ranges and categories are what people state."""


def refusals() -> dict[str, str]:
    """The texts of every error that is raised, by module."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        raised = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.exc is not None]
        texts = [
            node.value
            for each in raised
            for node in ast.walk(each)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        if texts:
            found[path.relative_to(PACKAGE).as_posix()] = "\n".join(texts)
    return found


def test_no_refusal_has_a_retired_word():
    for where, text in refusals().items():
        plain = " ".join(text.lower().split())
        assert [word for word in (*RETIRED, *REFUSED_WORDS) if re.search(rf"\b{word}\b", plain)] == [], where


def retired_in(text: str) -> list[str]:
    plain = " ".join(text.lower().split())
    return [word for word in RETIRED if re.search(rf"\b{word}", plain)]


@pytest.mark.parametrize("where", sorted(set(SPOKEN) - set(STILL_TO_COME)))
def test_no_retired_word(where):
    assert retired_in(SPOKEN[where]) == []


def test_the_list_of_what_is_to_come_holds_only_what_still_needs_it():
    clean = [where for where in STILL_TO_COME if where in SPOKEN and not retired_in(SPOKEN[where])]
    assert clean == [], "take these off the list"


def test_a_retired_word_would_be_found():
    assert retired_in("This was not\n seen, and they were Dealt.") == ["not seen", "dealt"]


def sentences(text: str) -> list[str]:
    return [each for each in re.split(r"(?<=[.!?:;])\s+", " ".join(text.split())) if each]


@pytest.fixture(scope="module")
def shown(crafted, estimated, document):
    """Reports of several kinds: crafted numbers, released ones, a selection alone, and one without any clear effect."""
    hidden = tuple(replace(term, lower=-900.0, upper=900.0) for term in crafted.coefficients.terms)
    drowned = replace(crafted, coefficients=replace(crafted.coefficients, terms=hidden))
    return [crafted, estimated, document, drowned]


def test_no_sentence_on_a_page_or_in_a_terminal_is_too_long(shown):
    for analysis in shown:
        page = re.sub(r"<(style|script|svg|title|pre).*?</\1>", " ", report_page(analysis), flags=re.S)
        blocks = re.split(
            r"</?(?:p|li|td|th|h1|h2|h3|dt|dd|caption|small|div|section|tr|table|footer|br)\b[^>]*>", page
        )
        for block in blocks:
            text = unescape(re.sub(r"<[^>]+>", "", block))
            if "Lei, A.-S. Charest" in text or "split at random" in text:  # a citation, and the line for methodologists
                continue
            for each in sentences(text):
                assert len(each.split()) <= MAX_WORDS, each
        facts = facts_of(analysis)
        for line in (
            facts.summary,
            facts.missed,
            facts.small,
            facts.promise,
            *facts.fit,
            *map(" ".join, facts.uncertainty),
        ):
            assert all(len(each.split()) <= MAX_WORDS for each in sentences(line)), line
        assert max(map(len, analysis_lines(analysis))) <= 132


def digits(text: str) -> int:
    """Decimals of a number as written."""
    return len(re.sub(r"[^\d.]", "", text).partition(".")[2])


def test_no_number_has_more_digits_than_its_interval_supports(shown):
    for analysis in shown:
        table = table_of(analysis)
        for row in table.effects if table is not None else ():
            if row.hidden or " to " not in row.interval:
                continue
            low, high = (
                float(re.sub(r"[^\d.-]", "", end.replace("\N{MINUS SIGN}", "-"))) for end in row.interval.split(" to ")
            )
            step = 10.0 ** -digits(row.effect)
            # The last digit shown is worth at least a thirtieth of the half length: two digits of it at most.
            assert step >= (high - low) / 2 / 31, row
