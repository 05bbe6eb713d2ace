"""Comparing a model before and after training, on captions that it was not trained on; and the report for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from base.text import with_minus
from retrieval.embedding import Vectors, encode
from retrieval.nearest import nearest
from retrieval.simcse.training import Captions

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


Report = Callable[[int, int, str], None]
DEPTH = 40  # of the lists, as TVR-Ranking judges them
QUERIES = 500  # held-out captions whose lists are compared, at most
SEARCHED = 20_000  # captions that the lists are made of, at most
TEXTS_AT_A_TIME = 512  # encoded between two reports
Indices = NDArray[np.intp]
# Of rank-biased overlap; a reader who goes on with this probability sees 20 of a list on average.
PERSISTENCE = 0.95
PAIRS_AT_A_TIME = 1000  # rows of a block of distances
NOISE_SEED = 1  # of the dropout by which alignment is measured, the same before and after training


def compare(
    before: SentenceTransformer, after: SentenceTransformer, captions: Captions, seed: int, report: Report
) -> dict[str, Any]:
    """Return the report's numbers: alignment and uniformity of both models, and how much the nearest lists differ. The
    lists hold the captions nearest to held-out ones, which stand for queries; a caption is not in its own list.
    """
    queries, searched = _drawn(captions, seed)
    numbers: dict[str, dict[str, float]] = {}
    lists = []
    for when, model in (("before", before), ("after", after)):
        vectors = _vectors(model, captions.held_out + searched, f"measuring the model {when} training", report)
        held, rest = vectors[: len(captions.held_out)], vectors[len(captions.held_out) :]
        numbers[when] = {
            "alignment": round(alignment(model, captions.held_out), 4),
            "uniformity": round(uniformity(held), 4),
        }
        lists.append(nearest(held[:queries], rest, min(DEPTH, len(searched))).indices)
    first, second = lists
    return {
        "numbers": numbers,
        "lists": {
            "queries": queries,
            "captions": len(searched),
            "depth": first.shape[1],
            "overlap": round(overlap(first, second), 4),
            "rank_biased_overlap": round(rank_biased_overlap(first, second), 4),
            "persistence": PERSISTENCE,
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


def alignment(model: SentenceTransformer, texts: list[str], batch_size: int = 64) -> float:
    """Return the mean squared distance between two vectors of the same text under dropout; 0 is the best. Wang and
    Isola (ICML 2020), eq. 1 of section 4, with the pairs that training brings together.
    """
    import torch

    distances = []
    with torch.random.fork_rng(devices=[]), torch.inference_mode():
        torch.manual_seed(NOISE_SEED)
        model.train()
        for start in range(0, len(texts), batch_size):
            features = model.preprocess(texts[start : start + batch_size])
            one, other = (
                torch.nn.functional.normalize(model(dict(features))["sentence_embedding"], dim=1) for _ in range(2)
            )
            distances += (one - other).pow(2).sum(1).tolist()
        model.eval()
    return float(np.mean(distances))


def uniformity(vectors: Vectors) -> float:
    """Return the logarithm of the mean of exp(-2 d²) over all pairs of different vectors; lower is more uniform.

    Wang and Isola (ICML 2020), eq. 2 of section 4, with t = 2.

    vectors: array of shape (n, dimensions), n at least 2: of length 1.

    >>> round(uniformity(np.array([[1, 0], [-1, 0]], np.float32)), 6)
    -8.0
    """
    n, total = len(vectors), 0.0
    wide = vectors.astype(np.float64)
    for start in range(0, n, PAIRS_AT_A_TIME):
        squared = 2 - 2 * (wide[start : start + PAIRS_AT_A_TIME] @ wide.T)
        total += float(np.exp(-2 * np.maximum(squared, 0)).sum())
    return float(np.log((total - n) / (n * (n - 1))))


def overlap(before: Indices, after: Indices) -> float:
    """Return the mean share of each row's elements that the other array has in the same row, from 0 to 1.

    >>> overlap(np.array([[1, 2]]), np.array([[2, 3]]))
    0.5
    """
    shared = [len(set(one) & set(other)) for one, other in zip(before.tolist(), after.tolist(), strict=True)]
    return float(np.mean(shared) / before.shape[1])


def rank_biased_overlap(before: Indices, after: Indices, p: float = PERSISTENCE) -> float:
    """Return the mean extrapolated rank-biased overlap of the rows, from 0 to 1 (Webber, Moffat and Zobel 2010).

    before, after: arrays of shape (lists, depth): ranked lists, the best first, no element twice in a row.

    >>> round(rank_biased_overlap(np.array([[1, 2, 3]]), np.array([[1, 2, 3]])), 6)
    1.0
    >>> rank_biased_overlap(np.array([[1, 2, 3]]), np.array([[4, 5, 6]]))
    0.0
    """
    depth = before.shape[1]
    ranks = np.arange(1, depth + 1)
    same = before[:, :, None] == after[:, None, :]
    shared = np.stack([same[:, :rank, :rank].sum((1, 2)) for rank in ranks], axis=1)  # at each depth
    agreement = shared / ranks
    summed = (1 - p) / p * (agreement * p**ranks).sum(1)
    return float(np.clip(agreement[:, -1] * p**depth + summed, 0, 1).mean())


def as_text(facts: dict[str, Any]) -> str:
    """Return the report: what the model was made of, and what the training has changed."""
    recipe, counts, lists, numbers = (facts[field] for field in ("recipe", "captions", "lists", "numbers"))
    losses = ", ".join(f"{loss:.3f}" for loss in facts["losses"])
    rows = "".join(
        f"  {measure:<12}{_signed(numbers['before'][measure]):>8} →{_signed(numbers['after'][measure]):>8}   {means}\n"
        for measure, means in (
            ("alignment", "lower: dropout moves a caption less"),
            ("uniformity", "lower: captions are spread more evenly"),
        )
    )
    return (
        f"{facts['name']} {facts['version']}, SHA-256 of the weights {facts['weights']}\n"
        f"Trained from {facts['base']}\n"
        f"  on {counts['training']:,} distinct captions of {facts['corpus']}; {counts['held_out']:,} are held out\n"
        f"  epochs {recipe['epochs']}, batches of {recipe['batch_size']}, learning rate {recipe['learning_rate']:g}, "
        f"temperature {recipe['temperature']:g}, {recipe['max_tokens']} tokens, seed {recipe['seed']}, "
        f"{facts['made_with']['threads']} threads\n"
        f"  mean loss in each part of the training: {losses}\n"
        f"On the captions held out, before → after:\n{rows}"
        f"The {lists['depth']} of {lists['captions']:,} captions nearest to each of {lists['queries']:,} held-out "
        f"ones, before and after:\n"
        f"  in both lists: {lists['overlap']:.1%}; rank-biased overlap (p = {lists['persistence']:g}): "
        f"{lists['rank_biased_overlap']:.3f}\n"
    )


def _signed(number: float) -> str:
    return with_minus(f"{number:.3f}")
