"""Embedding texts as vectors, which are stored, so that no model encodes a text twice."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
from django.conf import settings

from corpus.errors import CorpusError
from retrieval.encoders import FULL, encoder, encoder_in_bfloat16, model_key, model_name, weights_hash
from retrieval.encoding import Vectors, encode
from retrieval.models import Vector
from systems.encoders import BUNDLED

__all__ = ["Vectors", "embed", "model_name"]

TEXTS_AT_A_TIME = 1024
ROWS_AT_A_TIME = 500


def embed(texts: Sequence[str], report: Callable[[int, int], None] = lambda done, total: None) -> Vectors:
    """Return the texts' vectors, which have length 1. Texts whose vector is stored are not encoded again.

    Parameters
    ----------
    texts
        n texts. Equal texts get exactly the same vector.
    report
        A function that is called with the number of texts encoded so far and the number to encode.

    Returns
    -------
    array of shape (n, dimensions), float32

    Raises
    ------
    CorpusError
        If the model cannot be loaded, or gives values that are not finite.
    """
    if settings.ENCODER != BUNDLED and not weights_hash(settings.ENCODER):
        encoder(settings.ENCODER)  # downloads the weights, so that the vectors' name contains their hash
    hashes = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
    by_hash = dict(zip(hashes, texts, strict=True))
    vectors = _stored(list(by_hash))
    # Sorted by length, so that batches need little padding, and by hash, so that every run forms the same batches.
    missing = sorted(by_hash.keys() - vectors.keys(), key=lambda hash: (len(by_hash[hash]), hash))
    for start in range(0, len(missing), TEXTS_AT_A_TIME):
        report(start, len(missing))
        chunk = missing[start : start + TEXTS_AT_A_TIME]
        vectors.update(_encoded_and_stored(chunk, [by_hash[hash] for hash in chunk]))
    return np.stack([vectors[hash] for hash in hashes]) if hashes else np.empty((0, 0), np.float32)


def _stored(hashes: list[str]) -> dict[str, Vectors]:
    found: dict[str, Vectors] = {}
    of_model = Vector.objects.filter(model=model_key())
    for start in range(0, len(hashes), ROWS_AT_A_TIME):
        rows = of_model.filter(hash__in=hashes[start : start + ROWS_AT_A_TIME])
        found.update((hash, np.frombuffer(values, "<f4")) for hash, values in rows.values_list("hash", "values"))
    return found


def _encoded_and_stored(hashes: list[str], texts: list[str]) -> dict[str, Vectors]:
    load = encoder if settings.ENCODER_PRECISION == FULL else encoder_in_bfloat16
    encoded = encode(load(settings.ENCODER), texts)
    if not np.isfinite(encoded).all():
        raise CorpusError(f"the model {model_name()} gave values that are not numbers; is it damaged?")
    vectors = dict(zip(hashes, np.ascontiguousarray(encoded, "<f4"), strict=True))
    key = model_key()
    Vector.objects.bulk_create(
        [Vector(model=key, hash=hash, values=vector.tobytes()) for hash, vector in vectors.items()],
        ignore_conflicts=True,
    )
    return vectors
