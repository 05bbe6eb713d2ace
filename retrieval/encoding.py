"""Encoding texts by a loaded model, in batches of texts of the same number of tokens: no padding is ever computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor

Vectors = NDArray[np.float32]
Rows = NDArray[np.intp]
Encoded = tuple[Rows, Vectors]
TOKENS_AT_A_TIME = 512  # of a batch; its states then fit into a core's cache
MOST_THREADS = 8
KNOWN_FEATURES = {"input_ids", "attention_mask", "token_type_ids"}


def encode(model: SentenceTransformer, texts: Sequence[str]) -> Vectors:
    """Return the texts' vectors, which have length 1, as `model.encode` does but faster.

    Tokens are prepared once for all texts. A text's vector depends on the texts beside it only by the rounding of
    matrix products, because a batch holds texts with equal numbers of tokens.

    Returns
    -------
    array of shape (n, dimensions), float32
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
