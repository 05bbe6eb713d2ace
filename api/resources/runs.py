"""Runs: sending one in pieces, its check, those that are stored with their scores, and the split that is held back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, get_args

from django.http import FileResponse
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.document import BYTES, Trait
from api.fields import Choice, Text, Truth, Whole
from api.operations import OR_LATER, RUNS, STORES, UNFIT, Rows, annotated, changes, fresh, makes, reads, starts
from api.problems import checked
from api.resource import CAMPAIGN, Resource
from api.serializers import Body, ModelAnswer, Page, filters_of, inline, parameters_of
from base.errors import BadValue, Unfit
from campaigns.models import Membership
from campaigns.models.draft import ArrivingFile
from campaigns.pages import take_piece
from drafts.models import Upload
from metrics.analysis.sampling import Method
from metrics.formats import RUN_FORMATS, TASKS
from runs import access
from runs.board.held_back import enter, entered_runs, entries_closed, held_by, hold_back, open_scores
from runs.board.options import RUNS_LIST, runs_of
from runs.estimates.scores import sample_of, scores_of
from runs.forms import ReleaseForm, RunForm
from runs.models import Arrival, HeldScore, Run, Score, Scoring, Submission, Visibility
from runs.receiving import MOST_MIB, announce, describe, must_be_open, submit
from runs.scoring import score_runs

HEADER = "Upload-Offset"
OFFSET = OpenApiParameter(
    HEADER, {"type": "integer", "minimum": 0, "maximum": 2**53 - 1}, "header", required=True,
    description="the place of the piece",
)  # fmt: skip
CHECKSUM = OpenApiParameter(
    "Upload-Checksum", {"type": "string", "pattern": "^sha256 [0-9a-f]{64}$"}, "header", description="of the piece"
)
PIECE = Trait((OFFSET, CHECKSUM), takes_bytes=True)
MOST = MOST_MIB * 2**20  # bytes


class FileSerializer(ModelAnswer):
    whole = serializers.BooleanField(source="is_whole")
    purpose = serializers.CharField()

    class Meta:
        model = Upload
        fields = ["token", "name", "size", "received"]
        help_texts = {
            "token": "names the file in addresses",
            "received": "bytes that have arrived; the next piece goes there",
        }


def take(request: Request, find: Callable[[], Any]) -> Any:
    """Answer how much of a file has arrived, after storing the piece that a PATCH brings."""
    try:
        return take_piece(request._request, find, _progress)
    except BadValue as fault:
        if fault.field == HEADER:
            raise
        raise Unfit({fault.field: [fault.fault]}) from fault


def _progress(file: ArrivingFile, status: int) -> Any:
    if status == 409:
        raise Unfit({HEADER: [f"not the next place; expected {file.received}"]})
    return Response(FileSerializer(file).data, status)


UNSCORED: dict[str, Any] = {"release": None, "missing": 0, "unjudged": 0, "refusals": {}, "scores": []}


class RunSerializer(ModelAnswer):
    by = serializers.IntegerField(source="worker", allow_null=True, help_text="a worker; null while anonymous")
    notes = serializers.ListField(child=serializers.CharField(), help_text="warnings, and what is unusual about it")

    class Meta:
        model = Run
        fields = ["number", *Submission.DETAILS, "at", "filename", "sha256", "size"]
        fields += ["queries", "predictions", "entered"]
        help_texts = {
            "group": "the same for runs of a system that differ by their seed",
            "anonymous_until": "the day on which it gets its name; null unless it is anonymous",
            "size": "bytes",
        }


class NewRun(Body):
    description = Text(required=False, max_length=20_000, allow_blank=True)
    citation = Text(required=False, max_length=2000, allow_blank=True, help_text="a line, or BibTeX")
    format = Choice(choices=list(RUN_FORMATS), required=False, help_text="without it, told from the file")
    task = Choice(choices=list(TASKS), required=False, help_text="which list of TVRetrieval's submission")

    class Meta:
        model = Submission
        fields = ["name", "system", "group", "paper", "code", "anonymous_until", "visibility"]
        help_texts = {"name": "no other run of the campaign has it", "paper": "an address", "code": "an address"}


class Findings(serializers.Serializer):
    count = serializers.IntegerField(help_text="of all faults")
    told = serializers.ListField(child=serializers.CharField(), help_text="the first hundred, line by line")
    warnings = serializers.ListField(
        child=serializers.CharField(), default=list, help_text="likely causes, such as other names of videos"
    )

    def get_attribute(self, instance: Any) -> Any:
        return super().get_attribute(instance) or None  # a row without findings has an empty dictionary


class SubmissionSerializer(ModelAnswer):
    """A run on its way: not a run before its file was checked and nothing was wrong."""

    files = FileSerializer(many=True)
    findings = Findings(allow_null=True, read_only=True, help_text="of the last check; null if it found none")
    run = serializers.IntegerField(source="run.number", allow_null=True, default=None, help_text="what it became")

    class Meta:
        model = Submission
        fields = ["token", "name"]
        help_texts = {"token": "names the submission in addresses"}


class NewFile(Body):
    size = Whole(min_value=1, max_value=MOST, help_text="bytes")

    class Meta:
        model = Arrival
        fields = ["purpose", "name"]


class Runs(Resource, at=f"{CAMPAIGN}/runs", name="runs"):
    @reads(Page(RunSerializer), query=filters_of(RUNS_LIST))
    def get(self) -> Any:
        """The runs that the person may see, the newest first."""
        choices = RUNS_LIST.choices(self.request.query_params)
        return Rows(*choices.ordered(choices.chosen(runs_of(self.participant))))

    @makes(SubmissionSerializer, UNFIT, body=NewRun, scope=RUNS)
    def post(self) -> Any:
        """Describe a run that is to come; its file follows."""
        return describe(self.participant, checked(RunForm({"visibility": Visibility.SHARED} | self.data)))


class OneSubmission(Resource, at=f"{CAMPAIGN}/submissions/<slug:token>", name="submission"):
    @reads(SubmissionSerializer, scope=RUNS)
    def get(self, token: str) -> Any:
        """A run on its way, and what was wrong with it."""
        return access.submission(self.participant, token)


class Files(Resource, at=f"{CAMPAIGN}/submissions/<slug:token>/files", name="submission-files"):
    @changes(FileSerializer, STORES, UNFIT, body=NewFile, scope=RUNS, status=201)
    def post(self, token: str) -> Any:
        """Announce the file of a run, or find one that broke off."""
        submission = access.submission(self.participant, token)
        must_be_open(submission)
        return announce(submission, **self.data)


class OneFile(Resource, at=f"{CAMPAIGN}/submissions/<slug:token>/files/<slug:file>", name="submission-file"):
    @reads(FileSerializer, scope=RUNS)
    def get(self, token: str, file: str) -> Any:
        """How much of a file has arrived."""
        return take(self.request, partial(access.arrival, self.participant, token, file))

    @changes(FileSerializer, PIECE, STORES, scope=RUNS)
    def patch(self, token: str, file: str) -> Any:
        """Send the next piece, of a mebibyte at most; 422 and where to go on, if it belongs elsewhere."""
        return take(self.request, partial(access.arrival, self.participant, token, file))


class Check(Resource, at=f"{CAMPAIGN}/submissions/<slug:token>/check", name="submission-check"):
    @starts(SubmissionSerializer, UNFIT, scope=RUNS)
    def post(self, token: str) -> Any:
        """Check the file; a job stores the run if nothing is wrong."""
        submission = access.submission(self.participant, token)
        return self.under_way(submit(submission), fresh(submission))


class OneRun(Resource, at=f"{CAMPAIGN}/runs/<int:number>", name="run"):
    @reads(RunSerializer)
    def get(self, number: int) -> Any:
        """A run."""
        return access.run(self.participant, number)


class RunFile(Resource, at=f"{CAMPAIGN}/runs/<int:number>/file", name="run-file"):
    @reads((BYTES,))
    def get(self, number: int) -> Any:
        """The file of a run, as it was sent."""
        run = access.run(self.participant, number)
        content = run.file.open("rb")
        return FileResponse(content, as_attachment=True, filename=run.filename, content_type=BYTES)


class WhoSees(Resource, at=f"{CAMPAIGN}/runs/<int:number>/visibility", name="run-visibility"):
    @changes(RunSerializer, body=inline("Seen", Body, visibility=Choice(choices=Visibility.choices)), scope=RUNS)
    def put(self, number: int) -> Any:
        """Let others see a run of one's own, or no longer."""
        run = access.own_run(self.participant, number)
        run.show_to(self.data["visibility"])
        return run


