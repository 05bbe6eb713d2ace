"""What leaves a campaign: releases, their verification and differences, and exports."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from rest_framework import serializers

from api.fields import Choice, Text, Truth, Whole
from api.operations import ONCE, READ, Rows, annotated, fresh, reads, starts
from api.resource import CAMPAIGN, Resource
from api.serializers import Body, ModelAnswer, Page, QueryParameters
from base.errors import ReeljudgeError, WrongState
from campaigns import access
from releases.archive import last_verified, verify_release
from releases.data_card import LICENCES
from releases.difference import compare
from releases.downloads import export_file, ready_release, release_file, signature_file, training_set_file
from releases.exports import FILES
from releases.freezing import LONGEST_NOTES, freeze, freeze_release
from releases.models import Release, TrainingSet
from releases.training import DEEPEST, ask_for_training_set, make_training_set


class ReleaseSerializer(ModelAnswer):
    unfinished = serializers.ListField(child=serializers.CharField(), help_text="ids of queries that were not finished")
    counts = serializers.DictField()
    estimates = serializers.DictField(help_text="the sample that it holds, as the manifest says it")

    class Meta:
        model = Release
        fields = [
            "version",
            "state",
            "licence",
            "notes",
            "date",
            "contact",
            "language",
            "films",
            "with_finished",
            "with_unfinished",
            "sha256",
            "size",
            "at",
        ]
        help_texts = {
            "licence": "SPDX identifier",
            "sha256": "of its file; empty while it is made",
            "size": "bytes",
            "at": "the instant whose state it holds, once it is made",
        }


class NewRelease(Body):
    licence = Choice(choices=list(LICENCES))
    notes = Text(required=False, max_length=LONGEST_NOTES, allow_blank=True)
    contact = Text(required=False, max_length=200, allow_blank=True, help_text="whom readers of its data card ask")
    language = Text(required=False, max_length=20, allow_blank=True, help_text="of the queries, such as en")
    films = Text(required=False, max_length=500, allow_blank=True, help_text="where the films are from")
    baselines = serializers.ListField(
        child=serializers.IntegerField(), required=False, help_text="numbers of runs whose scores the data card shows"
    )
    with_finished = Truth(required=False, help_text="hold queries that are finished beyond the frontier, too")
    with_unfinished = Truth(required=False, help_text="hold queries that are not finished, too")


class Releases(Resource, at=f"{CAMPAIGN}/releases", name="releases"):
    @reads(Page(ReleaseSerializer))
    def get(self) -> Any:
        """The releases, the newest first."""
        return Rows(self.member.campaign.releases.all(), ("-version",))

    @starts(ReleaseSerializer, ONCE, body=NewRelease)
    def post(self) -> Any:
        """Freeze a release; a job writes its file."""
        made = fresh(freeze(self.lead.campaign, self.lead, **self.data))
        return self.under_way(freeze_release.jobs(made).get(), made)


class OneRelease(Resource, at=f"{CAMPAIGN}/releases/<int:version>", name="release"):
    @reads(ReleaseSerializer)
    def get(self, version: int) -> Any:
        """A release."""
        return get_object_or_404(self.member.campaign.releases, version=version)


class ReleaseFile(Resource, at=f"{CAMPAIGN}/releases/<int:version>/file", name="release-file"):
    @reads(("application/zip",))
    def get(self, version: int) -> Any:
        """The file of a release."""
        return release_file(self.member, version)


class ReleaseSignature(Resource, at=f"{CAMPAIGN}/releases/<int:version>/signature", name="release-signature"):
    @reads(("text/plain",))
    def get(self, version: int) -> Any:
        """The signature of a release's file, as minisign checks it."""
        return signature_file(self.member, version)


class ReleaseCheck(serializers.Serializer):
    check = serializers.CharField()
    faults = serializers.ListField(child=serializers.CharField(), help_text="none if it is as it should be")


