"""A campaign's queries: reading them from a file, where the same text is one query; their order and their groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import reduce
from itertools import islice
from operator import or_
from pathlib import Path

from django.db.models import F, OuterRef, Q, Subquery

from base.errors import ReeljudgeError, WrongState
from base.text import abbreviated
from base.transactions import all_or_nothing, locked
from campaigns.models import Campaign, Event, LogEntry, Membership, log
from corpus.errors import CorpusError, Problem
from corpus.reading import rows_in
from judging.files import queries_of_file
from judging.models import Batch, Kind, Query
from judging.models.pool import OF_QUERY, QueryQuerySet
from judging.models.states import CLAIMED, Priority
from judging.order import lot, places

MOST_PROBLEMS = 20
LONGEST_SPLIT = 20  # characters
Stratum = tuple[str, str]  # a split and a stratum


def load_queries(campaign: Campaign, file: Path, split: str = "") -> tuple[int, int]:
    """Add the file's queries to a campaign.

    The file holds a JSON list, or one JSON object a line, of `{"query_id" | "desc_id", "query" | "desc"}`; or its
    name ends in `.csv`, and it has the columns query_id and query.

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
    problems = list(islice(loader.problems(file), MOST_PROBLEMS))
    if problems:
        raise ReeljudgeError("\n".join([f"{file}: no query was stored.", *problems]))
    if not loader.taken:
        raise ReeljudgeError(f"{file}: holds no queries; expected a JSON list, one JSON object a line, or a CSV")
    return loader.store()


def read_queries(file: Path) -> Iterator[str | Problem]:
    """Yield the text of each query of a file, as `load_queries` reads it, or what is wrong with its line or entry.

    Raise ReeljudgeError if the file as a whole cannot be read.
    """
    texts: dict[str, str] = {}
    for where, query_id, words in _lines_in(file):
        try:
            if query_id is None:
                raise ReeljudgeError(words)
            _must_have_one_text(texts, query_id, words)
            yield words
        except ReeljudgeError as fault:
            yield Problem(file, where, str(fault))


def _lines_in(file: Path) -> Iterator[tuple[str, str | None, str]]:
    """Yield for each line where it is, its id and its text; or None and what is wrong with it."""
    try:
        for where, query_id, words in rows_in(queries_of_file, file):
            yield str(where), query_id if query_id is None else str(query_id), str(words)
    except CorpusError as fault:
        raise ReeljudgeError(str(fault)) from fault


def _must_have_one_text(texts: dict[str, str], query_id: str, words: str) -> None:
    if texts.setdefault(query_id, words) != words:
        raise ReeljudgeError(f"query_id {query_id}: has another text already, “{texts[query_id][:60]}”")


class _Loader:
    def __init__(self, campaign: Campaign, split: str) -> None:
        self.campaign, self.split = campaign, split
        self.queries = {query.text: query for query in campaign.queries.filter(kind=Kind.POOL)}
        self.texts = {str(name): query.text for query in self.queries.values() for name in _names(query)}
        self.strata = campaign.queries.all().strata()
        self.taken = self.merged = 0

    def problems(self, file: Path) -> Iterator[str]:
        """Take in the lines, and yield what is wrong with each that is not a query."""
        for where, query_id, text in _lines_in(file):
            try:
                if query_id is None:
                    raise ReeljudgeError(text)
                self._take(query_id, text)
            except ReeljudgeError as fault:
                yield f"{where}: {fault}"

    def _take(self, query_id: str, text: str) -> None:
        _must_have_one_text(self.texts, query_id, text)
        self.taken += 1
        query = self.queries.get(text)
        if query is None:
            priority = self.strata.get((self.split, ""), Priority.USUAL)
            about = {"query_id": query_id, "text": text, "split": self.split, "priority": priority}
            self.queries[text] = Query(campaign=self.campaign, **about)
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
    copy_to_batches(campaign)


def copy_to_batches(campaign: Campaign) -> int:
    """Give batches the columns that are their query's, in which a claim finds them. Return how many this changes."""
    alike = Q(**{name: F(f"query__{name}") for name in OF_QUERY})
    different = Batch.objects.in_campaign(campaign).filter(kind__in=CLAIMED).exclude(alike)
    own = Query.objects.filter(pk=OuterRef("query"))
    return different.update(**{name: Subquery(own.values(name)) for name in OF_QUERY})


