"""Public. What a browser sends with a form, read by hand: two formats, bounded sizes, no file kept on the disk."""

from __future__ import annotations

from email.parser import BytesParser
from email.policy import HTTP
from urllib.parse import parse_qsl

from starlette.requests import Request

from dpselect.errors import DataError

Form = dict[str, str]

LARGEST = 4 << 20
"""Bytes of a form; a study of a thousand variables has a few hundred thousand, a report less than that."""
PATIENCE = 32 << 20
"""Bytes of a form that is too large which are still taken, and dropped, so that the browser hears why."""
MOST_FIELDS = 50_000

TOO_LARGE = (
    "This form is too large: the studio takes at most 4 MB. Rows are never sent to it; state their path instead."
)


class TooLarge(Exception):
    """The form has more bytes than the studio takes."""


async def read_body(request: Request) -> bytes:
    """The bytes of a form; TooLarge if they are too many, after which nothing of them is kept."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > PATIENCE:
            break
        if size <= LARGEST:
            parts.append(part)
        else:
            parts.clear()
    if size > LARGEST:
        raise TooLarge
    return b"".join(parts)


def parse_form(kind: str, body: bytes) -> Form:
    """Names and values; of a name that comes twice the last value counts."""
    if kind.partition(";")[0].strip().lower() == "multipart/form-data":
        return _parts(kind, body)
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=bool(body), max_num_fields=MOST_FIELDS)
    except ValueError:
        raise DataError("The form could not be read: go back, reload the page and try again.") from None
    return dict(pairs)


def _parts(kind: str, body: bytes) -> Form:
    """A form with a file in it: each part's text, whatever its file is called."""
    message = BytesParser(policy=HTTP).parsebytes(b"Content-Type: " + kind.encode("latin-1") + b"\r\n\r\n" + body)
    form: Form = {}
    for part in message.iter_parts() if message.is_multipart() else ():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(content, bytes):
            try:
                form[name] = content.decode()
            except UnicodeDecodeError:
                raise DataError("This file is not text: give the JSON or the HTML file of a report.") from None
    return form
