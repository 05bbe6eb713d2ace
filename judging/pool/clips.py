"""Asking for the clips of batches and examples, which are cut ahead so that no annotator waits for one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from django.db import transaction

from base.transactions import locked
from campaigns.models.campaign import Campaign
from corpus.clips import clips_of, widened
from corpus.models import Clip, Moment
from jobs.keys import key_of
from jobs.models import Job
from judging.models.states import BatchState

if TYPE_CHECKING:
    from judging.models import Batch

CUT_CLIPS = "cut clips"
CUT_CLIP = "cut a clip"
CUT_ANEW = "cut clips anew"
SEARCH = "search "  # the beginning of the audience of clips for a search; no campaign has such a name


def prepare(batch: Batch) -> None:
    """Ask for the batch's clips. The batch opens when they are cut, or at once if there is nothing to cut."""
    if open_when_cut(batch):
        Job.objects.ask(CUT_CLIPS, batch.job_key, batch=batch.pk)


@transaction.atomic
def open_when_cut(batch: Batch) -> list[Clip]:
    """Open the batch if all its clips are there, except those of videos without media. Return the clips to come.

    These are the clips that the campaign's settings ask for now. They cannot change until the batch is open. A clip
    that failed is to come too: only the lead opens a batch without it (`judging.pool.opening`).
    """
    to_come = [clip for clip in clips_for(batch) if clip.is_to_come]
    if not to_come:
        batch.open()
    return to_come


class AskedAgain(NamedTuple):
    """How much is asked for again."""

    clips: int
    batches: int


def retry_clips(batches: Iterable[Batch]) -> AskedAgain:
    """Ask again, and now, for all clips of these batches that are not there although their video has media."""
    clips: set[int] = set()
    asked = 0
    for batch in batches:
        with transaction.atomic():
            wanted = {clip.pk for clip in clips_for(batch) if _can_be_cut(clip)}
            Clip.objects.filter(pk__in=wanted).update(state=Clip.State.WAITING, error="")
            if wanted or batch.state == BatchState.PREPARING:
                prepare(batch)
                asked += 1
        clips |= wanted
    return AskedAgain(len(clips), asked)


def prepare_clip(clip: Clip) -> bool:
    """Ask for a clip that belongs to no batch, unless it is there or cannot be cut. Return whether it is asked for."""
    if not _can_be_cut(clip):
        return False
    clip.state, clip.error = Clip.State.WAITING, ""
    clip.save(update_fields=["state", "error"])
    Job.objects.ask(CUT_CLIP, key_of(clip), clip=clip.pk)
    return True


def _can_be_cut(clip: Clip) -> bool:
    has_media_now = clip.state == Clip.State.MISSING and clip.video.media
    return clip.is_to_come or bool(has_media_now)


def clips_for(batch: Batch) -> list[Clip]:
    """Return the clips of a batch's candidates, made where there are none, and link each candidate to its clip."""
    candidates = list(batch.candidates.select_related("moment__video"))
    clips = clips_of_moments([each.moment for each in candidates], batch.query.campaign)
    for candidate in candidates:
        candidate.clip = clips[candidate.moment_id]
    batch.candidates.bulk_update(candidates, ["clip"])
    return list({clip.pk: clip for clip in clips.values()}.values())


def clips_of_moments(moments: Iterable[Moment], campaign: Campaign) -> dict[int, Clip]:
    """Return a clip for each moment, by the moment's key, with the padding and the sound of the campaign.

    The settings are read anew, and are locked until the transaction ends, because they may have changed since the
    caller read the campaign.
    """
    campaign = locked(Campaign.objects.filter(pk=campaign.pk)).get()
    return clips_of(moments, campaign.name, campaign.padding, campaign.sound)


def clips_found(moments: Iterable[Moment], campaign: Campaign) -> dict[int, Clip]:
    """Return the clips that show moments which a search has found, by the moments' keys: those that are there already.

    A clip that was cut for annotators is better than one that was cut for the search, because it is there longer.
    """
    moments = list(moments)
    audiences = [search_audience(campaign), campaign.name]
    rows = Clip.objects.filter(
        video__in={moment.video_id for moment in moments}, audience__in=audiences, sound=campaign.sound
    )
    by_stretch = {
        (each.video_id, each.start, each.end): each for each in sorted(rows, key=_usefulness(campaign))
    }
    found = {
        moment.pk: by_stretch.get((moment.video_id, *widened(moment, campaign.padding))) for moment in moments
    }
    return {moment: clip for moment, clip in found.items() if clip}


def _usefulness(campaign: Campaign) -> Callable[[Clip], tuple[bool, bool]]:
    return lambda clip: (clip.is_ready, clip.audience == campaign.name)


def cut_for_search(moment: Moment, campaign: Campaign) -> bool:
    """Ask for a clip of a moment that a search has found, and return whether it can be cut.

    It is for the search alone. If it were the annotators' too, the time of its file could tell what a lead looked for.
    """
    clips = clips_of([moment], search_audience(campaign), campaign.padding, campaign.sound)
    return prepare_clip(clips[moment.pk])


def search_audience(campaign: Campaign) -> str:
    """Return the audience of clips for the search of a campaign's leads and researchers."""
    return f"{SEARCH}{campaign.pk}"
