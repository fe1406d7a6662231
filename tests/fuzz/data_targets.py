"""Where tables, sums and public statements enter: study files, moments, SQL answers, CSV, Parquet, Arrow."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv, feather
from target import Target

from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.gather.rows import gather
from dpselect.gather.saved import load_moments, save_moments
from dpselect.gather.sources.schema import ColumnType, read_schema
from dpselect.gather.sql import answer_names, moments_from_answer, product_places
from dpselect.use.init import new_study

CELL = 73.0625
ROWS = {
    "y": [CELL, CELL / 2, None, 1.5],
    "a": [1, 2, None, 3],
    "c": ["u", "v", None, "other"],
    "b": [True, False, None, True],
    "who": ["p1", "p1", "p2", "p3"],
}
STRICT = Study(Numeric("y", 0, 100), [Numeric("a", 0, 10), Categorical("c", ["u", "v", "w"]), Numeric("b", 0, 1)])
TOLERANT = Study(STRICT.response, STRICT.predictors, missing="midpoint", neighbors="add-remove-one")
ZERO = Study(STRICT.response, STRICT.predictors, missing="zero-row", terms=["a", "c", "b", ["a", "b"]])
PERSONS = Study(STRICT.response, STRICT.predictors, missing="zero-row", person="who", max_rows_per_person=2)
STUDIES = (STRICT, TOLERANT, ZERO, PERSONS)


def table(kind: str = "plain") -> pa.Table:
    whole = pa.table(ROWS)
    if kind == "coded":
        for name in ("c", "who"):
            whole = whole.set_column(whole.column_names.index(name), name, whole[name].dictionary_encode())
    if kind == "typed":
        for name, other in (("y", pa.decimal128(9, 4)), ("a", pa.uint8()), ("c", pa.large_string())):
            whole = whole.set_column(whole.column_names.index(name), name, whole[name].cast(other))
    return whole


def read_table(path: Path) -> None:
    """Every policy and the persons; only a sentence of the last may come out, so each is tried by itself."""
    problem: BaseException | None = None
    for study in STUDIES:
        try:
            gather(path, study)
        except Exception as error:
            if not isinstance(error, ValueError):
                raise
            problem = error
    new_study(read_schema(path), None)
    if problem is not None:
        raise problem


def parquet_seeds() -> list[bytes]:
    options: list[dict[str, Any]] = [
        {"compression": "none"},
        {"compression": "none", "use_dictionary": False, "row_group_size": 2},
        {"compression": "zstd", "data_page_version": "2.0", "store_schema": False},
    ]
    return [_parquet(table(kind), each) for kind in ("plain", "coded", "typed") for each in options]


def _parquet(rows: pa.Table, options: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(rows, buffer, write_statistics=False, **options)
    return buffer.getvalue()


def arrow_seeds() -> list[bytes]:
    found = []
    for kind in ("plain", "coded", "typed"):
        buffer = io.BytesIO()
        with pa.ipc.new_file(buffer, table(kind).schema) as writer:
            writer.write_table(table(kind), max_chunksize=3)
        found.append(buffer.getvalue())
    buffer = io.BytesIO()
    feather.write_feather(table(), buffer, compression="zstd")
    return [*found, buffer.getvalue()]


def csv_seeds() -> list[bytes]:
    buffer = io.BytesIO()
    csv.write_csv(table(), buffer)
    plain = b"y,a,c,b,who\n" + f"{CELL},1,u,1,p1\n".encode() * 3 + b'"",NA," v",true,"p\n2"\n'
    return [buffer.getvalue(), plain, plain.replace(b"\n", b"\r\n")]


def study_seeds() -> list[bytes]:
    texts = [study.text() for study in STUDIES]
    texts.append(texts[0].replace("[response]", 'formula = "y ~ a + C(c) + a:b"\n\n[response]', 1))
    columns = [
        ColumnType("y", "number", "double"),
        ColumnType("c", "text", "string"),
        ColumnType("d", "date", "date32"),
    ]
    texts.append(new_study(columns, None))
    return [text.encode() for text in texts]


@cache
def _saved(study: Study) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.moments"
        save_moments(gather(table(), study), path)
        return path.read_bytes()


def moments_seeds() -> list[bytes]:
    return [_saved(study) for study in (TOLERANT, ZERO, PERSONS)]


def answer_seeds() -> list[bytes]:
    found = []
    for study in (TOLERANT, ZERO, PERSONS):
        moments = gather(table(), study)
        places = {f"p_{i}_{j}": moments.products[i, j] for i, j in product_places(study)}
        row = {"study": study.hash, "n": moments.n, **dict.fromkeys(answer_names(study)[2:], 0), **places}
        text = ",".join(row) + "\n" + ",".join(map(str, row.values())) + "\n"
        found += [text.encode(), text.replace(",", ";").encode(), b"SET\n" + text.encode() + b"(1 row)\n"]
    return found


def each_study(read: Callable[[Path, Study], object]) -> Callable[[Path], None]:
    """Read under the study whose name is in the file, so that the hash is no hurdle to what comes after it."""

    def run(path: Path) -> None:
        data = path.read_bytes()
        named = [study for study in STUDIES if study.hash.encode() in data]
        read(path, named[0] if named else STRICT)

    return run


def foreign_seeds(suffix: str) -> Callable[[], list[bytes]]:
    """A file of another program, as that program's own readers and writers have it."""

    def seeds() -> list[bytes]:
        import pandas as pd
        import pyreadstat

        frame = pd.DataFrame(ROWS).astype({"b": float}).fillna({"c": ""})
        write = {".dta": pyreadstat.write_dta, ".sav": pyreadstat.write_sav, ".xpt": pyreadstat.write_xport}[suffix]
        with tempfile.TemporaryDirectory() as folder:
            write(frame, Path(folder) / f"t{suffix}")
            return [(Path(folder) / f"t{suffix}").read_bytes()]

    return seeds


def assumption_seeds() -> list[bytes]:
    """As releases and reports hold them."""
    return [json.dumps(study.to_dict()).encode() for study in STUDIES]


def read_statement(path: Path) -> None:
    try:
        values = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return  # whoever reads the JSON says so
    Study.from_dict(values)


DATA_TARGETS: Sequence[Target] = (
    Target("study", ".json", assumption_seeds, read_statement),
    Target("study", ".toml", study_seeds, lambda path: Study.read(str(path))),
    Target("moments", ".moments", moments_seeds, each_study(load_moments)),
    Target("answers", ".csv", answer_seeds, each_study(moments_from_answer)),
    Target("csv", ".csv", csv_seeds, read_table, secrets=("73.0625", "36.53125")),
    Target("parquet", ".parquet", parquet_seeds, read_table),
    Target("arrow", ".arrow", arrow_seeds, read_table),
    *(
        Target(name, suffix, foreign_seeds(suffix), read_table)
        for name, suffix in (("stata", ".dta"), ("spss", ".sav"), ("sas", ".xpt"))
        if find_spec("pyreadstat")
    ),
)
