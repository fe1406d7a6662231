"""Public. One SQL query that computes the exact moments where the rows live, for those who may run no more than that.

The query says in SQL what `grid` says in NumPy: the same double operations in the same order, then sums of whole numbers
that cannot overflow. Its answer is one row, as private as the table itself.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from dpselect.assume.study import Study
from dpselect.assume.terms import Column, Factor
from dpselect.assume.variables import GRID, Binary, Categorical, Numeric, Variable, unusable_cells
from dpselect.errors import DataError
from dpselect.gather.moments import Moments, checked, named_by_content, require_sound
from dpselect.gather.persons import MULTIPLIER, PRIME
from dpselect.gather.sql_dialects import Dialect, dialect_named


def aggregate_query(study: Study, table: str, dialect: str, *, booleans: Collection[str] = ()) -> str:
    """A query whose one row of answers `moments_from_answer` turns into moments.

    Parameters
    ----------
    study : Study
        The study; every range must be stated.
    table : str
        A table's name (`schema.table`) or a query in parentheses.
    dialect : {"duckdb", "postgres", "spark", "tsql", "oracle"}
        Whose SQL to write; "tsql" (SQL Server) and "oracle" were parsed and never run by us.
    booleans : list of str, optional
        The columns of type boolean, which PostgreSQL does not take for numbers.

    Returns
    -------
    str
        The query. Its answer is confidential.
    """
    study.require_bounds("The query")
    writer = _Writer(study, dialect_named(dialect), booleans)
    answers = ",\n  ".join(
        f"{expression} AS {writer.dialect.identifier(name)}" for name, expression in writer.answers()
    )
    if len(answer_names(study)) > writer.dialect.most_columns:
        raise DataError(
            f"The study has {len(study.columns)} columns, too many for one query: gather from the table itself, or leave "
            "some out."
        )
    return (
        f"-- dpselect: exact sums for the study {study.hash[:12]}. PRIVATE: keep the answer as you keep the rows.\n"
        f"-- Run it unchanged: {writer.dialect.how_to_run}\n"
        f"{writer.dialect.before}"
        f"SELECT\n  {answers}\nFROM ({writer.design(table)}) {writer.dialect.called}design;\n"
    )


def answer_names(study: Study) -> list[str]:
    """The names of the answers: the study's hash, n, missing cells where they are an error, and the products row by row."""
    missing = [f"missing_{i}" for i in range(len(_variables(study)))] if study.missing == "error" else []
    if study.person is not None:
        missing.append("missing_person")
    return ["study", "n", *missing, *(f"p_{i}_{j}" for i, j in product_places(study))]


def product_places(study: Study) -> Iterator[tuple[int, int]]:
    """The upper triangle of the products, the response last."""
    width = len(study.columns) + 1
    return ((i, j) for i in range(width) for j in range(i, width))


def _variables(study: Study) -> tuple[Variable, ...]:
    return (*study.predictors, study.response)


