"""Making a batch ready: its clips are cut ahead, so that no annotator ever waits for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpus.clips import clips_of
from corpus.models import Clip, Moment
from jobs.models import Job

if TYPE_CHECKING:
    from judging.models import Batch

CUT_CLIPS = "cut clips"


def prepare(batch: Batch) -> None:
    """Ask for the batch's clips; it opens when they are cut, or at once where there is nothing to cut."""
    moments = Moment.objects.filter(candidates__batch=batch).select_related("video")
    clips = clips_of(moments).values()
    if any(clip.state == Clip.State.WAITING for clip in clips):
        Job.objects.ask(CUT_CLIPS, f"batch {batch.pk}", batch=batch.pk)
    else:
        batch.open()
