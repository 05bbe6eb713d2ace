"""The raw grades of a release, read from its file: what the final grades were made of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from judging.models import Candidate
from metrics import qrels_from_dict
from metrics.analysis.other_judging import NO_GRADE, Judged, RawGrades
from releases.archive import ReleaseArchive

Span = tuple[str, str, float, float]  # query, video, start and end in seconds


def judged_in(release: ReleaseArchive) -> Judged:
    """Return the pairs that annotators settled or discarded, with their final grades, and the raw grades that count.

    They are of queries with a settled pair, which are those of the qrels.

    Pairs that somebody flagged have too few grades to repeat their judging, so they are left out, as in the qrels.
    """
    spans, final = _pairs(release)
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


def _pairs(release: ReleaseArchive) -> tuple[dict[str, Span], dict[str, int]]:
    """Return where each pair is, and its final grade, -1 for those that annotators discarded."""
    spans: dict[str, Span] = {}
    final: dict[str, int] = {}
    for each in release.records("qrels.jsonl"):
        pair = str(each["pair_id"])
        start, end = each["timestamp"]
        spans[pair] = (str(each["query_id"]), each["video_name"], float(start), float(end))
        final[pair] = int(each["relevance"])
    queries = {query for query, *_ in spans.values()}
    for row in release.rows("discarded.csv"):
        if row["outcome"] == Candidate.Outcome.DISCARDED and row["query_id"] in queries:
            spans[row["pair_id"]] = (row["query_id"], row["video"], float(row["start"]), float(row["end"]))
            final[row["pair_id"]] = NO_GRADE
    return spans, final


def _raw(release: ReleaseArchive, number: dict[str, int]) -> RawGrades:
    """Return the grades that count, of the numbered pairs, by workers' numbers."""
    rows = [
        (number[str(each["pair_id"])], each["worker"], each["round"] or 0, each["grade"])
        for each in release.records("judgements.jsonl")
        if each["counts"] and str(each["pair_id"]) in number
    ]
    return RawGrades(*np.array(rows, dtype=np.int64).reshape(-1, 4).T)
