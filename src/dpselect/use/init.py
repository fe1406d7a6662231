"""The study file that `init` writes: names and kinds from the table, and open places for what only a person can state.

A code book, or the dictionary of the file itself, may say some of it. Bounds are never read from rows.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from dpselect.assume.study_file import OPEN, toml
from dpselect.assume.variables import is_printable, shown, shown_names
from dpselect.errors import DataError, StudyError
from dpselect.gather.sources.schema import ColumnType, read_schema
from dpselect.gather.sources.text_form import guess_form
from dpselect.release.selection import Selection


def init(
    source: Any,
    path: str | Path = "study.toml",
    *,
    response: str | None = None,
    codebook: str | Path | None = None,
) -> Path:
    """Write a study file for a table: the names and types of its columns, and places to fill in for what only you can state.

    Ranges and categories come from the code book or stay open; none is ever read from rows. No file is overwritten.

    Parameters
    ----------
    source : table, path or address
        Anything that `gather` reads; only names and types are looked at.
    path : path, optional
        The study file to write.
    response : str, optional
        The variable to explain.
    codebook : path, optional
        A CSV file with some of the columns name, lower, upper, categories, label, unit, reason.

    Returns
    -------
    Path
        The file that was written.

    Examples
    --------
    >>> dpselect.init("people.csv", response="income")  # doctest: +SKIP
    """
    target = Path(path)
    if target.exists():
        raise StudyError(f"{str(target)!r} exists already; give another path.")
    columns, _ = named_and_unnamed(source)
    book = {} if codebook is None else read_codebook(str(codebook))
    target.write_text(new_study(columns, response, book), encoding="utf-8")
    return target


def named_columns(source: Any) -> list[ColumnType]:
    """The columns of a source that have a name."""
    return named_and_unnamed(source)[0]


def named_and_unnamed(source: Any) -> tuple[list[ColumnType], list[int]]:
    """The columns that have a name, and the places of those that have none.

    A name that two columns share is refused, for no study could tell them apart; so is one that no study may have: names come
    from files, and may hold anything.
    """
    listed = read_schema(source)
    for place, column in enumerate(listed, 1):
        if column.name.strip() and not is_printable(column.name):
            raise DataError(
                f"The name of column {place}, {shown(column.name)}, holds characters that cannot be printed: rename it."
            )
    columns = [column for column in listed if column.name.strip()]
    for name, times in Counter(column.name for column in columns).items():
        if times > 1:
            raise DataError(f"Two columns are named {shown(name)}: rename one of them in the table.")
    return columns, [place for place, column in enumerate(listed, 1) if not column.name.strip()]


def require_column(name: str, known: Iterable[str], where: str) -> None:
    """Refuse a name that the table does not have, and say which it may have meant; names are public."""
    names = list(known)
    if name in names:
        return
    lowered = {each.lower(): each for each in reversed(names)}
    near = get_close_matches(name.lower(), lowered, n=1)
    hint = f" Did you mean {lowered[near[0]]!r}?" if near else f" It has {shown_names(names)}."
    raise StudyError(f"{where} has no column {shown(name)}.{hint}")


Book = Mapping[str, Mapping[str, Any]]
"""What a code book says about some variables, in the words of study files."""

_HEAD = """\
# A dpselect study: public assumptions, stated before the data are read.
#
# Give ranges and categories from public knowledge: a form, a code book, a law. Do not look them up in the data: a range read from
# the rows breaks the privacy promise. Ranges are optional and can make intervals shorter; values outside move to the nearest limit.
# Replace each "?". Delete the variables that should not be considered. label, unit and reason are optional; the report prints them.
"""
_SETTINGS = """
# Settings, each with its default:
# missing = "error"          # or "midpoint" (the middle of the range), or "zero-row" (the row counts for nothing)
# neighbors = "replace-one"  # or "add-remove-one", where the number of rows is itself secret
# rows = 10000               # about how many rows there are, where that is public; of a workbook exactly how many
# person = "id"              # the column that names persons, where one can have several rows
# max_rows_per_person = 5    # with person, for effects: how many rows of each count at most
# weights = "wt"             # of a survey: the column of weights, a number near the largest of them, and what they add up to, all
# weight_limit = 100         # from its documentation: the selection then speaks of the population
# population = 1000000
# cluster = "psu"            # of a survey: the column of sampling clusters; needs neighbors = "add-remove-one"
# always = ["region"]        # terms of every model: they are not selected, and get an effect
# one_of = [["a", "b"]]      # groups of terms: of each exactly one is in the model
# hierarchy = false          # or true: a product is in a model only with its parts
# [[only]]                   # a subgroup, which needs rows: a table of its own below, with name and categories = ["f"], or with
#                            # name, lower = 18 and upper = 65

