"""What form a text file seems to have is told by its byte-order mark and its line of names: no row has a say in it."""

import bz2
import gzip
import time
import traceback
from itertools import islice

import numpy as np
import pyarrow as pa
import pytest

from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.errors import DataError
from dpselect.gather.rows import gather
from dpselect.gather.sources import text
from dpselect.gather.sources.schema import read_schema
from dpselect.gather.sources.source import Csv
from dpselect.gather.sources.text import Quotes, csv_stream
from dpselect.gather.sources.text_form import guess_form, options_of, stated_form

STUDY = Study(
    Numeric("y", -1, 1),
    [Numeric("a", 0, 2**60), Categorical("c", ["é", "NA", "1"]), Categorical("k", [1, 2])],
    missing="midpoint",
)
STRICT = Study(STUDY.response, STUDY.predictors)
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
    assert gather(tmp_path / "t.csv", STUDY).integers() == expected


@pytest.mark.parametrize("pack", [gzip, bz2])
def test_compressed(tmp_path, expected, pack):
    path = tmp_path / ("t.csv.gz" if pack is gzip else "t.csv.bz2")
    path.write_bytes(pack.compress("\n".join(LINES).encode()))
    assert gather(path, STUDY).integers() == expected


def test_zstandard(tmp_path, expected):
    with pa.output_stream(str(tmp_path / "t.csv.zst"), compression="zstd") as out:
        out.write("\n".join(LINES).encode())
    assert gather(tmp_path / "t.csv.zst", STUDY).integers() == expected


def test_other_delimiters_encodings_and_decimal_points(tmp_path, expected):
    european = [line.replace('"quoted, with\na new line"', "x").replace(",", ";").replace(".", ",") for line in LINES]
    (tmp_path / "t.txt").write_bytes("\r\n".join(european).encode("latin-1"))
    source = Csv(tmp_path / "t.txt", delimiter=";", encoding="latin-1", decimal=",")
    assert gather(source, STUDY).integers() == expected


def test_tabs_by_name_and_a_byte_order_mark(tmp_path, expected):
    tabs = "\n".join(LINES).replace('"quoted, with\na new line"', "x").replace(",", "\t")
    (tmp_path / "t.tsv").write_text(tabs, encoding="utf-8-sig")
    assert gather(tmp_path / "t.tsv", STUDY).integers() == expected


def test_several_files_each_with_its_first_line(tmp_path, expected):
    (tmp_path / "1.csv").write_text("\n".join(LINES[:3]), encoding="utf-8")
    (tmp_path / "2.csv").write_text("\n".join([LINES[0], *LINES[3:]]), encoding="utf-8")
    assert gather(str(tmp_path / "*.csv"), STUDY).integers() == expected
    assert gather(tmp_path, STUDY).integers() == expected


def test_booleans(tmp_path):
    one = Study(Numeric("y", 0, 1), [Numeric("b", 0, 1)])
    (tmp_path / "t.csv").write_text("y,b\n0.5,true\n1,false\n")
    rows = pa.table({"y": [0.5, 1.0], "b": [True, False]})
    assert gather(tmp_path / "t.csv", one).integers() == gather(rows, one).integers()


def test_a_file_of_many_blocks(tmp_path):
    values = np.random.default_rng(3).normal(size=(60_000, 2))
    one = Study(Numeric("y", -1, 1), [Numeric("a", -1, 1)])
    lines = "\n".join(f"{a!r},{y!r}" for a, y in values.tolist())
    (tmp_path / "t.csv").write_text("a,y\n" + lines)
    assert (tmp_path / "t.csv").stat().st_size > 2 * 2**20
    expected = gather((values[:, :1], values[:, 1]), one).integers()
    assert gather(tmp_path / "t.csv", one).integers() == expected


