"""Making a batch ready: its clips are cut ahead, so that no annotator ever waits for one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.db import transaction

from corpus.clips import clips_of
from corpus.models import Clip, Moment
from jobs.models import Job

if TYPE_CHECKING:
    from judging.models import Batch

CUT_CLIPS = "cut clips"


def prepare(batch: Batch) -> None:
    """Ask for the batch's clips; it opens when they are cut, or at once where there is nothing to cut."""
    if any(clip.state == Clip.State.WAITING for clip in _clips(batch)):
        Job.objects.ask(CUT_CLIPS, f"batch {batch.pk}", batch=batch.pk)
    else:
        batch.open()


@transaction.atomic
def retry_clips(batches: Iterable[Batch]) -> int:
    """Ask again for clips that failed, or whose media have come meanwhile; returns the number of clips.

    It also takes up batches that wait because their job had failed.
    """
    again = 0
    for batch in batches:
        wanted = [clip.pk for clip in _clips(batch) if _worth_another_try(clip)]
        Clip.objects.filter(pk__in=wanted).update(state=Clip.State.WAITING, error="")
        again += len(wanted)
        if wanted or batch.state == "preparing":
            prepare(batch)
    return again


def _worth_another_try(clip: Clip) -> bool:
    come = clip.state == Clip.State.MISSING and clip.video.media
    return clip.state == Clip.State.FAILED or bool(come)


def _clips(batch: Batch) -> Iterable[Clip]:
    return clips_of(Moment.objects.filter(candidates__batch=batch).select_related("video")).values()
