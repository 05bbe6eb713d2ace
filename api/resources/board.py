"""The leaderboard, one more measure, whether measures can be believed, and why a run has its score."""

from __future__ import annotations

from typing import Any

from django.http import Http404, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.http import urlencode
from rest_framework import serializers
from rest_framework.request import Request

from api.fields import Body, Choice, Shape, Text, Whole, shape
from api.operations import OR_LATER, RUNS, Representation, changes, later, reads, under_way
from api.problems import unfit
from api.resource import CAMPAIGN, ClipAddress, Resource
from api.resources.jobs import JobShape
from api.resources.numbers import FILE_TYPES
from api.resources.runs import OfRelease
from base.errors import WrongState
from campaigns.models import Membership
from runs import access
from runs.board import choices as board_choices
from runs.board.choices import Queries
from runs.board.files import numbers_of
from runs.board.table import board
from runs.explain import queries as explained_queries
from runs.explain.cases import Case, Judged, Rank, Side, case_of
from runs.explain.queries import Line, lines_of, scatter_file, texts_of
from runs.measures import NAMES
from runs.models import Yardstick
from runs.reliability import choices as examinations
from runs.reliability.figures import BY_KEY, NOTHING
from runs.reliability.inquiries import CONVENTIONS, MOST_RUNS, ask_to_examine, job_of
from runs.scoring import ask_for_measure, score_runs

LARGEST = 10**9 - 1


class BoardAsked(OfRelease):
    convention = serializers.ChoiceField(list(NAMES), required=False)
    m = serializers.ListField(child=Text(max_length=80), required=False, help_text="measures")
    sort = Text(required=False, max_length=80, help_text="a measure, or `run`")
    baseline = serializers.IntegerField(required=False, min_value=1, max_value=LARGEST, help_text="a run's number")
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


class Leaderboard(Resource, at=f"{CAMPAIGN}/leaderboard", name="leaderboard"):
    @reads(BoardShape, query=BoardAsked)
    def get(self, request: Request, name: str) -> Any:
        """The runs of a campaign beside each other."""
        member = access.membership(request, name)
        yardstick = _yardstick(member, self.params.get("release"))
        params = request._request.GET
        with unfit():
            choices = board_choices.choices_of(params, yardstick)
            found = board(member, yardstick, choices, Queries(yardstick).chosen(params))
        return Representation(numbers_of(found))


class NewMeasure(Body):
    measure = Text(max_length=80, help_text="its name, as the library parses it")
    release = Whole(required=False, min_value=1, max_value=LARGEST, help_text="else the newest")


class MeasureShape(Shape):
    measure = serializers.CharField()
    release = serializers.IntegerField()


class Measures(Resource, at=f"{CAMPAIGN}/leaderboard/measures", name="measures"):
    @changes(MeasureShape, OR_LATER, body=NewMeasure, scope=RUNS)
    def post(self, request: Request, name: str) -> Any:
        """Have all runs scored by one more measure."""
        member = access.membership(request, name)
        release = _yardstick(member, self.data.get("release")).release
        with unfit():
            measure = board_choices.measure_named(self.data["measure"])
            ask_for_measure(release, measure)
        data = {"measure": str(measure), "release": release.version}
        job = score_runs.jobs(release).first()
        return under_way(name, job, data) if job else data


def _yardstick(member: Membership, version: int | None) -> Yardstick:
    """Return the yardstick of a release on which a run was scored, the newest if none is named."""
    known = Yardstick.objects.filter(release__campaign=member.campaign).select_related("release__campaign")
    known = known if version is None else known.filter(release__version=version)
    return get_object_or_404(known.order_by("-release__version")[:1])


class BelieveAsked(OfRelease):
    convention = serializers.ChoiceField(CONVENTIONS, required=False)
    run = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=LARGEST),
        required=False,
        max_length=MOST_RUNS,
        help_text="numbers of runs; without them, all that are scored",
    )
    measure = Text(required=False, max_length=80)
    figure = serializers.ChoiceField(list(BY_KEY), required=False)


class ExaminedShape(Shape):
    release = serializers.IntegerField()
    convention = serializers.CharField()
    runs = serializers.ListField(child=serializers.IntegerField(), help_text="their numbers")
    measures = serializers.ListField(child=serializers.CharField(), help_text="that were examined")
    examined = serializers.BooleanField(help_text="false until somebody has asked and the job has ended")
    job = JobShape(allow_null=True)
    figure = serializers.CharField()
    tells = serializers.CharField(help_text="what the figure shows, in words")
    rows = serializers.ListField(child=serializers.DictField(), help_text="its numbers")


class NewExamination(Body):
    """Some runs, or without them all that are scored."""

    runs = serializers.ListField(
        child=Whole(min_value=1, max_value=LARGEST), required=False, max_length=MOST_RUNS, help_text="numbers"
    )
    release = Whole(required=False, min_value=1, max_value=LARGEST, help_text="else the newest")
    convention = Choice(choices=CONVENTIONS, required=False)


