"""manage.py tidy: say what nobody needs any more, or delete it: unused vectors of texts and models, and ended jobs.

It goes block by block, so that it holds no lock for long. Vectors can be made again; nothing that is kept for good is
read here.
"""

import hashlib
from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from numpy.typing import NDArray

from base.commands import ReeljudgeCommand
from base.transactions import ROWS_AT_A_TIME
from campaigns.models import Campaign
from corpus.models import Moment
from jobs.models import Job
from jobs.queue import Lane
from judging.models import Query
from retrieval.encoders import model_key, same_model
from retrieval.models import Vector


class Command(ReeljudgeCommand):
    help = "Say which vectors and ended jobs nobody needs any more, or delete them, while others work."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--delete", action="store_true", help="delete them; without it nothing is changed")

    def handle(self, **options: Any) -> None:
        verb = "deleted" if options["delete"] else "would delete"
        for what, number in tidy(options["delete"]):
            self.stdout.write(f"{verb} {number:,} {what}")


KEPT = timedelta(days=30)  # jobs that are done
SHORT = (Lane.QUICK, Lane.JUDGING)  # the lanes with ever more jobs; pages tell of long ones what became of them
ROWS_OF_A_BLOCK = 5000


def tidy(delete: bool) -> Iterator[tuple[str, int]]:
    """Yield in words what is not needed, and how many rows of it there are. Delete them, or (`delete` false) only look.

    Vectors that are made meanwhile are left alone.
    """
    last = Vector.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    models = set(Vector.objects.order_by().values_list("model", flat=True).distinct())
    unused = {model for model in models if not _is_used(model)}
    for model in sorted(unused):
        yield f"vectors of {model}, by which no campaign is ranked", _of_models([model], last, None, delete)
    texts = _texts()
    yield "vectors of texts that no corpus and no campaign holds", _of_models(models - unused, last, texts, delete)
    yield f"quick jobs, and jobs for judging, that were done {KEPT.days} days ago", _jobs(delete)


def _is_used(model: str) -> bool:
    """Return whether vectors are or will be made by the model, or a campaign was ranked by it and may get queries."""
    rankings = Campaign.objects.exclude(encoder="").values_list("encoder", flat=True).distinct()
    return model == model_key() or any(same_model(model, ranking) for ranking in rankings)


def _of_models(models: set[str] | list[str], last: int, texts: NDArray[np.uint64] | None, delete: bool) -> int:
    """Delete the vectors of these models up to a primary key, but for those of the texts. Return their number."""
    found, first = 0, 0
    vectors = Vector.objects.filter(model__in=models, pk__lte=last).order_by("pk")
    while block := list(vectors.filter(pk__gt=first).values_list("pk", "hash")[:ROWS_OF_A_BLOCK]):
        first = block[-1][0]
        keys = np.array([pk for pk, _ in block])
        if texts is not None:
            keys = keys[~np.isin(np.array([_mark(hash) for _, hash in block], np.uint64), texts)]
        found += len(keys)
        if delete:
            _delete(vectors, keys.tolist())
    return found


def _texts() -> NDArray[np.uint64]:
    """Return the marks of all texts that may be compared: captions, descriptions and queries, 8 bytes for each."""
    rewritten = Moment.objects.exclude(description=F("caption")).values_list("description", flat=True)
    lists = Moment.objects.values_list("caption", flat=True), rewritten, Query.objects.values_list("text", flat=True)
    some = [np.fromiter(_marks(each.order_by()), np.uint64) for each in lists]
    return np.unique(np.concatenate(some))


def _marks(texts: QuerySet[Moment, str] | QuerySet[Query, str]) -> Iterator[int]:
    for text in texts.iterator(chunk_size=ROWS_OF_A_BLOCK):
        yield _mark(hashlib.sha256(text.encode()).hexdigest())


def _mark(hash: str) -> int:
    """Return the beginning of a hash. Two texts that share it only keep a vector that could go."""
    return int(hash[:16], 16)


def _jobs(delete: bool) -> int:
    """Delete jobs that are done. One that is asked for again in the meantime is not."""
    done = Job.objects.filter(state=Job.State.DONE, lane__in=SHORT, ended__lt=Now() - KEPT).order_by("pk")
    if not delete:
        return done.count()
    found = 0
    while block := list(done.values_list("pk", flat=True)[:ROWS_OF_A_BLOCK]):
        found += _delete(done, block)
    return found


def _delete(rows: QuerySet[Vector] | QuerySet[Job], keys: list[int]) -> int:
    parts = [keys[start : start + ROWS_AT_A_TIME] for start in range(0, len(keys), ROWS_AT_A_TIME)]
    return sum(rows.order_by().filter(pk__in=part).delete()[0] for part in parts)
