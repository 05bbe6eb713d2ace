"""Reading a CSV of any size line by line, so that a wrong line does not end the reading."""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .errors import MeasureError

SEPARATORS = "\t;"  # beside the comma, where the first line has none


class CsvLine(NamedTuple):
    """The cells of a record, with the number of the line where it begins; or what is wrong with it."""

    number: int
    cells: list[str]
    wrong: str = ""


class CsvLines:
    """The header and the records of a CSV, a TSV, or a CSV with semicolons. Blank lines are passed over.

    Raises
    ------
    MeasureError
        If there is no header, or a column stands twice in it.
    """

    def __init__(self, lines: Iterable[str], source: str) -> None:
        rest = iter(lines)
        first = next(rest, "").removeprefix("\ufeff")
        if "\r" in first.rstrip("\r\n"):
            raise MeasureError(
                f"{source}: line 1: lines end with a carriage return alone; a CSV needs LF or CR LF"
            )
        self.separator = separator_of(first)
        self._lines = rest
        try:
            self.header = [name.strip() for name in next(csv.reader([first], delimiter=self.separator), [])]
        except csv.Error as problem:
            raise MeasureError(f"{source}: line 1: is no CSV: {problem}") from None
        if not any(self.header):
            raise MeasureError(
                f"{source}: line 1: has no names of columns; a CSV needs them in its first line"
            )
        if twice := [name for name, times in Counter(self.header).items() if name and times > 1]:
            raise MeasureError(
                f"{source}: line 1: column {twice[0]!r} stands twice; each needs a name of its own"
            )

    def __iter__(self) -> Iterator[CsvLine]:
        rows = csv.reader(self._lines, delimiter=self.separator, strict=True)
        while True:
            number = rows.line_num + 2
            try:
                cells = next(rows)
            except StopIteration:
                return
            except csv.Error as problem:
                yield CsvLine(number, [], f"is no CSV: {problem}")
                continue
            if len(cells) == len(self.header):
                yield CsvLine(number, cells)
            elif cells:
                yield CsvLine(
                    number, cells, f"has {len(cells)} columns; it needs {len(self.header)}, as the first line"
                )


def separator_of(first_line: str) -> str:
    """The sign between the columns: a comma, unless only a tab or a semicolon can be it."""
    return next((mark for mark in SEPARATORS if mark in first_line and "," not in first_line), ",")
