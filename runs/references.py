"""What runs are measured by, read from a release's file: its qrels, and the raw grades that these were made of."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from campaigns.models import Campaign
from judging.models import Candidate, Kind
from metrics import Pool, Qrels, qrels_from_dict, read_pool, read_qrels
from metrics.analysis.other_judging import NO_GRADE, Judged, RawGrades
from releases.archive import ReleaseArchive
from releases.checks import OLD_RATINGS, RATINGS
from releases.models import Release
from runs.models import ScoringReference
from runs.tables import of_queries, store_table

QRELS, POOL = "qrels.jsonl", "pool.jsonl"
SPLITS, QUERIES = "splits/", ".queries.txt"
Span = tuple[str, str, float, float]  # query, video, start and end in seconds


def reference_of(release: Release) -> ScoringReference:
    """Return what scoring knows of a release. The first call reads it from the release's file."""
    if found := ScoringReference.objects.filter(release=release).first():
        return found
    with release.file.open("rb") as file:
        archive = ReleaseArchive(file)
        qrels, split_of, pool = _qrels(archive), _splits(archive), pool_in(archive)
    campaign, fields = release.campaign, dict[str, Any]()
    held = _held_back(campaign, split_of)
    if here := [query for query in qrels.queries if query in held]:
        table = store_table(f"runs/{campaign.name}/release-{release.version}-held.npz", qrels_of(qrels, here))
        fields = {"held_back": campaign.held_back, "held": table}
    fields["held_queries"] = sorted(held)
    if held:
        qrels = qrels_of(qrels, [query for query in qrels.queries if query not in held])
        pool = _without(pool, held)
    relevant = np.bincount(qrels.query_of_row(), qrels.grades > 0, minlength=len(qrels)).astype(int)
    queries = [
        [query, split_of.get(query, ""), len(qrels.texts.get(query, "").split()), count]
        for query, count in zip(qrels.queries, relevant.tolist(), strict=True)
    ]
    table = store_table(f"runs/{campaign.name}/release-{release.version}.npz", qrels)
    fields |= {"table": table, "queries": queries} | (_sample(pool, qrels) if pool else {})
    return ScoringReference.objects.get_or_create(release=release, defaults=fields)[0]


def pool_of(reference: ScoringReference) -> Pool | None:
    """Return the candidates of all ranked queries that it knows; None if the release does not hold them."""
    with reference.release.file.open("rb") as file:
        pool = pool_in(ReleaseArchive(file))
    return _without(pool, set(reference.held_queries))


def names_of(campaign: Campaign) -> dict[str, str]:
    """Return the ids under which runs may name the campaign's queries, each with the id in the qrels.

    Withdrawn queries are included, because releases from before that judge them.
    """
    rows = list(campaign.queries.filter(kind=Kind.POOL).values_list("query_id", "aliases"))
    aliases = {str(alias): query for query, others in rows for alias in others}
    return aliases | {query: query for query, _ in rows}


def _held_back(campaign: Campaign, split_of: dict[str, str]) -> set[str]:
    """Return the ids of the queries that are held back: those that the release has in the split, and, for candidates of
    queries that it does not judge, those that the campaign has there, withdrawn ones included.
    """
    if not (split := campaign.held_back):
        return set()
    found = set(campaign.queries.filter(split=split).values_list("query_id", flat=True))
    return found | {query for query, of in split_of.items() if of == split}


def qrels_of(qrels: Qrels, queries: Sequence[str]) -> Qrels:
    """Return the judged moments of some queries."""
    numbers, wanted = {query: number for number, query in enumerate(qrels.queries)}, set(queries)
    texts = {query: text for query, text in qrels.texts.items() if query in wanted}
    return of_queries(qrels, {query: numbers[query] for query in queries}, "grades", ids=None, texts=texts)


def _without(pool: Pool | None, queries: set[str]) -> Pool | None:
    if pool is None or not queries:
        return pool
    kept = np.array([query not in queries for query in pool.queries], dtype=np.bool_)
    return replace(pool.part(kept), sample=None if pool.sample is None else pool.sample[kept])


