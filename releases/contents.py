"""The files of a release: their names in the zip, and functions that make their lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from urllib.parse import quote

from django.db.models import Sum

from campaigns.guideline_text import GUIDELINE
from campaigns.models import Campaign
from judging.models import Candidate, Judgement
from metrics.formats.moment_ids import moment_id
from releases.data_card import card, licence_text, rule_text
from releases.exports import (
    FILES,
    MOMENT,
    ROUND,
    WORKER,
    Lines,
    csv_lines,
    manifest,
    number_or_text,
    pair_id,
    split_qrels,
)
from releases.models import Release
from reports.figures import csv_files as figure_csv
from reports.figures.catalogue import DRAWN, TABLES, Figure
from reports.figures.numbers import Rows, Subject
from reports.statistics.arrays import read
from reports.statistics.collection import collection


@dataclass(frozen=True)
class Part:
    """A file of the release. Its lines are made one after the other while it is written."""

    name: str
    lines: Callable[[], Lines]


def parts(release: Release) -> list[Part]:
    """Return all files of a release except its manifest, in the order in which they are written."""
    campaign = release.campaign
    exports = [Part(each.file, partial(each.lines, campaign)) for each in FILES if each.lines is not manifest]
    return [
        Part("README.md", partial(card, release)),
        Part("LICENSE", partial(licence_text, release)),
        *exports,
        Part("qrels.nested.json", partial(nested_qrels, campaign)),
        Part("pairs.csv", partial(pairs, campaign)),
        Part("judgements.jsonl", partial(judgements, campaign)),
        Part("rules/consensus.md", partial(rule_text, campaign)),
        *_splits(campaign),
        *_guidelines(campaign),
        *_figures(campaign),
    ]


def pairs(campaign: Campaign) -> Lines:
    """Yield every candidate of the pool that is in a batch, with its outcome, as CSV."""
    header = ["pair_id", "query_id", "moment_id", "rank", "similarity", "outcome", "grade", "rule"]
    rows = (
        Candidate.objects.in_pool(campaign)
        .order_by("query", "rank")
        .values_list(pair_id(), "query__query_id", *MOMENT, "rank", "similarity", "outcome", "grade", "rule")
    )
    listed = (
        (pair, query, moment_id(video, start, end), rank, round(similarity, 6), *rest)
        for pair, query, video, start, end, rank, similarity, *rest in rows.iterator(chunk_size=5000)
    )
    return csv_lines(header, listed)


def judgements(campaign: Campaign) -> Lines:
    """Yield every judgement of the pool, by worker number, as JSON lines, also those that do not count.

    `seconds` are active seconds.
    """
    rows = Judgement.objects.filter(candidate__in=Candidate.objects.in_pool(campaign))
    rows = rows.annotate(seconds=Sum("revisions__seconds"))
    fields = (pair_id("candidate__"), WORKER, ROUND, "grade", "seat", "reopening", "seconds")
    ordered = rows.order_by("candidate__query", "candidate__rank", ROUND, "annotator__worker")
    listed = ordered.values_list(*fields, "assignment__guideline")
    for pair, worker, number, grade, seat, reopening, seconds, guideline in listed.iterator(chunk_size=5000):
        record = {
            "pair_id": number_or_text(pair),
            "worker": worker,
            "round": number,
            "grade": grade,
            "counts": seat is not None,
            "reopened": reopening is not None,
            "seconds": None if seconds is None else round(seconds, 1),
            "guideline": guideline,
        }
        yield json.dumps(record) + "\n"


def nested_qrels(campaign: Campaign) -> Lines:
    """Yield the qrels as JSON, `{query_id: {moment_id: grade}}`, which ir_measures and pytrec_eval read."""
    candidates = Candidate.objects.in_pool(campaign).settled().order_by("query", "rank")
    listed = candidates.values_list("query__query_id", *MOMENT, "grade")
    query, graded = None, dict[str, int]()
    yield "{"
    for name, video, start, end, grade in listed.iterator(chunk_size=5000):
        if name != query:
            if query is not None:
                yield f"{_entry(query, graded)},\n"
            query, graded = name, {}
        graded[moment_id(video, start, end)] = grade
    yield f"{_entry(query, graded)}}}\n" if query is not None else "}\n"


def _entry(query: str, graded: dict[str, int]) -> str:
    return f"{json.dumps(query, ensure_ascii=False)}: {json.dumps(graded, ensure_ascii=False)}"


def _splits(campaign: Campaign) -> Iterator[Part]:
    """Yield the list of queries and the TREC qrels of each named split."""
    names = campaign.queries.pool().exclude(split="").order_by("split").values_list("split", flat=True)
    for split in names.distinct():
        name = quote(split, safe="")
        yield Part(f"splits/{name}.queries.txt", partial(_queries_of, campaign, split))
        yield Part(f"splits/{name}.qrels.txt", partial(split_qrels, campaign, split))


def _queries_of(campaign: Campaign, split: str) -> Lines:
    for name in campaign.queries.pool().filter(split=split).order_by("pk").values_list("query_id", flat=True):
        yield f"{name}\n"


def _guidelines(campaign: Campaign) -> Iterator[Part]:
    """Yield every version of the guideline. Version 0 is the built-in one; judgements name theirs."""
    versions = dict(campaign.guidelines.values_list("version", "text"))
    for version, text in ({0: GUIDELINE} | versions).items():
        yield Part(f"guidelines/{version}.md", partial(iter, [text + "\n"]))


def _figures(campaign: Campaign) -> Iterator[Part]:
    """Yield the paper's tables and figures as CSV and SVG. There are none before a candidate is settled."""
    if not Candidate.objects.in_pool(campaign).settled().exists():
        return
    counts = cache(lambda: collection(campaign, read(campaign)))
    subject = Subject(campaign)

    def rows(figure: Figure) -> Rows:
        return figure.rows(counts(), subject)

    for figure in (
        each for each in (*TABLES, *DRAWN) if each.key != "figure-6"
    ):  # Figure 6 is about one query.
        yield Part(f"figures/{figure.key}.csv", partial(_table, figure, rows))
        if figure.drawn:
            yield Part(f"figures/{figure.key}.svg", partial(_drawing, figure, rows))


def _table(figure: Figure, rows: Callable[[Figure], Rows]) -> Lines:
    yield from figure_csv.csv_lines(rows(figure))


def _drawing(figure: Figure, rows: Callable[[Figure], Rows]) -> Iterator[str]:
    from reports.figures.drawing import svg

    yield svg(figure.key, rows(figure)).decode()
