"""Runs that are stored: what is known of one, its file, who sees it, and its scores."""

from __future__ import annotations

from typing import Any

from django.http import FileResponse, HttpResponseBase
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Body, Choice, Query, Shape
from api.resource import Resource, under_way
from campaigns.models import Token
from runs import doors
from runs.models import Scoring, Visibility
from runs.scoring import newest_release, score_runs

READ, RUNS = Token.Scope.READ, Token.Scope.RUNS
BYTES = "application/octet-stream"


class RunShape(Shape):
    number = serializers.IntegerField()
    name = serializers.CharField()
    system = serializers.CharField()
    group = serializers.CharField(help_text="the same for runs of a system that differ by their seed")
    description = serializers.CharField()
    paper = serializers.CharField()
    code = serializers.CharField()
    visibility = serializers.ChoiceField(Visibility.choices)
    by = serializers.IntegerField(source="by.worker")
    at = serializers.DateTimeField()
    filename = serializers.CharField()
    sha256 = serializers.CharField()
    size = serializers.IntegerField(help_text="bytes")
    queries = serializers.IntegerField()
    predictions = serializers.IntegerField()
    notes = serializers.ListField(child=serializers.CharField(), help_text="what is unusual about it")
    example = {
        "number": 3,
        "name": "reloclnet-seed1",
        "system": "ReLoCLNet",
        "group": "ReLoCLNet",
        "description": "",
        "paper": "",
        "code": "",
        "visibility": "shared",
        "by": 4,
        "at": "2026-01-05T09:00:00Z",
        "filename": "run.json.gz",
        "sha256": "9f86d081",
        "size": 4821300,
        "queries": 2781,
        "predictions": 278100,
        "notes": [],
    }


class OneRun(Resource):
    @operation("A run", scope=READ, answer=RunShape)
    def get(self, request: Request, name: str, number: int) -> Response:
        return Response(RunShape(doors.run(doors.membership(request, name), number)).data)


class RunFile(Resource):
    @operation("The file of a run, as it was sent", scope=READ, file=BYTES)
    def get(self, request: Request, name: str, number: int) -> HttpResponseBase:
        run = doors.run(doors.membership(request, name), number)
        content = run.file.open("rb")
        return FileResponse(content, as_attachment=True, filename=run.filename, content_type=BYTES)


class Seen(Body):
    visibility = Choice(choices=Visibility.choices)
    example = {"visibility": "public"}


class WhoSees(Resource):
    @operation("Let others see a run of one's own, or no longer", scope=RUNS, body=Seen, answer=RunShape)
    def put(self, request: Request, name: str, number: int) -> Response:
        run = doors.own_run(doors.membership(request, name), number)
        run.show_to(self.said["visibility"])
        return Response(RunShape(run).data)


class OneScore(Shape):
    convention = serializers.CharField()
    measure = serializers.CharField()
    value = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True, help_text="of the 95 % bootstrap interval over queries")
    high = serializers.FloatField(allow_null=True)
    spread = serializers.FloatField(allow_null=True, help_text="half the width of that over annotators")


class ScoresShape(Shape):
    release = serializers.IntegerField(allow_null=True)
    missing = serializers.IntegerField(help_text="judged queries that the run does not answer")
    unjudged = serializers.IntegerField(help_text="queries of the run that the release does not judge")
    refusals = serializers.DictField(
        child=serializers.CharField(), help_text="conventions without scores, and why"
    )
    scores = OneScore(many=True)


class OfRelease(Query):
    release = serializers.IntegerField(
        required=False, min_value=1, max_value=10**9 - 1, help_text="else the newest"
    )


class Scores(Resource):
    @operation(
        "The scores of a run on a release; 202 while they are computed",
        scope=READ,
        query=OfRelease,
        answer=ScoresShape,
        or_later=True,
    )
    def get(self, request: Request, name: str, number: int) -> Response:
        member = doors.membership(request, name)
        run = doors.run(member, number)
        scorings = run.scorings.select_related("release").order_by("-release__version")
        if "release" in self.asked:
            return Response(_scores(get_object_or_404(scorings, release__version=self.asked["release"])))
        newest = newest_release(member.campaign)
        job = score_runs.jobs(newest).first() if newest else None
        found = scorings.first()
        if job and job.is_unfinished and (found is None or found.release_id != newest.pk):  # type: ignore[union-attr]
            return under_way(name, job, _scores(found))
        return Response(_scores(found))


def _scores(scoring: Scoring | None) -> Any:
    nothing: dict[str, Any] = {"release": None, "missing": 0, "unjudged": 0, "refusals": {}, "scores": []}
    if scoring is None:
        return nothing
    about = {"release": scoring.release.version, "missing": scoring.missing, "unjudged": scoring.unjudged}
    scores = scoring.scores.defer("values").order_by("pk")
    return ScoresShape(about | {"refusals": scoring.refusals, "scores": scores}).data
