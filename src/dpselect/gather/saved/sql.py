"""Public. One SQL query that computes the exact moments where the rows live, for those who may run no more than that.

The query says in SQL what `grid` says in NumPy: the same double operations in the same order, then sums of whole numbers
that cannot overflow. Its answer is one row, as private as the table itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.columns import Column, Factor
from dpselect.assume.study.variables import GRID, Binary, Categorical, Numeric, Variable
from dpselect.errors import DataError
from dpselect.gather.saved.dialects import Dialect, dialect_named
from dpselect.gather.sums.persons import MULTIPLIER, PRIME

MOST_ANSWERS = 1600
"""PostgreSQL returns no more columns than this."""

BLANKS = "(' ' || CHR(9) || CHR(10) || CHR(11) || CHR(12) || CHR(13))"
"""White space, in every dialect; a person of nothing else is missing."""


def aggregate_query(assumptions: Assumptions, table: str, dialect: str, *, booleans: Collection[str] = ()) -> str:
    """A query whose one row of answers `moments_from_answer` turns into moments.

    `table` is a table's name (`schema.table`) or a query in parentheses; `dialect` is "duckdb", "postgres" or "spark". Name in
    `booleans` the columns of type boolean, which PostgreSQL does not take for numbers.
    """
    assumptions.require_bounds("The query")
    writer = _Writer(assumptions, dialect_named(dialect), booleans)
    answers = ",\n  ".join(f"{expression} AS {name}" for name, expression in writer.answers())
    if len(answer_names(assumptions)) > MOST_ANSWERS:
        raise DataError(
            f"The study has {len(assumptions.columns)} columns, too many for one query: gather from the table itself, or leave "
            "some out."
        )
    return (
        f"-- dpselect: exact sums for the study {assumptions.hash[:12]}. PRIVATE: keep the answer as you keep the rows.\n"
        f"-- Run it unchanged: {writer.dialect.how_to_run}\n"
        f"{writer.dialect.before}"
        f"SELECT\n  {answers}\nFROM ({writer.design(table)}) AS design;\n"
    )


def answer_names(assumptions: Assumptions) -> list[str]:
    """The names of the answers: the study's hash, n, missing cells where they are an error, and the products row by row."""
    missing = [f"missing_{i}" for i in range(len(_variables(assumptions)))] if assumptions.missing == "error" else []
    if assumptions.person is not None:
        missing.append("missing_person")
    return ["assumptions", "n", *missing, *(f"p_{i}_{j}" for i, j in product_places(assumptions))]


def product_places(assumptions: Assumptions) -> Iterator[tuple[int, int]]:
    """The upper triangle of the products, the response last."""
    width = len(assumptions.columns) + 1
    return ((i, j) for i in range(width) for j in range(i, width))


def _variables(assumptions: Assumptions) -> tuple[Variable, ...]:
    return (*assumptions.predictors, assumptions.response)