def _qrels(archive: ReleaseArchive) -> Qrels:
    with tempfile.TemporaryDirectory() as folder:
        return read_qrels(_unpacked(archive, QRELS, folder), "jsonl", lenient=True)


def pool_in(archive: ReleaseArchive) -> Pool | None:
    if POOL not in archive.names:
        return None
    with tempfile.TemporaryDirectory() as folder:
        return read_pool(_unpacked(archive, POOL, folder), empty="skip")


def _unpacked(archive: ReleaseArchive, name: str, folder: str) -> Path:
    file = Path(folder) / name
    file.write_bytes(archive.read(name))
    return file


def _sample(pool: Pool, qrels: Qrels) -> dict[str, Any]:
    """Return what a reference says of the ranked queries."""
    place = {query: number for number, query in enumerate(qrels.queries)}
    in_sample = [query in place for query in pool.queries] if pool.sample is None else pool.sample.tolist()
    rows = zip(pool.queries, in_sample, pool.strata, strict=True)
    return {"ranked": [[place.get(query), is_in, stratum] for query, is_in, stratum in rows], "flaw": pool.flaw}


def _splits(archive: ReleaseArchive) -> dict[str, str]:
    """Return the split of each query that has one."""
    listed = [name for name in archive.names if name.startswith(SPLITS) and name.endswith(QUERIES)]
    return {
        line.strip(): unquote(name.removeprefix(SPLITS).removesuffix(QUERIES))
        for name in listed
        for line in archive.lines(name)
    }


def judged_in(release: ReleaseArchive, hidden: Collection[str] = ()) -> Judged:
    """Return the pairs that annotators settled or discarded, with their final grades, and the raw grades that count.

    They are of queries with a settled pair, which are those of the qrels, without those that are hidden.

    Pairs that somebody flagged have too few grades to repeat their judging, so they are left out, as in the qrels.
    """
    spans, final = _pairs(release, hidden)
    order = sorted(spans, key=lambda pair: spans[pair][0])  # stable: the pairs of a query stand together
    by_query: dict[str, list[tuple[str, float, float, int]]] = {}
    for pair in order:
        query, *span = spans[pair]
        by_query.setdefault(query, []).append((span[0], span[1], span[2], 0))  # type: ignore[arg-type]
    number = {pair: n for n, pair in enumerate(order)}
    pairs = qrels_from_dict(by_query, lenient=True)
    grades = np.array([final[pair] for pair in order], dtype=np.int64)
    tolerance = int(release.manifest["consensus"]["tolerance"])
    return Judged(replace(pairs, grades=grades), _raw(release, number), tolerance)


def _pairs(release: ReleaseArchive, hidden: Collection[str]) -> tuple[dict[str, Span], dict[str, int]]:
    """Return where each pair is, and its final grade, -1 for those that annotators discarded."""
    spans: dict[str, Span] = {}
    final: dict[str, int] = {}
    for record in release.records(QRELS):
        if str(record["query_id"]) in hidden:
            continue
        pair = str(record["pair_id"])
        start, end = record["timestamp"]
        spans[pair] = (str(record["query_id"]), record["video_name"], float(start), float(end))
        final[pair] = int(record["relevance"])
    queries = {query for query, *_ in spans.values()}
    for row in release.rows(OLD_RATINGS if OLD_RATINGS in release.names else RATINGS):
        if row["outcome"] == Candidate.Outcome.DISCARDED and row["query_id"] in queries:
            spans[row["pair_id"]] = (row["query_id"], row["video"], float(row["start"]), float(row["end"]))
            final[row["pair_id"]] = NO_GRADE
    return spans, final


def _raw(release: ReleaseArchive, number: dict[str, int]) -> RawGrades:
    """Return the grades that count, of the numbered pairs, by workers' numbers."""
    rows = [
        (number[str(record["pair_id"])], record["worker"], record["round"] or 0, record["grade"])
        for record in release.records("judgements.jsonl")
        if record["counts"] and str(record["pair_id"]) in number
    ]
    return RawGrades(*np.array(rows, dtype=np.int64).reshape(-1, 4).T)
