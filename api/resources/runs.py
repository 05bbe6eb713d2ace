"""Runs: sending one in pieces, its check, its scores, and the leaderboard."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from django.http import FileResponse, HttpResponseBase
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Body, Choice, Query, Shape, Text, Whole
from api.problems import faults_of, unfit
from api.resource import Resource, under_way
from base.errors import Unfit
from base.request_fields import whole
from campaigns.models import Membership, Token
from campaigns.pieces import take_piece
from jobs.models import Job
from metrics.formats.names import RUN_FORMATS, TASKS
from runs import doors
from runs.board.asked import asked
from runs.board.bands import Queries
from runs.board.files import as_json
from runs.board.table import board
from runs.forms import RunForm
from runs.measures import NAMES
from runs.models import Arrival, Run, Scoring, Submission, Visibility, Yardstick
from runs.receiving import MOST_MIB, announce, describe, must_be_open, submit
from runs.scoring import SCORE, newest_release

READ, RUNS = Token.Scope.READ, Token.Scope.RUNS
MOST = MOST_MIB * 2**20  # bytes


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


class NewRun(Body):
    name = Text(max_length=100, help_text="no other run of the campaign has it")
    system = Text(required=False, max_length=100, allow_blank=True)
    group = Text(required=False, max_length=100, allow_blank=True)
    description = Text(required=False, max_length=20_000, allow_blank=True)
    paper = Text(required=False, max_length=500, allow_blank=True, help_text="an address")
    code = Text(required=False, max_length=500, allow_blank=True, help_text="an address")
    visibility = Choice(choices=Visibility.choices, required=False)
    format = Choice(choices=list(RUN_FORMATS), required=False, help_text="without it, told from the file")
    task = Choice(choices=list(TASKS), required=False, help_text="which list of TVRetrieval's submission")
    example = {"name": "reloclnet-seed1", "system": "ReLoCLNet", "group": "ReLoCLNet"}


class FileShape(Shape):
    token = serializers.CharField(help_text="names the file in addresses")
    purpose = serializers.ChoiceField(Arrival.Purpose.choices)
    name = serializers.CharField()
    size = serializers.IntegerField()
    received = serializers.IntegerField(help_text="bytes that have arrived; the next piece goes there")
    whole = serializers.BooleanField(source="is_whole")


class Findings(Shape):
    count = serializers.IntegerField(help_text="of all faults")
    told = serializers.ListField(child=serializers.CharField(), help_text="the first hundred, line by line")


class SubmissionShape(Shape):
    """A run on its way: not a run before its file was checked and nothing was wrong."""

    token = serializers.CharField(help_text="names the submission in addresses")
    name = serializers.CharField()
    files = FileShape(many=True)
    findings = serializers.SerializerMethodField(
        help_text="of the last check; null before it, and after a good one"
    )
    run = serializers.IntegerField(
        source="run.number", allow_null=True, default=None, help_text="what it became"
    )

    @extend_schema_field(Findings(allow_null=True))
    def get_findings(self, submission: Submission) -> Any:
        return submission.findings or None


class NewFile(Body):
    purpose = Choice(choices=Arrival.Purpose.choices)
    name = Text(max_length=255)
    size = Whole(min_value=1, max_value=MOST, help_text="bytes")
    example = {"purpose": "run", "name": "run.json.gz", "size": 4821300}


def _shown(submission: Submission) -> dict[str, Any]:
    submission.refresh_from_db()
    shown: dict[str, Any] = SubmissionShape(submission).data
    return shown


class Runs(Resource):
    @operation("The runs that the person may see, the newest first", scope=READ, answer=RunShape, pages=True)
    def get(self, request: Request, name: str) -> Response:
        runs = Run.objects.seen_by(doors.membership(request, name)).select_related("by")
        return self.page(runs, RunShape, "-number")

    @operation(
        "Describe a run that is to come; its file follows",
        scope=RUNS,
        body=NewRun,
        answer=SubmissionShape,
        status=201,
        makes=True,
    )
    def post(self, request: Request, name: str) -> Response:
        member = doors.membership(request, name)
        form = RunForm({"visibility": Visibility.SHARED} | self.said)
        if not form.is_valid():
            raise Unfit(faults_of(form))
        with unfit():
            made = describe(member, form.cleaned_data)
        return Response(_shown(made), 201)


class OneSubmission(Resource):
    @operation("A run on its way, and what was wrong with it", scope=RUNS, answer=SubmissionShape)
    def get(self, request: Request, name: str, token: str) -> Response:
        return Response(_shown(doors.submission(doors.membership(request, name), token)))


class Files(Resource):
    @operation(
        "Announce the file of a run, or find one that broke off",
        scope=RUNS,
        body=NewFile,
        answer=FileShape,
        status=201,
    )
    def post(self, request: Request, name: str, token: str) -> Response:
        submission, said = doors.submission(doors.membership(request, name), token), self.said
        must_be_open(submission)
        with unfit():
            file = announce(submission, said["purpose"], said["name"], said["size"])
        return Response(FileShape(file).data, 201)


OFFSET = OpenApiParameter(
    "Upload-Offset", {"type": "integer", "minimum": 0, "maximum": MOST}, "header", required=True,
    description="the place of the piece",
)  # fmt: skip
CHECKSUM = OpenApiParameter(
    "Upload-Checksum",
    {"type": "string", "pattern": "^sha256 [0-9a-f]{64}$"},
    "header",
    description="of the piece",
)


class OneFile(Resource):
    @operation("How much of a file has arrived", scope=RUNS, answer=FileShape)
    def get(self, request: Request, name: str, token: str, file: str) -> HttpResponseBase:
        return self._take(request, name, token, file)

    @operation(
        "Send the next piece, of a mebibyte at most; 409 and where to go on, if it belongs elsewhere",
        scope=RUNS,
        raw=True,
        headers=(OFFSET, CHECKSUM),
        answer=FileShape,
    )
    def patch(self, request: Request, name: str, token: str, file: str) -> HttpResponseBase:
        doors.arrival(doors.membership(request, name), token, file)
        whole("Upload-Offset", request.headers.get("Upload-Offset", ""), "the place of the piece")
        with unfit():
            return self._take(request, name, token, file)

    def _take(self, request: Request, name: str, token: str, file: str) -> HttpResponseBase:
        member = doors.membership(request, name)
        return take_piece(request._request, partial(doors.arrival, member, token, file), self._told)

    def _told(self, file: Arrival, status: int) -> Any:
        if status == 409:
            raise Unfit({"Upload-Offset": [f"not the next place; expected {file.received}"]})
        return Response(FileShape(file).data, status)


class Check(Resource):
    @operation(
        "Check the file; a job stores the run if nothing is wrong",
        scope=RUNS,
        answer=SubmissionShape,
        later=True,
    )
    def post(self, request: Request, name: str, token: str) -> Response:
        submission = doors.submission(doors.membership(request, name), token)
        with unfit():
            job = submit(submission)
        return under_way(name, job, _shown(submission))


class OneRun(Resource):
    @operation("A run", scope=READ, answer=RunShape)
    def get(self, request: Request, name: str, number: int) -> Response:
        return Response(RunShape(doors.run(doors.membership(request, name), number)).data)


class RunFile(Resource):
    @operation("The file of a run, as it was sent", scope=READ, file="application/octet-stream")
    def get(self, request: Request, name: str, number: int) -> HttpResponseBase:
        run = doors.run(doors.membership(request, name), number)
        kind = "application/octet-stream"
        return FileResponse(run.file.open("rb"), as_attachment=True, filename=run.filename, content_type=kind)


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
        required=False, min_value=1, max_value=2**31 - 1, help_text="else the newest"
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
        job = Job.objects.filter(kind=SCORE, key=newest.job_key).first() if newest else None
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


class BoardAsked(OfRelease):
    convention = serializers.ChoiceField(list(NAMES), required=False)
    m = serializers.ListField(
        child=serializers.CharField(max_length=80), required=False, help_text="measures"
    )
    sort = serializers.CharField(required=False, max_length=80, help_text="a measure, or `run`")
    baseline = serializers.IntegerField(
        required=False, min_value=1, max_value=2**31 - 1, help_text="a run's number"
    )
    seeds = serializers.ChoiceField(["together"], required=False)
    split = serializers.CharField(required=False, max_length=100)
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


class Leaderboard(Resource):
    @operation("The runs of a campaign beside each other", scope=READ, query=BoardAsked, answer=BoardShape)
    def get(self, request: Request, name: str) -> Response:
        member = doors.membership(request, name)
        yardstick = _yardstick(member, self.asked.get("release"))
        address = request._request.GET
        with unfit():
            found = board(member, yardstick, asked(address, yardstick), Queries(yardstick).chosen(address))
        return Response(json.loads(as_json(found)))


def _yardstick(member: Membership, version: int | None) -> Yardstick:
    """Return the yardstick of a release on which a run was scored, the newest if none is named."""
    known = Yardstick.objects.filter(release__campaign=member.campaign).select_related("release__campaign")
    known = known if version is None else known.filter(release__version=version)
    return get_object_or_404(known.order_by("-release__version")[:1])