def test_new_lines_within_quotes_wherever_a_block_ends(tmp_path):
    one = Study(Numeric("y", -1, 1), [Numeric("a", -1, 1)])
    (tmp_path / "t.csv").write_text("note,a,y\n" + '"one\ntwo\nthree, four",0.5,0.25\n' * 90_000)
    expected = gather((np.full((90_000, 1), 0.5), np.full(90_000, 0.25)), one).integers()
    assert gather(tmp_path / "t.csv", one).integers() == expected


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
        ("y,a,c,k\n" + "0.5,1,é,1\n" * 200_000 + f"0.5,x{SECRET},é,1\n", "'a' has missing"),
        (f"y,a,c,k\n0.5,x{SECRET},é,1\n", "'a' is text, not a number"),
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
        gather(tmp_path / "t.csv", STRICT)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


def test_bytes_that_are_not_in_the_encoding(tmp_path):
    (tmp_path / "t.csv").write_bytes("y,a,c,k\n0.5,1,é,1\n".encode("latin-1"))
    with pytest.raises(
        DataError, match=r"'c' of .* cannot be read as its type or encoding.*state its encoding or its decimal point"
    ):
        gather(tmp_path / "t.csv", STRICT)


def test_a_compressed_file_that_is_cut_short(tmp_path):
    packed = gzip.compress(("\n".join(LINES) + "\n" + LINES[-1] * 1).encode() * 50)
    (tmp_path / "t.csv.gz").write_bytes(packed[: len(packed) - 12])
    with pytest.raises(DataError):
        gather(tmp_path / "t.csv.gz", STUDY)


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
        gather(Csv(tmp_path / "t.csv", **form), STUDY)
        return
    with pytest.raises(DataError, match=sentence):
        gather(Csv(tmp_path / "t.csv", **form), STUDY)


FORM_STUDY = Study(Numeric("y", 0, 10), [Numeric("größe", 0, 10), Categorical("ort", ["Köln", "Ulm"])])
FORM_ROWS = "y,größe,ort\n" + "1.5,2.25,Köln\n3.0,4,Ulm\n" * 40


def excel(text: str = FORM_ROWS) -> str:
    """As a German Excel writes it."""
    return text.replace(",", ";").replace(".", ",")


FORMS = {
    "plain": (FORM_ROWS.encode(), {}),
    "with a mark": (FORM_ROWS.encode("utf-8-sig"), {}),
    "German Excel": (excel().encode("latin-1"), {"encoding": "latin-1", "delimiter": ";"}),
    "Windows": (FORM_ROWS.replace("ort", "ort\u2019").encode("cp1252"), {"encoding": "cp1252"}),
    "UTF-16": (excel().encode("utf-16"), {"encoding": "utf-16", "delimiter": ";"}),
    "UTF-16 without a mark": (FORM_ROWS.encode("utf-16-le"), {"encoding": "utf-16-le"}),
    "tabs": (FORM_ROWS.replace(",", "\t").encode(), {"delimiter": "\t"}),
    "semicolons and points": (FORM_ROWS.replace(",", ";").encode(), {"delimiter": ";"}),
    "thousands": (b"a;b\n1,500;2\n", {"delimiter": ";"}),
    "one name that holds commas": (b'"a, b, c";"d"\n1;2\n', {"delimiter": ";"}),
    "no line": (b"", {}),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_form_is_told(tmp_path, name):
    content, form = FORMS[name]
    (tmp_path / "t.csv").write_bytes(content)
    assert stated_form(guess_form(str(tmp_path / "t.csv"))) == form
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(content))
    assert stated_form(guess_form(str(tmp_path / "t.csv.gz"))) == form


@pytest.mark.parametrize("name", ["German Excel", "UTF-16", "UTF-16 without a mark", "tabs", "semicolons and points"])
def test_the_error_says_what_to_state_and_then_it_is_right(tmp_path, name):
    content, form = FORMS[name]
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        gather(path, FORM_STUDY)
    assert f"written with {options_of(form)} (in Python: Csv(path, " in str(caught.value)
    assert not any(cell in str(caught.value) for cell in ("2.25", "2,25", "Köln", "Ulm"))
    assert caught.value.__context__ is None
    (tmp_path / "u.csv").write_text(FORM_ROWS, encoding="utf-8")
    decimal = {"decimal": ","} if "German" in name or name == "UTF-16" else {}  # which nobody but a person can know
    found = gather(Csv(path, **form, **decimal), FORM_STUDY).integers()
    assert found == gather(tmp_path / "u.csv", FORM_STUDY).integers()


