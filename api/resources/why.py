"""Why a run has its score: its queries, and one query rank by rank; also beside another run."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request

from api.fields import Shape, Text
from api.operations import Representation, reads
from api.problems import unfit
from api.resource import CAMPAIGN, ClipAddress, Resource
from api.resources.numbers import FILE_TYPES
from api.resources.runs import OfRelease
from base.errors import WrongState
from runs import doors
from runs.explain.cases import Case, Judged, Rank, Side, case_of
from runs.explain.queries import EXPLAINED, Choices, Line, choices_of, lines_of, scatter_file, texts_of


class WhyAsked(OfRelease):
    convention = serializers.ChoiceField(EXPLAINED, required=False)
    measure = Text(required=False, max_length=80)
    against = serializers.IntegerField(
        required=False, min_value=1, max_value=10**9 - 1, help_text="another run's number"
    )


class QueryAsked(WhyAsked):
    query = Text(max_length=100, help_text="its id in runs")


class LineShape(Shape):
    of = Line, "query value other difference"
    helps = {"query": "its id in runs", "other": "of the other run"}
    text = serializers.CharField()


class QueriesShape(Shape):
    release = serializers.IntegerField()
    convention = serializers.CharField()
    measure = serializers.CharField()
    queries = LineShape(many=True, help_text="the worst first; beside a run, by the size of the difference")


class JudgedShape(Shape):
    of = Judged, "video start end grade"
    helps = {"start": "seconds", "end": "seconds"}
    candidate = serializers.IntegerField(source="candidate.pk", allow_null=True, default=None)
    clip = ClipAddress(read_only=True)


class RankShape(Shape):
    of = Rank, "video start end score iou gain discount counts"
    helps = {
        "start": "seconds",
        "end": "seconds",
        "score": "of the run",
        "iou": "with what it matches, or nearly",
        "counts": "the gain over the discount",
    }
    rank = serializers.IntegerField(source="number")
    match = serializers.SerializerMethodField(help_text="the place of the judged moment in `moments`, from 0")

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


class RunQueries(Resource, at=f"{CAMPAIGN}/runs/<int:number>/queries", name="run-queries"):
    @reads(QueriesShape, query=WhyAsked)
    def get(self, request: Request, name: str, number: int) -> Any:
        """What a run scores on each query."""
        choices = _choices(request, name, number)
        lines = lines_of(choices)
        if lines is None:
            raise Http404
        texts = texts_of(choices.run.campaign, lines)
        names = ("query", "value", "other", "difference")
        rows = [{each: getattr(line, each) for each in names} | {"text": texts.get(line.query, "")} for line in lines]
        about = {"release": choices.yardstick.release.version, "convention": choices.convention.name}
        return about | {"measure": str(choices.measure), "queries": rows}


class RunQuery(Resource, at=f"{CAMPAIGN}/runs/<int:number>/query", name="run-query"):
    @reads(CaseShape, query=QueryAsked)
    def get(self, request: Request, name: str, number: int) -> Any:
        """What each rank of a run counts on one query."""
        case = case_of(_choices(request, name, number), self.params["query"])
        if case is None:
            raise Http404
        return _case(case)


class RunScatter(Resource, at=f"{CAMPAIGN}/runs/<int:number>/scatter/<slug:format>", name="run-scatter"):
    @reads(FILE_TYPES, query=WhyAsked)
    def get(self, request: Request, name: str, number: int, format: str) -> Any:
        """Two runs query by query: the numbers as CSV, the drawing as JSON (Vega-Lite), SVG or PDF."""
        member, params = doors.membership(request, name), request._request.GET
        with unfit():
            return scatter_file(choices_of(member, number, params), params, format)


def _choices(request: Request, name: str, number: int) -> Choices:
    member = doors.membership(request, name)
    with unfit():
        choices = choices_of(member, number, request._request.GET)
    if choices is None:
        raise WrongState("The run has no scores yet.")
    return choices


def _case(case: Case) -> Representation:
    places = {id(moment): place for place, moment in enumerate(case.moments)}
    about = {"query": case.query, "text": case.text, "durations": case.durations, "moments": case.moments}
    sides = [_side(side) for side in case.sides]
    return Representation(CaseShape(about | {"sides": sides}, context={"places": places}).data)


def _side(side: Side) -> dict[str, Any]:
    """Return a run on the query; values that are not counted are null."""
    values = {name: None if value != value else value for name, value in side.values.items()}
    return {"run": side.run, "values": values, "ideal": side.ideal, "ranks": side.ranks}
