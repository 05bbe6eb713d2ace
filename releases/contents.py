"""The files of a release: their names in the zip, and functions that make their lines."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby, islice
from operator import itemgetter
from typing import Any
from urllib.parse import quote

from django.db.models import Case, Value, When

from base.text import csv_lines, harmless
from campaigns.guideline_text import GUIDELINE
from campaigns.models import Campaign
from judging import order
from judging.models import Candidate
from judging.models.states import WITH_CONSENSUS
from judging.pool.selection import caption_id, training_queries
from metrics.analysis.estimates import RULE
from metrics.formats.moment_ids import moment_id
from metrics.formats.pool import flaw_of
from releases.archive import script
from releases.checks import MANIFEST, POOL
from releases.data_card import card, licence_text, rule_text
from releases.exports import (
    FILES,
    MOMENT,
    ExportScope,
    Lines,
    Ordered,
    by_query,
    by_rank,
    manifest,
    pair_id,
    pair_rows,
    trec_qrels,
)
from releases.models import Release
from releases.publishing import hub
from releases.publishing.hub import Files, judged
from releases.publishing.methods import latex, markdown, responsible
from reports.figures.catalogue import DRAWN, TABLES, CampaignFigure
from reports.figures.numbers import FigureSubject, Rows, rows_as_csv
from reports.statistics.arrays import Read, read
from reports.statistics.collection import collection

FIRST, FURTHER = "first", "further"  # pools
QUERIES_AT_A_TIME = 500


@dataclass(frozen=True)
class ReleaseFile:
    """A file of the release, and what the data card says of it. Its lines are made while it is written."""

    name: str
    what: str
    lines: Callable[[], Iterator[Any]]


def parts(release: Release, about: dict[str, Any], pool: Read, written: Files) -> list[ReleaseFile]:
    """Return all files of a release except its manifest, in the order in which they are written.

    about: the manifest, without its list of files.
    written: that list, which grows while the parts are written.
    """
    scope = scope_of(release)
    exports = [
        ReleaseFile(file.file, file.what, partial(file.make, scope)) for file in FILES if file.make is not manifest
    ]
    described = [
        ReleaseFile("LICENSE", "the licence of the judgements", partial(licence_text, release)),
        *exports,
        ReleaseFile("qrels.nested.json", "qrels as `{query: {moment: grade}}`", partial(nested_qrels, scope)),
        ReleaseFile("pairs.csv", "every pair with rank, similarity, outcome and pool", partial(pairs, scope)),
        ReleaseFile(
            POOL, "the candidates of every ranked query of the campaign, judged or not", partial(pool_lines, scope)
        ),
        ReleaseFile("judgements.jsonl", "every judgement, by worker number", partial(judgements, scope)),
        ReleaseFile("rules/consensus.md", "how the final grades were made", partial(rule_text, scope.campaign)),
        *_splits(scope),
        *_training(scope.campaign),
        *_guidelines(scope.campaign),
        *_figures(scope, pool),
        *(ReleaseFile(*file) for file in hub.files(scope, about)),
        ReleaseFile("verify.py", "checks this release with Python alone: `python verify.py`", lambda: iter([script()])),
        ReleaseFile(
            "methods.md", "the methods section of a paper, with the source of each number", partial(markdown, about)
        ),
        ReleaseFile("methods.tex", "the same as LaTeX", partial(latex, about)),
        ReleaseFile("CITATION.cff", "how to cite this release", partial(hub.citation, about)),
        ReleaseFile("datacite.json", "what a DOI is registered with, but for the year", partial(hub.datacite, about)),
        ReleaseFile(
            "croissant.json",
            "Croissant 1.1: the tables, and how the grades were made",
            partial(hub.croissant, about, responsible(about), written),
        ),
    ]
    return [*described, ReleaseFile("README.md", "this card", partial(_card, release, described, about, written))]


def _card(release: Release, described: list[ReleaseFile], about: dict[str, Any], written: Files) -> Lines:
    files = [(part.name, part.what) for part in described if part.name in written]
    return card(release, [*files, (MANIFEST, "the SHA-256 of each file, and the counts")], about)


def scope_of(release: Release) -> ExportScope:
    return ExportScope(release.campaign, release.with_finished, release.with_unfinished)


def pool_of(scope: ExportScope) -> Read:
    """Read the pairs and judgements of the scope as arrays."""
    return read(scope.campaign, queries=None if scope.with_unfinished else scope.queries.values("pk"))


def pairs(scope: ExportScope) -> Lines:
    """Yield every candidate that is in a batch, with its outcome, as CSV.

    The pool is `first` for ranks of the query, and `further` for moments that runs found, which have no similarity
    unless the ranking has them too.
    """
    header = ["pair_id", "query_id", "moment_id", "rank", "similarity", "outcome", "grade", "rule", "pool"]
    pool = Case(When(batch__further=True, then=Value(FURTHER)), default=Value(FIRST))
    own = ("rank", "similarity", "outcome", "grade", "rule", pool)
    fields = (pair_id(), "query__query_id", *MOMENT, *own)
    rows = scope.candidates.order_by(*by_rank()).values_list(*fields)
    listed = (
        (pair, query, moment_id(video, start, end), rank, None if near is None else round(near, 6), *rest)
        for pair, query, video, start, end, rank, near, *rest in rows.iterator(chunk_size=5000)
    )
    return csv_lines(header, listed)


def judgements(scope: ExportScope) -> Lines:
    """Yield every judgement, by worker number, as JSON lines, also those that do not count.

    `seconds` are active seconds. `doubt` says whether the annotator hesitated between two grades. `round`, `guideline`
    and `doubt` are null if imported ratings do not say them.
    """
    yield from (json.dumps(record) + "\n" for _, _, record in judged(scope))


def nested_qrels(scope: ExportScope) -> Lines:
    """Yield the qrels as JSON, `{query_id: {moment_id: grade}}`, which ir_measures and pytrec_eval read."""
    rows, before = pair_rows(scope, WITH_CONSENSUS, "query__query_id", *MOMENT, "grade"), "{"
    for query, own in groupby(rows, key=itemgetter(0)):
        graded = {moment_id(*moment): grade for _, *moment, grade in own}
        yield f"{before}{json.dumps(query, ensure_ascii=False)}: {json.dumps(graded, ensure_ascii=False)}"
        before = ",\n"
    yield "{}\n" if before == "{" else "}\n"


def _training(campaign: Campaign) -> Iterator[ReleaseFile]:
    """Yield the captions for training if the campaign's queries were drawn from captions."""
    if campaign.selection:
        what = "the captions that were not drawn as queries, for training"
        yield ReleaseFile("training_queries.csv", what, partial(_training_queries, campaign))