class Entry(Resource, at=f"{CAMPAIGN}/runs/<int:number>/entry", name="run-entry"):
    @changes(RunSerializer, UNFIT, body=inline("Entered", Body, entered=Truth()), scope=RUNS)
    def put(self, number: int) -> Any:
        """Enter a run of one's own for the held-back split, or withdraw it."""
        run = access.own_run(self.participant, number)
        enter(run, self.data["entered"])
        return run


class EstimateSerializer(serializers.Serializer):
    value = serializers.FloatField(help_text="over all ranked queries")
    low = serializers.FloatField(help_text="of the 95 % interval for queries of this kind")
    high = serializers.FloatField()
    judged = serializers.IntegerField(help_text="queries of the random sample")
    ranked = serializers.IntegerField(help_text="all queries")
    method = serializers.ChoiceField(get_args(Method), help_text="of the interval; bounded: few queries deviate")


class OneScore(ModelAnswer):
    estimate = EstimateSerializer(allow_null=True, help_text="null if all are judged, or not a random sample")

    class Meta:
        model = Score
        fields = ["convention", "measure", "value", "low", "high", "spread"]
        help_texts = {
            "value": "of the judged queries",
            "low": "of the 95 % bootstrap interval over queries",
            "spread": "half the width of that over annotators",
        }