class _Writer:
    """Writes the query from the inside out: cells, their places on the grid, the design's columns, the sums."""

    def __init__(self, assumptions: Assumptions, dialect: Dialect, booleans: Collection[str]) -> None:
        self.assumptions, self.dialect, self.booleans = assumptions, dialect, booleans
        self.variables = _variables(assumptions)
        self.place = {variable.name: i for i, variable in enumerate(self.variables)}

    def answers(self) -> Iterator[tuple[str, str]]:
        names = iter(answer_names(self.assumptions))
        yield next(names), self.dialect.string(self.assumptions.hash)
        most = self.assumptions.rows_per_person
        yield next(names), "COUNT(*)" if self.assumptions.person is None else f"{most} * COUNT(DISTINCT person)"
        if self.assumptions.missing == "error":
            for i in range(len(self.variables)):
                yield next(names), f"SUM(m{i})"
        if self.assumptions.person is not None:
            yield (
                next(names),
                f"SUM(CASE WHEN person IS NULL OR TRIM(BOTH {BLANKS} FROM person) = '' THEN 1 ELSE 0 END)",
            )
        for i, j in product_places(self.assumptions):
            yield next(names), self.dialect.total(f"c{i} * c{j}")

    def design(self, table: str) -> str:
        """The columns of the design, whole numbers on the grid."""
        wanted = [f"{self._column(column)} AS c{i}" for i, column in enumerate(self.assumptions.columns)]
        wanted.append(f"{self._kept(self._factor(Factor(self.assumptions.response.name)))} AS c{len(wanted)}")
        if self.assumptions.missing == "error":
            wanted += [f"CASE WHEN g{i} IS NULL THEN 1 ELSE 0 END AS m{i}" for i in range(len(self.variables))]
        inner = (
            f"SELECT {', '.join(wanted)}{self._person} FROM ({self._grid(table)}) AS grid {self.dialect.fence}".rstrip()
        )
        return inner if self.assumptions.person is None else self._first_rows(inner)

    @property
    def _person(self) -> str:
        return "" if self.assumptions.person is None else ", person"

    def _first_rows(self, design: str) -> str:
        """The rows of each person that count, by the order of `persons`; rows without a person stay, to be refused."""
        columns = [f"c{i}" for i in range(len(self.assumptions.columns) + 1)]
        number = "CAST(0 AS BIGINT)"
        for column in columns:
            number = f"(({number} + {column} + {GRID}) % {PRIME} * {MULTIPLIER} % {PRIME})"
        order = ", ".join([number, *columns])
        ranked = (
            f"SELECT *, ROW_NUMBER() OVER (PARTITION BY person ORDER BY {order}) AS place FROM ({design}) AS listed"
        )
        return f"SELECT * FROM ({ranked}) AS ranked WHERE place <= {self.assumptions.rows_per_person} OR person IS NULL"

    def _grid(self, table: str) -> str:
        """g: a number's place on the grid or a level's place among the levels, NULL where the cell is missing."""
        places = ", ".join(f"{self._place(v, f'v{i}')} AS g{i}" for i, v in enumerate(self.variables))
        return f"SELECT {places}{self._person} FROM ({self._cells(table)}) AS cells {self.dialect.fence}".rstrip()

    def _cells(self, table: str) -> str:
        values = ", ".join(f"{self._value(variable)} AS v{i}" for i, variable in enumerate(self.variables))
        if self.assumptions.person is not None:
            # As text, letter by letter, whatever the column's type and collation: so every other source has it.
            values += f", {self.dialect.text('source.' + self.dialect.identifier(self.assumptions.person))} AS person"
        return f"SELECT {values} FROM {self.dialect.table(table)} AS source {self.dialect.fence}".rstrip()

    def _value(self, variable: Variable) -> str:
        column = "source." + self.dialect.identifier(variable.name)
        if not isinstance(variable, Numeric) and isinstance(variable.levels[0], str):
            return self.dialect.text(column)
        if variable.name in self.booleans:
            zero, one = self.dialect.literal(0.0), self.dialect.literal(1.0)
            return f"CASE WHEN {column} THEN {one} WHEN NOT {column} THEN {zero} END"
        return self.dialect.number(column, self.dialect.string(f"{variable.name} is text, and a number is needed."))

    def _place(self, variable: Variable, value: str) -> str:
        if isinstance(variable, Numeric):
            return self._number_place(variable, value)
        levels = [
            self.dialect.string(level) if isinstance(level, str) else self.dialect.literal(float(level))
            for level in variable.levels
        ]
        places = (-GRID, GRID) if isinstance(variable, Binary) else range(len(levels))
        cases = " ".join(f"WHEN {value} = {level} THEN {i}" for i, level in zip(places, levels, strict=True))
        return f"CASE {cases} END"

    def _number_place(self, variable: Numeric, value: str) -> str:
        literal = self.dialect.literal
        lower, upper = variable.bounds
        middle, scale, half = literal(variable.middle), literal(variable.scale), literal(0.5)
        # NaN is above infinity in all three engines, so the first test leaves finite cells only. Next to the middle the
        # formula gives 0; saying so keeps PostgreSQL, which calls an underflow an error, from computing it.
        tiny = variable.half_width / (4 * GRID)
        near = f"{value} - {middle} > {literal(-tiny)} AND {value} - {middle} < {literal(tiny)}"
        formula = f"CAST(floor(({value} - {middle}) * {scale} + {half}) AS BIGINT)"
        return (
            f"CASE WHEN {value} > {literal(float('-inf'))} AND {value} < {literal(float('inf'))} THEN "
            f"CASE WHEN {value} >= {literal(upper)} THEN {GRID} WHEN {value} <= {literal(lower)} THEN {-GRID} "
            f"WHEN {near} THEN 0 ELSE {formula} END END"
        )

    def _column(self, column: Column) -> str:
        """A product of factors, rounded to the grid after each, as in `grid`."""
        result = f"CAST({GRID} AS BIGINT)"
        for i, factor in enumerate(column.factors):
            value = self._factor(factor)
            exact = f"CAST({result} * {value} AS {self.dialect.double}) / {self.dialect.literal(float(GRID))}"
            result = value if i == 0 else f"CAST(floor({exact} + {self.dialect.literal(0.5)}) AS BIGINT)"
        return self._kept(result)

    def _factor(self, factor: Factor) -> str:
        place = self.place[factor.variable]
        if factor.level is None:
            return f"COALESCE(CAST(g{place} AS BIGINT), 0)"
        variable = self.variables[place]
        assert isinstance(variable, Categorical)
        return f"CASE WHEN g{place} = {variable.levels.index(factor.level)} THEN CAST({GRID} AS BIGINT) ELSE 0 END"

    def _kept(self, value: str) -> str:
        """Zero in a row that misses a cell, if that is the policy."""
        if self.assumptions.missing != "zero-row":
            return value
        gone = " OR ".join(f"g{i} IS NULL" for i in range(len(self.variables)))
        return f"CASE WHEN {gone} THEN 0 ELSE {value} END"
