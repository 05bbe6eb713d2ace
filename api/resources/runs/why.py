"""Why a run has its score: its queries, and one query rank by rank; also beside another run."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Shape, Text
from api.problems import unfit
from api.resource import Resource
from api.resources.quality.examples import clip_address
from api.resources.runs.reading import OfRelease
from base.errors import WrongState
from campaigns.models import Token
from runs import doors
from runs.why.asked import EXPLAINED, Asked, asked
from runs.why.cases import Case, Judged, Rank, Side, case_of
from runs.why.differences import lines_of, scatter_file, texts_of

READ = Token.Scope.READ


class WhyAsked(OfRelease):
    convention = serializers.ChoiceField(EXPLAINED, required=False)
    measure = Text(required=False, max_length=80)
    against = serializers.IntegerField(
        required=False, min_value=1, max_value=10**9 - 1, help_text="another run's number"
    )


class QueryAsked(WhyAsked):
    query = Text(max_length=100, help_text="its id in runs")


class LineShape(Shape):
    query = serializers.CharField(help_text="its id in runs")
    text = serializers.CharField()
    value = serializers.FloatField(allow_null=True)
    other = serializers.FloatField(allow_null=True, help_text="of the other run")
    difference = serializers.FloatField(allow_null=True)


class QueriesShape(Shape):
    release = serializers.IntegerField()
    convention = serializers.CharField()
    measure = serializers.CharField()
    queries = LineShape(many=True, help_text="the worst first; beside a run, by the size of the difference")
    example = {
        "release": 1,
        "convention": "paper",
        "measure": "nDCG_IoU(iou=0.5)@20",
        "queries": [
            {
                "query": "17",
                "text": "Somebody opens a door.",
                "value": 0.2,
                "other": None,
                "difference": None,
            }
        ],
    }


class JudgedShape(Shape):
    video = serializers.CharField()
    start = serializers.FloatField(help_text="seconds")
    end = serializers.FloatField(help_text="seconds")
    grade = serializers.IntegerField()
    candidate = serializers.IntegerField(source="candidate.pk", allow_null=True, default=None)
    clip = serializers.SerializerMethodField(help_text="its address, once it is cut")

    def get_clip(self, moment: Judged) -> str | None:
        return clip_address(moment.clip)


class RankShape(Shape):
    rank = serializers.IntegerField(source="number")
    video = serializers.CharField()
    start = serializers.FloatField(help_text="seconds")
    end = serializers.FloatField(help_text="seconds")
    score = serializers.FloatField(help_text="of the run")
    iou = serializers.FloatField(help_text="with what it matches, or nearly")
    match = serializers.SerializerMethodField(help_text="the place of the judged moment in `moments`, from 0")
    gain = serializers.FloatField(allow_null=True)
    discount = serializers.FloatField(allow_null=True)
    counts = serializers.FloatField(allow_null=True, help_text="the gain over the discount")

    def get_match(self, rank: Rank) -> int | None:
        places: dict[int, int] = self.context["places"]
        return places[id(rank.match)] if rank.match else None


class SideShape(Shape):
    run = serializers.IntegerField(source="run.number")
    values = serializers.DictField(child=serializers.FloatField(allow_null=True), help_text="by convention")
    ideal = serializers.FloatField(allow_null=True)
    ranks = RankShape(many=True)


class CaseShape(Shape):
    query = serializers.CharField()
    text = serializers.CharField()
    durations = serializers.DictField(child=serializers.FloatField(), help_text="seconds of each video")
    moments = JudgedShape(many=True, help_text="judged moments that take part")
    sides = SideShape(many=True, help_text="the run, and the other one")
    example = {
        "query": "17",
        "text": "Somebody opens a door.",
        "durations": {"friends_s01e01": 60.2},
        "moments": [],
        "sides": [],
    }


class RunQueries(Resource):
    @operation("What a run scores on each query", scope=READ, query=WhyAsked, answer=QueriesShape)
    def get(self, request: Request, name: str, number: int) -> Response:
        wanted = _asked(request, name, number)
        lines = lines_of(wanted)
        if lines is None:
            raise Http404
        texts = texts_of(wanted.run.campaign, lines)
        names = ("query", "value", "other", "difference")
        rows = [
            {each: getattr(line, each) for each in names} | {"text": texts.get(line.query, "")}
            for line in lines
        ]
        about = {"release": wanted.yardstick.release.version, "convention": wanted.convention.name}
        return Response(QueriesShape(about | {"measure": str(wanted.measure), "queries": rows}).data)


class RunQuery(Resource):
    @operation("What each rank of a run counts on one query", scope=READ, query=QueryAsked, answer=CaseShape)
    def get(self, request: Request, name: str, number: int) -> Response:
        case = case_of(_asked(request, name, number), self.asked["query"])
        if case is None:
            raise Http404
        return Response(_shown(case))


class RunScatter(Resource):
    @operation(
        "Two runs query by query: the numbers as CSV, the drawing as JSON (Vega-Lite), SVG or PDF",
        scope=READ,
        query=WhyAsked,
        file=("text/csv", "application/json", "image/svg+xml", "application/pdf"),
    )
    def get(self, request: Request, name: str, number: int, format: str) -> Any:
        with unfit():
            return scatter_file(asked(doors.membership(request, name), number, request._request.GET), format)


def _asked(request: Request, name: str, number: int) -> Asked:
    member = doors.membership(request, name)
    with unfit():
        wanted = asked(member, number, request._request.GET)
    if wanted is None:
        raise WrongState("The run has no scores yet.")
    return wanted


def _shown(case: Case) -> Any:
    places = {id(moment): place for place, moment in enumerate(case.moments)}
    sides = [_side(side) for side in case.sides]
    told = {"query": case.query, "text": case.text, "durations": case.durations}
    return CaseShape(told | {"moments": case.moments, "sides": sides}, context={"places": places}).data


def _side(side: Side) -> dict[str, Any]:
    """Return a run on the query; values that are not counted are null."""
    values = {name: None if value != value else value for name, value in side.values.items()}
    return {"run": side.run, "values": values, "ideal": side.ideal, "ranks": side.ranks}
