"""CSV of our own, with the columns video, start, end and description; or any CSV whose columns a person names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from corpus.errors import CorpusError, Problem
from corpus.importers.fields import places_of
from corpus.importers.interface import Choice, Importer, problem
from corpus.importers.rows import LONGEST_LINE, BadField, Row, name, seconds, text
from metrics import MeasureError
from metrics.formats.csv_tables import CsvLines

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
CLOCK = re.compile(r"(?:(\d+):)?([0-5]?\d):([0-5]?\d(?:\.\d+)?)")


def read(file: Path, choice: Choice) -> Iterator[Row | Problem]:
    try:
        with file.open("rb") as content:
            table = CsvLines(_decoded(content, file), str(file))
            places = places_of(table.header, choice.columns, file)
            names = {field: table.header[place] for field, place in places.items()}
            for number, cells, wrong in table:
                where = f"line {number}"
                try:
                    if wrong:
                        raise CorpusError(wrong)
                    found = {field: cells[place].strip() for field, place in places.items()}
                    yield _row(where, found, names, table.separator)
                except CorpusError as fault:
                    yield problem(file, where, fault)
    except MeasureError as fault:
        raise CorpusError(str(fault)) from fault
    except OSError as fault:
        raise CorpusError(f"{file}: cannot be read ({fault.strerror}); expected a file") from fault


def _decoded(content: BinaryIO, file: Path) -> Iterator[str]:
    number = 0
    while line := content.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise MeasureError(f"{file}: line {number}: longer than {LONGEST_LINE:,} bytes; is this the right file?")
        try:
            yield line.decode()
        except UnicodeDecodeError:
            raise MeasureError(f"{file}: line {number}: is not UTF-8 text; expected a CSV in UTF-8") from None


def _row(where: str, cells: Mapping[str, str], names: Mapping[str, str], separator: str) -> Row:
    duration, caption = cells.get("duration"), cells.get("caption")
    return Row(
        where=where,
        video=name(cells["video"], names["video"]),
        start=_seconds(cells["start"], names["start"], separator),
        end=_seconds(cells["end"], names["end"], separator),
        duration=_seconds(duration, names["duration"], separator) if duration else None,
        description=text(cells["description"], names["description"]),
        caption=text(caption, names["caption"]) if caption else None,
    )


def _seconds(cell: str, field: str, separator: str) -> float:
    """Return the seconds of a cell such as 3723.5 or 1:02:03.5; with a decimal comma where commas do not separate."""
    written = cell.replace(",", ".") if separator != "," and cell.count(",") == 1 else cell
    if NUMBER.fullmatch(written):
        return seconds(float(written), field)
    if clock := CLOCK.fullmatch(written):
        return int(clock[1] or 0) * 3600.0 + int(clock[2]) * 60 + float(clock[3])
    raise BadField(field, cell, "a number of seconds, or a time as 1:02:03.5")


IMPORTER = Importer("csv", "CSV with columns of our own, or mapped", read, takes_columns=True)