@all_or_nothing
def set_priority(lead: Membership, queries: QueryQuerySet, priority: Priority) -> int:
    """Have annotators get the batches of whole strata first, as usual, or last. Return how many batches this changes.

    Within a stratum the order stays as it was drawn, so that what is finished of it is a random sample of it. Raise
    WrongState if the queries are not all those of one stratum or of several.
    """
    strata = _whole_strata(lead.campaign, queries)
    chosen = lead.campaign.queries.filter(strata, kind=Kind.POOL)
    chosen.lock_with_batches()
    before = ", ".join(Priority(each).label for each in sorted(set(chosen.values_list("priority", flat=True))))
    chosen.update(priority=priority)
    return _steered(lead, f"{chosen.count():,} queries come {priority.label}", before)


def _whole_strata(campaign: Campaign, queries: QueryQuerySet) -> Q:
    """Return the condition for the strata of the queries, which must hold no other queries."""
    pool, names = campaign.queries.pool(), ("split", "stratum")
    chosen = pool.filter(pk__in=queries.order_by().values("pk"))
    found, sizes = Counter(chosen.values_list(*names)), Counter(pool.values_list(*names))
    if not found:
        raise WrongState("There are no such queries.")
    for name, number in found.items():
        if number < sizes[name]:
            raise WrongState(
                f"These are {number:,} of the {sizes[name]:,} queries of {stratum_name(*name)}. Within a stratum the "
                "order is random, or estimates would not hold; choose all of its queries or none."
            )
    return reduce(or_, (Q(split=split, stratum=stratum) for split, stratum in found))


def stratum_name(split: str, stratum: str) -> str:
    """Return what a stratum is called.

    >>> stratum_name("val", "friends"), stratum_name("", "")
    ('split val, stratum friends', 'no split, no stratum')
    """
    return f"{f'split {split}' if split else 'no split'}, {f'stratum {stratum}' if stratum else 'no stratum'}"


@all_or_nothing
def give_to_group(lead: Membership, queries: QueryQuerySet, group: str, percent: int) -> int:
    """Have a group judge round one of a share of the queries. Return how many batches this changes.

    Which they are is drawn, whatever their places are; what the group has beyond the share is everybody's again. The
    same share twice changes nothing. Raise WrongState if other groups have so much that the share is not left.
    """
    pool = lead.campaign.queries.pool().filter(pk__in=queries.order_by().values("pk"))
    pool.lock_with_batches()
    seed, total = lead.campaign.order_seed, pool.count()
    ids = pool.filter(group__in=["", group]).order_by().values_list("pk", "query_id")
    drawn = [pk for pk, _ in sorted(ids, key=lambda each: lot(seed, each[1]))]
    wanted = (total * percent + 50) // 100
    if wanted > len(drawn):
        others = total - len(drawn)
        raise WrongState(f"Other groups have {others:,} of these {total:,} queries. Give them back to everybody first.")
    before = f"{pool.filter(group=group).count():,} of them"
    pool.filter(pk__in=drawn[wanted:]).update(group="")
    pool.filter(pk__in=drawn[:wanted]).update(group=group)
    _note_groups(lead.campaign)
    return _steered(lead, f"{wanted:,} of {total:,} queries are for group {group}", before)


@all_or_nothing
def set_group(campaign: Campaign, queries: QueryQuerySet, group: str) -> None:
    """Have a group judge round one of these queries, or everybody if the group's name is empty."""
    keys = list(queries.values_list("pk", flat=True))
    chosen = campaign.queries.filter(pk__in=keys)
    chosen.lock_with_batches()
    chosen.update(group=group)
    Batch.objects.filter(query__in=keys).update(group=group)
    _note_groups(campaign)


def _note_groups(campaign: Campaign) -> None:
    """Note whether the campaign has queries for groups."""
    locked(Campaign.objects.filter(pk=campaign.pk)).get()
    has_groups = campaign.queries.exclude(group="").exists()
    Campaign.objects.filter(pk=campaign.pk).update(has_groups=has_groups)


def _steered(lead: Membership, words: str, before: str) -> int:
    changed = copy_to_batches(lead.campaign)
    if changed:
        log(lead, LogEntry.Kind.STEERING, f"{changed:,} batches", before, words)
        lead.events.create(kind=Event.Kind.STEERED, by=lead, reason=words)
    return changed


def _names(query: Query) -> list[str]:
    return [query.query_id, *query.aliases]
