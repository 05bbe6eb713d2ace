"""Reading qrels in every format of the field; the content tells which one it is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import published
from .errors import MeasureError
from .files import Place, Record, json_lines, looks_like_json, looks_like_json_lines, parse_json, read_text
from .rows import Rows, show
from .tables import Qrels
from .trec import read_side_file, read_trec_qrels

FORMATS = ("jsonl", "nested", "trec", "tvr", "qvhighlights", "didemo", "axiou", "charades")


def read_qrels(path: str | Path, format: str | None = None, moments: str | Path | None = None) -> Qrels:
    """Qrels from a file.

    Parameters
    ----------
    path
        The file; gzip is unpacked.
    format
        One of `FORMATS`; None: told from the content.
    moments
        Side file for TREC qrels; None: times are read from the moment ids.

    Raises
    ------
    MeasureError
        Naming file, line (or query and moment) and field of the first mistake.
    """
    text, source = read_text(path), str(path)
    times = read_side_file(moments) if moments else None
    if format not in (None, *FORMATS):
        raise MeasureError(f"unknown qrels format {format!r}; there are {', '.join(FORMATS)}")
    if format is None and not looks_like_json(text):
        format = "charades" if "##" in text.split("\n", 1)[0] else "trec"
    if format == "trec":
        return read_trec_qrels(text, source, times)
    if format == "charades":
        return published.charades_qrels(text, source)
    records = _records(text, source)
    return READERS[format or _detect(records)](records, source)


def _records(text: str, source: str) -> list[Record]:
    """The records of a JSON Lines file, of a JSON list, or of an object from query id to moments."""
    if looks_like_json_lines(text):
        return [(Place(source, f"line {number}"), record) for number, record in json_lines(text, source)]
    data = parse_json(text, source)
    if isinstance(data, dict) and "relevance" in data and "video_name" in data:  # JSON Lines of one line
        return [(Place(source, "line 1"), data)]
    if isinstance(data, dict):
        found = [{"query_id": query, "relevant_moment": moments} for query, moments in data.items()]
        return [(Place(source, f"query {record['query_id']!r}"), record) for record in found]
    if not isinstance(data, list):
        raise MeasureError(
            f"{source}: is {show(data)}; qrels are a list of queries with their relevant_moment"
        )
    return [(Place(source, f"record {n}"), record) for n, record in enumerate(data, 1)]


def _detect(records: list[Record]) -> str:
    first = records[0][1] if records else None
    if isinstance(first, list):
        return "axiou"
    signs = {"relevance": "jsonl", "vid_name": "tvr", "relevant_windows": "qvhighlights", "times": "didemo"}
    there = first if isinstance(first, dict) and "relevant_moment" not in first else {}
    if "video_name" in there:
        return "jsonl"
    return next((format for sign, format in signs.items() if sign in there), "nested")


def _pairs(records: list[Record], source: str) -> Qrels:
    """TVR-Ranking's own: one judged pair a line."""
    rows = Rows(source, lambda i: records[i][0].spot)
    for place, record in records:
        query = place.query(place.need(record, "query_id"))
        rows.queries[query] = None
        rows.tell(query, record.get("query"))
        _add(rows, query, record, place)
    return Qrels.build(rows)


def _nested(records: list[Record], source: str) -> Qrels:
    """One query a record, with its moments."""
    spots: list[str] = []
    rows = Rows(source, lambda i: spots[i])
    for place, record in records:
        query = place.query(place.need(record, "query_id"))
        moments = place.need(record, "relevant_moment")
        if query in rows.queries:
            raise place.fail(f"query {query!r} stands twice")
        rows.queries[query] = None
        rows.tell(query, record.get("query"))
        for n, moment in enumerate(place.many(moments, "relevant_moment"), 1):
            here = Place(source, f"query {query!r}, moment {n}")
            spots.append(here.spot)
            _add(rows, query, moment, here)
    return Qrels.build(rows)


def _add(rows: Rows, query: str, record: Any, place: Place) -> None:
    video = place.need(record, "video_name")
    start, end = place.span(record)
    rows.add(query, video, start, end, place.need(record, "relevance"))


READERS: dict[str, Callable[[list[Record], str], Qrels]] = {
    "jsonl": _pairs,
    "nested": _nested,
    "tvr": published.tvr_qrels,
    "qvhighlights": published.qvhighlights_qrels,
    "didemo": published.didemo_qrels,
    "axiou": published.axiou_qrels,
}
