import bz2
import gzip
import traceback

import numpy as np
import pyarrow as pa
import pytest

from dpselect.assume.study.assumptions import Assumptions
from dpselect.assume.study.variables import Categorical, Numeric
from dpselect.errors import DataError
from dpselect.gather.sources.open import read_schema
from dpselect.gather.sources.source import Csv
from dpselect.gather.table import gather_table

STUDY = Assumptions(
    Numeric("y", -1, 1),
    [Numeric("a", 0, 2**60), Categorical("c", ["é", "NA", "1"]), Categorical("k", [1, 2])],
    missing="midpoint",
)
STRICT = Assumptions(STUDY.response, STUDY.predictors)
ROWS = [
    {"y": 0.1, "a": 2**53 + 1, "c": "é", "k": 1},
    {"y": None, "a": 3.5, "c": "NA", "k": 2},
    {"y": float("inf"), "a": -4, "c": "1", "k": 3},
    {"y": -0.30000000000000004, "a": 1e300, "c": "", "k": None},
    {"y": float("nan"), "a": 12345678901234567, "c": " é", "k": 2},
]
LINES = [
    "skipped,y,a,c,k",
    '"quoted, with\na new line",0.1,9007199254740993,é,1',
    "x,NA,3.5,NA,2.0",
    "x,inf,-4,1,3",
    "x,-0.30000000000000004,1e300,,",
    "x,NaN,12345678901234567, é,2",
]


@pytest.fixture(scope="module")
def expected(slow_moments):
    return slow_moments(ROWS, STUDY)


def test_numbers_text_and_missing_cells(tmp_path, expected):
    (tmp_path / "t.csv").write_text("\n".join(LINES), encoding="utf-8")
    assert gather_table(tmp_path / "t.csv", STUDY).integers() == expected


@pytest.mark.parametrize("pack", [gzip, bz2])
def test_compressed(tmp_path, expected, pack):
    path = tmp_path / ("t.csv.gz" if pack is gzip else "t.csv.bz2")
    path.write_bytes(pack.compress("\n".join(LINES).encode()))
    assert gather_table(path, STUDY).integers() == expected


def test_zstandard(tmp_path, expected):
    with pa.output_stream(str(tmp_path / "t.csv.zst"), compression="zstd") as out:
        out.write("\n".join(LINES).encode())
    assert gather_table(tmp_path / "t.csv.zst", STUDY).integers() == expected


def test_other_delimiters_encodings_and_decimal_points(tmp_path, expected):
    european = [line.replace('"quoted, with\na new line"', "x").replace(",", ";").replace(".", ",") for line in LINES]
    (tmp_path / "t.txt").write_bytes("\r\n".join(european).encode("latin-1"))
    source = Csv(tmp_path / "t.txt", delimiter=";", encoding="latin-1", decimal=",")
    assert gather_table(source, STUDY).integers() == expected


def test_tabs_by_name_and_a_byte_order_mark(tmp_path, expected):
    tabs = "\n".join(LINES).replace('"quoted, with\na new line"', "x").replace(",", "\t")
    (tmp_path / "t.tsv").write_text(tabs, encoding="utf-8-sig")
    assert gather_table(tmp_path / "t.tsv", STUDY).integers() == expected


def test_several_files_each_with_its_first_line(tmp_path, expected):
    (tmp_path / "1.csv").write_text("\n".join(LINES[:3]), encoding="utf-8")
    (tmp_path / "2.csv").write_text("\n".join([LINES[0], *LINES[3:]]), encoding="utf-8")
    assert gather_table(str(tmp_path / "*.csv"), STUDY).integers() == expected
    assert gather_table(tmp_path, STUDY).integers() == expected


def test_booleans(tmp_path):
    one = Assumptions(Numeric("y", 0, 1), [Numeric("b", 0, 1)])
    (tmp_path / "t.csv").write_text("y,b\n0.5,true\n1,false\n")
    rows = pa.table({"y": [0.5, 1.0], "b": [True, False]})
    assert gather_table(tmp_path / "t.csv", one).integers() == gather_table(rows, one).integers()


