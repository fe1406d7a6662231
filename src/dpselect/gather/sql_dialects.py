"""Public. How five engines write names, strings, casts and exact sums in SQL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from dpselect.errors import DataError
from dpselect.gather.sources.databases import postgres_double

DialectName = Literal["duckdb", "postgres", "spark", "tsql", "oracle"]


def doubled(quote: str) -> Callable[[str], str]:
    """Quote by doubling: a"b becomes "a""b"."""
    return lambda text: quote + text.replace(quote, quote * 2) + quote


def _escaped(text: str) -> str:
    """Spark reads backslashes in a string, and doubled quotes as two strings."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _postgres_string(text: str) -> str:
    """A backslash may or may not mean something in a plain string, by the server's settings; in E'...' it always does."""
    plain = doubled("'")(text)
    return "E" + plain.replace("\\", "\\\\") if "\\" in text else plain


@dataclass(frozen=True, slots=True)
class Dialect:
    """Public. How an engine writes names, strings, casts and exact sums.

    `number` is the nearest double of a column of any numeric type, and refuses text; `text` is compared to the letter, whatever
    collation the column has, and `marked` closes it where blanks at an end would not count; `fence` keeps the planner from
    computing a subquery's columns again for each sum. `called` stands before the name of a subquery, `whole` is a type of whole
    numbers of 64 bits, `modulo` the rest of a division and `finite` whether a double is one; `blank` says whether a text holds
    nothing but white space.
    """

    name: DialectName
    identifier: Callable[[str], str]
    string: Callable[[str], str]
    double: str
    number: Callable[[str, str], str]
    text: Callable[[str], str]
    total: Callable[[str], str]
    fence: str
    before: str
    how_to_run: str
    marked: str = ""
    called: str = "AS "
    whole: str = "BIGINT"
    most_columns: int = 1600  # that an answer may have: PostgreSQL's limit, and the lowest but Oracle's
    modulo: Callable[[str, int], str] = lambda number, by: f"({number} % {by})"
    finite: Callable[[str, Callable[[float], str]], str] = lambda value, literal: (
        # NaN is above infinity in all of these engines, so this leaves finite cells only.
        f"{value} > {literal(float('-inf'))} AND {value} < {literal(float('inf'))}"
    )
    blank: Callable[[str], str] = lambda text: f"TRIM(BOTH {BLANKS} FROM {text}) = ''"

    def literal(self, value: float) -> str:
        """A double to the last bit, which no engine takes for a decimal."""
        return f"CAST('{value!r}' AS {self.double})"

    def table(self, table: str) -> str:
        """A table's name, with its schema before a dot if any; or a query in parentheses."""
        if table.lstrip().startswith("("):
            return table.strip()
        return ".".join(self.identifier(part) for part in table.split("."))


def _duckdb_number(column: str, refusal: str) -> str:
    # DuckDB's own casts of huge integers and wide decimals are off by one in the last bit now and then; text is not.
    wide = f"typeof({column}) LIKE 'DECIMAL%' OR typeof({column}) LIKE '%HUGEINT'"
    return (
        f"CASE WHEN typeof({column}) = 'VARCHAR' THEN error({refusal}) "
        f"WHEN {wide} THEN CAST(CAST({column} AS VARCHAR) AS DOUBLE) ELSE CAST({column} AS DOUBLE) END"
    )


def _spark_number(column: str, refusal: str) -> str:
    return (
        f"CASE WHEN typeof({column}) = 'string' THEN CAST(raise_error({refusal}) AS DOUBLE) "
        f"ELSE CAST({column} AS DOUBLE) END"
    )


BLANKS = "(' ' || CHR(9) || CHR(10) || CHR(11) || CHR(12) || CHR(13))"
"""White space; a person of nothing else is missing."""


def _tsql_blank(text: str) -> str:
    bare = f"LEFT({text}, LEN({text}) - 1)"  # without the mark that closes it
    for code in (9, 10, 11, 12, 13):
        bare = f"REPLACE({bare}, CHAR({code}), '')"
    return f"LEN({bare}) = 0"