class _Writer:
    """Writes the query from the inside out: cells, their places on the grid, the design's columns, the sums."""

    def __init__(self, study: Study, dialect: Dialect, booleans: Collection[str]) -> None:
        self.study, self.dialect, self.booleans = study, dialect, booleans
        self.variables = _variables(study)
        self.place = {variable.name: i for i, variable in enumerate(self.variables)}

    def answers(self) -> Iterator[tuple[str, str]]:
        names = iter(answer_names(self.study))
        yield next(names), self.dialect.string(self.study.hash)
        most = self.study.rows_per_person
        yield next(names), "COUNT(*)" if self.study.person is None else f"{most} * COUNT(DISTINCT person)"
        if self.study.missing == "error":
            for i in range(len(self.variables)):
                yield next(names), f"SUM(m{i})"
        if self.study.person is not None:
            yield (
                next(names),
                f"SUM(CASE WHEN person IS NULL OR {self.dialect.blank('person')} THEN 1 ELSE 0 END)",
            )
        for i, j in product_places(self.study):
            yield next(names), self.dialect.total(f"c{i} * c{j}")

    def design(self, table: str) -> str:
        """The columns of the design, whole numbers on the grid."""
        wanted = [f"{self._column(column)} AS c{i}" for i, column in enumerate(self.study.columns)]
        wanted.append(f"{self._kept(self._factor(Factor(self.study.response.name)))} AS c{len(wanted)}")
        if self.study.missing == "error":
            wanted += [f"CASE WHEN g{i} IS NULL THEN 1 ELSE 0 END AS m{i}" for i in range(len(self.variables))]
        columns = ", ".join(wanted) + self._person
        inner = f"SELECT {columns} FROM ({self._grid(table)}) {self.dialect.called}grid {self.dialect.fence}".rstrip()
        return inner if self.study.person is None else self._first_rows(inner)

    @property
    def _person(self) -> str:
        return "" if self.study.person is None else ", person"

    def _first_rows(self, design: str) -> str:
        """The rows of each person that count, by the order of `persons`; rows without a person stay, to be refused."""
        columns = [f"c{i}" for i in range(len(self.study.columns) + 1)]
        number, modulo = f"CAST(0 AS {self.dialect.whole})", self.dialect.modulo
        for column in columns:
            number = modulo(f"{modulo(f'({number} + {column} + {GRID})', PRIME)} * {MULTIPLIER}", PRIME)
        order = ", ".join([number, *columns])
        ranked = (
            f"SELECT listed.*, ROW_NUMBER() OVER (PARTITION BY person ORDER BY {order}) AS place FROM ({design}) "
            f"{self.dialect.called}listed"
        )
        return f"SELECT * FROM ({ranked}) {self.dialect.called}ranked WHERE place <= {self.study.rows_per_person} OR person IS NULL"

    def _grid(self, table: str) -> str:
        """g: a number's place on the grid or a level's place among the levels, NULL where the cell is missing."""
        places = ", ".join(f"{self._place(v, f'v{i}')} AS g{i}" for i, v in enumerate(self.variables))
        return f"SELECT {places}{self._person} FROM ({self._cells(table)}) {self.dialect.called}cells {self.dialect.fence}".rstrip()

    def _cells(self, table: str) -> str:
        values = ", ".join(f"{self._value(variable)} AS v{i}" for i, variable in enumerate(self.variables))
        if self.study.person is not None:
            # As text, letter by letter, whatever the column's type and collation: so every other source has it.
            values += f", {self.dialect.text('source.' + self.dialect.identifier(self.study.person))} AS person"
        return f"SELECT {values} FROM {self.dialect.table(table)} {self.dialect.called}source {self.dialect.fence}".rstrip()

    def _value(self, variable: Variable) -> str:
        column = "source." + self.dialect.identifier(variable.name)
        if not isinstance(variable, Numeric) and isinstance(variable.categories[0], str):
            return self.dialect.text(column)
        if variable.name in self.booleans:
            zero, one = self.dialect.literal(0.0), self.dialect.literal(1.0)
            return f"CASE WHEN {column} THEN {one} WHEN NOT {column} THEN {zero} END"
        return self.dialect.number(column, self.dialect.string(f"{variable.name} is text, and a number is needed."))

    def _place(self, variable: Variable, value: str) -> str:
        if isinstance(variable, Numeric):
            return self._number_place(variable, value)
        levels = [
            self.dialect.string(level + self.dialect.marked)
            if isinstance(level, str)
            else self.dialect.literal(float(level))
            for level in variable.categories
        ]
        places = (-GRID, GRID) if isinstance(variable, Binary) else range(len(levels))
        cases = " ".join(f"WHEN {value} = {level} THEN {i}" for i, level in zip(places, levels, strict=True))
        return f"CASE {cases} END"

    def _number_place(self, variable: Numeric, value: str) -> str:
        literal = self.dialect.literal
        lower, upper = variable.bounds
        middle, scale, half = literal(variable.middle), literal(variable.scale), literal(0.5)
        # Next to the middle the formula gives 0; saying so keeps PostgreSQL, which calls an underflow an error, from computing it.
        tiny = variable.half_width / (4 * GRID)
        near = f"{value} - {middle} > {literal(-tiny)} AND {value} - {middle} < {literal(tiny)}"
        formula = f"CAST(floor(({value} - {middle}) * {scale} + {half}) AS {self.dialect.whole})"
        return (
            f"CASE WHEN {self.dialect.finite(value, literal)} THEN "
            f"CASE WHEN {value} >= {literal(upper)} THEN {GRID} WHEN {value} <= {literal(lower)} THEN {-GRID} "
            f"WHEN {near} THEN 0 ELSE {formula} END END"
        )

    def _column(self, column: Column) -> str:
        """A product of factors, rounded to the grid after each, as in `grid`."""
        result = f"CAST({GRID} AS {self.dialect.whole})"
        for i, factor in enumerate(column.factors):
            value = self._factor(factor)
            exact = f"CAST({result} * {value} AS {self.dialect.double}) / {self.dialect.literal(float(GRID))}"
            result = value if i == 0 else f"CAST(floor({exact} + {self.dialect.literal(0.5)}) AS {self.dialect.whole})"
        return self._kept(result)

    def _factor(self, factor: Factor) -> str:
        place = self.place[factor.variable]
        if factor.level is None:
            return f"COALESCE(CAST(g{place} AS {self.dialect.whole}), 0)"
        variable = self.variables[place]
        assert isinstance(variable, Categorical)
        one = f"CAST({GRID} AS {self.dialect.whole})"
        return f"CASE WHEN g{place} = {variable.categories.index(factor.level)} THEN {one} ELSE 0 END"

    def _kept(self, value: str) -> str:
        """Zero in a row that misses a cell, if that is the policy."""
        if self.study.missing != "zero-row":
            return value
        gone = " OR ".join(f"g{i} IS NULL" for i in range(len(self.variables)))
        return f"CASE WHEN {gone} THEN 0 ELSE {value} END"


