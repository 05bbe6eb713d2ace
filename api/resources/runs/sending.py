"""Sending a run: its description, its files in pieces, and their check."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.http import HttpResponseBase
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Body, Choice, Shape, Text, Whole
from api.problems import faults_of, unfit
from api.resource import Resource, under_way
from api.resources.pieces import CHECKSUM, OFFSET, FileShape, take
from api.resources.runs.reading import RunShape
from base.errors import Unfit
from campaigns.models import Token
from metrics.formats.names import RUN_FORMATS, TASKS
from runs import doors
from runs.models import Arrival, Run, Submission, Visibility
from runs.receiving import MOST_MIB, RunForm, announce, describe, must_be_open, submit

READ, RUNS = Token.Scope.READ, Token.Scope.RUNS
MOST = MOST_MIB * 2**20  # bytes


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
        return Response(SubmissionShape(made).data, 201)


class OneSubmission(Resource):
    @operation("A run on its way, and what was wrong with it", scope=RUNS, answer=SubmissionShape)
    def get(self, request: Request, name: str, token: str) -> Response:
        return Response(SubmissionShape(doors.submission(doors.membership(request, name), token)).data)


class Files(Resource):
    @operation(
        "Announce the file of a run, or find one that broke off",
        scope=RUNS,
        body=NewFile,
        answer=FileShape,
        status=201,
        stores=True,
    )
    def post(self, request: Request, name: str, token: str) -> Response:
        submission, said = doors.submission(doors.membership(request, name), token), self.said
        must_be_open(submission)
        with unfit():
            file = announce(submission, said["purpose"], said["name"], said["size"])
        return Response(FileShape(file).data, 201)


class OneFile(Resource):
    @operation("How much of a file has arrived", scope=RUNS, answer=FileShape)
    def get(self, request: Request, name: str, token: str, file: str) -> HttpResponseBase:
        return take(request, partial(doors.arrival, doors.membership(request, name), token, file))

    @operation(
        "Send the next piece, of a mebibyte at most; 422 and where to go on, if it belongs elsewhere",
        scope=RUNS,
        raw=True,
        stores=True,
        headers=(OFFSET, CHECKSUM),
        answer=FileShape,
    )
    def patch(self, request: Request, name: str, token: str, file: str) -> HttpResponseBase:
        return take(request, partial(doors.arrival, doors.membership(request, name), token, file))


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
        submission.refresh_from_db()
        return under_way(name, job, SubmissionShape(submission).data)
