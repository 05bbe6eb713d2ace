"""Whether the measures can be believed: asking for an examination, and what it found."""

from __future__ import annotations

from typing import Any

from django.http import Http404, QueryDict
from django.urls import reverse
from django.utils.http import urlencode
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Body, Choice, Shape, Text, Whole
from api.problems import unfit
from api.resource import Resource, later
from api.resources.jobs import JobShape
from api.resources.runs.reading import OfRelease
from campaigns.models import Token
from runs import doors
from runs.believe.asked import Asked, asked, examination_file
from runs.believe.catalogue import BY_KEY
from runs.believe.explanations import NOTHING
from runs.believe.inquiries import CONVENTIONS, MOST_RUNS, ask_to_examine, job_of

READ, RUNS = Token.Scope.READ, Token.Scope.RUNS
LARGEST = 10**9 - 1
FILE_TYPES = ("text/csv", "application/json", "image/svg+xml", "application/pdf")


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
    example = {
        "release": 1,
        "convention": "paper",
        "runs": [1, 2],
        "measures": ["nDCG_IoU(iou=0.5)@20"],
        "examined": True,
        "job": None,
        "figure": "ties",
        "tells": "On 20% of the queries all systems have the same score.",
        "rows": [{"measure": "nDCG_IoU(iou=0.5)@20", "all_tied": 0.2}],
    }


class NewExamination(Body):
    """Some runs, or without them all that are scored."""

    runs = serializers.ListField(
        child=Whole(min_value=1, max_value=LARGEST), required=False, max_length=MOST_RUNS, help_text="numbers"
    )
    release = Whole(required=False, min_value=1, max_value=LARGEST, help_text="else the newest")
    convention = Choice(choices=CONVENTIONS, required=False)
    example = {"runs": [1, 2], "convention": "paper"}


class Examination(Resource):
    @operation(
        "What an examination of the measures found, figure by figure",
        scope=READ,
        query=BelieveAsked,
        answer=ExaminedShape,
    )
    def get(self, request: Request, name: str) -> Response:
        return Response(_shown(_asked(request, name, request._request.GET)))

    @operation(
        "Have the measures examined on some runs; the same runs are examined once",
        scope=RUNS,
        body=NewExamination,
        answer=ExaminedShape,
        or_later=True,
    )
    def post(self, request: Request, name: str) -> Response:
        said = {"run" if field == "runs" else field: value for field, value in self.said.items()}
        wanted = _asked(request, name, QueryDict(urlencode(said, doseq=True)))
        with unfit():
            job = job_of(ask_to_examine(wanted.runs, wanted.release, wanted.convention))
        shown = _shown(wanted)
        if shown["examined"] or job is None:
            return Response(shown)
        # The job may be about private runs, so the campaign's jobs do not have it.
        return later(f"{reverse('api-believe', args=[name])}?{wanted.address()}", shown)


class ExaminationFile(Resource):
    @operation(
        "A figure: its numbers as CSV, its drawing as JSON (Vega-Lite), SVG or PDF",
        scope=READ,
        query=BelieveAsked,
        file=FILE_TYPES,
    )
    def get(self, request: Request, name: str, format: str) -> Any:
        with unfit():
            return examination_file(asked(request._request.GET, doors.membership(request, name)), format)


def _asked(request: Request, name: str, said: QueryDict) -> Asked:
    member = doors.membership(request, name)
    with unfit():
        wanted = asked(said, member)
    if wanted is None:
        raise Http404
    return wanted


def _shown(wanted: Asked) -> Any:
    inquiry = wanted.inquiry
    found = inquiry.findings if inquiry else None
    rows, tells = [], NOTHING
    if found and (rows := wanted.figure.rows(found, wanted.measure)):
        tells = wanted.figure.tells(found, wanted.measure)
    job = job_of(inquiry)
    return {
        "release": wanted.release.version,
        "convention": wanted.convention,
        "runs": [run.number for run in wanted.runs],
        "measures": found["measures"] if found else [],
        "examined": found is not None,
        "job": JobShape(job).data if job else None,
        "figure": wanted.figure.key,
        "tells": tells,
        "rows": rows,
    }
