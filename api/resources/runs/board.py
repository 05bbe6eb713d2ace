"""The leaderboard, and asking for one more measure."""

from __future__ import annotations

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Body, Shape, Text, Whole
from api.problems import unfit
from api.resource import Resource, under_way
from api.resources.runs.reading import OfRelease
from campaigns.models import Membership, Token
from runs import doors
from runs.board.asked import asked, measure_named
from runs.board.bands import Queries
from runs.board.files import numbers_of
from runs.board.table import board
from runs.measures import NAMES
from runs.models import Yardstick
from runs.scoring import ask_for_measure, score_runs

READ, RUNS = Token.Scope.READ, Token.Scope.RUNS
LARGEST = 10**9 - 1


class BoardAsked(OfRelease):
    convention = serializers.ChoiceField(list(NAMES), required=False)
    m = serializers.ListField(child=Text(max_length=80), required=False, help_text="measures")
    sort = Text(required=False, max_length=80, help_text="a measure, or `run`")
    baseline = serializers.IntegerField(
        required=False, min_value=1, max_value=LARGEST, help_text="a run's number"
    )
    seeds = serializers.ChoiceField(["together"], required=False)
    split = Text(required=False, max_length=100)
    length = serializers.ChoiceField(["short", "middle", "long"], required=False)
    relevant = serializers.ChoiceField(["few", "some", "many"], required=False)


class BoardShape(Shape):
    campaign = serializers.CharField()
    release = serializers.IntegerField()
    sha256 = serializers.CharField()
    convention = serializers.CharField()
    queries = serializers.IntegerField()
    baseline = serializers.CharField(allow_null=True)
    level = serializers.FloatField(help_text="of significance")
    rows = serializers.ListField(child=serializers.DictField(), help_text="runs with their scores by measure")
    example = {
        "campaign": "films",
        "release": 1,
        "sha256": "9f86d081",
        "convention": "paper",
        "queries": 2781,
        "baseline": None,
        "level": 0.05,
        "rows": [{"name": "reloclnet-seed1", "scores": {"nDCG_IoU(iou=0.5)@20": {"value": 0.31}}}],
    }


class Leaderboard(Resource):
    @operation("The runs of a campaign beside each other", scope=READ, query=BoardAsked, answer=BoardShape)
    def get(self, request: Request, name: str) -> Response:
        member = doors.membership(request, name)
        yardstick = _yardstick(member, self.asked.get("release"))
        address = request._request.GET
        with unfit():
            found = board(member, yardstick, asked(address, yardstick), Queries(yardstick).chosen(address))
        return Response(numbers_of(found))


class NewMeasure(Body):
    measure = Text(max_length=80, help_text="its name, as the library parses it")
    release = Whole(required=False, min_value=1, max_value=LARGEST, help_text="else the newest")
    example = {"measure": "nDCG_IoU(iou=0.9)@5"}


class MeasureShape(Shape):
    measure = serializers.CharField()
    release = serializers.IntegerField()
    example = {"measure": "nDCG_IoU(iou=0.9)@5", "release": 1}


class Measures(Resource):
    @operation(
        "Have all runs scored by one more measure",
        scope=RUNS,
        body=NewMeasure,
        answer=MeasureShape,
        or_later=True,
    )
    def post(self, request: Request, name: str) -> Response:
        member = doors.membership(request, name)
        release = _yardstick(member, self.said.get("release")).release
        with unfit():
            measure = measure_named(self.said["measure"])
            ask_for_measure(release, measure)
        told = {"measure": str(measure), "release": release.version}
        job = score_runs.jobs(release).first()
        return under_way(name, job, told) if job else Response(told)


def _yardstick(member: Membership, version: int | None) -> Yardstick:
    """Return the yardstick of a release on which a run was scored, the newest if none is named."""
    known = Yardstick.objects.filter(release__campaign=member.campaign).select_related("release__campaign")
    known = known if version is None else known.filter(release__version=version)
    return get_object_or_404(known.order_by("-release__version")[:1])