def _training_queries(campaign: Campaign) -> Lines:
    listed = ((caption_id(text), harmless(text)) for text in training_queries(campaign))
    return csv_lines(["query_id", "query"], listed)


def _splits(scope: ExportScope) -> Iterator[ReleaseFile]:
    """Yield the list of queries and the TREC qrels of each named split."""
    for split in sorted(set(scope.queries.exclude(split="").order_by().values_list("split", flat=True))):
        name = quote(split, safe="")
        queries, qrels = partial(_queries_of, scope, split), partial(trec_qrels, scope, query__split=split)
        yield ReleaseFile(f"splits/{name}.queries.txt", f"the queries of the split {split}", queries)
        yield ReleaseFile(f"splits/{name}.qrels.txt", f"TREC qrels of the split {split}", qrels)


def _queries_of(scope: ExportScope, split: str) -> Lines:
    rows = scope.queries.filter(split=split).order_by(*by_query())
    for name in rows.values_list("query_id", flat=True):
        yield f"{name}\n"


def _guidelines(campaign: Campaign) -> Iterator[ReleaseFile]:
    """Yield every version of the guideline. Version 0 is the built-in one; judgements name theirs.

    Imported ratings were made under a guideline that is not here, so they have none.
    """
    versions = dict(campaign.guidelines.order_by("version").values_list("version", "text"))
    for version, text in ({} if campaign.imported else {0: GUIDELINE} | versions).items():
        what = f"version {version} of what annotators were told"
        yield ReleaseFile(f"guidelines/{version}.md", what, partial(iter, [text + "\n"]))


