"""Token vectors of an encoder, given to queries, examples and objects' names, so that systems need not learn words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from retrieval.systems.data import Data, Objects, Query, Rows, Videos
from retrieval.systems.errors import SystemsError

Encode = Callable[[Sequence[str]], Sequence[Rows]]  # from texts to arrays of shape (tokens, w)


def by_encoder(name: str) -> Encode:
    """Return what encodes texts by a sentence encoder, which is loaded now: `bundled`, a folder, or a name at a hub.

    Raises
    ------
    SystemsError
        If it cannot be loaded.
    """
    from corpus.errors import CorpusError
    from retrieval.encoders import encoder
    from retrieval.encoding import encode_tokens

    try:
        model = encoder(name)
    except CorpusError as fault:
        raise SystemsError(str(fault)) from fault
    return lambda texts: encode_tokens(model, texts)


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
