"""One record of a text file touches only itself: open quotes are refused, and encodings are read line by line or refused."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric
from dpselect.errors import DataError
from dpselect.gather.rows import count_rows, gather
from dpselect.gather.sources import text
from dpselect.gather.sources.source import Csv
from dpselect.gather.sources.text import (
    Quotes,
    _follow_compiled,
    _Lines,
    _TwoBytes,
    check_encoding,
    follow_quotes,
)

STUDY = Study(Numeric("y", -5, 5), [Numeric("a", -5, 5), Categorical("c", ["u", "v"])], missing="zero-row")


def table(bad: str, quoted: bool = True) -> str:
    mark = '"' if quoted else ""
    return "y,a,c\n" + "".join(f"{i % 5},{i % 3},{bad if i == 7 else mark + 'uv'[i % 2] + mark}\n" for i in range(50))


@pytest.mark.parametrize("bad", ['"u', '"u""', '"', '"u"x', '""u"'])
def test_an_open_quote_is_refused_and_never_takes_in_the_next_record(tmp_path, bad):
    (tmp_path / "q.csv").write_text(table(bad))
    with pytest.raises(DataError, match="a quote that is opened and not closed"):
        count_rows(tmp_path / "q.csv", STUDY)


@pytest.mark.parametrize("bad", ['"u"', 'u"', 'u"v', '"u""v"', '"u,v"', '"u\nv"', '""'])
def test_quotes_that_end_where_they_should_are_read(tmp_path, bad):
    (tmp_path / "q.csv").write_text(table(bad))
    assert count_rows(tmp_path / "q.csv", STUDY) == 50


def test_an_open_quote_at_the_end_is_refused(tmp_path):
    (tmp_path / "q.csv").write_text(table("u", quoted=False) + '1,1,"u\n')
    with pytest.raises(DataError, match="a quote that is opened"):
        count_rows(tmp_path / "q.csv", STUDY)


cells = st.text(alphabet='ab",;\n', max_size=5)


@given(st.lists(st.lists(cells, min_size=2, max_size=3), min_size=1, max_size=6), st.integers(1, 9))
def test_what_a_sound_writer_writes_passes_in_pieces_of_any_length(rows, size):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    data, quotes = text.getvalue().encode(), Quotes("x.csv", ",")
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    assert b"".join(quotes.passed(piece) for piece in [*pieces, b""]) == data


@pytest.mark.skipif(_follow_compiled is None, reason="no compiler")
@given(st.lists(st.text(alphabet='a",;\r\n', max_size=12), max_size=5), st.sampled_from(",;"))
def test_the_compiled_quotes_and_their_twin_go_through_the_same_states(pieces, mark):
    twin = mine = ord("\n") << 2
    for piece in pieces:
        data = piece.encode()
        twin, mine = follow_quotes(data, ord(mark), twin), _follow_compiled(data, ord(mark), mine)
        assert twin == mine
        if mine < 0:
            break


def test_the_twin_serves_without_a_compiler(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "_follow_compiled", None)
    (tmp_path / "q.csv").write_text(table('"u""v"'))
    assert count_rows(tmp_path / "q.csv", STUDY) == 50
    (tmp_path / "q.csv").write_text(table('"u""'))
    with pytest.raises(DataError, match="a quote that is opened"):
        count_rows(tmp_path / "q.csv", STUDY)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_lines_decode_the_same_in_pieces_of_any_length(size):
    text = "y,c\n1,Köln\n2,日本\n3,last"
    for decoder, data in (
        (_Lines("gb18030"), text.encode("gb18030")),
        (_TwoBytes("x.csv", "utf-16"), text.encode("utf-16")),
        (_TwoBytes("x.csv", "utf-16-be"), text.encode("utf-16-be")),
    ):
        pieces = [data[start : start + size] for start in range(0, len(data), size)]
        assert b"".join(decoder.decoded(piece) for piece in [*pieces, b""]).decode() == text


@pytest.mark.parametrize(
    ("encoding", "odd"),
    [
        ("gbk", b"\x81"),
        ("shift_jis", b"\x81"),
        ("euc_jp", b"\x8f"),
        ("big5", b"\xa1"),
        ("latin-1", b"\x81"),
        ("cp1252", b"\x81"),
    ],
)
def test_an_odd_byte_changes_its_own_record_alone(tmp_path, encoding, odd):
    data = table("u", quoted=False).encode(encoding)
    place = data.index(b"2,1,u")
    broken = data[: place + 5] + odd + data[place + 5 :]
    kept = []
    for name, content in (("sound", data), ("broken", broken)):
        (tmp_path / f"{name}.csv").write_bytes(content)
        kept.append(gather(Csv(tmp_path / f"{name}.csv", encoding=encoding), STUDY))
    assert kept[0].n == kept[1].n == 50
    # The moments differ by one row of zeros, so by the squares of one row at most.
    assert (
        0
        < abs(np.array(kept[0].integers()[1], dtype=object)[0][0] - np.array(kept[1].integers()[1], dtype=object)[0][0])
        <= 2**40
    )


def test_half_a_letter_of_utf_16_is_refused(tmp_path):
    data = table("u", quoted=False).encode("utf-16-le")
    place = data.index("4,0,u".encode("utf-16-le"))
    (tmp_path / "t.csv").write_bytes(data)
    assert count_rows(Csv(tmp_path / "t.csv", encoding="utf-16-le"), STUDY) == 50
    (tmp_path / "t.csv").write_bytes(data[: place + 8] + b"x" + data[place + 8 :])
    with pytest.raises(DataError, match="half a letter"):
        count_rows(Csv(tmp_path / "t.csv", encoding="utf-16-le"), STUDY)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_two_halves_of_letters_do_not_take_in_the_lines_between_them(tmp_path, encoding):
    """The second makes the number of bytes even again, and what lies between would be one line of other letters."""
    data = table("u", quoted=False).encode(encoding)
    for line in ("4,0,u", "2,1,u"):
        place = data.index(line.encode(encoding))
        data = data[: place + 8] + b"x" + data[place + 8 :]
    (tmp_path / "t.csv").write_bytes(data)
    with pytest.raises(DataError, match="half a letter"):
        count_rows(Csv(tmp_path / "t.csv", encoding=encoding), STUDY)


@pytest.mark.parametrize(("encoding", "cell"), [("utf-16-le", "\u0a05\u0100"), ("utf-16-be", "\u0100\u0a05")])
def test_two_letters_whose_halves_make_a_line_end_are_two_letters(tmp_path, encoding, cell):
    """Split at these bytes wherever they stood, one record refused the whole table."""
    text = table("u", quoted=False).replace("4,0,u", f"4,0,{cell}")
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    assert count_rows(Csv(tmp_path / "t.csv", encoding=encoding), STUDY) == 50
    for size in (1, 2, 3, 7):
        decoder, data = _TwoBytes("x.csv", encoding), text.encode(encoding)
        pieces = [data[start : start + size] for start in range(0, len(data), size)]
        assert b"".join(decoder.decoded(piece) for piece in [*pieces, b""]).decode() == text


@pytest.mark.parametrize("encoding", ["unicode_escape", "raw_unicode_escape", "punycode", "idna"])
def test_encodings_in_which_a_cell_can_write_a_line_end_are_refused(encoding):
    with pytest.raises(DataError, match=r"save the file as UTF-8|is not known"):
        check_encoding(encoding)


@pytest.mark.parametrize("encoding", ["iso2022_jp", "iso2022_kr", "hz", "utf-7", "utf-32", "base64", "rot13"])
def test_encodings_with_a_state_are_refused(encoding):
    with pytest.raises(DataError, match=r"save the file as UTF-8|is not known"):
        check_encoding(encoding)


@pytest.mark.parametrize(
    "encoding", ["utf-8", "UTF8", "latin-1", "cp1252", "koi8-r", "mac_roman", "gbk", "cp932", "utf-16", "ascii"]
)
def test_the_others_are_taken(encoding):
    check_encoding(encoding)
