"""Comparing a model before and after training, on captions that it was not trained on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from retrieval.encoding import Vectors, encode
from retrieval.nearest import nearest
from retrieval.simcse import measuring
from retrieval.simcse.recipe import Captions

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Report = Callable[[int, int, str], None]
DEPTH = 40  # of the lists, as TVR-Ranking judges them
QUERIES = 500  # held-out captions whose lists are compared, at most
SEARCHED = 20_000  # captions that the lists are made of, at most
TEXTS_AT_A_TIME = 512  # encoded between two reports


def compare(
    before: SentenceTransformer, after: SentenceTransformer, captions: Captions, seed: int, report: Report
) -> dict[str, Any]:
    """Return the report's numbers: alignment and uniformity of both models, and how much the nearest lists differ.

    The lists hold the captions nearest to held-out ones, which stand for queries; a caption is not in its own list.
    """
    queries, searched = _drawn(captions, seed)
    numbers: dict[str, dict[str, float]] = {}
    lists = []
    for when, model in (("before", before), ("after", after)):
        vectors = _vectors(model, captions.held_out + searched, f"measuring the model {when} training", report)
        held, rest = vectors[: len(captions.held_out)], vectors[len(captions.held_out) :]
        numbers[when] = {
            "alignment": round(measuring.alignment(model, captions.held_out), 4),
            "uniformity": round(measuring.uniformity(held), 4),
        }
        lists.append(nearest(held[:queries], rest, min(DEPTH, len(searched))).indices)
    first, second = lists
    return {
        "numbers": numbers,
        "lists": {
            "queries": queries,
            "captions": len(searched),
            "depth": first.shape[1],
            "overlap": round(measuring.overlap(first, second), 4),
            "rank_biased_overlap": round(measuring.rank_biased_overlap(first, second), 4),
            "persistence": measuring.PERSISTENCE,
        },
    }


def _drawn(captions: Captions, seed: int) -> tuple[int, list[str]]:
    """Return how many held-out captions stand for queries, and the training captions that are searched."""
    order = np.random.default_rng([seed, 3]).permutation(len(captions.training))[:SEARCHED]
    return min(QUERIES, len(captions.held_out)), [captions.training[place] for place in sorted(order)]


def _vectors(model: SentenceTransformer, texts: list[str], what: str, report: Report) -> Vectors:
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    parts = []
    for start in range(0, len(texts), TEXTS_AT_A_TIME):
        report(start, len(texts), f"{what}: {start:,} of {len(texts):,} captions")
        parts.append(encode(model, [texts[place] for place in order[start : start + TEXTS_AT_A_TIME]]))
    vectors = np.empty((len(texts), parts[0].shape[1]), np.float32)
    vectors[order] = np.concatenate(parts)
    return vectors
