"""Long work: the jobs of a campaign."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet
from django.shortcuts import get_object_or_404
from rest_framework.request import Request

from api.fields import Page, Shape
from api.operations import reads, starts, under_way
from api.resource import CAMPAIGN, Resource
from campaigns.models import Campaign, Delivery
from campaigns.webhooks.deliveries import DELIVER
from corpus.models import Clip
from jobs.keys import key_of, keys_of
from jobs.models import Job
from judging import doors
from judging.models import Batch
from judging.pool.clips import CUT_CLIP, CUT_CLIPS
from judging.review.reopening import REOPEN
from releases.freezing import FREEZE
from releases.jobs import VERIFY
from releases.training.sets import MAKE_TRAINING_SET
from retrieval.search.index import INDEX
from retrieval.search.searching import ENCODE
from runs.models import Submission, SystemSearch
from runs.pools.comparing import COMPARE
from runs.pools.opening import OPEN
from runs.pools.proposing import PROPOSE
from runs.receiving import RECEIVE
from runs.resampling import RESAMPLE
from runs.scoring import SCORE
from runs.systems.asking import SEARCH, TRAIN


class JobShape(Shape):
    of = Job, "id kind state done total message error due created ended"
    helps = {
        "total": "0 while nobody knows",
        "message": "what it does now",
        "error": "why the last attempt came to nothing",
        "due": "when it begins, or is tried again",
    }


def jobs_in(campaign: Campaign) -> QuerySet[Job]:
    """Return the jobs that a campaign has asked for, also those that are done."""
    named = (
        (CUT_CLIPS, Batch.objects.in_campaign(campaign)),
        (CUT_CLIP, Clip.objects.filter(pk__in=campaign.examples.values("clip"))),
        (FREEZE, campaign.releases.all()),
        (VERIFY, campaign.releases.all()),
        (SCORE, campaign.releases.all()),
        (COMPARE, campaign.releases.all()),
        (PROPOSE, campaign.enlargements.all()),
        (OPEN, campaign.enlargements.all()),
        (RESAMPLE, campaign.releases.all()),
        (TRAIN, campaign.systems.all()),
        (SEARCH, SystemSearch.objects.filter(system__campaign=campaign)),
        (RECEIVE, Submission.objects.filter(by__campaign=campaign)),
        (REOPEN, campaign.reopenings.all()),
        (MAKE_TRAINING_SET, campaign.training_sets.all()),
        (DELIVER, Delivery.objects.filter(webhook__campaign=campaign).order_by()),
    )
    found = Q(key=campaign.job_key) | Q(kind=INDEX, key=key_of(campaign.corpus)) | Q(kind=ENCODE)
    for kind, rows in named:
        found |= Q(kind=kind, key__in=keys_of(rows))
    return Job.objects.filter(found)


def unfinished_in(campaign: Campaign) -> QuerySet[Job]:
    """Return the jobs that are waited for, and those that failed and can be tried again."""
    opened = Batch.objects.in_campaign(campaign).exclude(state=Batch.State.PREPARING)  # without some clips
    past = Q(kind=CUT_CLIPS, state=Job.State.FAILED, key__in=keys_of(opened))
    return jobs_in(campaign).exclude(state=Job.State.DONE).exclude(past)


class Jobs(Resource, at=f"{CAMPAIGN}/jobs", name="jobs"):
    @reads(Page(JobShape))
    def get(self, request: Request, name: str) -> Any:
        """The jobs that are not done."""
        return unfinished_in(doors.membership(request, name).campaign)


class OneJob(Resource, at=f"{CAMPAIGN}/jobs/<int:pk>", name="job"):
    @reads(JobShape)
    def get(self, request: Request, name: str, pk: int) -> Any:
        """A job, and how far it is."""
        return get_object_or_404(jobs_in(doors.membership(request, name).campaign), pk=pk)


class JobAgain(Resource, at=f"{CAMPAIGN}/jobs/<int:pk>/again", name="job-again"):
    @starts(JobShape)
    def post(self, request: Request, name: str, pk: int) -> Any:
        """Try a job again that has failed or waits, from its beginning."""
        job = get_object_or_404(unfinished_in(doors.lead(request, name).campaign), pk=pk)
        asked = Job.objects.ask(job.kind, job.key, **job.arguments)
        asked.refresh_from_db()
        return under_way(name, asked, asked)
