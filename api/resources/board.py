"""The leaderboard, one more measure, and whether the measures can be believed."""

from __future__ import annotations

from typing import Any

from django.http import Http404, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.http import urlencode
from rest_framework import serializers
from rest_framework.request import Request

from api.fields import Body, Choice, Shape, Text, Whole
from api.operations import OR_LATER, RUNS, Representation, changes, later, reads, under_way
from api.problems import unfit
from api.resource import CAMPAIGN, Resource
from api.resources.jobs import JobShape
from api.resources.numbers import FILE_TYPES
from api.resources.runs import OfRelease
from campaigns.models import Membership
from runs import doors
from runs.board.choices import Queries, choices_of, measure_named
from runs.board.files import numbers_of
from runs.board.table import board
from runs.measures import NAMES
from runs.models import Yardstick
from runs.reliability.choices import Choices, examination_file
from runs.reliability.choices import choices_of as examination
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
        member = doors.membership(request, name)
        yardstick = _yardstick(member, self.params.get("release"))
        params = request._request.GET
        with unfit():
            found = board(member, yardstick, choices_of(params, yardstick), Queries(yardstick).chosen(params))
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
        member = doors.membership(request, name)
        release = _yardstick(member, self.data.get("release")).release
        with unfit():
            measure = measure_named(self.data["measure"])
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
        return _examined(_choices(request, name, request._request.GET))

    @changes(ExaminedShape, OR_LATER, body=NewExamination, scope=RUNS)
    def post(self, request: Request, name: str) -> Any:
        """Have the measures examined on some runs; the same runs are examined once."""
        params = {"run" if field == "runs" else field: value for field, value in self.data.items()}
        choices = _choices(request, name, QueryDict(urlencode(params, doseq=True)))
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
        member = doors.membership(request, name)
        with unfit():
            return examination_file(examination(request._request.GET, member), format)


def _choices(request: Request, name: str, params: QueryDict) -> Choices:
    member = doors.membership(request, name)
    with unfit():
        choices = examination(params, member)
    if choices is None:
        raise Http404
    return choices


def _examined(choices: Choices) -> dict[str, Any]:
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