def _figures(scope: ExportScope, pool: Read) -> Iterator[ReleaseFile]:
    """Yield the paper's tables and figures as CSV and SVG, except those without a row, and Figure 6 of one query.

    There are none before a candidate is settled.
    """
    if not scope.candidates.settled().exists():
        return
    campaign = scope.campaign
    counts = collection(campaign, pool)
    for figure in (each for each in (*TABLES, *DRAWN) if each.key != "figure-6"):
        if not (rows := _rounded(figure.rows(counts, FigureSubject(campaign)))):
            continue
        yield ReleaseFile(f"figures/{figure.key}.csv", figure.title, partial(rows_as_csv, rows))
        if figure.drawn:
            yield ReleaseFile(f"figures/{figure.key}.svg", f"{figure.title}, drawn", partial(_drawing, figure, rows))


def _rounded(rows: Rows) -> Rows:
    """Round fractions, whose last digits depend on the order in which they were added."""
    return [
        {name: round(value, 6) if isinstance(value, float) else value for name, value in row.items()} for row in rows
    ]


def _drawing(figure: CampaignFigure, rows: Rows) -> Iterator[str]:
    from reports.figures.drawing import specification, svg_of

    yield svg_of(specification(figure.key, rows)).decode()


def pool_lines(scope: ExportScope) -> Lines:
    """Yield each query with ranked candidates, in the campaign's order, as JSON lines. The manifest counts the others.

    `candidates` are the moments that the ranking by similarity found, the best first, so that the first has rank 1.
    They are the same whether or not the query is judged, and however many batches it has. `withdrawn` is there, and
    true, if the query was withdrawn for what judging it showed.
    """
    for each, candidates in ranked_queries(scope):
        record: dict[str, Any] = {
            "query_id": each.query_id,
            "sample": each.sample,
            "stratum": each.stratum,
            "candidates": candidates,
        }
        yield json.dumps(record | ({"withdrawn": True} if each.withdrawn else {}), ensure_ascii=False) + "\n"


def ranked_queries(scope: ExportScope) -> Iterator[tuple[Ordered, list[str]]]:
    """Yield each query with ranked moments that the sample stands for, in the campaign's order, and their ids."""
    rest = iter(scope.order)
    while some := list(islice(rest, QUERIES_AT_A_TIME)):
        found = _ranked(some)
        yield from ((each, found[each.pk]) for each in some if each.pk in found)


def _ranked(queries: list[Ordered]) -> dict[int, list[str]]:
    rows = Candidate.objects.ranked().filter(query__in=[each.pk for each in queries]).order_by("query", "rank")
    found: dict[int, list[str]] = defaultdict(list)
    for query, *moment in rows.values_list("query", *MOMENT):
        found[query].append(moment_id(*moment))
    return found


def estimates(scope: ExportScope) -> dict[str, Any]:
    """Return what the manifest says of the sample: how many queries it has of how many, and whether it is random.

    `unranked` is the number of queries without ranked candidates. They are not in the pool, nor in `order_sha256`.
    """
    found = scope.frontier
    candidates = Candidate.objects.ranked().filter(query__campaign=scope.campaign).order_by()
    ranked = set(candidates.values_list("query__pk", flat=True).distinct())
    in_pool = [each.query_id for each in scope.order if each.pk in ranked]
    return {
        "rule": RULE,
        "queries": found.queries,
        "unranked": found.queries - len(in_pool),
        "sample": found.sample,
        "beyond": found.beyond,
        "random": found.is_random,
        "why_not": [flaw] if (flaw := flaw_of(found.left_out)) else [],
        "order_sha256": order.checksum(in_pool),
    }
