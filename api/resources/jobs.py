"""Long work: the jobs of a campaign, of a corpus, and of the site."""

from __future__ import annotations

from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Shape
from api.resource import Resource, later, under_way
from campaigns import doors
from campaigns.models import Token
from jobs.models import Job
from jobs.queue import JobQuerySet

READ, LEAD = Token.Scope.READ, Token.Scope.LEAD
AGAIN = "Try a job again that has failed or waits, from its beginning"
CANCEL = "Cancel a job that waits or runs; it counts as failed"


class JobShape(Shape):
    id = serializers.IntegerField(source="pk")
    kind = serializers.CharField(help_text="such as score-runs")
    label = serializers.CharField(help_text="the kind in words")
    subject = serializers.CharField(help_text="what it is about, in words")
    address = serializers.CharField(help_text="of the page about that; empty if there is none")
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
        "kind": "freeze-release",
        "label": "Freeze a release",
        "subject": "release 3",
        "address": "/campaigns/films/releases/",
        "state": "running",
        "done": 3,
        "total": 14,
        "message": "qrels.txt",
        "error": "",
        "due": "2026-01-05T09:00:00Z",
        "created": "2026-01-05T09:00:00Z",
        "ended": None,
    }


class Jobs(Resource):
    @operation("The jobs that are not done", scope=READ, answer=JobShape, pages=True)
    def get(self, request: Request, name: str) -> Response:
        return self.page(doors.jobs(doors.membership(request, name)).not_done(), JobShape)


class JobsOfCorpus(Resource):
    @operation("The jobs of a corpus that are not done", scope=READ, answer=JobShape, pages=True)
    def get(self, request: Request, corpus: int) -> Response:
        found = get_object_or_404(doors.corpora(request), pk=corpus)
        return self.page(doors.jobs_of_corpus(request, found).not_done(), JobShape)


class JobsOfSite(Resource):
    @operation(
        "The jobs that are not done: one's own, and all to those who run the site",
        scope=READ,
        answer=JobShape,
        pages=True,
    )
    def get(self, request: Request) -> Response:
        return self.page(doors.jobs_of_site(request).not_done(), JobShape)


class OneJob(Resource):
    @operation("A job, and how far it is", scope=READ, answer=JobShape)
    def get(self, request: Request, name: str, pk: int) -> Response:
        return _one(doors.jobs(doors.membership(request, name)), pk)


class JobAgain(Resource):
    @operation(AGAIN, scope=LEAD, answer=JobShape, later=True)
    def post(self, request: Request, name: str, pk: int) -> Response:
        job = _tried_again(doors.jobs(doors.lead(request, name)), pk)
        return under_way(name, job, JobShape(job).data)


class JobCancelled(Resource):
    @operation(CANCEL, scope=LEAD, answer=JobShape)
    def post(self, request: Request, name: str, pk: int) -> Response:
        return _cancelled(doors.jobs(doors.lead(request, name)), pk)


class AnyJob(Resource):
    @operation("A job that one may have tried again, and how far it is", scope=READ, answer=JobShape)
    def get(self, request: Request, pk: int) -> Response:
        return _one(doors.jobs_to_try_again(request), pk)


class AnyJobAgain(Resource):
    @operation(AGAIN, scope=LEAD, answer=JobShape, later=True)
    def post(self, request: Request, pk: int) -> Response:
        job = _tried_again(doors.jobs_to_try_again(request), pk)
        return later(reverse("api-any-job", args=[pk]), JobShape(job).data)


class AnyJobCancelled(Resource):
    @operation(CANCEL, scope=LEAD, answer=JobShape)
    def post(self, request: Request, pk: int) -> Response:
        return _cancelled(doors.jobs_to_change(request), pk)


def _one(jobs: JobQuerySet, pk: int) -> Response:
    return Response(JobShape(get_object_or_404(jobs, pk=pk)).data)


def _tried_again(jobs: JobQuerySet, pk: int) -> Job:
    job = get_object_or_404(jobs.not_done(), pk=pk).try_again()
    job.refresh_from_db()
    return job


def _cancelled(jobs: JobQuerySet, pk: int) -> Response:
    get_object_or_404(jobs, pk=pk).end()
    return _one(jobs, pk)