"""
IDENTIFIER = re.compile(
    r"(?i:(?:^|[_\W])(?:id|ids|uuid|guid|identifier|pseudonym|ssn|iban|email|phone)(?:$|[_\W])"
    r"|^(?:rownames?|row_?(?:nr|no|number)|index|unnamed.*)$)|[a-z]I[Dd]$"
)
"""Names that are rather those of an identifier or of the number of a row than of anything that explains a response."""
SUGGESTED = (
    (re.compile(r"(?:^|_)age(?:_|$|[a-z]?\d*$)", re.IGNORECASE), (0, 120), "years"),
    (re.compile(r"(?:^|_)(?:year|yr|birthyear|yob)(?:_|$)", re.IGNORECASE), (1900, 2030), ""),
    (re.compile(r"percent|pct|(?:^|_)share(?:_|$)", re.IGNORECASE), (0, 100), "%"),
    (re.compile(r"(?:^|_)months?(?:_|$)", re.IGNORECASE), (1, 12), ""),
)
"""Ranges that a name suggests, for a person to confirm; names are public."""


def new_study(columns: Iterable[ColumnType], response: str | None, book: Book | None = None) -> str:
    """The text of a study file for some columns. Ranges come from the code book or stay open; none is ever read from rows."""
    listed, book = list(columns), book or {}
    names = [column.name for column in listed]
    if response is not None:
        require_column(response, names, "The table")
    lines = [_HEAD + _SETTINGS + "[response]"]
    if response is None:
        which = f"  # one of {_some(names)}; then delete its [[predictors]] table below"
        lines += [f'name = "{OPEN}"{which}', *_range_of(""), NO_AND_YES]
    for column in listed:
        if column.name == response:
            lines += _response(column, book.get(column.name, {}))
    for column in listed:
        if column.name == response:
            continue
        if IDENTIFIER.search(column.name) and column.name not in book:
            lines += ["", f"# {toml(column.name)} looks like an identifier: add a [[predictors]] table to consider it."]
        else:
            lines += ["", *_predictor(column, book.get(column.name, {}))]
    return "\n".join(lines) + "\n"


def study_of_selection(selection: Selection) -> str:
    """The text of a study file for the variables of a selection, so that only these are described further."""
    study = selection.study
    used = {factor.variable for place in selection.columns for factor in study.columns[place].factors}
    values = study.to_dict()
    kept = [each for each in values["predictors"] if each["name"] in used]
    settings = {
        name: value for name, value in values.items() if name not in ("response", "predictors", "source", "terms")
    }
    lines = [_HEAD, *(f"{name} = {toml(value)}" for name, value in settings.items() if name != "radius")]
    if "source" in values:
        lines += ["", "[source]", *_entries(values["source"])]
    for head, each in (("[response]", values["response"]), *(("[[predictors]]", each) for each in kept)):
        numeric = each.get("kind") in ("number", "count") and "lower" not in each
        lines += ["", head, *_entries(each), *(_range_of(each["name"]) if numeric else [])]
    return "\n".join(lines) + "\n"


LIKE_NO_AND_YES = [
    '# kind = "binary"  # it looks like a yes or no: if your code book says so, take out the # here and below',
    "# categories = [0, 1]",
]
NO_AND_YES = '# or, of no and yes: kind = "binary" and categories = [0, 1] (or ["no", "yes"])'


def _range_of(name: str) -> list[str]:
    """Lines for a range, to be uncommented by a person; a name that everybody knows suggests one."""
    for pattern, (lower, upper), unit in SUGGESTED:
        if pattern.search(name):
            more = [f'# unit = "{unit}"'] if unit else []
            return [f"# lower = {lower}  # suggested by the name: confirm or change", f"# upper = {upper}", *more]
    return ["# lower =   # the range is optional", "# upper ="]


def _response(column: ColumnType, said: Mapping[str, Any]) -> list[str]:
    if len(said.get("categories", ())) == 2:
        return _entries({"name": column.name, "kind": "binary", **said})
    known = {"name": column.name, **_labelled(column)}
    if column.kind == "boolean" and column.stated:
        return _entries({**known, **said, "kind": "binary", "categories": [0, 1]})
    if column.kind == "text" and "lower" not in said:
        lines = _entries({**known, **said, "kind": "binary", "categories": [OPEN, OPEN]})
        lines[-1] += '  # no first, then yes: ["no", "yes"]'
        return lines
    lines = _entries({**known, **said})
    if column.zero_one and "lower" not in said:
        return [*lines, *LIKE_NO_AND_YES]
    return lines if "lower" in said else [*lines, *_range_of(column.name), NO_AND_YES]


def _predictor(column: ColumnType, said: Mapping[str, Any]) -> list[str]:
    head = ["[[predictors]]"]
    if "categories" in said or ("lower" in said and "upper" in said):
        return head + _entries({"name": column.name, **_labelled(column), **_binary(said), **said})
    if column.categories:
        return head + _from_dictionary(column)
    if column.kind == "boolean" and column.stated:
        return head + _entries(
            {"name": column.name, **_labelled(column), **said, "kind": "binary", "categories": [0, 1]}
        )
    if column.kind in ("number", "boolean"):
        lines = [*head, *_entries({"name": column.name, **_labelled(column), **said})]
        return [*lines, *(LIKE_NO_AND_YES if column.zero_one else _range_of(column.name))]
    if column.kind == "text":
        lines = _entries({"name": column.name, **_labelled(column), **said, "categories": [OPEN]})
        lines[-1] += '  # all that can occur, such as ["north", "south"]; the first is the reference'
        return head + lines
    # A type may hold names too: those of the fields of a structure.
    kind = shown(column.type)[1:-1]
    return [
        f"# {toml(column.name)} has the type {kind}, which cannot be used as it is: store it as a number or as text."
    ]


def _binary(said: Mapping[str, Any]) -> dict[str, str]:
    """Codes 0 and 1 are no and yes."""
    return {"kind": "binary"} if list(said.get("categories", ())) == [0, 1] else {}


def _labelled(column: ColumnType) -> dict[str, str]:
    return {"label": column.label} if column.label else {}


def _from_dictionary(column: ColumnType) -> list[str]:
    """Codes and their labels as the file's dictionary has them; the reason stays open, so that a person looks at them."""
    categories = [code for code, _ in column.categories]
    labels = [label for _, label in column.categories]
    lines = [
        "# By the file's dictionary. Take out codes for missing answers; if it is a number, state a range instead."
    ]
    stated = {"categories": categories, "category_labels": labels}
    lines += _entries({"name": column.name, **_labelled(column), **_binary(stated), **stated})
    return [*lines, f'reason = "{OPEN}"  # where these categories are stated, apart from the rows']


