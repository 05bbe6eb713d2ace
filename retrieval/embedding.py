"""Embedding texts as vectors, which are stored, so that no model encodes a text twice.

Texts are encoded in batches of the same number of tokens: no padding is ever computed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from corpus.errors import CorpusError
from retrieval.encoders import FULL, encoder, encoder_in_bfloat16, model_key, model_name, weights_hash
from retrieval.models import Vector
from systems.encoders import BUNDLED

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor


__all__ = ["Vectors", "embed", "model_name"]

TEXTS_AT_A_TIME = 1024
ROWS_AT_A_TIME = 500
Vectors = NDArray[np.float32]
Rows = NDArray[np.intp]
Encoded = tuple[Rows, Vectors]
TOKENS_AT_A_TIME = 512  # of a batch; its states then fit into a core's cache
MOST_THREADS = 8
KNOWN_FEATURES = {"input_ids", "attention_mask", "token_type_ids"}


def embed(texts: Sequence[str], report: Callable[[int, int], None] = lambda done, total: None) -> Vectors:
    """Return the texts' vectors, which have length 1. Texts whose vector is stored are not encoded again.

    texts: n texts. Equal texts get exactly the same vector.
    report: a function that is called with the number of texts encoded so far and the number to encode.
    Returns array of shape (n, dimensions), float32. Raises CorpusError if the model cannot be loaded, or gives values
    that are not finite.
    """
    if settings.ENCODER != BUNDLED and not weights_hash(settings.ENCODER):
        encoder(settings.ENCODER)  # downloads the weights, so that the vectors' name contains their hash
    hashes = [text_hash(text) for text in texts]
    by_hash = dict(zip(hashes, texts, strict=True))
    vectors = _stored(list(by_hash))
    # Sorted by length, so that batches need little padding, and by hash, so that every run forms the same batches.
    missing = sorted(by_hash.keys() - vectors.keys(), key=lambda hash: (len(by_hash[hash]), hash))
    for start in range(0, len(missing), TEXTS_AT_A_TIME):
        report(start, len(missing))
        chunk = missing[start : start + TEXTS_AT_A_TIME]
        vectors.update(_encoded_and_stored(chunk, [by_hash[hash] for hash in chunk]))
    return np.stack([vectors[hash] for hash in hashes]) if hashes else np.empty((0, 0), np.float32)


def lacking(texts: Sequence[str]) -> bool:
    """Return whether a text has no vector by the present model yet."""
    hashes = [*{text_hash(text) for text in texts}]
    some = [hashes[start : start + ROWS_AT_A_TIME] for start in range(0, len(hashes), ROWS_AT_A_TIME)]
    of_model = Vector.objects.filter(model=model_key())
    return any(of_model.filter(hash__in=each).count() < len(each) for each in some)


def text_hash(text: str) -> str:
    """Return what the vector of a text is stored under."""
    return hashlib.sha256(text.encode()).hexdigest()


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


def encode(model: SentenceTransformer, texts: Sequence[str]) -> Vectors:
    """Return the texts' vectors, which have length 1, as `model.encode` does but faster.

    Tokens are prepared once for all texts. A text's vector depends on the texts beside it only by the rounding of
    matrix products, because a batch holds texts with equal numbers of tokens. Returns array of shape (n, dimensions),
    float32.
    """
    if not texts:
        return np.empty((0, 0), np.float32)
    model.eval()
    features = {} if model.default_prompt_name else model.preprocess(list(texts))
    tensors = {name: value for name, value in features.items() if name in KNOWN_FEATURES}
    others = features.keys() - KNOWN_FEATURES - {"modality"}
    if "attention_mask" not in tensors or others or not _is_padded_right(tensors["attention_mask"]):
        return _by_the_library(model, texts)
    counts = tensors["attention_mask"].sum(1).numpy()

    def of_batch(rows: Rows) -> Encoded:
        return rows, _vectors_of(model, {name: value[rows, : counts[rows[0]]] for name, value in tensors.items()})

    found = _side_by_side(of_batch, batches(counts))
    vectors = np.empty((len(texts), found[0][1].shape[1]), np.float32)
    for rows, values in found:
        vectors[rows] = values
    return vectors


def _side_by_side(work: Callable[[Rows], Encoded], each: Iterable[Rows]) -> list[Encoded]:
    """Do the work in as many threads as there are cores, each of which multiplies alone.

    Threads that share each multiplication wait for one another hundreds of times in every batch; where other processes
    use the cores too, they do little else.
    """
    import torch

    cores = torch.get_num_threads()
    threads = min(cores, MOST_THREADS)
    with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(cores // threads,)) as pool:
        return list(pool.map(work, each))


def batches(counts: NDArray[np.integer[Any]]) -> Iterator[Rows]:
    """Yield the numbers of the texts of each batch: equal counts of tokens, TOKENS_AT_A_TIME at most.

    >>> [rows.tolist() for rows in batches(np.array([600, 3, 600, 3]))]
    [[0], [2], [1, 3]]
    """
    for count in np.unique(counts)[::-1]:  # the longest first, so that all threads end at about the same time
        rows = np.flatnonzero(counts == count)
        size = max(1, TOKENS_AT_A_TIME // max(1, int(count)))
        for start in range(0, len(rows), size):
            yield rows[start : start + size]


def _is_padded_right(mask: Tensor) -> bool:
    return mask.ndim == 2 and bool((mask[:, 1:] <= mask[:, :-1]).all())


def _vectors_of(model: SentenceTransformer, batch: dict[str, Tensor]) -> Vectors:
    import torch

    with torch.inference_mode():
        here = {name: value.to(model.device) for name, value in batch.items()}
        vectors = torch.nn.functional.normalize(model(here)["sentence_embedding"].float(), dim=1)
        return np.asarray(vectors.cpu().numpy(), np.float32)


def _by_the_library(model: SentenceTransformer, texts: Sequence[str]) -> Vectors:
    vectors = model.encode(
        list(texts), batch_size=64, normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True
    )
    return np.asarray(vectors, np.float32)
