"""Reading a campaign's queries from a file and storing them. Queries with the same text become one."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from django.db.models import OuterRef, Subquery

from base.errors import ReeljudgeError
from base.text import abbreviated, storable
from base.transactions import all_or_nothing
from campaigns.models import Campaign
from corpus.errors import CorpusError
from corpus.importers.rows import BadField, json_object, lines, text
from judging.models import Batch, Kind, Query
from judging.models.states import CLAIMED
from judging.order import places
from metrics import MeasureError
from metrics.formats.json_reader import read_json

MOST_PROBLEMS = 20
LONGEST_SPLIT = 20  # characters
LARGEST_LIST = 64 * 2**20  # bytes of one JSON list; lines have no such limit


@dataclass(frozen=True)
class Line:
    """A line or an entry of the file: where it is, and its content as bytes or as parsed JSON."""

    where: str
    content: object


def load_queries(campaign: Campaign, file: Path, split: str = "") -> tuple[int, int]:
    """Add the file's queries to a campaign.

    The file holds a JSON list, or one JSON object a line, of `{"query_id" | "desc_id", "query" | "desc"}`.

    Returns
    -------
    tuple of two integers
        The number of queries that were added, and of those that were merged with a query of the same text.

    Raises
    ------
    ReeljudgeError
        If a query is wrong; it names up to 20 lines. Nothing is stored then.
    """
    if len(split) > LONGEST_SPLIT:
        raise ReeljudgeError(f"split: {abbreviated(split)}; expected at most {LONGEST_SPLIT} characters")
    loader = _Loader(campaign, split)
    problems = list(islice(loader.problems(_records(file)), MOST_PROBLEMS))
    if problems:
        raise ReeljudgeError("\n".join([f"{file}: no query was stored.", *problems]))
    if not loader.taken:
        raise ReeljudgeError(f"{file}: holds no queries; expected a JSON list or one JSON object a line")
    return loader.store()


class _Loader:
    def __init__(self, campaign: Campaign, split: str) -> None:
        self.campaign, self.split = campaign, split
        self.queries = {query.text: query for query in campaign.queries.filter(kind=Kind.POOL)}
        self.texts = {str(name): query.text for query in self.queries.values() for name in _names(query)}
        self.taken = self.merged = 0

    def problems(self, lines: Iterable[Line]) -> Iterator[str]:
        """Take in the lines, and yield what is wrong with each that is not a query."""
        for line in lines:
            try:
                self._take(*_fields(_object(line.content)))
            except (CorpusError, ReeljudgeError) as fault:
                yield f"{line.where}: {fault}"

    def _take(self, query_id: str, text: str) -> None:
        if self.texts.setdefault(query_id, text) != text:
            raise ReeljudgeError(f"query_id {query_id}: has another text already, “{self.texts[query_id][:60]}”")
        self.taken += 1
        query = self.queries.get(text)
        if query is None:
            self.queries[text] = Query(campaign=self.campaign, query_id=query_id, text=text, split=self.split)
        elif query_id not in _names(query):
            query.aliases.append(query_id)
            self.merged += 1

    def store(self) -> tuple[int, int]:
        fresh = [query for query in self.queries.values() if not query.pk]
        Query.objects.bulk_update([query for query in self.queries.values() if query.pk], ["aliases"], 500)
        Query.objects.bulk_create(fresh)
        return len(fresh), self.merged


@all_or_nothing
def draw_order(campaign: Campaign) -> None:
    """Give each query the place that the campaign's seed draws for it, and each batch that of its query."""
    queries = list(campaign.queries.filter(kind__in=CLAIMED))
    drawn = places(campaign.order_seed, {query.query_id: query.stratum for query in queries})
    for query in queries:
        query.place = drawn[query.query_id]
    Query.objects.bulk_update(queries, ["place"], 500)
    of_query = Query.objects.filter(pk=OuterRef("query")).values("place")
    Batch.objects.in_campaign(campaign).filter(kind__in=CLAIMED).update(place=Subquery(of_query))


def _names(query: Query) -> list[str]:
    return [query.query_id, *query.aliases]


def _records(file: Path) -> Iterator[Line]:
    try:
        if _first_byte(file) == b"[":
            yield from _listed(file)
        else:
            for number, line in lines(file):
                yield Line(f"line {number}", line)
    except OSError as fault:
        raise ReeljudgeError(f"{file}: cannot be read ({fault.strerror}); expected a file") from fault
    except CorpusError as fault:
        raise ReeljudgeError(str(fault)) from fault


def _first_byte(file: Path) -> bytes:
    with file.open("rb") as source:
        return source.read(1024).removeprefix(BOM_UTF8).lstrip()[:1]


def _listed(file: Path) -> Iterator[Line]:
    if file.stat().st_size > LARGEST_LIST:
        raise ReeljudgeError(f"{file}: over {LARGEST_LIST:,} bytes; write one JSON object a line instead of a list")
    try:
        records = read_json(file.read_bytes(), strict=False)
    except MeasureError as fault:
        raise ReeljudgeError(f"{file}: not JSON ({fault})") from fault
    for number, record in enumerate(records, 1):
        yield Line(f"entry {number}", record)


def _object(content: object) -> dict[str, Any]:
    if isinstance(content, bytes):
        return json_object(content)
    if not isinstance(content, dict):
        raise CorpusError(f"a JSON {type(content).__name__}; expected a JSON object")
    return content


def _fields(record: dict[str, Any]) -> tuple[str, str]:
    query_id = record.get("query_id", record.get("desc_id"))
    if isinstance(query_id, bool) or not isinstance(query_id, int | str) or not str(query_id).strip():
        raise BadField("query_id", query_id, "a number or a text")
    query_id = str(query_id)
    if len(query_id) > 100 or not storable(query_id) or any(character.isspace() for character in query_id):
        raise BadField("query_id", query_id, "at most 100 characters, no white space")
    return query_id, wording(text(record.get("query", record.get("desc")), "query"))


def wording(text: str) -> str:
    """Return the text with one space between its words. Queries with the same wording are one query."""
    return " ".join(text.split())
