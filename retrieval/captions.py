"""The captions of a corpus as vectors: encoding them in parts, and comparing queries with them block by block.

A block holds as many captions as fit into memory beside all that is needed anyway, however many the corpus has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from io import BytesIO
from itertools import islice
from typing import NamedTuple

import numpy as np
from django.db.models import QuerySet

from base.transactions import ROWS_AT_A_TIME
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
PAIR = np.dtype([("moment", "<i8"), ("similarity", "<f8")])


class CaptionRow(NamedTuple):
    """A moment as far as ranking needs it. Rows compare as ranks do where similarities are equal."""

    id: str
    description: str
    pk: int
    caption: str


class Found(NamedTuple):
    """The moments nearest to each query, no moment id twice for one query: `nearest.indices` points into `rows`."""

    rows: list[CaptionRow]
    nearest: Nearest


def encode_captions(
    corpus: Corpus, report: Report, look: Callable[[list[CaptionRow]], None] = lambda rows: None
) -> None:
    """Encode all captions that have no vector yet, together with whatever workers are free.

    look: a function that is called with all moments of the corpus, some at a time.
    """
    parts = []
    for first, last in ranges(corpus, CAPTIONS_OF_A_PART):
        report(0, 0, "looking for captions to encode")
        rows = rows_in(corpus, first, last)
        look(rows)
        if lacking([row.caption for row in rows]):
            parts.append({"model": model_key(), "first": first, "last": last})
    if len(parts) > 1:  # a single part is done at once where it is needed
        share(encode_some, corpus, parts, report, "encoding captions")


@kind("encode-some-captions", "Encode some captions", of=Corpus, is_part=True, refusals=(CorpusError,))
def encode_some(corpus: Corpus, report: Report, model: str, first: int, last: int) -> None:
    """Encode the captions of the moments with these primary keys. `model` only tells the parts of two models apart."""
    captions = Moment.objects.filter(video__corpus=corpus, pk__range=(first, last)).values_list("caption", flat=True)
    embed(list(captions), report)


def ranges(corpus: Corpus, size: int) -> list[tuple[int, int]]:
    """Return the first and the last primary key of each `size` moments of a corpus, in the order of storing."""
    moments = Moment.objects.filter(video__corpus=corpus).order_by("pk")
    keys = moments.values_list("pk", flat=True).iterator(chunk_size=CAPTIONS_OF_A_BLOCK)
    found = []
    while some := list(islice(keys, size)):
        found.append((some[0], some[-1]))
    return found


def rows_in(corpus: Corpus, first: int, last: int) -> list[CaptionRow]:
    """Return the moments of a corpus whose primary keys are in a range, sorted."""
    return _rows(Moment.objects.filter(video__corpus=corpus, pk__range=(first, last)))


def _rows(moments: QuerySet[Moment]) -> list[CaptionRow]:
    listed = moments.order_by().values_list("video__name", "start", "end", "description", "pk", "caption")
    return sorted(CaptionRow(moment_id(*each[:3]), *each[3:]) for each in listed)


def nearest_moments(corpus: Corpus, queries: Vectors, depth: int, report: Report) -> Found:
    """Return the moments whose captions are nearest to each query. Of equally near ones the first row comes first.

    queries: array of shape (m, d), float32: vectors of length 1.
    depth: how many moments with different ids for each query; if there are fewer, all.
    """
    found = nothing(len(queries))
    for first, last in ranges(corpus, CAPTIONS_OF_A_BLOCK):
        found = _merged(found, nearest_in(corpus, first, last, queries, depth, report), depth)
    return found


def nearest_in(corpus: Corpus, first: int, last: int, queries: Vectors, depth: int, report: Report) -> Found:
    """As `nearest_moments`, among the moments whose primary keys are in a range."""
    rows = rows_in(corpus, first, last)
    captions = embed([row.caption for row in rows], _telling(report, "encoding captions"))
    most = max(Counter(row.id for row in rows).values(), default=1)
    near = nearest(queries, captions, depth * most, _telling(report, "comparing queries"))
    return _merged(nothing(len(queries)), Found(rows, near), depth)


def nothing(m: int) -> Found:
    """Return that nothing was found for m queries."""
    return Found([], Nearest(np.empty((m, 0), np.intp), np.empty((m, 0))))


def packed(found: Found) -> bytes:
    """Return the primary keys and the similarities of what was found."""
    pairs = np.empty(found.nearest.indices.shape, PAIR)
    pairs["moment"] = np.array([row.pk for row in found.rows], np.int64)[found.nearest.indices]
    pairs["similarity"] = found.nearest.similarities
    np.save(content := BytesIO(), pairs)
    return content.getvalue()


def with_packed(found: Found, content: bytes, depth: int) -> Found:
    """Return the nearest of what was found and of what another process has found and packed."""
    pairs = np.load(BytesIO(content))
    keys, similarities = pairs["moment"], pairs["similarity"].copy()
    if found.nearest.indices.shape[1] == depth:  # what is less similar to a query than all that it has, is not read
        similarities[similarities < found.nearest.similarities[:, -1:]] = -np.inf
    wanted = np.unique(keys[similarities > -np.inf]).tolist()
    some = [wanted[start : start + ROWS_AT_A_TIME] for start in range(0, len(wanted), ROWS_AT_A_TIME)]
    rows = [row for each in some for row in _rows(Moment.objects.filter(pk__in=each))]
    places = {row.pk: place for place, row in enumerate(rows)}
    indices = np.array([places.get(key, -1) for key in keys.ravel().tolist()], np.intp).reshape(keys.shape)
    similarities[indices < 0] = -np.inf
    return _merged(found, Found(rows, Nearest(indices, similarities)), depth) if rows else found


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
    return lambda done, total: report(done, total, f"{doing}: {done:,} of {total:,}")
