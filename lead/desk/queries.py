"""What the lead's pages show of a campaign, in a fixed number of queries however large it is."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet

from campaigns.models import Campaign
from corpus.models import Clip
from jobs.keys import keys_of
from jobs.models import Job
from judging.models import Batch
from judging.pool.clips import CUT_ANEW, CUT_CLIP, CUT_CLIPS
from judging.pool.ranking import RANK
from judging.pool.study import STUDY
from judging.review.reopening import REOPEN
from releases.freezing import FREEZE
from releases.models import Release
from releases.training.sets import MAKE_TRAINING_SET
from reports.summaries import COUNT

JOBS_LOOKED_AT = 1000
JOBS_SHOWN = 4  # of each kind of state


def unfinished_jobs(campaign: Campaign) -> QuerySet[Job]:
    """The campaign's jobs that are waited for: of its own, of clips to come for batches and examples, of releases,
    of training sets, and of somebody's work that is reopened.
    """
    own = Q(kind__in=[RANK, CUT_ANEW, COUNT, STUDY], key=campaign.job_key)
    preparing = Batch.objects.in_campaign(campaign).filter(state=Batch.State.PREPARING)
    unwritten = campaign.releases.filter(state=Release.State.MAKING)
    of_annotators = campaign.reopenings.filter(annotator__isnull=False)
    of_examples = Clip.objects.filter(pk__in=campaign.examples.values("clip"))
    clips, example_clips, releases, reopenings = (
        Q(kind=kind, key__in=keys_of(rows))
        for kind, rows in (
            (CUT_CLIPS, preparing),
            (CUT_CLIP, of_examples),
            (FREEZE, unwritten),
            (REOPEN, of_annotators),
        )
    )
    training_sets = Q(kind=MAKE_TRAINING_SET, key__in=keys_of(campaign.training_sets.all()))
    found = Job.objects.filter(own | clips | example_clips | releases | reopenings | training_sets)
    return found.exclude(state=Job.State.DONE)


def jobs_of(campaign: Campaign) -> dict[str, Any]:
    """The campaign's long work: how much is under way, what of it runs, what is delayed, and what failed."""
    found = list(unfinished_jobs(campaign).order_by("pk")[:JOBS_LOOKED_AT])
    failed = [job for job in found if job.has_failed]
    delayed = [job for job in found if job.is_delayed]
    return {
        "unfinished": len(found) - len(failed),
        "waiting": sum(not (job.has_failed or job.is_running or job.is_delayed) for job in found),
        "running": [job for job in found if job.is_running][:JOBS_SHOWN],
        "delayed": [(job, batch_of(job)) for job in delayed[:JOBS_SHOWN]],
        "more_delayed": len(delayed[JOBS_SHOWN:]),
        "failed": [(job, batch_of(job)) for job in failed[:JOBS_SHOWN]],
        "n_failed": len(failed),
        "n_without_clips": sum(1 for job in failed if batch_of(job)),
    }


def batch_of(job: Job) -> str:
    """The primary key of the batch whose clips the job cuts, or nothing."""
    return job.key.rpartition(" ")[2] if job.kind == CUT_CLIPS else ""
