"""Changes to a good input, as disks, hands and attackers make them: the same ones for the same random generator."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

WORDS = (
    b"-1 0 1 1e999 -1e999 nan inf -inf NaN NULL null None true false [] {} \"\" '' ? , ; : = | \t \n \r\n \r \\ \" ' # -- /* "
    b"9223372036854775807 9223372036854775808 -9223372036854775809 4294967296 18446744073709551616 0.1 1e-400 "
    b"01 +1 1_000 0x10 \xff \x00 \x1b[2J \xef\xbb\xbf \xed\xa0\x80 \xe2\x80\xae <script> </script> __proto__ ../ %s {0} ${x} "
    b"\xf0\x9f\x92\xa9 A\xcc\x80 \\u0000 \\ud800 \\x1b 2020-01-01 12:00:00 1,5 1e5"
).split(b" ")
LONG = (b"[" * 5_000, b"{" * 2_000, b'{"a":' * 2_000, b"9" * 6_000, b"a" * 70_000, b"-" * 3_000, b"(" * 3_000)
ODD_BYTES = (0, 1, 0x22, 0x27, 0x2C, 0x7F, 0x80, 0xC0, 0xFE, 0xFF)


def mutated(seeds: Sequence[bytes], generator: random.Random) -> bytes:
    """One of the seeds with one to several changes."""
    data = bytearray(generator.choice(seeds))
    for _ in range(generator.choice((1, 1, 1, 2, 3, 6))):
        data = generator.choice(CHANGES)(data, seeds, generator)
    return bytes(data)


def _slice(data: bytearray, generator: random.Random) -> tuple[int, int]:
    start = generator.randrange(len(data) + 1)
    return start, min(len(data), start + generator.choice((1, 1, 2, 4, 8, 30, 200)))


def _flip(data: bytearray, seeds: Sequence[bytes], generator: random.Random) -> bytearray:
    if data:
        data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
    return data


def _put_byte(data: bytearray, seeds: Sequence[bytes], generator: random.Random) -> bytearray:
    if data:
        data[generator.randrange(len(data))] = generator.choice((*ODD_BYTES, generator.randrange(256)))
    return data


def _put_number(data: bytearray, seeds: Sequence[bytes], generator: random.Random) -> bytearray:
    """An integer of a binary format: a length, an offset, a count."""
    size = generator.choice((2, 4, 8))
    if len(data) > size:
        value = generator.choice(
            (0, 1, 2**7, 2**15, 2**31, 2**63, 2 ** (8 * size) - 1, generator.getrandbits(8 * size))
        )
        start = generator.randrange(len(data) - size)
        data[start : start + size] = (value % 2 ** (8 * size)).to_bytes(size, "little")
    return data


def _remove(data: bytearray, seeds: Sequence[bytes], generator: random.Random) -> bytearray:
    start, stop = _slice(data, generator)
    del data[start:stop]
    return data


def _repeat(data: bytearray, seeds: Sequence[bytes], generator: random.Random) -> bytearray:
    start, stop = _slice(data, generator)
    data[start:start] = data[start:stop] * generator.choice((1, 1, 2, 50))
    return data


def _cut(data: bytearray, seeds: Sequence[bytes], generator: random.Random) -> bytearray:
    return data[: generator.randrange(len(data) + 1)]


def _insert(data: bytearray, seeds: Sequence[bytes], generator: random.Random) -> bytearray:
    start = generator.randrange(len(data) + 1)
    data[start:start] = generator.choice(LONG) if generator.random() < 0.03 else generator.choice(WORDS)
    return data


def _replace_word(data: bytearray, seeds: Sequence[bytes], generator: random.Random) -> bytearray:
    """A number or a word of a text gives way to another: of ours, or of the same input."""
    words = list(re.finditer(rb"-?[\w.+]+|\"[^\"\n]*\"", data))
    if words:
        gone = generator.choice(words)
        other = bytes(generator.choice(words)[0]) if generator.random() < 0.3 else generator.choice(WORDS)
        data[gone.start() : gone.end()] = generator.choice(LONG) if generator.random() < 0.03 else other
    return data


def _swap_lines(data: bytearray, seeds: Sequence[bytes], generator: random.Random) -> bytearray:
    lines = bytes(data).split(b"\n")
    i, j = generator.randrange(len(lines)), generator.randrange(len(lines))
    lines[i], lines[j] = (lines[j], lines[i]) if generator.random() < 0.5 else (lines[j], lines[j])
    return bytearray(b"\n".join(lines))


def _graft(data: bytearray, seeds: Sequence[bytes], generator: random.Random) -> bytearray:
    """The rest of another seed."""
    other = generator.choice(seeds)
    return data[: generator.randrange(len(data) + 1)] + other[generator.randrange(len(other) + 1) :]


CHANGES = (
    _flip,
    _put_byte,
    _put_number,
    _remove,
    _repeat,
    _cut,
    _insert,
    _replace_word,
    _replace_word,
    _swap_lines,
    _graft,
)
