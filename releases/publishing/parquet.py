"""Writing tables as Parquet, which dataset hubs read. The same rows give the same bytes, whatever is installed.

The files use what every reader knows (Apache Parquet Format, 2.11): a row group for some thousands of rows, a page for
each column, plain encoding, no compression. Every value may be null. The footer is in Thrift's compact protocol.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

MAGIC = b"PAR1"
ROWS_OF_A_GROUP = 50_000
PLAIN, LEVELS = 0, 3  # encodings: of values, and of which values are there
OPTIONAL, UNCOMPRESSED, DATA_PAGE = 1, 0, 0
I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12  # Thrift's types


def _texts(values: list[Any]) -> bytes:
    written = [value.encode() for value in values]
    return b"".join(piece for each in written for piece in (struct.pack("<I", len(each)), each))


def _bits(values: Sequence[bool]) -> bytes:
    """Return eight truth values in each byte, the first one lowest."""
    bits = bytearray((len(values) + 7) // 8)
    for place, value in enumerate(values):
        bits[place >> 3] |= value << (place & 7)
    return bytes(bits)


# The type of a column: its number in the format, and how values that are not null are written.
Column = tuple[int, Callable[[list[Any]], bytes]]
TRUTH: Column = (0, _bits)
WHOLE: Column = (2, lambda values: struct.pack(f"<{len(values)}q", *values))
NUMBER: Column = (5, lambda values: struct.pack(f"<{len(values)}d", *values))
TEXT: Column = (6, _texts)
Columns = dict[str, Column]
# The columns of two tables for hubs, which `verify.py` makes again from the other files. Qrels have BEIR's names; in
# releases of version 0.2 or earlier they have others, and a column more. Judgements have `doubt` from 0.2 on.
OF_QRELS: Columns = {"query-id": TEXT, "corpus-id": TEXT, "score": WHOLE}
OF_OLD_QRELS: Columns = {"query_id": TEXT, "moment_id": TEXT, "relevance": WHOLE, "pair_id": TEXT}
OF_JUDGEMENTS: Columns = {"pair_id": TEXT, "query_id": TEXT, "moment_id": TEXT, "worker": WHOLE, "round": WHOLE}
OF_JUDGEMENTS |= {"grade": WHOLE, "counts": TRUTH, "reopened": TRUTH, "seconds": NUMBER, "guideline": WHOLE}
OF_OLD_JUDGEMENTS: Columns = dict(OF_JUDGEMENTS)
OF_JUDGEMENTS |= {"doubt": TRUTH}


def columns_of_judgements(judgement: dict[str, Any] | None) -> Columns:
    """Return the columns of the table of judgements in a release, given one of its judgements, or None without any."""
    return OF_OLD_JUDGEMENTS if judgement and "doubt" not in judgement else OF_JUDGEMENTS


def row_of_judgement(query: str, moment: str, judgement: dict[str, Any]) -> tuple[Any, ...]:
    """Return a row of the table of judgements, from an object of `judgements.jsonl`."""
    return (
        str(judgement["pair_id"]),
        query,
        moment,
        *(judgement[name] for name in list(OF_OLD_JUDGEMENTS)[3:]),
        judgement.get("doubt"),
    )


def parquet(columns: Columns, rows: Iterable[Sequence[Any]]) -> Iterator[bytes]:
    """Yield the bytes of a Parquet file.

    columns: the type of each column, by its name, in their order.
    rows: a value for each column, in their order; None is null.
    """
    yield MAGIC
    at, groups, count, rest = len(MAGIC), list[Any](), 0, iter(rows)
    while some := list(islice(rest, ROWS_OF_A_GROUP)):
        chunks, size = [], 0
        for (name, column), values in zip(columns.items(), zip(*some, strict=True), strict=True):
            page = _page(column, values)
            yield page
            chunks.append(_chunk(name, column, len(values), at, len(page)))
            at, size = at + len(page), size + len(page)
        groups.append(_struct({1: (LIST, (STRUCT, chunks)), 2: (I64, size), 3: (I64, len(some))}))
        count += len(some)
    root = _struct({4: (BINARY, b"schema"), 5: (I32, len(columns))})
    schema = [root, *(_element(name, column) for name, column in columns.items())]
    footer = _struct(
        {
            1: (I32, 1),
            2: (LIST, (STRUCT, schema)),
            3: (I64, count),
            4: (LIST, (STRUCT, groups)),
            6: (BINARY, b"reeljudge"),
        }
    )
    yield footer + struct.pack("<I", len(footer)) + MAGIC


def _page(column: Column, values: Sequence[Any]) -> bytes:
    """Return a page: its header, which of its values are there, and these values."""
    there = _bits([value is not None for value in values])
    levels = _varint(len(there) << 1 | 1) + there  # one run of packed bits
    content = struct.pack("<I", len(levels)) + levels + column[1]([value for value in values if value is not None])
    about = _struct({1: (I32, len(values)), 2: (I32, PLAIN), 3: (I32, LEVELS), 4: (I32, LEVELS)})
    return _struct({1: (I32, DATA_PAGE), 2: (I32, len(content)), 3: (I32, len(content)), 5: (STRUCT, about)}) + content


def _chunk(name: str, column: Column, values: int, at: int, size: int) -> bytes:
    about = {
        1: (I32, column[0]),
        2: (LIST, (I32, [_zigzag(PLAIN), _zigzag(LEVELS)])),
        3: (LIST, (BINARY, [_binary(name.encode())])),
        4: (I32, UNCOMPRESSED),
        5: (I64, values),
        6: (I64, size),
        7: (I64, size),
        9: (I64, at),
    }
    return _struct({2: (I64, at), 3: (STRUCT, _struct(about))})


def _element(name: str, column: Column) -> bytes:
    fields: dict[int, tuple[int, Any]] = {1: (I32, column[0]), 3: (I32, OPTIONAL), 4: (BINARY, name.encode())}
    if column is TEXT:
        fields |= {6: (I32, 0), 10: (STRUCT, _struct({1: (STRUCT, _struct({}))}))}  # UTF-8, in the old way and the new
    return _struct(fields)


def _struct(fields: Mapping[int, tuple[int, Any]]) -> bytes:
    """Return a structure: each field with its distance from the one before and its type, then a zero."""
    out, last = bytearray(), 0
    for number, (kind, value) in fields.items():
        out.append((number - last) << 4 | kind)
        out += _value(kind, value)
        last = number
    return bytes(out) + b"\0"


def _value(kind: int, value: Any) -> bytes:
    if kind in (I32, I64):
        return _zigzag(value)
    if kind == BINARY:
        return _binary(value)
    if kind == STRUCT:
        return bytes(value)
    of, items = value
    size = bytes([len(items) << 4 | of]) if len(items) < 15 else bytes([0xF0 | of]) + _varint(len(items))
    return size + b"".join(items)


def _binary(value: bytes) -> bytes:
    return _varint(len(value)) + value


def _zigzag(number: int) -> bytes:
    return _varint(number << 1 if number >= 0 else (-number << 1) - 1)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])