class Examination(Resource, at=f"{CAMPAIGN}/believe", name="believe"):
    @reads(ExaminedShape, query=BelieveAsked)
    def get(self, request: Request, name: str) -> Any:
        """What an examination of the measures found, figure by figure."""
        return _examined(_examination(request, name, request._request.GET))

    @changes(ExaminedShape, OR_LATER, body=NewExamination, scope=RUNS)
    def post(self, request: Request, name: str) -> Any:
        """Have the measures examined on some runs; the same runs are examined once."""
        params = {"run" if field == "runs" else field: value for field, value in self.data.items()}
        choices = _examination(request, name, QueryDict(urlencode(params, doseq=True)))
        with unfit():
            job = job_of(ask_to_examine(choices.runs, choices.release, choices.convention))
        data = _examined(choices)
        if data["examined"] or job is None:
            return data
        # The job may be about private runs, so the campaign's jobs do not have it.
        return later(f"{reverse('api-believe', args=[name])}?{choices.address()}", data)


class ExaminationFile(Resource, at=f"{CAMPAIGN}/believe/<slug:format>", name="believe-file"):
    @reads(FILE_TYPES, query=BelieveAsked)
    def get(self, request: Request, name: str, format: str) -> Any:
        """A figure: its numbers as CSV, its drawing as JSON (Vega-Lite), SVG or PDF."""
        member = access.membership(request, name)
        with unfit():
            return examinations.examination_file(examinations.choices_of(request._request.GET, member), format)


def _examination(request: Request, name: str, params: QueryDict) -> examinations.Choices:
    member = access.membership(request, name)
    with unfit():
        choices = examinations.choices_of(params, member)
    if choices is None:
        raise Http404
    return choices


def _examined(choices: examinations.Choices) -> dict[str, Any]:
    inquiry = choices.inquiry
    findings = inquiry.findings if inquiry else None
    rows, tells = [], NOTHING
    if findings and (rows := choices.figure.rows(findings, choices.measure)):
        tells = choices.figure.tells(findings, choices.measure)
    return {
        "release": choices.release.version,
        "convention": choices.convention,
        "runs": [run.number for run in choices.runs],
        "measures": findings["measures"] if findings else [],
        "examined": findings is not None,
        "job": job_of(inquiry),
        "figure": choices.figure.key,
        "tells": tells,
        "rows": rows,
    }


class WhyAsked(OfRelease):
    convention = serializers.ChoiceField(explained_queries.EXPLAINED, required=False)
    measure = Text(required=False, max_length=80)
    against = serializers.IntegerField(
        required=False, min_value=1, max_value=10**9 - 1, help_text="another run's number"
    )


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
    of = Judged, "video start end grade candidate=candidate.pk"
    helps = {"start": "seconds", "end": "seconds"}
    clip = ClipAddress(read_only=True)


class RankShape(Shape):
    of = Rank, "video start end score iou gain discount counts rank=number"
    helps = {
        "start": "seconds",
        "end": "seconds",
        "score": "of the run",
        "iou": "with what it matches, or nearly",
        "counts": "the gain over the discount",
    }
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
        choices = _explained(request, name, number)
        lines = lines_of(choices)
        if lines is None:
            raise Http404
        texts = texts_of(choices.run.campaign, lines)
        names = ("query", "value", "other", "difference")
        rows = [{each: getattr(line, each) for each in names} | {"text": texts.get(line.query, "")} for line in lines]
        about = {"release": choices.yardstick.release.version, "convention": choices.convention.name}
        return about | {"measure": str(choices.measure), "queries": rows}


class RunQuery(Resource, at=f"{CAMPAIGN}/runs/<int:number>/query", name="run-query"):
    @reads(CaseShape, query=shape("QueryAsked", WhyAsked, query=Text(max_length=100, help_text="its id in runs")))
    def get(self, request: Request, name: str, number: int) -> Any:
        """What each rank of a run counts on one query."""
        case = case_of(_explained(request, name, number), self.params["query"])
        if case is None:
            raise Http404
        return _case(case)


class RunScatter(Resource, at=f"{CAMPAIGN}/runs/<int:number>/scatter/<slug:format>", name="run-scatter"):
    @reads(FILE_TYPES, query=WhyAsked)
    def get(self, request: Request, name: str, number: int, format: str) -> Any:
        """Two runs query by query: the numbers as CSV, the drawing as JSON (Vega-Lite), SVG or PDF."""
        member, params = access.membership(request, name), request._request.GET
        with unfit():
            return scatter_file(explained_queries.choices_of(member, number, params), params, format)


def _explained(request: Request, name: str, number: int) -> explained_queries.Choices:
    member = access.membership(request, name)
    with unfit():
        choices = explained_queries.choices_of(member, number, request._request.GET)
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
