"""What leaves a campaign: releases, their verification and differences, and exports."""

from __future__ import annotations

from typing import Any

from django.http import FileResponse, Http404, HttpResponseBase
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Body, Choice, Query, Shape, Text, Truth, Whole
from api.resource import Resource, under_way
from base.errors import ReeljudgeError, WrongState
from campaigns.models import Campaign, Token
from jobs.models import Job
from judging import doors
from releases.comparing import compare
from releases.data_card import LICENCES
from releases.downloads import export_file, training_set_file
from releases.exports import FILES
from releases.freezing import FREEZE, LONGEST_NOTES, freeze
from releases.jobs import ask_to_verify, last_verified
from releases.models import Release
from releases.training.sets import MAKE_TRAINING_SET, ask_for_training_set
from releases.training.writing import DEEPEST

READ, LEAD = Token.Scope.READ, Token.Scope.LEAD


class ReleaseShape(Shape):
    version = serializers.IntegerField()
    state = serializers.ChoiceField(Release.State.choices)
    licence = serializers.CharField(help_text="SPDX identifier")
    notes = serializers.CharField()
    with_unfinished = serializers.BooleanField()
    unfinished = serializers.ListField(
        child=serializers.CharField(), help_text="ids of queries that were not finished"
    )
    sha256 = serializers.CharField(help_text="of its file; empty while it is made")
    size = serializers.IntegerField(help_text="bytes")
    counts = serializers.DictField()
    at = serializers.DateTimeField(help_text="the instant whose state it holds, once it is made")
    example = {
        "version": 1,
        "state": "ready",
        "licence": "CC-BY-4.0",
        "notes": "",
        "with_unfinished": False,
        "unfinished": [],
        "sha256": "9f86d081",
        "size": 48213,
        "counts": {"queries": 500},
        "at": "2026-01-05T09:00:00Z",
    }


class NewRelease(Body):
    licence = Choice(choices=list(LICENCES))
    notes = Text(required=False, max_length=LONGEST_NOTES, allow_blank=True)
    with_unfinished = Truth(required=False, help_text="hold queries that are not finished, too")
    example = {"licence": "CC-BY-4.0", "notes": "the first one"}


class Releases(Resource):
    @operation("The releases, the newest first", scope=READ, answer=ReleaseShape, pages=True)
    def get(self, request: Request, name: str) -> Response:
        return self.page(doors.membership(request, name).campaign.releases.all(), ReleaseShape, "-version")

    @operation(
        "Freeze a release; a job writes its file",
        scope=LEAD,
        body=NewRelease,
        answer=ReleaseShape,
        later=True,
        makes=True,
    )
    def post(self, request: Request, name: str) -> Response:
        lead, said = doors.lead(request, name), self.said
        choice = {"with_unfinished": said.get("with_unfinished", False)}
        made = freeze(lead.campaign, lead, said["licence"], said.get("notes", ""), **choice)
        made.refresh_from_db()
        return under_way(name, Job.objects.get(kind=FREEZE, key=made.job_key), ReleaseShape(made).data)


class OneRelease(Resource):
    @operation("A release", scope=READ, answer=ReleaseShape)
    def get(self, request: Request, name: str, version: int) -> Response:
        found = get_object_or_404(doors.membership(request, name).campaign.releases, version=version)
        return Response(ReleaseShape(found).data)


def ready(campaign: Campaign, version: int) -> Release:
    return get_object_or_404(campaign.releases, version=version, state=Release.State.READY)


class ReleaseFile(Resource):
    @operation("The file of a release", scope=READ, file="application/zip")
    def get(self, request: Request, name: str, version: int) -> HttpResponseBase:
        release = ready(doors.membership(request, name).campaign, version)
        return FileResponse(release.file.open("rb"), as_attachment=True, filename=f"{name}-v{version}.zip")


class Checked(Shape):
    check = serializers.CharField()
    faults = serializers.ListField(child=serializers.CharField(), help_text="none if it is as it should be")


class Verification(Shape):
    made = serializers.DateTimeField()
    checks = Checked(many=True, help_text="after the first with faults none is tried")
    example = {
        "made": "2026-01-05T09:00:00Z",
        "checks": [{"check": "Every file is whole, and none is strange", "faults": []}],
    }


