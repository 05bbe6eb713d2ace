"""Ranking a million captions in parts by one worker, and writing their index: the time, and the memory of the process.

The vectors are random, and stored.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator

import numpy as np
from django.core.management import call_command
from django.db import connection

from benchmarks.measuring import alone
from campaigns.models import Campaign
from corpus.models import Corpus, Moment, Video
from jobs.parts import forget
from judging.pool.ranking import compare, compare_some
from retrieval.captions import CAPTIONS_OF_A_BLOCK, encode_captions
from retrieval.embedding import Vectors, embed, text_hash
from retrieval.encoders import model_key
from retrieval.models import Vector
from retrieval.search import index
from retrieval.search.index import index_captions

CAPTIONS = int(os.environ.get("STREAMING_CAPTIONS", "1000000"))
QUERIES, DEPTH, AT_A_TIME, NAME = 500, 40, 5000, "streaming"


def figures() -> Iterator[str]:
    call_command("migrate", verbosity=0)
    stored_corpus(NAME, CAPTIONS)
    found = alone("streaming.ranked")
    of = f"{CAPTIONS:,} captions, {QUERIES} queries, top {DEPTH}, {connection.vendor}"
    yield f"ranked in blocks of {CAPTIONS_OF_A_BLOCK:,}: {found['seconds']:.0f} s; {of}"
    yield f"of which looking for captions without a vector, which is not shared: {found['looking']:.0f} s"
    yield f"resident memory of the process at most: {found['memory'] / 2**20:.0f} MiB (promised: at most 1,024)"
    yield f"of which before the first block, with the model: {found['before'] / 2**20:.0f} MiB"
    found = alone("streaming.indexed")
    yield f"index written: {found['seconds']:.0f} s; resident at most {found['memory'] / 2**20:.0f} MiB"


def ranked() -> dict[str, float]:
    """Rank as the job does."""
    campaign = Campaign.objects.get_or_create(name=NAME, corpus=Corpus.objects.get(name=NAME))[0]
    for number in range(QUERIES):
        campaign.queries.get_or_create(query_id=f"{number}", text=f"somebody opens door number {number}")
    queries = list(campaign.queries.order_by("pk"))
    embed([query.text for query in queries])
    forget(compare_some, campaign)
    before, began = _memory(), time.perf_counter()
    encode_captions(campaign.corpus, _silent)
    looking = time.perf_counter() - began
    found = compare(campaign, queries, DEPTH, _silent, in_parts=True).found
    assert found.nearest.indices.shape == (QUERIES, DEPTH)
    return {"seconds": time.perf_counter() - began - looking, "looking": looking, "memory": _memory(), "before": before}


def indexed() -> dict[str, float]:
    """Write the index as the job does, without faiss."""
    index.EXACT_UP_TO = 10 * CAPTIONS
    began = time.perf_counter()
    index_captions(Corpus.objects.get(name=NAME), _silent)
    return {"seconds": time.perf_counter() - began, "memory": _memory()}


def _silent(done: int, total: int, message: str = "") -> None:
    pass


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def stored_corpus(name: str, captions: int) -> Corpus:
    """Return a corpus with a random vector for each caption, which may be there from the run before."""
    corpus = Corpus.objects.get_or_create(name=name, format="tvr")[0]
    film = Video.objects.get_or_create(corpus=corpus, name="film", duration=1e9)[0]
    key = model_key()
    for start in range(Moment.objects.filter(video=film).count(), captions, AT_A_TIME):
        texts = [f"Person {number} does what nobody else does." for number in range(start, start + AT_A_TIME)]
        vectors = random_vectors(AT_A_TIME, seed=start)
        rows = zip(map(text_hash, texts), vectors, strict=True)
        Vector.objects.bulk_create(
            [Vector(model=key, hash=hash, values=vector.tobytes()) for hash, vector in rows], ignore_conflicts=True
        )
        Moment.objects.bulk_create(
            Moment(video=film, start=number, end=number + 1, description=text, caption=text)
            for number, text in enumerate(texts, start)
        )
    return corpus


def random_vectors(count: int, seed: int) -> Vectors:
    """Return vectors of length 1, as many numbers as the bundled model has."""
    vectors = np.random.default_rng(seed).standard_normal((count, 384), np.float32)
    normalised: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return normalised
