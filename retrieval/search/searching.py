"""Searching a corpus: the moments whose captions are nearest to a query, in less than a tenth of a second.

The search is exact, except among more than a million captions if faiss is installed.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpus.errors import CorpusError, Unavailable
from corpus.models import Corpus, Moment
from jobs.models import Job
from jobs.queue import Lane
from jobs.registry import SELF, Report, each_hour, kind
from retrieval.embedding import Vectors, embed, text_hash
from retrieval.encoders import model_key
from retrieval.models import SearchIndex, Vector
from retrieval.nearest import Nearest, nearest
from retrieval.search.index import (
    Rows,
    changes_of,
    checksum,
    holds_every_caption,
    index_captions,
    is_large,
    lacks_approximate,
    nearest_of,
    opened,
    opened_approximate,
)
from retrieval.search.one_query import encode_here

LONGEST_QUERY = 500  # characters
HITS = 20  # that are listed

SPARE = 20  # rows that are looked at beyond those wanted, because two descriptions of one moment are one hit


@dataclass(frozen=True)
class Hit:
    moment: Moment
    similarity: float


@dataclass(frozen=True)
class Answer:
    """What a search found.

    captions: how many captions were searched.
    is_current: false if moments or captions have changed since the index was made. The hits are then those whose
    captions are as they were.
    job: the job that has to end before there is an answer, or a current one.
    recall: None if the search was exact, else the share of the nearest captions that such a search finds.
    would_gain: whether faiss, which is not installed, would make a search among so many captions faster.
    """

    hits: list[Hit] = field(default_factory=list)
    captions: int = 0
    is_current: bool = True
    job: Job | None = None
    recall: float | None = None
    would_gain: bool = False


def search(corpus: Corpus, text: str, k: int = 20, by: int | None = None) -> Answer:
    """Return the k moments whose captions are nearest to a text, the nearest first, no moment id twice.

    If there is no index of the corpus by the present model yet, or it is out of date, the job that writes it is asked
    for, and so it is if its file cannot be read. A job that has failed is not asked for again. A job that encodes the
    text counts to the user with the primary key `by`.
    """
    index = SearchIndex.objects.filter(corpus=corpus, model=model_key()).first()
    if index is None:
        return Answer(job=job_of_index(corpus))
    text = " ".join(text.split())
    stored = Vector.objects.filter(model=model_key(), hash=text_hash(text)).values_list("values", flat=True).first()
    vector = encode_here(text) if stored is None else np.frombuffer(stored, "<f4")
    if vector is None:  # no web process can encode it, but a worker can
        job = encode_query.jobs(corpus).filter(key=text_hash(text)).not_done().first()
        return Answer(captions=index.moments, job=job or encode_query.ask(corpus, text_hash(text), by, text=text))
    try:
        rows, quick = opened(index), opened_approximate(index)
    except Unavailable:  # the file is lost, or the store is away; then the job waits for it
        return Answer(job=job_of_index(corpus))
    hits, all_as_they_were = _hits(rows, quick, vector, k)
    is_current = all_as_they_were and index.changes == changes_of(corpus)
    return Answer(
        hits,
        len(rows.records),
        is_current,
        None if is_current else job_of_index(corpus),
        index.recall if quick else None,
        is_large(index.moments) and not quick,
    )


def job_of_index(corpus: Corpus) -> Job:
    """Return the job that writes the index. It is asked for, unless it is under way or has failed."""
    return index_captions.jobs(corpus).not_done().first() or index_captions.ask(corpus)


@each_hour
def ask_for_indexes_that_are_out_of_date() -> None:
    """Find the changed captions that no search has come upon, and large corpora on machines that have got faiss."""
    for index in SearchIndex.objects.filter(model=model_key()).select_related("corpus"):
        with suppress(Unavailable):  # a search says so
            if lacks_approximate(index) or not holds_every_caption(index):
                job_of_index(index.corpus)


@kind(
    "encode-query",
    "Encode a query",
    lane=Lane.QUICK,
    of=Corpus,
    owner=SELF,
    page=("corpus", "name"),
    refusals=(CorpusError,),
)
def encode_query(corpus: Corpus, report: Report, text: str) -> None:
    embed([text])


def _hits(rows: Rows, quick: Any, vector: Vectors, k: int) -> tuple[list[Hit], bool]:
    """Return the nearest k, and whether the captions of all rows that were looked at are as they were."""
    depth = k + SPARE
    while True:
        found = _nearest(rows, quick, vector, depth)
        near = found.indices[0]
        hits, all_as_they_were = _checked(rows.records[near], found.similarities[0].tolist())
        if len(hits) >= k or len(near) < depth or depth >= len(rows.records):
            return hits[:k], all_as_they_were
        depth *= 4


def _nearest(rows: Rows, quick: Any, vector: Vectors, depth: int) -> Nearest:
    if quick is None:
        return nearest(vector[None], rows.vectors, depth)
    return nearest_of(quick, vector, rows.vectors, depth)


def _checked(near: NDArray[Any], similarities: list[float]) -> tuple[list[Hit], bool]:
    """Return a hit for each moment id among these records, and whether all captions are as they were."""
    moments = Moment.objects.select_related("video").in_bulk(near["moment"].tolist())
    hits: dict[str, Hit] = {}
    all_as_they_were = True
    for (pk, caption), similarity in zip(near.tolist(), similarities, strict=True):
        moment = moments.get(pk)
        if moment is None or checksum(moment.caption) != caption:
            all_as_they_were = False
        else:
            hits.setdefault(str(moment), Hit(moment, similarity))
    return list(hits.values()), all_as_they_were
