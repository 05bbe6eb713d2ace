"""The clips of batches and examples: asking for them, and cutting them, ahead so that no annotator waits for one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial
from random import SystemRandom

from django.db import transaction

from base.transactions import locked
from campaigns.models.campaign import Campaign
from corpus.clips import clips_of, cutter, make, widened
from corpus.errors import FilmAway
from corpus.models import Clip, Moment
from jobs.errors import JobError
from jobs.models import Job
from jobs.queue import Lane
from jobs.registry import SELF, Report, kind
from judging.models.pool import Batch, Candidate

SEARCH = "search "  # the beginning of the audience of clips for a search; no campaign has such a name


def prepare(batch: Batch) -> None:
    """Ask for the batch's clips. The batch opens when they are cut, or at once if there is nothing to cut."""
    if open_when_cut(batch):
        cut_clips.ask(batch)


@transaction.atomic
def open_when_cut(batch: Batch) -> list[Clip]:
    """Open the batch if all its clips are there, and return the clips to come.

    Clips of videos without films keep it closed, too, unless the campaign opens without films. The clips to come, also
    of the query's distractors, are those that the campaign's settings ask for now. They cannot change until the batch
    is open. A clip that failed is to come too, except that of a distractor: only the lead opens a batch without it
    (`judging.pool.opening`).
    """
    clips = clips_for(batch)
    to_come = [clip for clip in clips if clip.is_to_come]
    to_come += [clip for clip in _of_distractors(batch) if clip.is_waiting]
    without_films = Campaign.objects.filter(pk=batch.campaign_id, opens_without_films=True)
    if not to_come and (_have_films(clips) or without_films.exists()):
        batch.open()
    return to_come


def _have_films(clips: Iterable[Clip]) -> bool:
    return not any(clip.state == Clip.State.MISSING for clip in clips)


@kind(
    "cut-clips",
    "Cut clips",
    lane=Lane.JUDGING,
    of=Batch,
    owner="query.campaign",
    page=("batch", "query.campaign.name", "pk"),
)
def cut_clips(batch: Batch, report: Report) -> None:
    """Cut the clips of a batch, and open it. If a clip cannot be cut, the batch waits for the lead's decision."""
    away = _cut_what_is_to_come(batch, report)
    clips = list(Clip.objects.filter(candidates__batch=batch).distinct())
    report(len(clips), len(clips), _outcome(clips))
    if away:
        raise away
    has_failed = any(clip.state == Clip.State.FAILED for clip in clips) or _have_films(clips)
    if has_failed and Batch.objects.filter(pk=batch.pk, state=Batch.State.PREPARING).exists():
        raise JobError(f"{_outcome(clips)}. Try again, or open the batch without these clips")


def hurry(campaign: Campaign) -> None:
    """Have the clips of the batch that is handed out next cut before all others: an annotator waits for it."""
    preparing = Batch.objects.filter(campaign=campaign, state=Batch.State.PREPARING)
    waiting = cut_clips.jobs(preparing).filter(state=Job.State.WAITING)
    in_order = preparing.filter(pk__in=waiting.values("row")).order_by("-begun", "place", "pk")
    if next_one := in_order.values_list("pk", flat=True).first():
        waiting.filter(row=next_one).hurry()


def _cut_what_is_to_come(batch: Batch, report: Report) -> FilmAway | None:
    """Try once to cut each clip that is not there. Return the fault of one whose film this machine does not have."""
    tried: set[int] = set()
    away = None
    with cutter() as tool:
        # If the settings of clips change meanwhile, there are other clips to cut after these.
        while to_come := [clip for clip in open_when_cut(batch) if clip.pk not in tried]:
            # The store may tell when a clip was cut. That must not tell its rank.
            SystemRandom().shuffle(to_come)
            for number, clip in enumerate(to_come):
                progress = partial(report, number, len(to_come))
                progress()
                tried.add(clip.pk)
                try:
                    make(clip, tool, progress)
                except FilmAway as fault:
                    away = fault
    return away


def _outcome(clips: list[Clip]) -> str:
    """Return how many clips were cut, are missing, and failed, with the first error."""
    count = Counter(clip.state for clip in clips)
    outcome = f"{count[Clip.State.READY]} clips cut"
    if count[Clip.State.MISSING]:
        outcome += f", {count[Clip.State.MISSING]} missing"
    if count[Clip.State.FAILED]:
        first = next(clip.error for clip in clips if clip.state == Clip.State.FAILED)
        outcome += f", {count[Clip.State.FAILED]} failed: {first}"
    return outcome