class ScoresSerializer(serializers.Serializer):
    release = serializers.IntegerField(allow_null=True)
    missing = serializers.IntegerField(help_text="judged queries that the run does not answer")
    unjudged = serializers.IntegerField(help_text="queries of the run that the release does not judge")
    refusals = serializers.DictField(child=serializers.CharField(), help_text="conventions without scores, and why")
    scores = OneScore(many=True)


OfRelease = parameters_of(ReleaseForm)


class Scores(Resource, at=f"{CAMPAIGN}/runs/<int:number>/scores", name="run-scores"):
    @reads(ScoresSerializer, OR_LATER, query=OfRelease)
    def get(self, number: int) -> Any:
        """The scores of a run on a release; 202 while they are computed."""
        run = access.run(self.participant, number)
        scorings = run.scorings.select_related("release").order_by("-release__version")
        if "release" in self.params:
            return _scores(get_object_or_404(scorings, release__version=self.params["release"]))
        newest, found = self.participant.campaign.releases.newest(), scorings.first()
        waits = newest and not (found and found.release_id == newest.pk)
        return self.under_way(score_runs.jobs(newest).unfinished().first() if waits else None, _scores(found))


def _scores(scoring: Scoring | None) -> Any:
    if scoring is None:
        return UNSCORED
    scores = [annotated(score, estimate=estimate) for score, estimate in scores_of(scoring, sample_of(scoring))]
    return vars(scoring) | {"release": scoring.release.version, "scores": scores}


class HeldScoreSerializer(ModelAnswer):
    run = serializers.IntegerField(source="run.number")

    class Meta:
        model = HeldScore
        fields = ["measure", "value"]


class HeldBackSerializer(serializers.Serializer):
    split = serializers.CharField(help_text="the split of which researchers see no grades; empty if there is none")
    release = serializers.IntegerField(allow_null=True, help_text="whose runs are scored on a split, or would be")
    opened = serializers.DateTimeField(allow_null=True, help_text="since when members see the scores; null: never")
    closed = serializers.DateTimeField(allow_null=True, help_text="since when no run can be entered; null: still open")
    entered = serializers.IntegerField(help_text="runs that are scored on it once the scores are opened")
    scores = HeldScoreSerializer(many=True)


class NewHeldBack(Body):
    """What is to change; what is left out stays."""

    split = Text(required=False, max_length=20, allow_blank=True, help_text="a split of queries, or empty for none")
    open = Truth(required=False, help_text="whether members see the scores")


class HeldBack(Resource, at=f"{CAMPAIGN}/held-back", name="held-back"):
    @reads(HeldBackSerializer)
    def get(self) -> Any:
        """The split that is held back, and the scores on it once a lead has opened them."""
        return _held_back(self.participant)

    @changes(HeldBackSerializer, UNFIT, body=NewHeldBack)
    def put(self) -> Any:
        """Hold a split back, or open the scores on it, which closes the list of runs."""
        if "split" in self.data:
            hold_back(self.lead, self.data["split"])
        if "open" in self.data:
            open_scores(self.lead, self.data["open"])
        return _held_back(self.lead)


def _held_back(member: Membership) -> Any:
    held = held_by(member.campaign)
    scores = HeldScore.objects.filter(reference=held, run__in=Run.objects.seen_by(member)).select_related("run")
    return {
        "split": member.campaign.held_back,
        "release": held.release.version if held else None,
        "opened": held.opened if held else None,
        "closed": entries_closed(member.campaign),
        "entered": entered_runs(member.campaign).count(),
        "scores": scores.order_by("run__number", "pk") if held and held.opened else [],
    }
