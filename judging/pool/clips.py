"""Making a batch ready: its clips are cut ahead, so that no annotator ever waits for one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.db import transaction

from corpus.clips import clips_of
from corpus.models import Clip
from jobs.models import Job

if TYPE_CHECKING:
    from judging.models import Batch

CUT_CLIPS = "cut clips"
CUT_CLIP = "cut a clip"
CUT_ANEW = "cut clips anew"


def prepare(batch: Batch) -> None:
    """Ask for the batch's clips; it opens when they are cut, or at once where there is nothing to cut."""
    if any(clip.state == Clip.State.WAITING for clip in clips_for(batch)):
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
        wanted = [clip.pk for clip in clips_for(batch) if _worth_another_try(clip)]
        Clip.objects.filter(pk__in=wanted).update(state=Clip.State.WAITING, error="")
        again += len(wanted)
        if wanted or batch.state == "preparing":
            prepare(batch)
    return again


def prepare_clip(clip: Clip) -> None:
    """Ask for a clip that belongs to no batch; again where it failed, or its media have come meanwhile."""
    if _worth_another_try(clip):
        clip.state, clip.error = Clip.State.WAITING, ""
        clip.save(update_fields=["state", "error"])
    if clip.state == Clip.State.WAITING:
        Job.objects.ask(CUT_CLIP, f"clip {clip.pk}", clip=clip.pk)


def _worth_another_try(clip: Clip) -> bool:
    come = clip.state == Clip.State.MISSING and clip.video.media
    return clip.state == Clip.State.FAILED or bool(come)


def clips_for(batch: Batch) -> list[Clip]:
    """The clips that show a batch's candidates; each candidate refers to its own from then on."""
    candidates = list(batch.candidates.select_related("moment__video"))
    campaign = batch.query.campaign
    clips = clips_of([each.moment for each in candidates], campaign.padding, campaign.sound)
    for candidate in candidates:
        candidate.clip = clips[candidate.moment_id]
    batch.candidates.bulk_update(candidates, ["clip"])
    return list({clip.pk: clip for clip in clips.values()}.values())
