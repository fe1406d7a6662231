"""Retired words stay out of what users read: the documents for users, the help of every command, the studio's templates."""

import re
from pathlib import Path

import click
import pytest

from dpselect.use.command_line import COMMANDS
from dpselect.use.command_line import dpselect as program
from dpselect.use.shell.help import advanced_help

ROOT = Path(__file__).parents[2]
RETIRED = (
    "counting the choice",
    "not seen",
    "by itself",
    "worlds",
    "dealing",
    "dealt",
    "whole price",
    "whole epsilon",
    "eyes only",
    "stranger",
    "competed",
    "hundredths",
    "unless stated",
    "all the same",
    "of what varies",
    "may not show",
    "middling",
    "lottery",
    "analyse",
    "neighbour",
)
"""Words that one reader or another stumbled over; most are of WORDS.md, "Enforce it"."""
PAGES = sorted(
    [
        *(
            ROOT / "docs" / name
            for name in ("index.md", "tutorial.md", "read-a-report.md", "privacy.md", "glossary.md")
        ),
        *(ROOT / "docs" / "how-to").glob("*.md"),
        *(ROOT / "docs" / name for name in ("methodology.md", "stability.md", "RELEASING.md", "NIST_800_226.md")),
        *(ROOT / "docs" / f"{name}.md" for name in ("VOTES", "ESTIMATES", "LEDGER", "THREAT_MODEL", "MATHEMATICS")),
        *(ROOT / name for name in ("README.md", "SECURITY.md", "joss/paper.md")),
        *(ROOT / "src/dpselect/report/templates").glob("*.j2"),
        *(ROOT / "src/dpselect/use/studio/templates").glob("*.j2"),
    ]
)
LONGEST_SENTENCE = 30
"""Words of a sentence in the help of a command."""


def found_in(text):
    bare = re.sub(r"<!--run.*?-->|\{#.*?#\}|\banalyses\b", "", text, flags=re.DOTALL)  # the plural of analysis
    return [word for word in RETIRED if re.search(rf"\b{re.escape(word)}", bare, re.IGNORECASE)]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_no_page_has_a_retired_word(page):
    assert found_in(page.read_text(encoding="utf-8")) == []


def helps():
    context = click.Context(program, info_name="dpselect", terminal_width=10_000, max_content_width=10_000)
    yield "dpselect", program.get_help(context)
    for name in COMMANDS:
        command = program.get_command(context, name)
        own = click.Context(command, info_name=name, parent=context, terminal_width=10_000, max_content_width=10_000)
        yield name, f"{command.get_help(own)}\n{advanced_help(own)}"


@pytest.mark.parametrize(("name", "text"), list(helps()))
def test_no_help_has_a_retired_word_or_an_endless_sentence(name, text):
    assert found_in(text) == []
    prose = [line for line in text.partition("Example")[0].splitlines() if not line.lstrip().startswith("Usage")]
    for line in prose:
        for sentence in re.split(r"(?<=[.?:;])\s", line):
            assert len(sentence.split()) <= LONGEST_SENTENCE, sentence


def test_the_test_notices_a_retired_word():
    assert found_in("The whole price, for the custodian's eyes only.") == ["whole price", "eyes only"]
