"""Private. The form that a text file seems to have: its encoding and delimiter, by its first line alone, as a hint for people.

How a file is written is stated in the study or beside its path. The form of a file decides how every row is read, so a form that
one record could change would let it change all others: what a file seems to be is told by its byte-order mark and its line of
names. What cannot be told so (a decimal comma, the encoding of text in the rows) a person has to state.
"""

from __future__ import annotations

import codecs
import re

from dpselect.gather.sources.source import Csv

MAX_HEADER_BYTES = 1 << 16
DELIMITERS = ",;\t|"


def guess_form(file: str) -> Csv:
    """The form that a text file seems to have; what cannot be told stays as a plain path has it."""
    encoding, names = _header(file)
    return Csv(file, delimiter=_delimiter(names), encoding=encoding)


def form_hint(file: str, used: Csv) -> str:
    """What to state instead of the form that was used, or nothing if that looks right."""
    try:
        seems = guess_form(file)
    except Exception:  # a file that cannot even be opened; whoever asks says so
        return ""
    differs = stated_form(seems, used)
    if not differs:
        return ""
    python = ", ".join(f"{name}={value!r}" for name, value in differs.items())
    return f"; it looks as if it were written with {options_of(differs)} (in Python: Csv(path, {python}))"


def stated_form(form: Csv, against: Csv | None = None) -> dict[str, str]:
    """What differs from a plain path, or from another form."""
    plain = against or Csv(form.path)
    names = ("encoding", "delimiter", "decimal")
    return {name: getattr(form, name) for name in names if getattr(form, name) != getattr(plain, name)}


def options_of(form: dict[str, str]) -> str:
    """The options of a command line that state a form."""
    shown = {"\t": "tab"}
    quoted = {name: shown.get(value, f"'{value}'" if value in DELIMITERS else value) for name, value in form.items()}
    return " ".join(f"--{name} {value}" for name, value in quoted.items())


def _header(file: str) -> tuple[str, str]:
    """The encoding of the line of names, and that line."""
    import pyarrow as pa

    with pa.input_stream(file) as stream:  # unpacks what is compressed, by its name
        head = bytes(stream.read(MAX_HEADER_BYTES))
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16", head.decode("utf-16", "ignore").partition("\n")[0]
    line = head.partition(b"\n")[0]
    if len(line) > 3 and line.count(0) >= len(line) // 3:  # every other byte of Latin letters
        encoding = "utf-16-be" if line[0] == 0 else "utf-16-le"
        return encoding, head.decode(encoding, "ignore").partition("\n")[0]
    try:
        return "utf-8", line.decode("utf-8-sig")
    except UnicodeDecodeError:
        # Between 0x80 and 0x9f Latin-1 has no letters, and Windows has quotation marks and the euro.
        encoding = "cp1252" if any(0x80 <= byte < 0xA0 for byte in line) else "latin-1"
        return encoding, line.decode(encoding, "replace")


def _delimiter(names: str) -> str:
    """The mark that splits the line of names into most parts, outside quotes."""
    bare = re.sub(r'"[^"]*"', "", names)
    return max(DELIMITERS, key=lambda mark: (bare.count(mark), mark == ","))
