"""Reading qrels: TVR-Ranking's JSON Lines, nested JSON, or TREC; the content tells which."""

from pathlib import Path
from typing import Any

from metrics.measures.errors import MeasureError
from metrics.measures.files import (
    Place,
    json_lines,
    looks_like_json,
    looks_like_json_lines,
    parse_json,
    read_text,
)
from metrics.measures.tables import Qrels, Rows, show
from metrics.measures.trec import Times, read_side_file, read_trec_qrels

FORMATS = ("jsonl", "nested", "trec")


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
    times: Times | None = read_side_file(moments) if moments else None
    if format not in (None, *FORMATS):
        raise MeasureError(f"unknown qrels format {format!r}; there are {', '.join(FORMATS)}")
    if format == "trec" or (format is None and not looks_like_json(text)):
        return read_trec_qrels(text, source, times)
    if format == "jsonl" or (format is None and looks_like_json_lines(text)):
        return _from_lines(json_lines(text, source), source)
    data = parse_json(text, source)
    if format is None and isinstance(data, dict) and "video_name" in data:  # JSON Lines of one line
        return _from_lines([(1, data)], source)
    return _from_nested(data, source)


def _from_lines(records: list[tuple[int, dict[str, Any]]], source: str) -> Qrels:
    """TVR-Ranking's own: one judged pair a line."""
    lines: list[int] = []
    rows = Rows(source, lambda i: f"line {lines[i]}")
    for number, record in records:
        place = Place(source, f"line {number}")
        lines.append(number)
        query = place.query(place.need(record, "query_id"))
        rows.queries[query] = None
        _add(rows, query, record, place)
    return Qrels.build(rows)


def _from_nested(data: Any, source: str) -> Qrels:
    """A list of queries with their moments, or an object from query id to moments."""
    spots: list[str] = []
    rows = Rows(source, lambda i: spots[i])
    for query, moments in _groups(data, source):
        if query in rows.queries:
            raise MeasureError(f"{source}: query {query!r} stands twice")
        rows.queries[query] = None
        place = Place(source, f"query {query!r}")
        for n, record in enumerate(place.many(moments, "relevant_moment"), 1):
            spots.append(f"query {query!r}, moment {n}")
            _add(rows, query, record, Place(source, spots[-1]))
    return Qrels.build(rows)


def _groups(data: Any, source: str) -> list[tuple[str, Any]]:
    if isinstance(data, dict):
        return list(data.items())
    if not isinstance(data, list):
        raise MeasureError(
            f"{source}: is {show(data)}; qrels are a list of queries with their relevant_moment"
        )
    groups = []
    for n, record in enumerate(data, 1):
        place = Place(source, f"record {n}")
        query = place.query(place.need(record, "query_id"))
        groups.append((query, place.need(record, "relevant_moment")))
    return groups


def _add(rows: Rows, query: str, record: Any, place: Place) -> None:
    video = place.need(record, "video_name")
    start, end = place.span(record)
    rows.add(query, video, start, end, place.need(record, "relevance"))
