"""Public. One description of every value that leaves: its fields, which parse, check, print, hash and describe themselves.

A record is a msgspec struct. It was chosen over attrs with cattrs because one type annotation is then the constructor, the strict
decoder, the encoder and the JSON Schema, with no converter to register and no dependency of its own; it decodes a report in
microseconds and refuses unknown fields and wrong types by their place.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache
from typing import Any, Self

import msgspec

from dpselect.errors import DataError, DpselectError

MARKUP = re.compile("<(?=[A-Za-z/!?])")
"""What a browser takes for the beginning of markup."""


class Public(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, repr_omit_defaults=True):
    """What may be shown to anybody: public statements and released values, and nothing that was read from rows.

    The type is the mark: a public page accepts plain values and instances of this class, whatever docstrings say. Fields that
    have their default are left out of the text, so that a record that does not use a field reads and hashes as before it existed.
    """

    def to_dict(self) -> dict[str, Any]:
        """Plain values; a Decimal becomes its text, so that nothing is rounded."""
        # msgspec's own omit_defaults leaves a field out only if it is the very object of the default, so that a record that was
        # read back would have another text and another hash than the one that was written.
        config = type(self).__struct_config__
        values: dict[str, Any] = {} if config.tag is None else {str(config.tag_field): config.tag}
        for field in _fields(type(self)):
            if not _is_default(value := getattr(self, field.name), field):
                values[field.encode_name] = _plain(value)
        return values

    def to_json(self) -> str:
        """The record as a JSON text that `from_json` reads back."""
        return readable_json(self.to_dict())

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """The inverse of `to_dict`; a wrong type or an unknown field is named by its place."""
        try:
            return msgspec.convert(values, cls, dec_hook=_read)
        except DpselectError:
            raise
        except (ValueError, ArithmeticError, RecursionError) as problem:
            raise DataError(f"This is not {cls._described()}: {_one_line(problem)}.") from None

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The record in a JSON text that anybody may have edited. Whether its numbers belong together is for `verify` to say."""
        try:
            return msgspec.json.decode(text, type=cls, dec_hook=_read)
        except DpselectError:
            raise
        except (ValueError, ArithmeticError, RecursionError) as problem:
            raise DataError(f"This is not the JSON text of {cls._described()}: {_one_line(problem)}.") from None

    @property
    def hash(self) -> str:
        """SHA-256 of the record in canonical JSON: the same on every machine."""
        return sha256_of(self.to_dict())

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """The JSON Schema of the record, derived from its fields."""
        return msgspec.json.schema(cls, schema_hook=_schema)

    @classmethod
    def _described(cls) -> str:
        return f"a dpselect {cls.__name__.lower()}"


def _one_line(problem: Exception) -> str:
    """What is wrong and where. A text that anybody may have edited can name a field so that it breaks a line, or a terminal."""
    text = " ".join(str(problem).split())[:300].rstrip(".")
    return "".join(each if each.isprintable() else "?" for each in text)


_fields = cache(msgspec.structs.fields)
"""The fields of a kind of record; to look them up takes far longer than to write one."""


def _is_default(value: Any, field: msgspec.structs.FieldInfo) -> bool:
    default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
    return type(value) is type(default) and bool(value == default)


def _plain(value: Any) -> Any:
    if value is None or type(value) in (str, int, float, bool):
        return value
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    return msgspec.to_builtins(value)


def _read(kind: Any, values: Any) -> Any:
    """A value that is no record but reads, writes and describes itself as one: a rule that lists models, for instance."""
    return kind.from_dict(values)


def _schema(kind: Any) -> dict[str, Any]:
    described: dict[str, Any] = kind.json_schema()
    return described


def canonical_json(values: Any) -> str:
    """Sorted keys, no white space, shortest numbers: the same on every machine."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def readable_json(values: Any) -> str:
    """JSON for people and programs alike. Names and titles in it are never markup, even if its file is opened as a page."""
    return MARKUP.sub(r"\\u003c", json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False))


def sha256_of(values: Any) -> str:
    """The SHA-256 of plain values in canonical JSON."""
    return hashlib.sha256(canonical_json(values).encode()).hexdigest()
