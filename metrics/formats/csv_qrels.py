"""Tables of text: qrels as CSV, and rows of any CSV or TSV by the names of their columns."""

import csv
import io
from collections.abc import Iterator, Sequence

from .columns import Columns
from .csv_lines import separator_of
from .errors import MeasureError
from .moment_ids import parse_moment_id
from .place import Place
from .rows import MOMENT, Rows

VIDEO = ("video_name", "video")
NEEDED = "query_id, video_name, start, end, relevance"


def csv_rows(text: str, source: str, needed: Sequence[str] = ()) -> Iterator[tuple[Place, dict[str, str]]]:
    """Rows of a CSV (or TSV, or with semicolons) by the names in its first line; blank lines are passed over.

    Raises
    ------
    MeasureError
        If the first line lacks a needed column. If a line has not as many fields as the first, or is no CSV; it
        names the line.
    """
    between = separator_of(text.split("\n", 1)[0])
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=between)
    try:
        header = [name.strip() for name in next(rows)]
        if lacking := [name for name in needed if name not in header]:
            raise MeasureError(
                f"{source}: line 1: column {lacking[0]} is missing; it needs {', '.join(needed)}"
            )
        for row in rows:
            place = Place(source, f"line {rows.line_num}")
            if not row:
                continue
            if len(row) != len(header):
                raise place.fail(f"has {len(row)} columns; it needs {len(header)}: {', '.join(header)}")
            yield place, dict(zip(header, row, strict=True))
    except csv.Error as problem:
        raise MeasureError(f"{source}: line {rows.line_num}: is no CSV: {problem}") from None


def csv_qrels(text: str, source: str) -> Columns:
    """Qrels with the columns query_id, video_name, start, end (seconds) and relevance, or with a moment_id for
    video and times; a column query may hold the wording.
    """
    rows = Rows(source, MOMENT)
    for place, row in csv_rows(text, source):
        query = place.query(place.need(row, "query_id"))
        grade = place.number(place.need(row, *MOMENT.fields), MOMENT.value)
        video, start, end = _moment(place, row)
        rows.queries[query] = None
        rows.tell(query, row.get("query"))
        rows.add(place, query, video, start, end, grade)
    return rows.columns()


def _moment(place: Place, row: dict[str, str]) -> tuple[str, float, float]:
    if "moment_id" in row and "start" not in row:
        return parse_moment_id(row["moment_id"], str(place))
    start, end = (place.number(place.need(row, name), name) for name in ("start", "end"))
    return place.need(row, *VIDEO), start, end
