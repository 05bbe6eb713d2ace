"""Reading qrels in every format of the field; the content tells which one it is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import published, telling
from .bulk import columns_of_objects, columns_of_pairs, texts_of
from .checks import Checks
from .columns import Columns
from .csv_qrels import csv_qrels
from .errors import MeasureError
from .files import read_bytes, source_name, text_of
from .json_files import Records, json_lines, looks_like_json_lines, no_collecting, parse_json
from .moment_ids import parse_moment_id
from .names import GRADED_QRELS, HIGHEST_GRADE, QRELS_FORMATS, check_name
from .place import Place
from .rows import MOMENT, Rows, one_by_one
from .showing import show
from .tables import Qrels
from .trec import Times, read_side_file, trec_qrels


def read_qrels(
    path: str | Path,
    format: str | None = None,
    moments: str | Path | None = None,
    lenient: bool | None = None,
    highest: int = HIGHEST_GRADE,
) -> Qrels:
    """Qrels from a file.

    Parameters
    ----------
    path
        The file; gzip is unpacked; ``-`` is standard input.
    format
        One of `QRELS_FORMATS`; None: told from the content.
    moments
        Side file for TREC qrels; None: times are read from the moment ids.
    lenient
        Moments that stand twice, have two grades, or a grade above `highest`, end before they start, or lie
        before 0 are kept, counted and warned of (True), or the first is an error (False). None: the annotations
        of published data sets are taken as they are, and counted; anything wrong in graded qrels is an error.
    highest
        The highest grade of the scale.

    Raises
    ------
    MeasureError
        Naming file, line (or query and moment) and field of the first mistake.

    Warns
    -----
    MeasureWarning
        Saying what was counted.
    """
    check_name("qrels format", format, QRELS_FORMATS)
    with no_collecting():
        format, columns = _columns(path, format, read_side_file(moments) if moments else None)
    return Qrels.build(columns, Checks(format not in GRADED_QRELS if lenient is None else lenient, highest))


def _columns(path: str | Path, format: str | None, times: Times | None) -> tuple[str, Columns]:
    """The format and the columns of a file."""
    data, source = read_bytes(path), source_name(path)
    format = format or telling.qrels_format(data, source)
    if format == "trec":
        return format, trec_qrels(data, source, times)
    if format in TEXT_READERS:
        return format, TEXT_READERS[format](text_of(data, source), source)
    records = _records(data, source)
    format = format or telling.format_of_records(records.items, source)
    return format, RECORD_READERS[format](records)


def _records(data: bytes, source: str) -> Records:
    """The records of a JSON Lines file, of a JSON list, or of an object from query id to moments."""
    if looks_like_json_lines(data):
        return json_lines(data, source)
    found = parse_json(data, source)
    if isinstance(found, dict) and "relevance" in found and "video_name" in found:  # JSON Lines of one line
        return Records(source, [found], lambda row: "line 1")
    if isinstance(found, dict):
        keys = list(found)
        return Records(source, list(found.items()), lambda row: f"query {keys[row]!r}")
    if not isinstance(found, list):
        raise MeasureError(
            f"{source}: is {show(found)}; qrels are a list of queries with their relevant_moment"
        )
    return Records.numbered(found, source)


def _pairs(records: Records) -> Columns:
    """TVR-Ranking's own: one judged pair a line."""
    found = columns_of_pairs(records.items, records.source, records.spot)
    if found:
        return found
    rows = Rows(records.source, MOMENT)
    for place, record in records:
        query = place.query(place.need(record, "query_id"))
        rows.queries[query] = None
        rows.tell(query, record.get("query"))
        rows.add(place, query, *_moment(place, record))
    return rows.columns()


def _nested(records: Records) -> Columns:
    """One query a record, with its moments."""
    moments: dict[str, list[Any]] = {}
    said: dict[str, Any] = {}
    for place, record in records:
        if isinstance(record, tuple):  # of an object from query id to moments
            record = {"query_id": record[0], "relevant_moment": _listed(place, record[1])}
        query = place.query(place.need(record, "query_id"))
        found = place.need(record, "relevant_moment")
        if query in moments:
            raise place.fail(f"query {query!r} stands twice")
        moments[query] = place.many(found, "relevant_moment")
        said[query] = record.get("query")
    columns = columns_of_objects(moments, records.source, MOMENT, "relevance")
    columns = columns or one_by_one(moments, records.source, MOMENT, _moment)
    columns.texts = texts_of(said)
    return columns


def _listed(place: Place, held: Any) -> Any:
    """A query's moments as a list, also where they are an object from moment id to grade."""
    if not isinstance(held, dict):
        return held
    spans = [(*parse_moment_id(moment, str(place)), grade) for moment, grade in held.items()]
    return [
        {"video_name": video, "timestamp": [start, end], "relevance": grade}
        for video, start, end, grade in spans
    ]


def _moment(place: Place, record: Any) -> tuple[Any, Any, Any, Any]:
    """Video, start, end and grade of an object."""
    video = place.need(record, "video_name")
    return video, *place.span(record), place.need(record, "relevance")


TEXT_READERS: dict[str, Callable[[str, str], Columns]] = {
    "csv": csv_qrels,
    "charades": published.charades_qrels,
}
RECORD_READERS: dict[str, Callable[[Records], Columns]] = {
    "jsonl": _pairs,
    "nested": _nested,
    "tvr": published.tvr_qrels,
    "qvhighlights": published.qvhighlights_qrels,
    "didemo": published.didemo_qrels,
    "axiou": published.axiou_qrels,
    "activitynet": published.activitynet_qrels,
    "tacos": published.tacos_qrels,
}
