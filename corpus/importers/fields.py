"""The fields of our own CSV and JSONL, and the columns of other files that hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from base.text import printable
from corpus.errors import CorpusError
from corpus.importers.rows import LONGEST_LINE
from metrics import MeasureError
from metrics.formats.csv_tables import CsvLines

# Each field with what it holds. Without the first four there is no moment.
FIELDS = {
    "video": "the name of the video",
    "start": "where the moment begins, in seconds or as h:mm:ss",
    "end": "where it ends",
    "description": "what the moment shows",
    "duration": "the length of the video",
    "caption": "the text that is compared with queries; by default the description",
}
NEEDED = ("video", "start", "end", "description")


def keys_of(columns: Mapping[str, str]) -> dict[str, str]:
    """Return for each field the column or key that holds it: its own name, unless `columns` tells another.

    Raises
    ------
    CorpusError
        If `columns` names a field that there is not.
    """
    for field in columns:
        if field not in FIELDS:
            raise CorpusError(f"field {printable(field)}: unknown; expected one of {', '.join(FIELDS)}")
    return {field: columns.get(field, field) for field in FIELDS}


def places_of(header: Sequence[str], columns: Mapping[str, str], file: Path) -> dict[str, int]:
    """Return where in a line of the CSV each field stands; fields that need not be there may be missing.

    Raises
    ------
    CorpusError
        If the file lacks a column that is needed, or one that `columns` names.
    """
    places = {}
    lower = [name.lower() for name in header]
    for field, column in keys_of(columns).items():
        if column in header:
            places[field] = header.index(column)
        elif field not in columns and column in lower:
            places[field] = lower.index(column)
        elif field in columns or field in NEEDED:
            there = printable(", ".join(header)[:300])
            raise CorpusError(
                f"line 1: no column {printable(column)}, for the field {field}; there are: {there}. "
                f"--columns {field}=NAME tells another"
            )
    return places


def columns_in(file: Path) -> list[str]:
    """Return the names of a CSV's columns.

    Raises
    ------
    CorpusError
        If the file cannot be read, or has no first line with names.
    """
    try:
        with file.open(encoding="utf-8-sig", newline="") as content:
            return CsvLines(content.readline(LONGEST_LINE).splitlines(), str(file)).header
    except MeasureError as fault:
        raise CorpusError(str(fault)) from fault
    except OSError as fault:
        raise CorpusError(f"{file}: cannot be read ({fault.strerror}); expected a file") from fault
    except UnicodeDecodeError as fault:
        raise CorpusError(f"{file}: line 1: not UTF-8; expected a CSV in UTF-8") from fault