AGAIN = "run the query that belongs to this study again, and change nothing in it or its answer"
MAX_ANSWER_CHARACTERS = 1 << 22
"""An answer has at most 1,600 columns, so that a longer text is none."""


def moments_from_answer(answer: str | os.PathLike[str] | Mapping[str, Any], study: Study) -> Moments:
    """The moments in the answer to `aggregate_query`.

    Parameters
    ----------
    answer : path or dict
        A CSV file with a first line of names, or one row as a mapping.
    study : Study
        The study that the query was written for.

    Returns
    -------
    Moments
        Exact sums, confidential.
    """
    row = answer if isinstance(answer, Mapping) else _read_answer(Path(answer))
    if row.get("study") != study.hash:
        raise DataError(f"The answer does not belong to these assumptions: {AGAIN}.")
    absent = [name for name in answer_names(study) if name not in row]
    if absent:
        raise DataError(f"The answer lacks {absent[0]!r}: {AGAIN}.")
    values = {name: _whole(row[name]) for name in answer_names(study) if name != "study"}
    for i, variable in enumerate((*study.predictors, study.response)):
        if values.get(f"missing_{i}"):
            raise DataError(unusable_cells(variable))
    if values.get("missing_person"):
        raise DataError(f"The column of persons {study.person!r} has missing cells: give every row its person.")
    width = len(study.columns) + 1
    products = np.zeros((width, width), dtype=object)
    for i, j in product_places(study):
        products[i, j] = products[j, i] = values[f"p_{i}_{j}"]
    columns = tuple(column.name for column in study.columns)
    found = require_sound(
        Moments(values["n"], products, columns, study.hash),
        study,
        f"The answer holds sums that no table of numbers within the bounds has: {AGAIN}.",
    )
    return checked(named_by_content(found), study)


def _read_answer(path: Path) -> Mapping[str, Any]:
    lines = None
    try:
        with path.open(encoding="utf-8-sig") as file:
            lines = file.read(MAX_ANSWER_CHARACTERS).splitlines()
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise DataError(f"The answer {str(path)!r} cannot be read: {reason}.") from None
    except UnicodeDecodeError:
        pass  # it holds the file's bytes, so it is forgotten here
    if lines is None:
        raise DataError(f"The answer {str(path)!r} is not UTF-8 text: save it as UTF-8 CSV.")
    # psql may print the word SET before the table, and some programs a count of rows after it.
    starts = [i for i, line in enumerate(lines) if line.lower().lstrip('"').startswith("study")]
    found = _row(lines[starts[0] :]) if len(starts) == 1 else None
    if lines and lines[0].startswith('{"format": "dpselect moments'):
        raise DataError(
            f"{str(path)!r} holds saved moments, not an answer to a query: give it in the place of the data."
        )
    if found is None:
        raise DataError(f"{str(path)!r} holds no answer: it must be a CSV file with a first line of names and one row.")
    return found


def _row(lines: list[str]) -> dict[str, str] | None:
    """The names and the cells below them; nothing where a quote is open, a name stands twice, or a cell has no name."""
    delimiter = next((mark for mark in ",;\t|" if mark in lines[0]), ",")
    try:
        names, cells = csv.reader(lines[:2], delimiter=delimiter, strict=True)
    except (csv.Error, ValueError):  # both may quote the text
        return None
    if len(names) != len(cells) or len(set(names)) < len(names):
        return None
    return dict(zip((name.lower() for name in names), cells, strict=True))


def _whole(value: Any) -> int:
    """A whole number; NULL is the sum of no rows."""
    if value is None or value in ("", "NULL", "null"):
        return 0
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        return int(value)
    # Only what int() surely takes: what it refuses it quotes.
    if isinstance(value, str) and re.fullmatch("-?[0-9]{1,100}", value.strip()):
        return int(value)
    # A float has lost digits already, so that even a whole one is not the sum.
    raise DataError(f"The answer holds what is not a whole number to the last digit: {AGAIN}.")
