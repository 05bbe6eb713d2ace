"""Pseudo training sets to download: asking for one, and the work of the job that writes its file."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from django.db import transaction
from django.db.models.functions import Now

from base.errors import BadValue
from campaigns.models import Campaign
from corpus.errors import CorpusError
from corpus.stored_files import store
from jobs.registry import Report, kind
from releases.models import TrainingSet
from releases.training.writing import DEEPEST, file_name, write
from retrieval.embedding import model_name

USUAL_DEPTHS = (1, 20, 40)  # TVR-Ranking's


@transaction.atomic
def ask_for_training_set(campaign: Campaign, depth: int) -> TrainingSet:
    """Ask for the job that writes the campaign's pseudo training set with this N.

    A file that is there already can be downloaded meanwhile.

    Raises
    ------
    BadValue
        If N is out of range.
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
    page=("exports", "campaign.name"),
    refusals=(CorpusError,),
)
def make_training_set(training_set: TrainingSet, report: Report) -> None:
    """Write the file and store it in place of the one before."""
    campaign, before = training_set.campaign, training_set.file.name
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / file_name(training_set.depth)
        queries = write(campaign, {training_set.depth: file}, report)
        # The name says what the file holds, so that a file that somebody is downloading is never written over.
        stored = store(f"training/{campaign.name}-{training_set.pk}-{_checksum(file)}.json", file)
    TrainingSet.objects.filter(pk=training_set.pk).update(
        encoder=model_name(), queries=queries, file=stored.name, sha256=stored.sha256, size=stored.size, at=Now()
    )
    if before and before != stored.name:
        training_set.file.storage.delete(before)


def _checksum(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()[:12]
