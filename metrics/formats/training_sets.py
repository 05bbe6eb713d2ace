"""Writing TVR-Ranking's pseudo training sets: a JSON list of queries with their ``relevant_moment``, one query a line.

A moment has the fields of the authors' files: ``video_name``, ``timestamp`` and ``duration`` in seconds, ``caption``,
and its ``similarity`` to the query in place of a grade.
"""

import json
from collections.abc import Iterable

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
