"""What leaves a campaign: qrels, raw ratings and what one needs to read them. Settled candidates only.

Everything comes in the order of queries and ranks, without dates and names: the same judgements export the same
bytes.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from django.db.models import Count

from corpus.models import moment_id
from judging.consensus import RULE
from judging.models import Campaign, Candidate, Judgement

Lines = Iterator[str]


@dataclass(frozen=True)
class Export:
    """A kind of file: its name, what is in it, and how its lines are made."""

    file: str
    what: str
    content_type: str
    lines: Callable[[Campaign], Lines]


def trec_qrels(campaign: Campaign) -> Lines:
    """`query_id 0 moment_id grade`, for trec_eval and its kin."""
    for candidate in _settled(campaign):
        yield f"{candidate.query.query_id} 0 {_moment_id(candidate)} {candidate.grade}\n"


def tvr_ranking(campaign: Campaign) -> Lines:
    """One JSON object a pair, with TVR-Ranking's fields and the version of the consensus."""
    for candidate in _settled(campaign):
        moment, query = candidate.moment, candidate.query
        record = {
            "pair_id": candidate.pk,
            "query_id": _number_or_text(query.query_id),
            "query": query.text,
            "video_name": moment.video.name,
            "timestamp": [moment.start, moment.end],
            "duration": moment.video.duration,
            "caption": moment.caption,
            "similarity": round(candidate.similarity, 6),
            "relevance": candidate.grade,
            "consensus": candidate.rule,
        }
        yield json.dumps(record, ensure_ascii=False) + "\n"


def ratings(campaign: Campaign) -> Lines:
    """Each counted grade, with the worker's number; of each round by worker, whoever was first."""
    counted = Judgement.objects.filter(
        candidate__query__campaign=campaign, candidate__outcome=Candidate.Outcome.SETTLED, seat__isnull=False
    ).order_by("candidate__query", "candidate__rank", "assignment__round", "annotator__worker")
    rows = counted.values_list("candidate", "annotator__worker", "grade")
    return _csv(["pair_id", "worker", "relevance"], rows.iterator(chunk_size=2000))


def moments(campaign: Campaign) -> Lines:
    """What the moment ids of the TREC qrels stand for; times in seconds."""
    seen: dict[str, tuple[Any, ...]] = {}
    for candidate in _settled(campaign):
        moment = candidate.moment
        seen[_moment_id(candidate)] = (moment.video.name, moment.start, moment.end)
    return _csv(
        ["moment_id", "video", "start", "end"], ((name, *rest) for name, rest in sorted(seen.items()))
    )


def queries(campaign: Campaign) -> Lines:
    """The queries, with the ids of those merged into each."""
    rows = campaign.queries.order_by("pk").values_list("query_id", "text", "split", "aliases")
    listed = ((*rest, " ".join(map(str, aliases))) for *rest, aliases in rows.iterator(chunk_size=2000))
    return _csv(["query_id", "query", "split", "aliases"], listed)


def manifest(campaign: Campaign) -> Lines:
    """How the files were made, what they count, and their checksums."""
    outcomes = Candidate.objects.in_campaign(campaign).filter(batch__isnull=False)
    counts = dict(outcomes.order_by().values_list("outcome").annotate(Count("pk")))
    record = {
        "campaign": campaign.name,
        "corpus": campaign.corpus.name,
        "consensus": {"rule": RULE, "tolerance": campaign.tolerance},
        "encoder": campaign.encoder,
        "queries": campaign.queries.count(),
        "candidates": {outcome: counts.get(outcome, 0) for outcome in Candidate.Outcome.values},
        "sha256": {
            export.file: _sha256(export.lines(campaign)) for export in FILES if export.lines is not manifest
        },
    }
    yield json.dumps(record, ensure_ascii=False, indent=2) + "\n"


FILES = [
    Export("qrels.txt", "TREC qrels: query, 0, moment, grade", "text/plain", trec_qrels),
    Export("moments.csv", "the moments of the TREC qrels, with video and seconds", "text/csv", moments),
    Export(
        "qrels.jsonl",
        "qrels as TVR-Ranking has them, one JSON object a pair",
        "application/jsonl",
        tvr_ranking,
    ),
    Export("ratings.csv", "every counted grade, by worker number", "text/csv", ratings),
    Export("queries.csv", "queries, and the ids merged into each", "text/csv", queries),
    Export("manifest.json", "rule version, model, counts, checksums", "application/json", manifest),
]
BY_NAME = {export.file: export for export in FILES}


def _settled(campaign: Campaign) -> Iterator[Candidate]:
    rows = Candidate.objects.in_campaign(campaign).settled().order_by("query", "rank")
    return rows.select_related("query", "moment__video").iterator(chunk_size=2000)


def _number_or_text(query_id: str) -> int | str:
    """A number, as TVR-Ranking has them, where that can be read back as the same id: 7, but not 007."""
    number = int(query_id) if query_id.isdecimal() else None
    return query_id if number is None or str(number) != query_id else number


def _moment_id(candidate: Candidate) -> str:
    moment = candidate.moment
    return moment_id(moment.video.name, moment.start, moment.end)


def _csv(header: list[str], rows: Iterable[Iterable[Any]]) -> Lines:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for row in chain([header], rows):
        writer.writerow(row)
        yield _emptied(buffer)


def _emptied(buffer: io.StringIO) -> str:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text


def _sha256(lines: Lines) -> str:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode())
    return digest.hexdigest()
