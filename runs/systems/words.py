"""Queries as a system reads their words: it learns vectors of these itself, or has token vectors of an encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.conf import settings

from retrieval.encoders import model_name, same_model
from runs.systems.models import TrainedSystem
from systems.data import Data, Query, Rows, Videos
from systems.encoders import Encode, by_encoder, data_with_tokens, videos_with_names, with_tokens
from systems.errors import SystemsError

TEXTS_AT_A_TIME = 512

Say = Callable[[int, int, str], None]


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
