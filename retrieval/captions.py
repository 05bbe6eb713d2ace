"""The captions of a corpus as vectors: encoding them in parts, and comparing queries with them block by block.

A block holds as many captions as fit into memory beside all that is needed anyway, however many the corpus has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from corpus.errors import CorpusError
from corpus.models import Corpus, Moment
from jobs.parts import share
from jobs.registry import Report, kind
from metrics.formats.moment_ids import moment_id
from retrieval.embedding import Vectors, embed, lacking
from retrieval.encoders import model_key
from retrieval.nearest import Nearest, merged, nearest

CAPTIONS_OF_A_PART = 1024
CAPTIONS_OF_A_BLOCK = 32_768


class Row(NamedTuple):
    """A moment as far as ranking needs it. Rows compare as ranks do where similarities are equal."""

    id: str
    description: str
    pk: int
    caption: str


class Found(NamedTuple):
    """The moments nearest to each query, no moment id twice for one query: `nearest.indices` points into `rows`."""

    rows: list[Row]
    nearest: Nearest


def encode_captions(corpus: Corpus, report: Report) -> None:
    """Encode all captions that have no vector yet, together with whatever workers are free."""
    ranges = []
    for rows in blocks(corpus, CAPTIONS_OF_A_PART):
        report(0, 0, "looking for captions to encode")
        if lacking([row.caption for row in rows]):
            pks = [row.pk for row in rows]
            ranges.append({"model": model_key(), "first": min(pks), "last": max(pks)})
    if len(ranges) > 1:  # a single part is done at once where it is needed
        share(encode_some, corpus, ranges, report, "encoding captions")


@kind("encode-some-captions", "Encode some captions", of=Corpus, is_part=True, refusals=(CorpusError,))
def encode_some(corpus: Corpus, report: Report, model: str, first: int, last: int) -> None:
    """Encode the captions of the moments with these primary keys. `model` only tells the parts of two models apart."""
    captions = Moment.objects.filter(video__corpus=corpus, pk__range=(first, last)).values_list("caption", flat=True)
    embed(list(captions), report)


def blocks(corpus: Corpus, size: int = CAPTIONS_OF_A_BLOCK) -> Iterator[list[Row]]:
    """Yield all moments of a corpus, `size` at a time, in the order in which they were stored; each block sorted."""
    last = 0
    fields = ("video__name", "start", "end", "description", "pk", "caption")
    moments = Moment.objects.filter(video__corpus=corpus).order_by("pk").values_list(*fields)
    while block := list(moments.filter(pk__gt=last)[:size]):
        last = block[-1][4]
        yield sorted(Row(moment_id(*each[:3]), *each[3:]) for each in block)


def nearest_moments(
    corpus: Corpus, queries: Vectors, depth: int, report: Report, look: Callable[[list[Row]], None]
) -> Found:
    """Return the moments whose captions are nearest to each query. Of equally near ones the first row comes first.

    queries: array of shape (m, d), float32: vectors of length 1.
    depth: how many moments with different ids for each query; if there are fewer, all.
    look: a function that is called with the rows of each block.
    """
    m, seen, total = len(queries), 0, Moment.objects.filter(video__corpus=corpus).count()
    found = Found([], Nearest(np.empty((m, 0), np.intp), np.empty((m, 0))))
    for rows in blocks(corpus):
        captions = embed([row.caption for row in rows], _telling(report, "encoding captions"))
        most = max(Counter(row.id for row in rows).values())
        near = nearest(queries, captions, depth * most, lambda *_, seen=seen: _tell(report, "comparing", seen, total))
        found = _merged(found, Found(rows, near), depth)
        look(rows)
        seen += len(rows)
        _tell(report, "comparing", seen, total)
    return found


def _merged(one: Found, other: Found, depth: int) -> Found:
    used = np.unique(other.nearest.indices)
    table = sorted({*one.rows, *(other.rows[place] for place in used)})
    places = {row: place for place, row in enumerate(table)}
    numbers = {id: number for number, id in enumerate(dict.fromkeys(row.id for row in table))}
    labels = np.array([numbers[row.id] for row in table], np.intp)

    def in_table(found: Found) -> Nearest:
        where = np.array([places.get(row, -1) for row in found.rows], np.intp)
        return Nearest(where[found.nearest.indices], found.nearest.similarities)

    best = merged(in_table(one), in_table(other), labels, depth)
    kept, indices = np.unique(best.indices, return_inverse=True)
    rows = [table[place] for place in kept]
    return Found(rows, Nearest(indices.reshape(best.indices.shape), best.similarities))


def _telling(report: Report, doing: str) -> Callable[[int, int], None]:
    return lambda done, total: _tell(report, doing, done, total)


def _tell(report: Report, doing: str, done: int, total: int) -> None:
    report(done, total, f"{doing}: {done:,} of {total:,}")