class Verification(serializers.Serializer):
    made = serializers.DateTimeField()
    checks = ReleaseCheck(many=True, help_text="after the first with faults none is tried")


class Verify(Resource, at=f"{CAMPAIGN}/releases/<int:version>/verification", name="verification"):
    @reads(Verification)
    def get(self, version: int) -> Any:
        """What the last verification of a release's file found."""
        found = last_verified(ready_release(self.member.campaign, version))
        if found is None:
            raise Http404
        return annotated(found, checks=[{"check": check, "faults": faults} for check, faults in found.counts.items()])

    @starts(ReleaseSerializer, scope=READ)
    def post(self, version: int) -> Any:
        """Verify a release's file again: checksums, consensus, qrels, counts."""
        release = ready_release(self.member.campaign, version)
        return self.under_way(verify_release.ask(release), release)


class TwoReleases(QueryParameters):
    from_ = serializers.IntegerField(min_value=1, max_value=2**31 - 1)
    to = serializers.IntegerField(min_value=1, max_value=2**31 - 1)


class ChangeSerializer(serializers.Serializer):
    query = serializers.CharField()
    moment = serializers.CharField()
    before = serializers.IntegerField(allow_null=True)
    after = serializers.IntegerField(allow_null=True)
    what = serializers.ChoiceField(["added", "changed", "gone"])


class Difference(serializers.Serializer):
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="pairs by what became of them")
    first = ChangeSerializer(many=True, help_text="the first 200 changes")
    words = serializers.ListField(child=serializers.CharField(), help_text="sentences that say what changed")


class Compared(Resource, at=f"{CAMPAIGN}/releases/difference", name="release-difference"):
    @reads(Difference, query=TwoReleases)
    def get(self) -> Any:
        """What changed from one release to another."""
        before, after = (ready_release(self.member.campaign, self.params[name]) for name in ("from", "to"))
        try:
            return compare(before, after)
        except ReeljudgeError as fault:  # a stored file is damaged, and no fault of the request's
            raise WrongState(str(fault)) from fault


class ExportSerializer(serializers.Serializer):
    file = serializers.CharField()
    what = serializers.CharField()
    content_type = serializers.CharField()


class Exports(Resource, at=f"{CAMPAIGN}/exports", name="exports"):
    @reads(ExportSerializer(many=True))
    def get(self) -> Any:
        """The files that can be exported."""
        self.through(access.membership)
        return FILES


class OneExport(Resource, at=f"{CAMPAIGN}/exports/<str:file>", name="export"):
    @reads(("text/plain",))
    def get(self, file: str) -> Any:
        """A file of the campaign's present state."""
        return export_file(self.member, file)


class TrainingSetSerializer(ModelAnswer):
    class Meta:
        model = TrainingSet
        fields = ["depth", "encoder", "queries", "sha256", "size", "at"]
        help_texts = {
            "depth": "moments for each query",
            "encoder": "the model that made it",
            "sha256": "of its file; empty while there is none",
            "size": "bytes",
            "at": "when its file was written",
        }


class NewTrainingSet(Body):
    depth = Whole(min_value=1, max_value=DEEPEST, help_text="moments for each query")


class TrainingSets(Resource, at=f"{CAMPAIGN}/training-sets", name="training-sets"):
    @reads(Page(TrainingSetSerializer))
    def get(self) -> Any:
        """The pseudo training sets."""
        return Rows(self.member.campaign.training_sets.all(), ("depth",))

    @starts(TrainingSetSerializer, ONCE, body=NewTrainingSet)
    def post(self) -> Any:
        """Have a pseudo training set written by a job."""
        made = ask_for_training_set(self.lead.campaign, self.data["depth"])
        return self.under_way(make_training_set.jobs(made).get(), made)


class TrainingSetFile(Resource, at=f"{CAMPAIGN}/training-sets/<int:depth>", name="training-set"):
    @reads(("application/json",))
    def get(self, depth: int) -> Any:
        """The file of a pseudo training set."""
        return training_set_file(self.member, depth)
