"""Pages that the docs site makes from the program itself: every public name, every command, and llms.txt.

Run by `make docs`: python tools/docs.py [folder of the documents]
"""

import inspect
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import dpselect
from dpselect.gather.rows import gather
from dpselect.use.command_line import COMMANDS
from dpselect.use.command_line import dpselect as program
from dpselect.use.shell.help import advanced_help

ROOT = Path(__file__).parents[1]
WIDTH = 90
"""Characters of a signature that stands in one line."""


def reference() -> str:
    """Every public name with its signature, its parameters, what it returns, and an example where its docstring has one."""
    parts = ["# Python", "All public names. Made from their docstrings by `tools/docs.py`."]
    for name in dpselect.__all__:
        value = getattr(dpselect, name)
        value = gather if name == "gather" else value  # a folder that can be called
        parts += [f"## `{name}`", *_signature(name, value), _docstring(value), *_members(value)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _signature(name: str, value: Any) -> list[str]:
    if inspect.ismodule(value) or (inspect.isclass(value) and issubclass(value, Exception)):
        return []
    parameters = [
        each.replace(annotation=inspect.Parameter.empty) for each in inspect.signature(value).parameters.values()
    ]
    line = f"{name}{inspect.Signature(parameters)}"
    if len(line) > WIDTH:
        marks = [str(each) for each in parameters]
        first = next((k for k, each in enumerate(parameters) if each.kind is each.KEYWORD_ONLY), None)
        if first is not None:
            marks.insert(first, "*")
        line = f"{name}(\n    " + ",\n    ".join(marks) + ",\n)"
    return [f"```text\n{line}\n```"]


def _docstring(value: Any) -> str:
    """A docstring as Markdown: the sections of numpydoc become lists and blocks of code."""
    text = inspect.getdoc(value) or ""
    head, *sections = re.split(r"^(\w+)\n-{3,}\n", text, flags=re.MULTILINE)
    parts = [head.strip()]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        if title == "Examples":
            code = "\n".join(
                re.sub(r"  # doctest: \+SKIP$", "", line[4:])
                for line in body.splitlines()
                if line.startswith((">>> ", "... "))
            )
            parts += ["**Example**", f"```python\n{code}\n```"]
        else:
            parts += [f"**{title}**", _definitions(body)]
    return "\n\n".join(part for part in parts if part)


def _definitions(body: str) -> str:
    """The entries of a section of numpydoc: a name and its type, then what it means, indented."""
    lines = []
    for line in body.strip().splitlines():
        if line.startswith("    "):
            lines[-1] += f" {line.strip()}"
        elif line.strip():
            name, _, kind = line.partition(" : ")
            lines.append(f"- `{name.strip()}`" + (f" ({kind.strip()}):" if kind else ":"))
    return "\n".join(lines)


def _members(value: Any) -> Iterator[str]:
    if inspect.ismodule(value):
        for name in getattr(value, "__all__", ()):
            yield f"### `{value.__name__.removeprefix('dpselect.')}.{name}`"
            yield from _signature(name, getattr(value, name))
            yield _docstring(getattr(value, name))
        return
    if not inspect.isclass(value):
        return
    listed = []
    for name, member in vars(value).items():
        if name.startswith("_") or not (isinstance(member, property | classmethod) or inspect.isfunction(member)):
            continue
        if said := _docstring(member).split("\n\n")[0].replace("\n", " "):
            listed.append(f"- `.{name}`: {said}")
    if listed:
        yield "**Members**"
        yield "\n".join(listed)


def commands() -> str:
    """The help of every command."""
    parts = ["# Commands", "What `--help` and `--help-advanced` print. Made from the program by `tools/docs.py`."]
    context = click.Context(program, info_name="dpselect", max_content_width=100, terminal_width=100)
    for name in COMMANDS:
        command = program.get_command(context, name)
        assert command is not None
        own = click.Context(command, info_name=name, parent=context, max_content_width=100, terminal_width=100)
        parts += [f"## `dpselect {name}`", COMMANDS[name], f"```text\n{command.get_help(own)}\n```"]
        if more := advanced_help(own):
            parts += [f"### Advanced options of `{name}`", f"```text\n{more}\n```"]
    return "\n\n".join(parts) + "\n"


def llms(folder: Path) -> str:
    """llms.txt: what this is, and every page with its first sentence, for readers that are programs."""
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    lines = [f"# {site['site_name']}", "", f"> {site['site_description']}", ""]
    lines += [
        "Ranges, categories and epsilon are stated by a person, never read from rows. Each run spends privacy budget.",
        "What `check` shows is confidential.",
        "",
    ]
    for title, page in _pages(site["nav"]):
        if page is None:
            lines += ["", f"## {title}", ""]
        elif page not in MADE:
            lines.append(f"- [{title}]({page}): {_first_sentence((folder / page).read_text(encoding='utf-8'))}")
    return "\n".join(lines) + "\n"


def _pages(nav: list[dict[str, Any]]) -> Iterator[tuple[str, str | None]]:
    for entry in nav:
        for title, what in entry.items():
            if isinstance(what, str):
                yield title, what
            else:
                yield title, None
                yield from _pages(what)


def _first_sentence(text: str) -> str:
    bare = re.sub(r"^[#!].*$", "", re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL), flags=re.MULTILINE)
    paragraph = " ".join(next(part for part in re.split(r"\n\s*\n", bare) if part.strip()).split())
    sentence = re.split(r"(?<=[.:?]) ", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", paragraph))[0]
    return sentence.rstrip(":.") + "."


MADE = {"reference/python.md": reference, "reference/commands.md": commands}
"""Pages that are made anew each time, and not kept."""


def main(folder: Path) -> None:
    """Write them into a folder of documents."""
    for name, make in MADE.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(make(), encoding="utf-8")
    (folder / "llms.txt").write_text(llms(folder), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs")
