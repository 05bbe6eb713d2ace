"""The kinds of job that judging knows: ranking a campaign's candidates, and cutting a batch's clips."""

from typing import Any

from corpus.clips import clips_of, make
from corpus.errors import CorpusError
from corpus.models import Moment
from jobs.errors import JobError
from jobs.registry import Report, kind
from judging.errors import JudgingError
from judging.models import Batch, Campaign
from judging.preparing import CUT_CLIPS
from judging.ranking import RANK, rank


@kind(RANK)
def rank_candidates(arguments: dict[str, Any], report: Report) -> None:
    try:
        rank(Campaign.objects.get(pk=arguments["campaign"]), report)
    except (CorpusError, JudgingError) as fault:
        raise JobError(str(fault)) from fault


@kind(CUT_CLIPS)
def cut_clips(arguments: dict[str, Any], report: Report) -> None:
    """A clip that cannot be cut is marked as failed; the batch opens all the same."""
    batch = Batch.objects.get(pk=arguments["batch"])
    clips = list(clips_of(Moment.objects.filter(candidates__batch=batch).select_related("video")).values())
    for number, clip in enumerate(clips):
        report(number, len(clips))
        make(clip)
    report(len(clips), len(clips))
    batch.open()
