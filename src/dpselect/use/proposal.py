"""Public. A study for a table that has none: which columns would be considered, and as what.

Names, the source's own types and what a person stated decide it. The types of a text file or a workbook are only what its first
rows look like, so a study made from them is a proposal: a person confirms it, or states it, before anything is released.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec.structs

from dpselect.assume.source_form import SourceForm
from dpselect.assume.study import Missing, Study
from dpselect.assume.variables import Binary, Categorical, Category, Count, Number, Numeric, Variable
from dpselect.errors import LeftOutWarning, StudyError
from dpselect.gather.sources.schema import ColumnType
from dpselect.report.phrases import names_with_more
from dpselect.use.init import IDENTIFIER, named_columns, require_column

NO_NAME, NOT_WANTED, IS_TEXT, IS_DATE, UNUSABLE, LIKE_IDENTIFIER = (
    "no name",
    "as you asked",
    "text",
    "date",
    "of a type that cannot be used",
    "looks like an identifier",
)
"""Why a column is left out."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Public. A study, the columns that it leaves out with the reason for each, and whether its types are only a look."""

    study: Study
    left_out: tuple[tuple[str, str], ...]
    by_look: bool


def propose(
    columns: Sequence[ColumnType],
    response: str,
    *,
    predictors: Iterable[str] | None = None,
    categories: Mapping[str, Sequence[Category]] | None = None,
    without: Iterable[str] | None = None,
    form: SourceForm | None = None,
    where: str = "The table",
    count: bool = False,
    **settings: Any,
) -> Proposal:
    """The study of a response and of some predictors, or of all usable columns.

    A column in `categories` is considered and has these. One that is named in `predictors` is a number unless the source itself
    says something else. Those in `without` are left out where no predictors are named. `count` says that the response counts
    something. `settings` are further ones of `Study`. Where nothing is named, a column whose first rows hold 0 and 1 alone is
    proposed as a yes or no.
    """
    by_look = not any(column.stated for column in columns)
    # What a frame holds beside numbers is text unless categories are stated, whatever its cells look like. One cell makes text or
    # objects of a column of numbers, so that none is left out of a study for it: predictors have to be named.
    untyped = [] if by_look else [column.name for column in columns if not column.stated]
    columns = [_typed(column, by_look=by_look, named=predictors is not None) for column in columns]
    known = {column.name: column for column in columns}
    stated = dict(categories or {})
    apart = [settings[role] for role in ("person", "cluster", "weights") if settings.get(role) is not None]
    # A column that decides who is in the subgroup is a predictor only where it is named as one.
    apart += [each.name for each in settings.get("only") or () if each.name not in (predictors or ())]
    named, unwanted = None if predictors is None else [*predictors], [*(without or ())]
    for name in (response, *(named or ()), *stated, *apart, *unwanted):
        require_column(name, known, where)
    _refuse_wanted(unwanted, named, (response, *stated))
    if named is not None:
        named += [name for name in stated if name not in (*named, response)]
    for name in named or ():
        if name == response:
            raise StudyError(f"{name!r} is the response and cannot be a predictor too. Take it out of the predictors.")
    considered: list[Variable] = []
    left_out = []
    for name in named if named is not None else [name for name in known if name not in (response, *apart)]:
        column = known[name]
        why = None if name in stated else _why_not(column, named=named is not None)
        why = NOT_WANTED if name in unwanted else why
        if why is not None and named is not None:
            raise StudyError(_refusal(name, why, where))
        if why == IS_TEXT and name in untyped:
            raise StudyError(
                f"{where}: {name!r} does not hold numbers alone: name the predictors, or state its categories."
            )
        if why is None:
            considered.append(_predictor(column, stated.get(name)))
        else:
            left_out.append((name, why))
    if not considered:
        raise StudyError(
            f"{where} has no other column that looks like numbers. Name predictors, or state the categories of text columns."
        )
    explained = known[response]
    if named is not None and not explained.stated:
        explained = replace(explained, kind="number", stated=True)  # the person who named the predictors states it
    outcome = Count(response) if count else _response(explained, stated.get(response), where)
    study = Study(outcome, tuple(considered), source=form, **settings)
    return Proposal(study, tuple(left_out), by_look and named is None)


def _refuse_wanted(unwanted: Sequence[str], named: Sequence[str] | None, stated: Iterable[str]) -> None:
    """Refuse to leave out what is also asked for."""
    if named is not None and unwanted:
        raise StudyError("Name the predictors, or the columns to leave out: not both.")
    if twice := next((name for name in stated if name in unwanted), None):
        raise StudyError(f"{twice!r} is both stated and left out. Say one of them.")


def _typed(column: ColumnType, *, by_look: bool, named: bool) -> ColumnType:
    """A column as it is judged; `by_look` says that no column of the table has a type of its own.

    Where predictors are named, a column in memory is judged by itself: else one cell of a column that nobody named, which makes
    text of the last column of numbers, would decide whether others are refused, and whether their categories are text.
    """
    if named:  # what a person names is a number, whatever the first rows look like
        column = replace(column, zero_one=False)
    if column.stated or (by_look and not (named and column.in_memory)):
        return column
    if named and column.in_memory and column.kind in ("number", "boolean"):
        return column
    return replace(column, kind="text", stated=True)


def _why_not(column: ColumnType, *, named: bool) -> str | None:
    """Why a column cannot be considered as it is, or None. What a text file's cells look like refuses no name that was given."""
    if named and not column.stated:
        return None
    if IDENTIFIER.search(column.name) and not named:
        return LIKE_IDENTIFIER
    if column.kind in ("number", "boolean") or len(column.categories) > 1:
        return None
    return {"text": IS_TEXT, "date": IS_DATE}.get(column.kind, UNUSABLE)


