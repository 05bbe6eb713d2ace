"""The kinds of job that belong to judging."""

from collections import Counter
from functools import partial
from random import SystemRandom
from typing import Any

from base.errors import ReeljudgeError
from campaigns.models import Campaign
from corpus.clips import cutter, make
from corpus.errors import CorpusError, FilmAway
from corpus.models import Clip, Corpus
from jobs.errors import JobError, JobPostponed
from jobs.registry import Report, kind
from judging.models import Batch, Reopening
from judging.pool.clips import CUT_ANEW, CUT_CLIP, CUT_CLIPS, open_when_cut, prepare
from judging.pool.ranking import RANK, rank
from judging.pool.rewording import DRAFT, reword
from judging.pool.study import STUDY, Plan, start
from judging.review.reopening import REOPEN, carry_out_reopening
from retrieval.rewriting.drafting import draft
from retrieval.rewriting.endpoint import EndpointAway
from retrieval.rewriting.models import REWORD, Substitution


@kind(RANK)
def rank_candidates(arguments: dict[str, Any], report: Report) -> None:
    try:
        rank(Campaign.objects.get(pk=arguments["campaign"]), report)
    except (CorpusError, ReeljudgeError) as fault:
        raise JobError(str(fault)) from fault


@kind(REWORD)
def reword_descriptions(arguments: dict[str, Any], report: Report) -> None:
    """Reword a corpus. If the chat endpoint is away, the job waits for it, and goes on where it stopped."""
    order = Substitution.objects.select_related("corpus").get(pk=arguments["substitution"])
    try:
        reword(order, report)
    except EndpointAway as fault:
        raise JobPostponed(str(fault)) from fault
    except (CorpusError, ReeljudgeError) as fault:
        raise JobError(str(fault)) from fault


@kind(DRAFT)
def draft_cast(arguments: dict[str, Any], report: Report) -> None:
    report(0, 1, "counting capitalised words")
    draft(Corpus.objects.get(pk=arguments["corpus"]))
    report(1, 1)


@kind(CUT_CLIPS)
def cut_clips(arguments: dict[str, Any], report: Report) -> None:
    """Cut the clips of a batch, and open it. Without a clip that cannot be cut the batch waits for the lead's word."""
    batch = Batch.objects.select_related("query__campaign").filter(pk=arguments["batch"]).first()
    if batch is None:
        return  # It was a second batch, and its opening was undone.
    away = _cut_what_is_to_come(batch, report)
    clips = list(Clip.objects.filter(candidates__batch=batch).distinct())
    report(len(clips), len(clips), _outcome(clips))
    if away:
        raise away
    if Batch.objects.filter(pk=batch.pk, state=Batch.State.PREPARING).exists():
        raise JobError(f"{_outcome(clips)}. Try again, or open the batch without these clips")


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


@kind(CUT_CLIP)
def cut_clip(arguments: dict[str, Any], report: Report) -> None:
    """Cut the clip of a worked example, which belongs to no batch."""
    progress = partial(report, 0, 1)
    with cutter() as tool:
        make(Clip.objects.get(pk=arguments["clip"]), tool, progress)
    report(1, 1)


@kind(CUT_ANEW)
def cut_clips_anew(arguments: dict[str, Any], report: Report) -> None:
    """Ask for the clips of every batch that was closed because the settings of clips have changed."""
    batches = Batch.objects.filter(campaign=arguments["campaign"], state=Batch.State.PREPARING)
    keys = list(batches.values_list("pk", flat=True))
    for number, batch in enumerate(keys):
        report(number, len(keys))
        prepare(Batch.objects.select_related("query__campaign").get(pk=batch))
    report(len(keys), len(keys))


@kind(REOPEN)
def reopen_all_work(arguments: dict[str, Any], report: Report) -> None:
    """Reopen all work of one annotator."""
    reopenings = Reopening.objects.select_related("lead", "campaign", "annotator__campaign")
    carry_out_reopening(reopenings.get(pk=arguments["reopening"]), report)


@kind(STUDY)
def start_study(arguments: dict[str, Any], report: Report) -> None:
    plan = Plan(*arguments["plan"])
    try:
        start(Campaign.objects.get(pk=arguments["campaign"]), plan, report)
    except (CorpusError, ReeljudgeError) as fault:
        raise JobError(str(fault)) from fault
