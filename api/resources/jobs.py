"""Long work: the jobs of a campaign."""

from __future__ import annotations

from django.db.models import Q, QuerySet
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Shape
from api.models import Delivery
from api.resource import Resource, under_way
from api.webhooks.announcing import DELIVER
from campaigns.models import Campaign, Token
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
from runs.systems.orders import SEARCH, TRAIN


class JobShape(Shape):
    id = serializers.IntegerField(source="pk")
    kind = serializers.CharField()
    state = serializers.ChoiceField(Job.State.choices)
    done = serializers.IntegerField()
    total = serializers.IntegerField(help_text="0 while nobody knows")
    message = serializers.CharField(help_text="what it does now")
    error = serializers.CharField(help_text="why the last attempt came to nothing")
    due = serializers.DateTimeField(help_text="when it begins, or is tried again")
    created = serializers.DateTimeField()
    ended = serializers.DateTimeField(allow_null=True)
    example = {
        "id": 12,
        "kind": "freeze a release",
        "state": "running",
        "done": 3,
        "total": 14,
        "message": "qrels.txt",
        "error": "",
        "due": "2026-01-05T09:00:00Z",
        "created": "2026-01-05T09:00:00Z",
        "ended": None,
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


class Jobs(Resource):
    @operation("The jobs that are not done", scope=Token.Scope.READ, answer=JobShape, pages=True)
    def get(self, request: Request, name: str) -> Response:
        return self.page(unfinished_in(doors.membership(request, name).campaign), JobShape)


class OneJob(Resource):
    @operation("A job, and how far it is", scope=Token.Scope.READ, answer=JobShape)
    def get(self, request: Request, name: str, pk: int) -> Response:
        campaign = doors.membership(request, name).campaign
        return Response(JobShape(get_object_or_404(jobs_in(campaign), pk=pk)).data)


class JobAgain(Resource):
    @operation(
        "Try a job again that has failed or waits, from its beginning",
        scope=Token.Scope.LEAD,
        answer=JobShape,
        later=True,
    )
    def post(self, request: Request, name: str, pk: int) -> Response:
        job = get_object_or_404(unfinished_in(doors.lead(request, name).campaign), pk=pk)
        asked = Job.objects.ask(job.kind, job.key, **job.arguments)
        asked.refresh_from_db()
        return under_way(name, asked, JobShape(asked).data)
