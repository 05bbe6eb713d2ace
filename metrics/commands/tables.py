"""Printing: rows of text as aligned tables, long lists of values as matrices, and records as JSON and CSV."""

import csv
import json
import math
import sys
from typing import Any

Cells = list[list[str]]


def aligned(rows: Cells) -> list[str]:
    """Lines in which the cells of a column begin at the same place."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def text(value: Any) -> str:
    """A value as tables print it: four decimals, and a dash for what does not exist."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def plain(rows: list[dict[str, Any]]) -> Cells:
    """A header and a row for each record."""
    return [list(rows[0]), *([text(value) for value in row.values()] for row in rows)]


def matrix(rows: list[dict[str, Any]], down: str, across: str, value: str) -> Cells:
    """The records' values, with one field's values down the side and another's across the top.

    >>> rows = [{"a": 1, "b": "x", "t": 0.5}, {"a": 2, "b": "x", "t": 1.0}]
    >>> matrix(rows, "a", "b", "t")
    [['a', 'x'], ['1', '0.5000'], ['2', '1.0000']]
    """
    heads = list(dict.fromkeys(row[across] for row in rows))
    sides = list(dict.fromkeys(row[down] for row in rows))
    cells = {(row[down], row[across]): text(row[value]) for row in rows}
    body = [[_side(side), *(cells.get((side, head), "-") for head in heads)] for side in sides]
    return [[down, *map(str, heads)], *body]


def _side(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def print_rows(format: str, rows: list[dict[str, Any]], document: Any = None, caption: str = "") -> None:
    """Print records as a table with a caption, as CSV or as JSON, which may be another document than the records."""
    if format == "json":
        print_json(rows if document is None else document)
    elif format == "csv":
        print_csv(list(rows[0]), rows)
    else:
        print_aligned(plain(rows), caption)


def print_aligned(cells: Cells, caption: str = "") -> None:
    print("\n".join([*aligned(cells), *(["", caption] if caption else [])]))


def print_json(found: Any, indent: int = 2) -> None:
    print(json.dumps(found, indent=indent, allow_nan=False, ensure_ascii=False))


def print_csv(columns: list[str], rows: list[dict[str, Any]]) -> None:
    """A line for each record; what does not exist is empty."""
    out = csv.DictWriter(sys.stdout, columns, lineterminator="\n", extrasaction="ignore")
    out.writeheader()
    out.writerows(rows)