def _entries(values: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {toml(value)}" for name, value in values.items()]


def _some(names: list[str]) -> str:
    return ", ".join(map(toml, names[:12])) + (", ..." if len(names) > 12 else "")


COLUMNS = ("name", "lower", "upper", "categories", "label", "unit", "reason")


def read_codebook(path: str) -> dict[str, dict[str, Any]]:
    """What a code book says about each variable, in the words of study files.

    A CSV file whose first line names some of `COLUMNS`; categories stand with semicolons or bars between them, each with its label
    after an equals sign if it has one: "1=male; 2=female".
    """
    found: dict[str, dict[str, Any]] = {}
    for number, line in _lines(path):
        name = line.pop("name", "")
        if not name:
            raise StudyError(f"Line {number} of the code book {path!r} has no name: name the variable, or remove it.")
        if name in found:
            raise StudyError(f"The code book {path!r} names {name!r} twice; name each variable once.")
        found[name] = _entry(name, line)
    return found


def _lines(path: str) -> Iterator[tuple[int, dict[str, str]]]:
    if not Path(path).is_file():
        raise StudyError(f"There is no code book {path!r}: give a CSV file with the columns {', '.join(COLUMNS)}.")
    form = guess_form(path)
    encoding = "utf-8-sig" if form.encoding == "utf-8" else form.encoding
    try:
        Path(path).read_text(encoding=encoding)
    except UnicodeDecodeError:  # a code book holds no row of anybody, so all of it may tell its encoding
        encoding = "cp1252"
    with open(path, encoding=encoding, newline="") as file:
        rows = csv.reader(file, delimiter=form.delimiter)
        head = [each.strip().lower() for each in next(rows, [])]
        if unknown := [each for each in head if each not in COLUMNS]:
            raise StudyError(f"The code book {path!r} has the column {unknown[0]!r}; known are {', '.join(COLUMNS)}.")
        if "name" not in head:
            raise StudyError(f"The code book {path!r} has no column 'name'; its first line names the columns.")
        for number, row in enumerate(rows, start=2):
            if any(cell.strip() for cell in row):
                yield number, {name: cell.strip() for name, cell in zip(head, row, strict=False) if cell.strip()}


def _entry(name: str, line: dict[str, str]) -> dict[str, Any]:
    entry: dict[str, Any] = {word: line[word] for word in ("label", "unit", "reason") if word in line}
    for side in ("lower", "upper"):
        if side in line:
            entry[side] = _number(name, side, line[side])
    if "categories" in line:
        parts = [code_and_label(part) for part in line["categories"].replace("|", ";").split(";") if part.strip()]
        categories = [code for code, _ in parts]
        if len(categories) == 1 and "," in categories[0]:
            raise StudyError(
                f"The code book has one category of {name!r}, {categories[0]!r}. Put semicolons between categories."
            )
        whole = all(level.lstrip("-").isdecimal() for level in categories)
        entry["categories"] = [int(level) for level in categories] if whole else categories
        labels = [label for _, label in parts]
        if any(labels):
            entry["category_labels"] = [label or str(level) for label, level in zip(labels, categories, strict=True)]
    return entry


def code_and_label(text: str) -> tuple[str, str]:
    """A category and its label, as in 1=male; the sign in "<=12 years" is part of the category."""
    code, *label = re.split(r"(?<![<>!=])=(?!=)", text, maxsplit=1)
    return code.strip(), label[0].strip() if label else ""


def _number(name: str, side: str, text: str) -> float:
    try:
        value = float(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)
    except ValueError:
        raise StudyError(f"The code book gives {name!r} the {side} limit {text!r}; it must be a number.") from None
    return int(value) if value.is_integer() else value