class Verify(Resource):
    @operation("What the last verification of a release's file found", scope=READ, answer=Verification)
    def get(self, request: Request, name: str, version: int) -> Response:
        found = last_verified(ready(doors.membership(request, name).campaign, version))
        if found is None:
            raise Http404
        checks = [{"check": check, "faults": faults} for check, faults in found.counts.items()]
        return Response(Verification({"made": found.made, "checks": checks}).data)

    @operation(
        "Verify a release's file again: checksums, consensus, qrels, counts",
        scope=READ,
        answer=ReleaseShape,
        later=True,
    )
    def post(self, request: Request, name: str, version: int) -> Response:
        release = ready(doors.membership(request, name).campaign, version)
        return under_way(name, ask_to_verify(release), ReleaseShape(release).data)


class TwoReleases(Query):
    locals()["from"] = serializers.IntegerField(min_value=1, max_value=2**31 - 1)
    to = serializers.IntegerField(min_value=1, max_value=2**31 - 1)


class ChangeShape(Shape):
    what = serializers.ChoiceField(["added", "changed", "gone"])
    query = serializers.CharField()
    moment = serializers.CharField()
    before = serializers.IntegerField(allow_null=True)
    after = serializers.IntegerField(allow_null=True)


class Difference(Shape):
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="pairs by what became of them")
    first = ChangeShape(many=True, help_text="the first 200 changes")
    example = {
        "counts": {"changed": 1},
        "first": [{"what": "changed", "query": "17", "moment": "v@1000-4000", "before": 2, "after": 3}],
    }


class Compared(Resource):
    @operation("What changed from one release to another", scope=READ, answer=Difference, query=TwoReleases)
    def get(self, request: Request, name: str) -> Response:
        campaign = doors.membership(request, name).campaign
        before, after = (ready(campaign, self.asked[name]) for name in ("from", "to"))
        try:
            found = compare(before, after)
        except ReeljudgeError as fault:  # a stored file is damaged, and no fault of the request's
            raise WrongState(str(fault)) from fault
        return Response(Difference({"counts": dict(found.counts), "first": found.first}).data)


class ExportShape(Shape):
    file = serializers.CharField()
    what = serializers.CharField()
    content_type = serializers.CharField()


class Exports(Resource):
    @operation("The files that can be exported", scope=READ, answer=ExportShape(many=True))
    def get(self, request: Request, name: str) -> Response:
        doors.membership(request, name)
        return Response(ExportShape(FILES, many=True).data)


class OneExport(Resource):
    @operation("A file of the campaign's present state", scope=READ, file="text/plain")
    def get(self, request: Request, name: str, file: str) -> Any:
        return export_file(doors.membership(request, name).campaign, file)


class TrainingSetShape(Shape):
    depth = serializers.IntegerField(help_text="moments for each query")
    encoder = serializers.CharField(help_text="the model that made it")
    queries = serializers.IntegerField()
    sha256 = serializers.CharField(help_text="of its file; empty while there is none")
    size = serializers.IntegerField(help_text="bytes")
    at = serializers.DateTimeField(allow_null=True, help_text="when its file was written")


class NewTrainingSet(Body):
    depth = Whole(min_value=1, max_value=DEEPEST, help_text="moments for each query")
    example = {"depth": 40}


class TrainingSets(Resource):
    @operation("The pseudo training sets", scope=READ, answer=TrainingSetShape, pages=True)
    def get(self, request: Request, name: str) -> Response:
        rows = doors.membership(request, name).campaign.training_sets.all()
        return self.page(rows, TrainingSetShape, "depth")

    @operation(
        "Have a pseudo training set written by a job",
        scope=LEAD,
        body=NewTrainingSet,
        answer=TrainingSetShape,
        later=True,
        makes=True,
    )
    def post(self, request: Request, name: str) -> Response:
        made = ask_for_training_set(doors.lead(request, name).campaign, self.said["depth"])
        job = Job.objects.get(kind=MAKE_TRAINING_SET, key=made.job_key)
        return under_way(name, job, TrainingSetShape(made).data)


class TrainingSetFile(Resource):
    @operation("The file of a pseudo training set", scope=READ, file="application/json")
    def get(self, request: Request, name: str, depth: int) -> Any:
        return training_set_file(doors.membership(request, name).campaign, depth)
