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

ROOT = Path(__file__).parents[1]


def reference() -> str:
    """Every public name with its signature, its docstring and its public members."""
    parts = [
        "# Every name, from its docstring",
        "Made from the program by `tools/docs.py`. A page to read is [Reference](REFERENCE.md).",
    ]
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
    return [f"```text\n{name}{inspect.Signature(parameters)}\n```"]


def _docstring(value: Any) -> str:
    return inspect.getdoc(value) or ""


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
        yield "\n".join(listed)


def commands() -> str:
    """The help of every command."""
    parts = ["# Commands", "What `--help` prints, for each; made from the program by `tools/docs.py`."]
    context = click.Context(program, info_name="dpselect", max_content_width=100, terminal_width=100)
    for name in COMMANDS:
        command = program.get_command(context, name)
        assert command is not None
        own = click.Context(command, info_name=name, parent=context, max_content_width=100, terminal_width=100)
        parts += [f"## `dpselect {name}`", COMMANDS[name], f"```text\n{command.get_help(own)}\n```"]
    return "\n\n".join(parts) + "\n"


def llms(folder: Path) -> str:
    """llms.txt: what this is, and every page with its first sentence, for readers that are programs."""
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    lines = [f"# {site['site_name']}", "", f"> {site['site_description']}", ""]
    lines += [
        "Bounds, levels and epsilon are stated by a person, never read from rows. A release is charged each time it runs.",
        "What `check` and `rehearse` show is private.",
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


MADE = {"reference.md": reference, "commands.md": commands}
"""Pages that are made anew each time, and not kept."""


def main(folder: Path) -> None:
    """Write them into a folder of documents."""
    for name, make in MADE.items():
        (folder / name).write_text(make(), encoding="utf-8")
    (folder / "llms.txt").write_text(llms(folder), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs")
