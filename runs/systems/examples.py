"""What a system learns from: a campaign's pseudo training set, and its judged validation queries if there are any."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from campaigns.models import Campaign
from metrics import Qrels, qrels_from_dict
from releases.training.writing import file_name, write
from runs.scoring import newest_release
from runs.tables import read_table
from runs.yardsticks import yardstick_of
from systems.data import Data, Example, Query, Validation, Videos
from systems.examples import examples_from

Say = Callable[[int, int, str], None]
HELD_OUT = 10  # one caption in so many is for validation where no validation queries are judged
MOST_HELD_OUT = 500
OF_HELD_OUT = "nDCG_IoU(iou=0.5)@100"  # recall at 100 hardly tells systems apart by so few captions
SPLIT = "val"  # how the names of validation splits begin


def data_of(campaign: Campaign, videos: Videos, depth: int, folder: Path, say: Say) -> Data:
    """Return what a system is trained on. The training set is written into the folder once, and kept.

    Validation is by NDCG@20 on the release's validation queries (TVR-Ranking, Section 4), else by NDCG@100 of
    the moments of captions that are held out. Test queries take part in nothing: no training query is worded as one.

    Raises
    ------
    ReeljudgeError
        If no caption is left for training.
    """
    file = folder / file_name(depth)
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")
        write(campaign, {depth: part}, lambda done, total, message="": say(done, total, message))
        part.replace(file)
    examples = examples_from(file, videos.number)
    validation = _judged(campaign, videos)
    if validation is None and (held := _held_out(examples)):
        own = {example.query.id: example for example in reversed(examples) if example.query.id in held}
        validation = Validation.of(list(own.values()), videos, OF_HELD_OUT)
        examples = [example for example in examples if example.query.id not in held]
    return Data(videos, examples, validation)


def _held_out(examples: Sequence[Example]) -> set[str]:
    """Return the ids of the queries that are kept for validation; none if there are few."""
    queries = list(dict.fromkeys(example.query.id for example in examples))
    return set(queries[::HELD_OUT][:MOST_HELD_OUT]) if len(queries) >= 2 * HELD_OUT else set()


def queries_of(campaign: Campaign) -> list[Query]:
    """Return the campaign's queries, which a run must answer."""
    rows = campaign.queries.pool().order_by("pk").values_list("query_id", "text")
    return [Query(query, text) for query, text in rows]


def _judged(campaign: Campaign, videos: Videos) -> Validation | None:
    """Return the judged queries of the newest release's validation split; None if there are none."""
    release = newest_release(campaign)
    if release is None:
        return None
    yardstick = yardstick_of(release)
    named = {query for query, split, _, relevant in yardstick.queries if split.startswith(SPLIT) and relevant}
    if not named:
        return None
    table = read_table(Qrels, yardstick.table)
    chosen = [n for n, query in enumerate(table.queries) if query in named]
    queries = [Query(table.queries[n], table.texts.get(table.queries[n], "")) for n in chosen]
    return Validation(queries, qrels_from_dict({table.queries[n]: _graded(table, n) for n in chosen}), videos)


def _graded(table: Qrels, number: int) -> list[tuple[str, float, float, int]]:
    rows = np.arange(table.offsets[number], table.offsets[number + 1]).tolist()
    return [
        (table.names[int(table.video[n])], float(table.start[n]), float(table.end[n]), int(table.grades[n]))
        for n in rows
    ]