@pytest.mark.parametrize(
    "record", ["0,5;1,5;Köln", "0.5;1.5;Köln", "0,5;1,5;K\xf6ln\u2019", ";;", '"1,5";"a;b";x', "\x00;\x01;\x02"]
)
def test_no_record_decides_the_form(tmp_path, record):
    """A first version looked at the rows for the encoding and the decimal point, and one record changed how all were read."""
    names, *rows = excel().splitlines()
    for encoding in ("latin-1", "utf-8", "cp1252"):
        content = "\n".join([names, record, *rows, ""]).encode(encoding, "replace")
        (tmp_path / "t.csv").write_bytes(content)
        without = "\n".join([names, *rows, ""]).encode(encoding)
        (tmp_path / "u.csv").write_bytes(without)
        one, other = (stated_form(guess_form(str(tmp_path / name))) for name in ("t.csv", "u.csv"))
        assert one == other


def test_a_file_that_is_as_stated_gets_no_hint(tmp_path):
    (tmp_path / "t.csv").write_text("y,ort\n1,Ulm\n")
    with pytest.raises(DataError, match="is not in the table") as caught:
        gather(tmp_path / "t.csv", FORM_STUDY)
    assert "written with" not in str(caught.value)


def test_options_are_as_a_shell_takes_them():
    assert options_of({"delimiter": ";", "decimal": ","}) == "--delimiter ';' --decimal ','"
    assert options_of({"delimiter": "\t", "encoding": "latin-1"}) == "--delimiter tab --encoding latin-1"


@pytest.mark.parametrize("batches", [None, 0, 1])
def test_the_thread_that_reads_ahead_has_stopped_when_a_file_is_left(tmp_path, monkeypatch, batches):
    path, calls, sound = tmp_path / "long.csv", [], Quotes.passed

    def slow(self, data):
        calls.append("begun")
        time.sleep(0.02)
        try:
            return sound(self, data)
        finally:
            calls.append("done")

    path.write_text("a,b\n" + "12345678,abcdefgh\n" * 400_000)
    monkeypatch.setattr(Quotes, "passed", slow)
    stream = csv_stream([str(path)], Csv(path), {"a": "number"})
    if batches is not None:
        rows = stream.read(["a"])
        assert sum(1 for _ in islice(rows, batches)) == batches
        del rows
    before = list(calls)
    assert before.count("begun") == before.count("done")
    time.sleep(0.2)
    assert calls == before


@pytest.mark.parametrize("how", ["left early", "an open quote"])
def test_the_thread_that_reads_keeps_nothing_of_the_reader(tmp_path, monkeypatch, how):
    """Its error is the very object that is raised here; a traceback would hold the frames that hold the reader.

    Whenever the thread was the last to let go it waited for its own end, and a command never ended after it had written its report.
    """
    path, raised = tmp_path / "t.csv", []
    line = "1.5,a\n" * 200_000
    path.write_text("x,name\n" + line + ('2,"open\n' if how == "an open quote" else "") + line)

    class Slow(Quotes):
        count = 0

        def passed(self, data):
            self.count += 1
            if how == "left early" and self.count > 2:  # the first blocks are waited for
                self.stop.wait(10)
            return super().passed(data)

        def _error(self, what):
            raised.append(super()._error(what))
            return raised[-1]

    monkeypatch.setattr(text, "Quotes", Slow)
    if how == "left early":
        read_schema(path)
    else:
        with pytest.raises(DataError, match="a quote that is opened"):
            gather(path, Study(Numeric("x", 0, 2), [Categorical("name", ["a", "b"])]))
    assert raised
    for error in raised:
        names = [frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)]
        assert set(names) <= {"passed"}
