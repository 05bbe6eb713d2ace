"""Pseudo training sets: files of the N moments with the most similar captions for every training query.

TVR-Ranking (section 3.3) takes the similarity in place of grades, with N = 1, 20 and 40. Top N for a smaller N is the
beginning of the lists for a larger one, so one pass writes several files.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np
from django.db import transaction
from django.db.models.functions import Now
from numpy.typing import NDArray

from base.errors import BadValue, ReeljudgeError
from base.text import wording
from campaigns.models import Campaign
from corpus.errors import CorpusError
from corpus.models import Corpus, Moment
from corpus.stored_files import store
from jobs.registry import Report, kind
from judging.pool.ranking import check_encoder
from judging.pool.selection import caption_id, training_queries
from metrics.formats.json_qrels import BETWEEN, FIRST_LINE, LAST_LINE, moment_fields, training_query
from metrics.formats.moment_ids import moment_id
from releases.models import TrainingSet
from retrieval.embedding import Vectors, embed, model_name
from retrieval.nearest import nearest_distinct
from systems.storage import digest

QUERIES_AT_A_TIME = 2048
DEEPEST = 1000  # the largest N
DIGITS = 6  # of a similarity, as in the other exports
USUAL_DEPTHS = (1, 20, 40)  # TVR-Ranking's


def file_name(depth: int) -> str:
    """Return the name that the authors give such a file.

    >>> file_name(1), file_name(100)
    ('train_top01.json', 'train_top100.json')
    """
    return f"train_top{depth:02}.json"


def write(campaign: Campaign, files: dict[int, Path], report: Report) -> int:
    """Write a pseudo training set for each N, and return how many queries they have.

    files: the file for each N. If the corpus has fewer moments than N, the lists have them all.
    Raises ReeljudgeError if no caption is left for training, or another model than the present one ranked the campaign.
    """
    check_encoder(campaign)
    queries = training_queries(campaign)
    if not queries:
        raise ReeljudgeError(f"campaign {campaign.name}: no caption of corpus {campaign.corpus} is left for training")
    pool = pool_of(campaign.corpus)

    def encoding(done: int, total: int) -> None:
        report(done, total, f"encoding captions: {done:,} of {total:,}")

    vectors = embed(pool.captions, encoding)
    with ExitStack() as stack:
        outs: dict[int, TextIO] = {
            depth: stack.enter_context(file.open("w", encoding="utf-8", newline="\n")) for depth, file in files.items()
        }
        write_queries(queries, pool, vectors, outs, report)
    return len(queries)


@dataclass(frozen=True)
class Pool:
    """The moments of a corpus, in the order of their ids."""

    captions: list[str]
    fields: list[str]
    labels: NDArray[np.intp]  # the same number for moments with the same id: shape (n,)
    own: dict[str, list[int]]  # the places of the moments with each caption, by its wording


def pool_of(corpus: Corpus) -> Pool:
    """Read the moments of a corpus."""
    named = ("video__name", "start", "end", "video__duration", "description", "caption")
    rows = Moment.objects.filter(video__corpus=corpus).values_list(*named).iterator(chunk_size=5000)
    ordered = sorted((moment_id(*row[:3]), row[4], row) for row in rows)
    numbers: dict[str, int] = {}
    labels = [numbers.setdefault(id, len(numbers)) for id, _, _ in ordered]
    own = defaultdict[str, list[int]](list)
    for place, (_, _, row) in enumerate(ordered):
        own[wording(row[5])].append(place)
    return Pool(
        captions=[row[5] for _, _, row in ordered],
        fields=[
            moment_fields(video, start, end, duration, caption)
            for _, _, (video, start, end, duration, _, caption) in ordered
        ],
        labels=np.array(labels, np.intp),
        own=own,
    )


def write_queries(queries: list[str], pool: Pool, vectors: Vectors, outs: dict[int, TextIO], report: Report) -> None:
    """Find the nearest moments of each query, and write them to each of the open files, one for each N."""
    between = FIRST_LINE
    places = np.array([pool.own[query][0] for query in queries], np.intp)
    line = _line_maker(pool)
    for start in range(0, len(queries), QUERIES_AT_A_TIME):
        report(start, len(queries), f"comparing: {start:,} of {len(queries):,} queries")
        some = slice(start, start + QUERIES_AT_A_TIME)
        found = nearest_distinct(vectors[places[some]], vectors, pool.labels, max(outs))
        rows = zip(queries[some], found.indices.tolist(), found.similarities.round(DIGITS).tolist(), strict=True)
        for query, indices, similarities in rows:
            for depth, out in outs.items():
                out.write(between + line(query, indices, similarities, depth))
            between = BETWEEN
    for out in outs.values():
        out.write(LAST_LINE)
    report(len(queries), len(queries))


def _line_maker(pool: Pool) -> Callable[[str, list[int], list[float], int], str]:
    """Return the function that makes a query's line. The query's own moments come first, as in the ranking."""
    fields, labels = pool.fields, pool.labels.tolist()

    def line(query: str, indices: list[int], similarities: list[float], depth: int) -> str:
        own = {labels[place]: place for place in reversed(pool.own[query])}
        moments = [(fields[place], 1.0) for place in sorted(own.values())]
        moments += [
            (fields[place], similarity)
            for place, similarity in zip(indices, similarities, strict=True)
            if labels[place] not in own
        ]
        return training_query(caption_id(query), query, moments[:depth])

    return line


@transaction.atomic
def ask_for_training_set(campaign: Campaign, depth: int) -> TrainingSet:
    """Ask for the job that writes the campaign's pseudo training set with this N.

    A file that is there already can be downloaded meanwhile. Raise BadValue if N is out of range.
    """
    if not 1 <= depth <= DEEPEST:
        raise BadValue("N", str(depth)[:20], f"1 to {DEEPEST:,} moments for each query")
    training_set, _ = TrainingSet.objects.get_or_create(campaign=campaign, depth=depth)
    make_training_set.ask(training_set)
    return training_set


@kind(
    "make-training-set",
    "Make a training set",
    of=TrainingSet,
    owner="campaign",
    subject="N = {0.depth}",
    page=("releases", "campaign.name"),
    refusals=(CorpusError,),
)
def make_training_set(training_set: TrainingSet, report: Report) -> None:
    """Write the file and store it in place of the one before."""
    campaign, before = training_set.campaign, training_set.file.name
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / file_name(training_set.depth)
        queries = write(campaign, {training_set.depth: file}, report)
        # The name says what the file holds, so that a file that somebody is downloading is never written over.
        stored = store(f"training/{campaign.name}-{training_set.pk}-{digest(file)[:12]}.json", file)
    TrainingSet.objects.filter(pk=training_set.pk).update(
        encoder=model_name(), queries=queries, file=stored.name, sha256=stored.sha256, size=stored.size, at=Now()
    )
    if before and before != stored.name:
        training_set.file.storage.delete(before)
