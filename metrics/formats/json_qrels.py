"""TVR-Ranking's qrels in JSON, read and written: a judged pair a line (`jsonl`), or a list of queries (`nested`)."""

import json
from typing import Any

from .columns import MOMENT, Columns, Rows
from .errors import MeasureError, Place, show
from .json_files import Records, json_lines, looks_like_json_lines, parse_json, query_number, write_json
from .lists import columns_of_objects, columns_of_pairs, one_by_one, texts_of
from .moment_ids import parse_moment_id
from .tables import Qrels


def qrels_records(data: bytes, source: str) -> Records:
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
        raise MeasureError(f"{source}: is {show(found)}; qrels are a list of queries with their relevant_moment")
    return Records.numbered(found, source)


def jsonl_qrels(records: Records) -> Columns:
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
            lines.append(json.dumps(pair, ensure_ascii=False, allow_nan=False))
    return "\n".join(lines) + "\n"


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
    columns = columns_of_objects(moments, records.source, MOMENT, "relevance")
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
    """Video, start, end and grade of an object."""
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