def test_a_file_of_many_blocks(tmp_path):
    values = np.random.default_rng(3).normal(size=(60_000, 2))
    one = Assumptions(Numeric("y", -1, 1), [Numeric("a", -1, 1)])
    lines = "\n".join(f"{a!r},{y!r}" for a, y in values.tolist())
    (tmp_path / "t.csv").write_text("a,y\n" + lines)
    assert (tmp_path / "t.csv").stat().st_size > 2 * 2**20
    expected = gather_table((values[:, :1], values[:, 1]), one).integers()
    assert gather_table(tmp_path / "t.csv", one).integers() == expected


def test_new_lines_within_quotes_wherever_a_block_ends(tmp_path):
    one = Assumptions(Numeric("y", -1, 1), [Numeric("a", -1, 1)])
    (tmp_path / "t.csv").write_text("note,a,y\n" + '"one\ntwo\nthree, four",0.5,0.25\n' * 90_000)
    expected = gather_table((np.full((90_000, 1), 0.5), np.full(90_000, 0.25)), one).integers()
    assert gather_table(tmp_path / "t.csv", one).integers() == expected


def test_schema_guesses_types(tmp_path):
    (tmp_path / "t.csv").write_text("n,t,b,d\n1,x,true,2020-01-01\n")
    assert [c.kind for c in read_schema(tmp_path / "t.csv")] == ["number", "text", "boolean", "date"]


SECRET = "7342.1234"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (f"y,a,c,k\n0.5,{SECRET},é,1\n0.5,{SECRET}\n", "more or fewer fields|rows of unequal length"),
        (f"y,a,c,k\n0.5,{SECRET},é,1,9\n", "more or fewer fields|rows of unequal length"),
        ("y,a,c,k\n" + "0.5,1,é,1\n" * 200_000 + f"0.5,{SECRET}\n", "more or fewer fields"),
        ("y,a,c,k\n" + "0.5,1,é,1\n" * 200_000 + f"0.5,x{SECRET},é,1\n", "'a' has cells that are missing"),
        (f"y,a,c,k\n0.5,x{SECRET},é,1\n", "'a' has the type string, and a number is needed"),
        ("y,a,c,k\n0.5,2020-01-01,é,1\n", "days since a fixed day"),
        (f"y,a,c\n0.5,{SECRET},é\n", "'k' is not in the table"),
        (f"y,a,c,k,k\n0.5,{SECRET},é,1,1\n", "'k' is in the table more than once"),
        ("", "empty"),
        ("y,a,c,k\n", "no rows"),
    ],
    ids=range(10),
)
def test_bad_files_end_in_one_sentence_without_a_private_value(tmp_path, content, sentence):
    (tmp_path / "t.csv").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=sentence) as caught:
        gather_table(tmp_path / "t.csv", STRICT)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


def test_bytes_that_are_not_in_the_encoding(tmp_path):
    (tmp_path / "t.csv").write_bytes("y,a,c,k\n0.5,1,é,1\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"'c' of .* cannot be read as its type or encoding.*--encoding latin-1"):
        gather_table(tmp_path / "t.csv", STRICT)


def test_a_compressed_file_that_is_cut_short(tmp_path):
    packed = gzip.compress(("\n".join(LINES) + "\n" + LINES[-1] * 1).encode() * 50)
    (tmp_path / "t.csv.gz").write_bytes(packed[: len(packed) - 12])
    with pytest.raises(DataError):
        gather_table(tmp_path / "t.csv.gz", STUDY)


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ({"delimiter": ",,"}, "one character"),
        ({"delimiter": ""}, "one character"),
        ({"decimal": "."}, None),
        ({"decimal": ","}, "must differ"),
        ({"encoding": "utf-99"}, "'utf-99' is not known"),
    ],
)
def test_forms_that_cannot_be(tmp_path, form, sentence):
    (tmp_path / "t.csv").write_text("\n".join(LINES), encoding="utf-8")
    if sentence is None:
        gather_table(Csv(tmp_path / "t.csv", **form), STUDY)
        return
    with pytest.raises(DataError, match=sentence):
        gather_table(Csv(tmp_path / "t.csv", **form), STUDY)
