"""What a system reads of a campaign: examples of its pseudo training set, judged validation queries, and their words.

A system learns the vectors of words itself, or has token vectors of an encoder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from django.conf import settings

from campaigns.models import Campaign
from metrics import Qrels, qrels_from_dict
from releases.training.writing import file_name, write
from retrieval.encoders import model_name, same_model
from runs.scoring import newest_release
from runs.systems.models import TrainedSystem
from runs.tables import read_table
from runs.yardsticks import yardstick_of
from systems.data import Data, Example, Query, Rows, Validation, Videos
from systems.encoders import Encode, by_encoder, data_with_tokens, videos_with_names, with_tokens
from systems.errors import SystemsError
from systems.examples import examples_from

Say = Callable[[int, int, str], None]
HELD_OUT = 10  # one caption in so many is for validation where no validation queries are judged
MOST_HELD_OUT = 500
OF_HELD_OUT = "nDCG_IoU(iou=0.5)@100"  # recall at 100 hardly tells systems apart by so few captions
SPLIT = "val"  # how the names of validation splits begin
TEXTS_AT_A_TIME = 512  # that are encoded


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


def silent(done: int, total: int, text: str) -> None:
    """Say nothing to anybody."""


def data_as_read(row: TrainedSystem, data: Data, say: Say) -> Data:
    """Return training data as the system reads it.

    Raises
    ------
    SystemsError
        If the system has token vectors of another encoder than that of the settings, or this one cannot be loaded.
    """
    return data_with_tokens(data, _encoding(row, say)) if row.encoder else data


def videos_as_read(row: TrainedSystem, videos: Videos, say: Say) -> Videos:
    """Return videos with the names of their objects as the system reads them; raises what `data_as_read` raises."""
    return videos_with_names(videos, _encoding(row, say)) if row.encoder else videos


def queries_as_read(row: TrainedSystem, queries: Sequence[Query], say: Say = silent) -> Sequence[Query]:
    """Return queries as the system reads them; raises what `data_as_read` raises."""
    return with_tokens(queries, _encoding(row, say)) if row.encoder else queries


def _encoding(row: TrainedSystem, say: Say) -> Encode:
    """Load the encoder of the settings, and return what encodes texts by it, some hundred at a time."""
    model = by_encoder(settings.ENCODER)  # its weights, by which it is known, are here then
    if not same_model(row.encoder, model_name()):
        raise SystemsError(
            f"ENCODER: names {model_name()}; expected {row.encoder}, whose token vectors {row} was trained with"
        )

    def encode(texts: Sequence[str]) -> list[Rows]:
        vectors: list[Rows] = []
        for start in range(0, len(texts), TEXTS_AT_A_TIME):
            say(start, len(texts), f"encoding words: {start:,} of {len(texts):,} texts")
            vectors += model(texts[start : start + TEXTS_AT_A_TIME])
        return vectors

    return encode
