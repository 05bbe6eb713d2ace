"""TVR-Ranking's real ratings as qrels and a pool, and systems that order a query's candidates."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

BATCH, SECOND = 20, 8666  # pairs of a batch; a query's second batch is the block so many blocks after its first


class Pair(NamedTuple):
    """A pair of a query with the moment at a caption rank, from 0: its final grade, 0 if it was discarded, and its
    first rating.
    """

    rank: int
    grade: int
    first: int
    ratings: int


Pairs = dict[str, list[Pair]]  # by query, in the order of their ranks
Order = Callable[[Pair], tuple[int, ...]]

SYSTEMS: dict[str, Order] = {
    "rank": lambda pair: (pair.rank,),
    "(rank + 1)·2 mod 41": lambda pair: ((pair.rank + 1) * 2 % 41,),
    "(rank + 1)·7 mod 41": lambda pair: ((pair.rank + 1) * 7 % 41,),
    "first row": lambda pair: (-pair.first, pair.rank),
    "first row ≥ 3": lambda pair: (pair.first < 3, pair.rank),
}


@cache
def real_pairs(data: Path) -> Pairs:
    """All queries of TVR-Ranking's validation and test sets of which something is relevant: 3,280."""
    first, ratings = dict[int, int](), defaultdict[int, int](int)
    with (data / "tvr_ranking" / "raw_annotation.csv").open() as file:
        for row in csv.DictReader(file):
            number = int(row["pair_id"])
            first.setdefault(number, int(row["relevance"]))
            ratings[number] += 1
    with (data / "reference_eval" / "tvrr_final_scores.csv").open() as file:
        final = {int(row["pair_id"]): row["final_score"] for row in csv.DictReader(file)}
    blocks = {number // BATCH for number in first}
    pairs: dict[int, list[Pair]] = defaultdict(list)
    for number in sorted(first):
        block, rank = divmod(number, BATCH)
        second = block - SECOND in blocks
        query = block - SECOND if second else block
        pairs[query].append(Pair(rank + BATCH * second, int(final[number] or 0), first[number], ratings[number]))
    return {str(query): held for query, held in sorted(pairs.items()) if any(pair.grade for pair in held)}


def moment(query: str, pair: Pair) -> tuple[str, float, float]:
    """A moment of its own for each pair."""
    return f"film-{query}", 10.0 * pair.rank, 10.0 * pair.rank + 5


def pool_of(pairs: Pairs) -> dict[str, list[tuple[str, float, float] | None]]:
    """The pairs of each query; two queries lack some ranks."""
    by_rank = {query: {pair.rank: moment(query, pair) for pair in held} for query, held in pairs.items()}
    return {query: [held.get(rank) for rank in range(max(held) + 1)] for query, held in by_rank.items()}


def qrels_of(pairs: Pairs) -> dict[str, list[tuple[str, float, float, int]]]:
    return {query: [(*moment(query, pair), pair.grade) for pair in held] for query, held in pairs.items()}


def run_of(pairs: Pairs, order: Order) -> dict[str, list[tuple[str, float, float, float]]]:
    """A run that ranks the candidates of all queries."""
    return {
        query: [(*moment(query, pair), 1.0 - place / 100) for place, pair in enumerate(sorted(held, key=order))]
        for query, held in pairs.items()
    }