DIALECTS = {
    "duckdb": Dialect(
        name="duckdb",
        identifier=doubled('"'),
        string=doubled("'"),
        double="DOUBLE",
        number=_duckdb_number,
        text=lambda column: f'CAST({column} AS VARCHAR) COLLATE "binary"',
        total=lambda product: f"SUM({product})",  # a HUGEINT
        fence="",
        before="",
        how_to_run="duckdb -csv FILE.duckdb < query.sql > answer.csv",
    ),
    "postgres": Dialect(
        name="postgres",
        identifier=doubled('"'),
        string=_postgres_string,
        double="double precision",
        # Adding 0 changes no number, and is refused for text, dates and money before a row is read.
        number=lambda column, refusal: postgres_double(f"({column} + 0)"),
        text=lambda column: f'CAST({column} AS text) COLLATE "C"',
        total=lambda product: f"SUM({product})",  # of bigint: a numeric
        fence="OFFSET 0",
        before="SET jit = off;  -- compiling hundreds of sums takes longer than adding them up\n",
        how_to_run="psql --quiet --csv --file=query.sql --output=answer.csv",
    ),
    "spark": Dialect(
        name="spark",
        identifier=doubled("`"),
        string=_escaped,
        double="DOUBLE",
        number=_spark_number,
        text=lambda column: f"CAST({column} AS STRING)",
        total=lambda product: f"SUM(CAST({product} AS DECIMAL(38, 0)))",
        fence="",
        before="",
        how_to_run='spark.sql(open("query.sql").read()).toPandas().to_csv("answer.csv", index=False)',
    ),
    "tsql": Dialect(
        name="tsql",
        identifier=lambda name: "[" + name.replace("]", "]]") + "]",
        string=lambda text: "N" + doubled("'")(text),
        double="DOUBLE PRECISION",
        number=lambda column, refusal: f"CAST({column} AS DOUBLE PRECISION)",
        # SQL Server pads what it compares with blanks: a mark at the end makes them count.
        text=lambda column: f"CAST({column} AS NVARCHAR(4000)) COLLATE Latin1_General_BIN2 + N'|'",
        marked="|",
        total=lambda product: f"SUM(CAST({product} AS DECIMAL(38, 0)))",
        fence="",
        before="",
        how_to_run="Invoke-Sqlcmd -InputFile query.sql | Export-Csv answer.csv -NoTypeInformation",
        finite=lambda value, literal: f"{value} IS NOT NULL",  # its doubles are all finite
        blank=_tsql_blank,
    ),
    "oracle": Dialect(
        name="oracle",
        identifier=doubled('"'),
        string=doubled("'"),
        double="BINARY_DOUBLE",
        number=lambda column, refusal: f"CAST({column} AS BINARY_DOUBLE)",
        text=lambda column: f"CAST({column} AS VARCHAR2(4000))",
        total=lambda product: f"SUM({product})",  # a NUMBER of 38 digits
        fence="",
        before="ALTER SESSION SET NLS_NUMERIC_CHARACTERS = '.,';\nALTER SESSION SET NLS_COMP = BINARY;\n",
        how_to_run="in SQLcl: SET SQLFORMAT csv, SPOOL answer.csv, @query.sql, SPOOL OFF",
        called="",
        whole="NUMBER(19)",
        most_columns=1000,
        modulo=lambda number, by: f"MOD({number}, {by})",
        blank=lambda text: f"LTRIM({text}, {BLANKS}) IS NULL",
    ),
}
"""SQL Server and Oracle were parsed (tests/gather/test_sql.py) and never run by us."""


def dialect_named(name: str) -> Dialect:
    """One of the dialects."""
    if name not in DIALECTS:
        raise DataError(f"The dialect is {name!r}; it must be one of {', '.join(map(repr, get_args(DialectName)))}.")
    return DIALECTS[name]
