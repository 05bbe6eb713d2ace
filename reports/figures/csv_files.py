"""The numbers of a table or figure as a CSV file: the page offers it, and a release holds it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from base.text import harmless
from reports.figures.numbers import Rows


def csv_lines(rows: Rows) -> Iterator[str]:
    """The lines of the file: a header with the name of every column, then one line a row.

    Columns stand in the order in which the rows first name them; a cell is empty where a row lacks the
    column or does not know its value. No cell is run as a formula by a spreadsheet.

    >>> "".join(csv_lines([{"week": "2026-W05", "alpha": None}, {"week": "2026-W06", "pairs": 3}]))
    'week,alpha,pairs\\n2026-W05,,\\n2026-W06,,3\\n'
    """
    header = list(dict.fromkeys(name for row in rows for name in row))
    yield _line(header)
    yield from (_line([harmless(row.get(name)) for name in header]) for row in rows)


def _line(cells: list[object] | list[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()