def _refusal(name: str, why: str, where: str) -> str:
    if why == IS_TEXT:
        return f"{where}: {name!r} is text. State its categories, such as {name}=north,south."
    if why == IS_DATE:
        return f"{where}: {name!r} is a date. Store it as a number, such as days since a fixed day."
    return f"{where}: {name!r} is {why}. Store it as a number or as text."


def _predictor(column: ColumnType, stated: Sequence[Category] | None) -> Variable:
    words: dict[str, Any] = {"label": column.label} if column.label else {}
    if stated is not None:
        listed = categories_of(stated, as_text=column.stated and column.kind == "text")
        return Binary(column.name, [0, 1], **words) if listed == [0, 1] else Categorical(column.name, listed, **words)
    if (column.kind == "boolean" and column.stated) or column.zero_one:
        return Binary(column.name, [0, 1], **words)
    if len(column.categories) > 1:
        codes, labels = [code for code, _ in column.categories], [label for _, label in column.categories]
        listed_labels = labels if len(set(labels)) == len(labels) else []
        return Categorical(column.name, codes, category_labels=listed_labels, **words)
    return Numeric(column.name, **words)


def _response(column: ColumnType, stated: Sequence[Category] | None, where: str) -> Number:
    words: dict[str, Any] = {"label": column.label} if column.label else {}
    if stated is not None:
        listed = categories_of(stated, as_text=column.stated and column.kind == "text")
        if len(listed) != 2:
            raise StudyError(
                f"The response {column.name!r} has {len(listed)} categories. State two, no first: {column.name}=no,yes."
            )
        return Binary(column.name, listed, **words)
    if (column.kind == "boolean" and column.stated) or column.zero_one:
        return Binary(column.name, [0, 1], **words)
    if column.kind == "text":
        raise StudyError(
            f"{where}: the response {column.name!r} is text. State its two categories, no first, such as {column.name}=no,yes. "
            "(Numbers with a decimal comma need --decimal , first.)"
        )
    if column.kind in ("date", "other") and column.stated:
        raise StudyError(f"{where}: the response {column.name!r} is no number. Store it as one.")
    return Numeric(column.name, **words)


def categories_of(stated: Sequence[Category], *, as_text: bool = False) -> list[Any]:
    """Categories as a study has them: whole numbers where all are, unless the column is text."""
    if as_text or not all(re.fullmatch(r"-?(0|[1-9]\d*)", str(each)) for each in stated):
        return [each if isinstance(each, str) else str(each) for each in stated]
    return [int(each) for each in stated]


def study_for(
    source: Any,
    study: Study | str | None,
    *,
    response: str | None = None,
    predictors: Iterable[str] | None = None,
    categories: Mapping[str, Sequence[Category]] | None = None,
    missing: Missing | None = None,
) -> Study:
    """The study of a call in Python: as given, or from a formula ("income ~ .") or names and the source's own types.

    Nobody can confirm what a text file looks like here, so that its predictors have to be named. `missing` is what is done about
    missing cells, where the call makes the study.
    """
    if study is not None and not isinstance(study, str):
        if any(each is not None for each in (response, predictors, categories, missing)):
            raise StudyError("The study states response, predictors, categories and missing already: give it alone.")
        return study
    made = _made_study(source, study, response, predictors, categories)
    return made if missing is None else msgspec.structs.replace(made, missing=missing)


def _made_study(
    source: Any,
    study: str | None,
    response: str | None,
    predictors: Iterable[str] | None,
    categories: Mapping[str, Sequence[Category]] | None,
) -> Study:
    if study is not None and "~" not in study:
        return Study.read(study)
    if (study is None) == (response is None):
        raise StudyError('Give a study, a formula such as "income ~ ." or response="income": one of them.')
    columns = named_columns(source)
    where = "The table" if not isinstance(source, str | Path) else Path(source).name
    stated = dict(categories or {})
    if study is not None:
        response, right = (part.strip() for part in study.split("~", 1))
        names = _named_in(right, [column.name for column in columns if column.name != response])
        if names is None:
            return _of_formula(study, right, columns, response, stated, where)
        predictors = names or predictors
    assert response is not None
    proposal = propose(columns, response, predictors=predictors, categories=stated, where=where)
    if proposal.by_look:
        raise StudyError(
            f"{where} is a text file or has untyped columns, so that nothing states what they hold. Name the predictors: "
            f'predictors=["age", ...] or "{response} ~ age + ...", with categories={{...}} for text.'
        )
    if proposal.left_out:
        told = names_with_more([f"{name} ({why})" for name, why in proposal.left_out])
        warnings.warn(f"Not considered: {told}. Name a column, or state its categories.", LeftOutWarning, stacklevel=4)
    return proposal.study


def _named_in(right: str, columns: Sequence[str]) -> list[str] | None:
    """The names of a plain sum of columns, none for a dot, and None where a formula says more than that."""
    if right == ".":
        return []
    parts = [part.strip().strip("`") for part in right.split("+")]
    # A name that is no column is a misspelt one, which is refused with a suggestion.
    plain = all(part in columns or re.fullmatch(r"[^\W\d]\w*", part) for part in parts)
    return parts if plain else None


def _of_formula(
    formula: str,
    right: str,
    columns: Sequence[ColumnType],
    response: str,
    categories: Mapping[str, Sequence[Category]],
    where: str,
) -> Study:
    """A study with the terms of a formula, whose variables are the columns that it names."""
    named = [column.name for column in columns if re.search(rf"(?<!\w){re.escape(column.name)}(?!\w)", right)]
    proposal = propose(columns, response, predictors=named, categories=categories, where=where)
    return Study.from_formula(formula, [proposal.study.response, *proposal.study.predictors])
