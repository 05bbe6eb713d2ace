"""Reading what systems learn from and search for: annotations, pseudo training sets, and queries in JSON Lines."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from .data import Example, Query
from .errors import SystemsError
from .library import MeasureError, Qrels, read_json, read_training_set


def examples_from(file: Path, videos: Collection[str] | None = None) -> list[Example]:
    """Return the examples of a pseudo training set, in the file's order.

    videos: names of the videos that have features; moments of others are left out. None: all are taken.
    Raises SystemsError if the file cannot be read, something in it is wrong, or no moment is left.
    """
    try:
        queries = list(read_training_set(file))
    except MeasureError as fault:
        raise SystemsError(str(fault)) from None
    examples = []
    for query in queries:
        query_of_moments = Query(query.id, query.text)
        for moment in query.moments:
            if videos is None or moment.video in videos:
                weight = min(1.0, max(0.0, moment.similarity))
                examples.append(Example(query_of_moments, moment.video, moment.start, moment.end, weight))
    if not examples:
        raise SystemsError(f"{file}: none of its moments is of a video that has features")
    return examples


def examples_of(qrels: Qrels, videos: Collection[str], source: str) -> list[Example]:
    """Return the relevant moments of qrels as examples, weighted by their grades as shares of the highest one.

    videos: names of the videos that have features; moments of others are left out.
    source: what the qrels are of, for an error.
    Raises SystemsError if no moment is left.
    """
    highest = int(qrels.grades.max(initial=1))
    rows = zip(
        qrels.query_of_row().tolist(),
        qrels.videos,
        qrels.start.tolist(),
        qrels.end.tolist(),
        qrels.grades.tolist(),
        strict=True,
    )
    queries = [Query(query, qrels.texts.get(query, "")) for query in qrels.queries]
    examples = [
        Example(queries[query], video, start, end, grade / highest)
        for query, video, start, end, grade in rows
        if grade > 0 and start < end and video in videos
    ]
    if not examples:
        raise SystemsError(f"{source}: none of its relevant moments is of a video that has features")
    return examples


def queries_in(file: Path) -> list[Query]:
    """Return the queries of JSON Lines, each once. Raises SystemsError naming the line and the field that is wrong."""
    queries: dict[str, Query] = {}
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as fault:
        raise SystemsError(f"{file}: cannot be read ({fault})") from fault
    for number, line in enumerate(lines, 1):
        if line.strip():
            query = _query(f"{file}: line {number}", line)
            if queries.setdefault(query.id, query).text != query.text:
                raise SystemsError(f"{file}: line {number}: query {query.id} has other words than before")
    if not queries:
        raise SystemsError(f"{file}: has no queries; expected one a line")
    return list(queries.values())


def _query(place: str, line: str) -> Query:
    try:
        record = read_json(line, line=0)
    except MeasureError as fault:
        raise SystemsError(f"{place}: is not JSON ({fault})") from None
    id, text = (record.get("query_id"), record.get("query")) if isinstance(record, dict) else (None, None)
    if type(id) not in (int, str) or not isinstance(text, str) or not text.strip():
        raise SystemsError(f"{place}: expected an object with query_id and query")
    return Query(str(id), text)