@kind("cut-clips-anew", "Cut clips anew", lane=Lane.JUDGING, of=Campaign, owner=SELF, page=("campaign", "name"))
def cut_clips_anew(campaign: Campaign, report: Report) -> None:
    """Ask for the clips of every batch that was closed because the settings of clips have changed."""
    batches = Batch.objects.filter(campaign=campaign, state=Batch.State.PREPARING)
    keys = list(batches.values_list("pk", flat=True))
    for number, batch in enumerate(keys):
        report(number, len(keys))
        prepare(Batch.objects.select_related("query__campaign").get(pk=batch))
    report(len(keys), len(keys))


@kind(
    "cut-clip",
    "Cut a clip",
    lane=Lane.JUDGING,
    of=Clip,
    owner="video.corpus",
    subject="{0.video} from {0.start:.1f} to {0.end:.1f} s",
    page=("corpus", "video.corpus.name"),
)
def cut_clip(clip: Clip, report: Report) -> None:
    """Cut a clip that belongs to no batch, such as that of a worked example."""
    progress = partial(report, 0, 1)
    with cutter() as tool:
        make(clip, tool, progress)
    report(1, 1)


def retry_clips(batches: Iterable[Batch]) -> tuple[int, int]:
    """Ask again, and now, for all clips of these batches that are not there although their video has media.

    Return how many clips that are, and of how many batches.
    """
    clips: set[int] = set()
    retried = 0
    for batch in batches:
        with transaction.atomic():
            wanted = {clip.pk for clip in clips_for(batch) if _can_be_cut(clip)}
            Clip.objects.filter(pk__in=wanted).update(state=Clip.State.WAITING, error="")
            if wanted or batch.state == Batch.State.PREPARING:
                prepare(batch)
                retried += 1
        clips |= wanted
    return len(clips), retried


def prepare_clip(clip: Clip) -> bool:
    """Ask for a clip that belongs to no batch, unless it is there or cannot be cut. Return whether it is asked for."""
    if not _can_be_cut(clip):
        return False
    clip.state, clip.error = Clip.State.WAITING, ""
    clip.save(update_fields=["state", "error"])
    cut_clip.ask(clip)
    return True


def _can_be_cut(clip: Clip) -> bool:
    has_media_now = clip.state == Clip.State.MISSING and clip.video.media
    return clip.is_to_come or bool(has_media_now)


def clips_for(batch: Batch) -> list[Clip]:
    """Return the clips of a batch's candidates, made where there are none, and link each candidate to its clip."""
    return _linked(list(batch.candidates.select_related("moment__video")), batch.query.campaign)


def _of_distractors(batch: Batch) -> list[Clip]:
    """Return the clips of the distractors of the batch's query, linked to them. Nothing waits for one that failed."""
    return _linked(list(batch.query.distractors.select_related("moment__video")), batch.query.campaign)


def _linked(candidates: list[Candidate], campaign: Campaign) -> list[Clip]:
    """Return the clips of candidates, made where there are none, and link each candidate to its clip."""
    clips = clips_of_moments([each.moment for each in candidates], campaign) if candidates else {}
    for candidate in candidates:
        candidate.clip = clips[candidate.moment_id]
    Candidate.objects.bulk_update(candidates, ["clip"])
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
    by_use = sorted(rows, key=lambda clip: (clip.is_ready, clip.audience == campaign.name))
    by_stretch = {(each.video_id, each.start, each.end): each for each in by_use}
    found = {moment.pk: by_stretch.get((moment.video_id, *widened(moment, campaign.padding))) for moment in moments}
    return {moment: clip for moment, clip in found.items() if clip}


def cut_for_search(moment: Moment, campaign: Campaign) -> bool:
    """Ask for a clip of a moment that a search has found, and return whether it can be cut.

    It is for the search alone. If it were the annotators' too, the time of its file could tell what a lead looked for.
    """
    clips = clips_of([moment], search_audience(campaign), campaign.padding, campaign.sound)
    return prepare_clip(clips[moment.pk])


def search_audience(campaign: Campaign) -> str:
    """Return the audience of clips for the search of a campaign's leads and researchers."""
    return f"{SEARCH}{campaign.pk}"
