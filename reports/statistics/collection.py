"""The counts behind the tables and figures of a collection: its size, its consensus and its grades."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from django.db.models import F
from numpy.typing import NDArray

from campaigns.models import Campaign
from corpus.counting import count_verbs, least_mean_most, words
from corpus.models import Corpus, Moment
from judging.consensus import ANNOTATORS, GRADES
from judging.models import Kind
from reports.statistics.arrays import (
    CHUNK,
    CONTESTED,
    DISCARDED,
    FLAGGED,
    OPEN,
    REUSED,
    SETTLED,
    WITH_CONSENSUS,
    Floats,
    Ints,
    Read,
    Records,
    candidates_of,
)

Numbers = dict[str, Any]
MOMENT = np.dtype([("pk", "i8"), ("video", "i8"), ("start", "f8"), ("end", "f8"), ("length", "f8"), ("predicted", "?")])
ALL = "all"
OF_QUERIES = ("queries", "vocabulary", "verbs")  # columns of Table 1 that are about queries
MOST_WORDS = 12
BINS_BY_SIMILARITY = 0.05
BINS_BY_RANK = 5
SAMPLE = 10  # queries whose candidates are drawn as points, as in the paper
DEEPEST = 60  # all ranks beyond are one bin, because a study has few of them, drawn at random


class Splits(NamedTuple):
    """The queries with candidates, in ascending order of their keys, and the queries of each split."""

    keys: Ints
    texts: list[str]
    parts: dict[str, Ints]  # indices into the keys
    places: dict[int, tuple[float, str]]  # in the random order, and the id, by key


def collection(campaign: Campaign, pool: Read) -> Numbers:
    """Return the counts for every table and figure that does not depend on a chosen query."""
    moments, splits = _moments(campaign.corpus), _splits(campaign, pool.candidates)
    study = candidates_of(campaign, Kind.STUDY)
    settled = _settled(study)
    chosen, source = (study, "study") if settled.any() else (pool.candidates, "pool")
    return {
        "corpus": _size(moments[~moments["predicted"]], []) | dict.fromkeys(OF_QUERIES),
        "splits": {name: _split(splits, part, pool.candidates, moments) for name, part in splits.parts.items()},
        "replaced": _replaced(campaign.corpus),
        "source": source,
        "source_queries": len(np.unique(chosen["query"])),
        "by_similarity": by_similarity(chosen),
        "by_rank": by_rank(chosen),
        "points": points(chosen, _in_order(campaign, chosen, splits)),
        "spread": spread(pool),
        "final": _grades(pool.candidates),
    }


def by_similarity(candidates: Records) -> list[Numbers]:
    """Return the final grades of settled candidates in bins of similarity, lowest first.

    What runs found has none, and is left out, as it is from the ranks.
    """
    candidates = _ranked(candidates)
    # The small addend corrects rounding: 0.95 / 0.05 is 18.999…
    place = np.floor(candidates["similarity"] / BINS_BY_SIMILARITY + 1e-9).astype(np.int64)
    place = np.minimum(place, round(1 / BINS_BY_SIMILARITY) - 1)  # a similarity of 1 belongs to the last bin
    return [
        {"from": round(number * BINS_BY_SIMILARITY, 2), "to": round((number + 1) * BINS_BY_SIMILARITY, 2)}
        | {"grades": _grades(candidates[place == number])}
        for number in np.unique(place[_settled(candidates)]).tolist()
    ]


def by_rank(candidates: Records) -> list[Numbers]:
    """Return the final grades of settled candidates in bins of rank, the best first. The last bin has no end."""
    candidates = _ranked(candidates)
    place = np.minimum((candidates["rank"] - 1) // BINS_BY_RANK, DEEPEST // BINS_BY_RANK)
    bins = np.unique(place[_settled(candidates)]).tolist()
    return [
        {"from": number * BINS_BY_RANK + 1}
        | {"to": (number + 1) * BINS_BY_RANK if number < DEEPEST // BINS_BY_RANK else None}
        | {"grades": _grades(candidates[place == number])}
        for number in bins
    ]


def points(candidates: Records, queries: list[int]) -> list[list[Any]]:
    """Return query, rank, similarity and final grade of the settled candidates of these queries, in their order."""
    settled = _ranked(candidates)
    settled = settled[_settled(settled)]
    found = []
    for query in queries:
        mine = settled[settled["query"] == query]
        mine = mine[np.argsort(mine["rank"], kind="stable")]
        values = (mine[name].tolist() for name in ("rank", "similarity", "grade"))
        found += [[query, rank, round(similarity, 4), grade] for rank, similarity, grade in zip(*values, strict=True)]
    return found


def _in_order(campaign: Campaign, candidates: Records, splits: Splits) -> list[int]:
    """Return the keys of the first queries with settled candidates in the random order, as in the paper a few."""
    settled = np.unique(candidates["query"][_settled(candidates)]).tolist()
    if not splits.places.keys() >= set(settled):  # those of the study are not in the pool
        queries = campaign.queries.filter(pk__in=settled).order_by("place", "query_id")
        return list(queries.values_list("pk", flat=True)[:SAMPLE])
    return sorted(settled, key=lambda key: splits.places[key])[:SAMPLE]


def _ranked(candidates: Records) -> Records:
    """Return the candidates that the ranking by similarity found."""
    ranked: Records = candidates[~np.isnan(candidates["similarity"])]
    return ranked


def spread(pool: Read) -> list[list[int]]:
    """Count candidates by the lowest (row) and highest (column) raw grade of complete rounds, in shape (5, 5).

    If the rounds are unknown, all grades of candidates with two or more take their place.
    """
    judged = pool.judged.paired
    if not len(judged.grade):
        times = np.bincount(pool.judged.candidate, minlength=len(pool.candidates))
        judged = pool.judged.where(times[pool.judged.candidate] >= ANNOTATORS)
    lowest = np.full(len(pool.candidates), len(GRADES))
    highest = np.full(len(pool.candidates), -1)
    np.minimum.at(lowest, judged.candidate, judged.grade)
    np.maximum.at(highest, judged.candidate, judged.grade)
    there = highest >= 0
    cells = np.bincount(lowest[there] * len(GRADES) + highest[there], minlength=len(GRADES) ** 2)
    table: list[list[int]] = cells.reshape(len(GRADES), len(GRADES)).tolist()
    return table


def _grades(candidates: Records) -> list[int]:
    counts: list[int] = np.bincount(candidates["grade"][_settled(candidates)], minlength=len(GRADES)).tolist()
    return counts


def _settled(candidates: Records) -> NDArray[np.bool_]:
    """Return which of the candidates the qrels hold: also those whose grade is reused."""
    return np.isin(candidates["outcome"], WITH_CONSENSUS)


def _splits(campaign: Campaign, candidates: Records) -> Splits:
    rows = campaign.queries.pool().order_by("pk").values_list("pk", "text", "split", "place", "query_id")
    found = list(rows.iterator(chunk_size=CHUNK))
    keys = np.array([pk for pk, *_ in found], np.int64)
    names = np.array([split or "no split" for _, _, split, *_ in found], "U20")
    judged = np.isin(keys, candidates["query"])
    parts = {name: np.flatnonzero((names == name) & judged) for name in sorted(set(names.tolist()))}
    parts = {name: part for name, part in parts.items() if len(part)}
    everything = {ALL: np.flatnonzero(judged)}
    places = {pk: (place or 0.0, query_id) for pk, _, _, place, query_id in found}
    texts = [text for _, text, *_ in found]
    return Splits(keys, texts, everything if len(parts) < 2 else parts | everything, places)


def _split(splits: Splits, part: Ints, candidates: Records, moments: Records) -> Numbers:
    mine = candidates[np.isin(candidates["query"], splits.keys[part])]
    used = moments[np.isin(moments["pk"], mine["moment"])]
    texts = [splits.texts[place] for place in part]
    relevant = int((mine["grade"] > 0).sum())
    return {
        **_size(used, texts),
        "query_length": least_mean_most(np.array([len(text.split()) for text in texts], float)),
        "moment_length": least_mean_most(used["end"] - used["start"]),
        "video_length": least_mean_most(_of_videos(used)),
        "ratio": float(np.mean((used["end"] - used["start"]) / used["length"])) if len(used) else None,
        "relevant": relevant / len(part) if len(part) else None,
        "consensus": _consensus(mine),
    }


def _size(moments: Records, texts: list[str]) -> Numbers:
    """Return the columns of Table 1. The hours count each moment and each video once."""
    return {
        "queries": len(texts),
        "moments": len(moments),
        "videos": len(np.unique(moments["video"])),
        "vocabulary": len({word for text in texts for word in words(text)}),
        "verbs": count_verbs(texts),
        "moment_hours": float((moments["end"] - moments["start"]).sum() / 3600),
        "video_hours": float(_of_videos(moments).sum() / 3600),
    }


def _consensus(candidates: Records) -> Numbers:
    """Count the candidates that two annotators settled, that four settled, that are reused, and those left.

    Grades that a lead gave later do not matter.
    """
    outcome, escalated = candidates["outcome"], candidates["escalated"]
    return {
        "candidates": len(candidates),
        "two": int(((outcome == SETTLED) & ~escalated).sum()),
        "four": int(((outcome == SETTLED) & escalated).sum()),
        "discarded": int((outcome == DISCARDED).sum()),
        "reused": int((outcome == REUSED).sum()),
        "by_lead": int((outcome == FLAGGED).sum()),
        "open": int(np.isin(outcome, [OPEN, CONTESTED]).sum()),
    }


def _of_videos(moments: Records) -> Floats:
    """Return the length of each video that has one of the moments."""
    _, first = np.unique(moments["video"], return_index=True)
    lengths: Floats = moments["length"][first]
    return lengths


def _moments(corpus: Corpus) -> Records:
    moments = Moment.everything.filter(video__corpus=corpus).order_by("pk")
    columns = moments.values_list("pk", "video", "start", "end", "video__duration", "predicted")
    return np.fromiter(columns.iterator(chunk_size=CHUNK), MOMENT)


def _replaced(corpus: Corpus) -> list[tuple[str, int]]:
    """Return the words that are in captions and not in their descriptions, most frequent first."""
    moments = Moment.objects.filter(video__corpus=corpus).exclude(description=F("caption"))
    counts: Counter[str] = Counter()
    for description, caption in moments.values_list("description", "caption").iterator(chunk_size=CHUNK):
        counts.update(Counter(words(caption)) - Counter(words(description)))
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_WORDS]
