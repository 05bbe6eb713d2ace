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

READ, LEAD = Token.Scope.READ, Token.Scope.LEAD


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
    """A job of a campaign, or without a campaign any that the person may have tried again."""

    @operation("A job, and how far it is", scope=READ, answer=JobShape)
    def get(self, request: Request, pk: int, name: str = "") -> Response:
        jobs = doors.jobs(doors.membership(request, name)) if name else doors.jobs_to_try_again(request)
        return Response(JobShape(get_object_or_404(jobs, pk=pk)).data)


class JobAgain(Resource):
    @operation(
        "Try a job again that has failed or waits, from its beginning",
        scope=LEAD,
        answer=JobShape,
        later=True,
    )
    def post(self, request: Request, pk: int, name: str = "") -> Response:
        jobs = doors.jobs(doors.lead(request, name)) if name else doors.jobs_to_try_again(request)
        job = get_object_or_404(jobs.not_done(), pk=pk).try_again()
        job.refresh_from_db()
        data = JobShape(job).data
        return under_way(name, job, data) if name else later(reverse("api-any-job", args=[pk]), data)


class JobCancelled(Resource):
    @operation("Cancel a job that waits or runs; it counts as failed", scope=LEAD, answer=JobShape)
    def post(self, request: Request, pk: int, name: str = "") -> Response:
        jobs = doors.jobs(doors.lead(request, name)) if name else doors.jobs_to_change(request)
        job = get_object_or_404(jobs, pk=pk)
        job.end()
        job.refresh_from_db()
        return Response(JobShape(job).data)
