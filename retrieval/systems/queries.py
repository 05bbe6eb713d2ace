"""Reading queries from JSON Lines."""

from __future__ import annotations

from pathlib import Path

from metrics import MeasureError
from metrics.formats.json_reader import read_json
from retrieval.systems.data import Query
from retrieval.systems.errors import SystemsError


def queries_in(file: Path) -> list[Query]:
    """Return the queries of JSON Lines, each once.

    Raises
    ------
    SystemsError
        Naming the line and the field that is wrong.
    """
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
