"""TVR-Ranking's qrels and pseudo training sets in JSON, read and written."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .columns import MOMENT, Columns, Rows
from .errors import MeasureError, Place, show
from .json_files import Records, query_number, read_records, write_json
from .json_reader import json_entries
from .lists import columns_of, columns_of_pairs, one_by_one, texts_of
from .moment_ids import parse_moment_id
from .tables import Qrels

OF_A_LINE = (
    *({"relevance", "video_name"}, {"relevant_windows", "vid"}),  # fields
    *({"ts", "vid_name"}, {"times", "video"}),
)
BY_LINE = ("jsonl", "tvr", "qvhighlights", "didemo")  # formats
FIRST_LINE, BETWEEN, LAST_LINE = "[\n", ",\n", "\n]\n"


def qrels_records(data: bytes, source: str, format: str | None = None) -> Records:
    """The records of a JSON Lines file, of a JSON list, or of an object from query id to moments.

    format: the format, if it is named.
    """
    records = read_records(data, source)
    if not records.is_object:
        return records
    found = records.items[0]
    by_line = format in BY_LINE if format else any(signs <= {*found} for signs in OF_A_LINE)
    if by_line or isinstance(found.get("videos"), list):  # JSON Lines of one line, or Ego4D's
        return records
    keys = list(found)
    return Records(source, list(found.items()), lambda row: f"query {keys[row]!r}")


def jsonl_qrels(records: Records) -> Columns:
    """TVR-Ranking's own: one judged pair a line."""
    found = columns_of_pairs(records.items, records.source, records.spot)
    if found:
        return found
    rows = Rows(records.source, MOMENT)
    for place, record in records:
        query = place.query(place.need(record, "query_id"))
        rows.tell(query, record.get("query"))
        rows.add(place, query, *_moment(place, record))
    return rows.columns()


def qrels_as_jsonl(qrels: Qrels) -> str:
    """TVR-Ranking's JSON Lines: one judged pair a line."""
    lines: list[str] = []
    for query, rows in qrels.rows(qrels.grades):
        for video, start, end, grade in rows:
            pair = {
                "pair_id": len(lines),
                "query_id": query_number(query),
                "query": qrels.texts.get(query, ""),
                "video_name": video,
                "timestamp": [start, end],
                "relevance": grade,
            }
            lines.append(write_json(pair))
    return "".join(lines)


def nested_qrels(records: Records) -> Columns:
    """One query a record, with its moments."""
    moments: dict[str, list[Any]] = {}
    texts: dict[str, Any] = {}
    for place, record in records:
        if isinstance(record, tuple):  # of an object from query id to moments
            record = {"query_id": record[0], "relevant_moment": _listed(place, record[1])}
        query = place.query(place.need(record, "query_id"))
        found = place.need(record, "relevant_moment")
        if query in moments:
            raise place.fail(f"query {query!r} stands twice")
        moments[query] = place.many(found, "relevant_moment")
        texts[query] = record.get("query")
    columns = columns_of(moments, records.source, MOMENT, value="relevance")
    columns = columns or one_by_one(moments, records.source, MOMENT, _moment)
    columns.texts = texts_of(texts)
    return columns


def _listed(place: Place, held: Any) -> Any:
    """A query's moments as a list, also where they are an object from moment id to grade."""
    if not isinstance(held, dict):
        return held
    spans = [(*parse_moment_id(moment, str(place)), grade) for moment, grade in held.items()]
    return [{"video_name": video, "timestamp": [start, end], "relevance": grade} for video, start, end, grade in spans]


def _moment(place: Place, record: Any) -> tuple[Any, Any, Any, Any]:
    video = place.need(record, "video_name")
    return video, *place.span(record), place.need(record, "relevance")


