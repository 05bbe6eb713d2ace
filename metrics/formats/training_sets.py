"""Writing and reading TVR-Ranking's pseudo training sets: a JSON list with one query a line.

A moment has the fields of the authors' files: ``video_name``, ``timestamp`` and ``duration`` in seconds, ``caption``,
and its ``similarity`` to the query in place of a grade.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .errors import MeasureError, Place, show
from .json_entries import json_entries

FIRST_LINE, BETWEEN, LAST_LINE = "[\n", ",\n", "\n]\n"


def moment_fields(video: str, start: float, end: float, duration: float, caption: str) -> str:
    """Return a moment's fields but the similarity as JSON without its braces, to be written with many queries."""
    record = {"video_name": video, "timestamp": [start, end], "duration": duration, "caption": caption}
    return json.dumps(record, ensure_ascii=False, allow_nan=False)[1:-1]


def training_query(query_id: str, query: str, moments: Iterable[tuple[str, float]]) -> str:
    """Return a query with its moments, the most similar first, as JSON on one line.

    Parameters
    ----------
    moments
        What `moment_fields` made, and the similarity from -1 to 1.

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

    Raises
    ------
    MeasureError
        If the file cannot be read, or a query or a moment in it is wrong. The queries before have been yielded then.
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