def qrels_as_nested(qrels: Qrels) -> str:
    """A list of queries with their relevant_moment."""
    found = [
        {
            "query_id": query_number(query),
            "query": qrels.texts.get(query, ""),
            "relevant_moment": [
                {"video_name": video, "timestamp": [start, end], "relevance": grade}
                for video, start, end, grade in rows
            ],
        }
        for query, rows in qrels.rows(qrels.grades)
    ]
    return write_json(found)


def moment_fields(video: str, start: float, end: float, duration: float, caption: str) -> str:
    """Return a moment's fields but the similarity as JSON without its braces, to be written with many queries."""
    record = {"video_name": video, "timestamp": [start, end], "duration": duration, "caption": caption}
    return json.dumps(record, ensure_ascii=False, allow_nan=False)[1:-1]


def training_query(query_id: str, query: str, moments: Iterable[tuple[str, float]]) -> str:
    """Return a query with its moments, the most similar first, as JSON on one line.

    moments: what `moment_fields` made, and the similarity from -1 to 1.

    Examples
    --------
    >>> training_query("7", "He sits.", [(moment_fields("film", 0.0, 2.5, 9.0, "He sits."), 1.0)])
    '{"query_id": "7", "query": "He sits.", "relevant_moment": [{"video_name": "film", "timestamp": [0.0, 2.5], \
"duration": 9.0, "caption": "He sits.", "similarity": 1.0}]}'
    """
    head = json.dumps({"query_id": query_id, "query": query}, ensure_ascii=False)[:-1]
    listed = ", ".join([f'{{{fields}, "similarity": {similarity}}}' for fields, similarity in moments])
    return f'{head}, "relevant_moment": [{listed}]}}'


class TrainingMoment(NamedTuple):
    """A moment of a training query: start and end in seconds, and the similarity of its caption to the query."""

    video: str
    start: float
    end: float
    similarity: float


class TrainingQuery(NamedTuple):
    """A query of a pseudo training set, with its moments in the file's order."""

    id: str
    text: str
    moments: list[TrainingMoment]


def read_training_set(file: Path) -> Iterator[TrainingQuery]:
    """Yield the queries of a pseudo training set, one after the other; the file may be larger than memory.

    Raises MeasureError if the file cannot be read, or a query or a moment in it is wrong. The queries before have been
    yielded then.
    """
    try:
        with file.open("rb") as document:
            for entry in json_entries(document, str(file)):
                yield _training_query(Place(str(file), f"line {entry.line}"), entry.value)
    except OSError as fault:
        raise MeasureError(f"{file}: cannot be read ({fault.strerror})") from None


def _training_query(place: Place, record: Any) -> TrainingQuery:
    text = place.need(record, "query")
    if not isinstance(text, str) or not text.strip():
        raise place.fail(f"query is {show(text)}; it must be a text")
    moments = place.many(place.need(record, "relevant_moment"), "relevant_moment")
    query_id = place.query(place.need(record, "query_id"))
    return TrainingQuery(query_id, text, [_training_moment(place, n, each) for n, each in enumerate(moments, 1)])


def _training_moment(place: Place, number: int, record: Any) -> TrainingMoment:
    here = Place(place.source, f"{place.spot}, moment {number}")
    video = here.need(record, "video_name")
    if not isinstance(video, str) or not video:
        raise here.fail(f"video_name is {show(video)}; it must be a text")
    start, end = here.span(record)
    similarity = here.need(record, "similarity")
    for name, value in (("start", start), ("end", end), ("similarity", similarity)):
        if type(value) not in (int, float) or not abs(value) < float("inf"):
            raise here.fail(f"{name} is {show(value)}; it must be a finite number")
    if not 0 <= start < end:
        raise here.fail(f"timestamp is {show([start, end])}; it must be [start, end] in seconds, the start first")
    if not -1.001 <= similarity <= 1.001:
        raise here.fail(f"similarity is {show(similarity)}; it must be from -1 to 1")
    return TrainingMoment(video, float(start), float(end), float(similarity))
