"""What estimates take and tell: predictors with their grades, watched differences, and the plan of a campaign."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.http import StreamingHttpResponse
from rest_framework import serializers

from api.fields import Choice, Text, Whole
from api.operations import STORES, UNFIT, Rows, annotated, changes, fresh, makes, reads, starts
from api.resource import CAMPAIGN, Resource
from api.resources.runs import MOST, PIECE, FileSerializer, take
from api.serializers import Body, ModelAnswer, Page, parameters_of
from base.errors import Unfit
from base.forms import LARGEST, faults_of
from campaigns.models import Membership
from drafts import access as drafts_access
from metrics.formats.predicted import predicted_csv
from runs import access
from runs.estimates import watches
from runs.estimates.endpoint import estimate
from runs.estimates.planning import PlanForm
from runs.estimates.predictors import (
    FEWEST_FRAMES,
    FRAMES,
    MOST_FRAMES,
    add_predictor,
    announce,
    begin,
    remove_predictor,
)
from runs.estimates.worth import ask_to_weigh, worth_of
from runs.forms import LONGEST_MEASURE
from runs.models import PredictionsFile, Predictor, Watch


class AskingCostSerializer(serializers.Serializer):
    candidates = serializers.IntegerField(help_text="that are left")
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cost = serializers.FloatField()


class PredictorSerializer(ModelAnswer):
    prompt_sha256 = serializers.CharField()
    cost = serializers.FloatField()
    by = serializers.IntegerField(source="by.worker")

    class Meta:
        model = Predictor
        fields = [
            "id",
            "name",
            "source",
            "model",
            "frames",
            "filename",
            "sha256",
            "fault",
            "at",
            "ended",
            "requests",
            "input_tokens",
            "output_tokens",
        ]
        help_texts = {
            "frames": "pictures of each clip that the endpoint sees",
            "fault": "what is wrong with its file; empty if nothing is",
            "ended": "when all grades were there; null before",
        }


class OnePredictorSerializer(PredictorSerializer):
    prompt = serializers.CharField(help_text="what the endpoint is told before each clip")
    estimate = AskingCostSerializer(allow_null=True, help_text="what asking for the rest costs; null with a file")


class NewPredictor(Body):
    """Its grades follow: send a file, or begin to ask the chat endpoint."""

    source = Choice(choices=Predictor.Source.values)
    model = Text(required=False, max_length=200, allow_blank=True, help_text="of a file: what predicted")
    frames = Whole(
        required=False,
        min_value=FEWEST_FRAMES,
        max_value=MOST_FRAMES,
        help_text=f"pictures of each clip for the endpoint, {FRAMES} by default",
    )

    class Meta:
        model = Predictor
        fields = ["name"]
        help_texts = {"name": "no other predictor of the campaign has it"}


class NewPredictionsFile(Body):
    size = Whole(min_value=1, max_value=MOST, help_text="bytes")

    class Meta:
        model = PredictionsFile
        fields = ["name"]


class Predictors(Resource, at=f"{CAMPAIGN}/predictors", name="predictors"):
    @reads(Page(PredictorSerializer))
    def get(self) -> Any:
        """The predictors of the campaign."""
        return Rows(self.lead.campaign.predictors.select_related("by"))

    @makes(PredictorSerializer, UNFIT, body=NewPredictor)
    def post(self) -> Any:
        """Add a predictor."""
        return fresh(add_predictor(self.lead, **self.data))


class OnePredictor(Resource, at=f"{CAMPAIGN}/predictors/<int:pk>", name="predictor"):
    @reads(OnePredictorSerializer)
    def get(self, pk: int) -> Any:
        """A predictor, with its prompt and what asking for the rest will cost."""
        return _with_estimate(access.predictor(self.lead, pk))

    @starts(OnePredictorSerializer, UNFIT)
    def put(self, pk: int) -> Any:
        """Store the grades of its file, or ask the chat endpoint for those that are left."""
        predictor = access.predictor(self.lead, pk)
        return self.under_way(begin(predictor), _with_estimate(fresh(predictor)))

    @changes()
    def delete(self, pk: int) -> Any:
        """Delete a predictor with what it predicts."""
        remove_predictor(access.predictor(self.lead, pk))


def _with_estimate(predictor: Predictor) -> Any:
    return annotated(predictor, estimate=estimate(predictor) if predictor.is_of_chat else None)


class PredictorFiles(Resource, at=f"{CAMPAIGN}/predictors/<int:pk>/files", name="predictor-files"):
    @changes(FileSerializer, STORES, UNFIT, body=NewPredictionsFile, status=201)
    def post(self, pk: int) -> Any:
        """Announce the file of predicted grades, or find one that broke off."""
        return announce(access.predictor(self.lead, pk), **self.data)


class PredictorFile(Resource, at=f"{CAMPAIGN}/predictors/<int:pk>/files/<slug:file>", name="predictor-file"):
    @reads(FileSerializer)
    def get(self, pk: int, file: str) -> Any:
        """How much of a file has arrived."""
        return take(self.request, partial(access.predictions_file, self.lead, pk, file))

    @changes(FileSerializer, PIECE, STORES)
    def patch(self, pk: int, file: str) -> Any:
        """Send the next piece, of a mebibyte at most; 422 and where to go on, if it belongs elsewhere."""
        return take(self.request, partial(access.predictions_file, self.lead, pk, file))


class PredictorGrades(Resource, at=f"{CAMPAIGN}/predictors/<int:pk>/grades", name="predictor-grades"):
    @reads(("text/csv",))
    def get(self, pk: int) -> Any:
        """The predicted grades as a CSV, which `predictor=` of the library reads."""
        rows = access.predictor(self.lead, pk).rows()
        return StreamingHttpResponse(predicted_csv(rows), content_type="text/csv; charset=utf-8")


class SavingSerializer(serializers.Serializer):
    name = serializers.CharField()
    left = serializers.FloatField(
        allow_null=True, help_text="share of the variance between queries that the predictions leave; null if not known"
    )
    alone = serializers.IntegerField(
        allow_null=True,
        help_text="queries judged alone that tell as much as these, which all ranked ones correct; null if not known",
    )
    predictor = serializers.IntegerField(source="predictor.pk", allow_null=True, default=None, help_text="null: ranks")


class CalibrationSerializer(serializers.Serializer):
    predictor = serializers.IntegerField(help_text="its id")
    candidates = serializers.IntegerField(help_text="with a final grade by consensus and a predicted one")
    queries = serializers.IntegerField()
    lacking = serializers.IntegerField(help_text="candidates with a final grade and no predicted one")
    table = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField()), help_text="by predicted grade, then by final one"
    )
    kappa = serializers.ListField(
        child=serializers.FloatField(allow_null=True), help_text="quadratic, and its 95 % interval over queries"
    )
    severity = serializers.ListField(
        child=serializers.FloatField(allow_null=True), help_text="mean of predicted less final grade, and its interval"
    )
    ranks = serializers.ListField(child=serializers.DictField(), help_text="the same of each band of caption ranks")
    weeks = serializers.ListField(child=serializers.DictField(), help_text="the same of each week of judging")


class WorthSerializer(serializers.Serializer):
    made = serializers.DateTimeField(allow_null=True, help_text="null before the first time")
    run = serializers.IntegerField(help_text="its number; 0: the candidates in caption order")
    judged = serializers.IntegerField()
    ranked = serializers.IntegerField()
    why = serializers.CharField(help_text="why savings are not known")
    savings = SavingSerializer(many=True, help_text="caption rank first")
    calibrations = CalibrationSerializer(many=True)


class Weighed(Body):
    run = Whole(required=False, min_value=0, max_value=LARGEST, help_text="its number; 0: the caption order")


class PredictorsWorth(Resource, at=f"{CAMPAIGN}/predictors/worth", name="predictors-worth"):
    @reads(WorthSerializer)
    def get(self) -> Any:
        """How each predictor compares with consensus, and how much judging it saves."""
        return _worth(self.lead)

    @starts(WorthSerializer, UNFIT, body=Weighed)
    def put(self) -> Any:
        """Compute both anew, for the score of a run."""
        return self.under_way(ask_to_weigh(self.lead.campaign, self.data.get("run")), _worth(self.lead))


def _worth(lead: Membership) -> Any:
    worth = worth_of(lead.campaign)
    return annotated(
        worth, calibrations=[held | {"predictor": key} for key, held in sorted(worth.calibrations.items())]
    )


class LookSerializer(serializers.Serializer):
    at = serializers.CharField()
    judged = serializers.IntegerField(help_text="queries up to the frontier")
    ranked = serializers.IntegerField(help_text="all queries")
    value = serializers.FloatField(help_text="the difference over all queries, estimated")
    low = serializers.FloatField(help_text="of an interval that holds at all times, however often one looks")
    high = serializers.FloatField()
    method = serializers.CharField(help_text="of the interval: regression, or bounded if fewer than 10 queries deviate")
    needed = serializers.IntegerField(
        allow_null=True,
        help_text="queries after which it is decided, if it stays so; null if all do not suffice, or if bounded",
    )
    decided = serializers.BooleanField(source="is_decided", help_text="whether the interval excludes 0")


class WatchSerializer(ModelAnswer):
    run = serializers.IntegerField(source="run.number", help_text="its number")
    other = serializers.IntegerField(source="other.number", help_text="the number of the run whose score is taken off")
    predictor = serializers.IntegerField(source="predictor_id", allow_null=True, help_text="its id; null: caption rank")
    look = LookSerializer(allow_null=True, help_text="the last; null before the first")

    class Meta:
        model = Watch
        fields = ["id", "measure"]


class NewWatch(Body):
    run = Whole(min_value=1, max_value=LARGEST, help_text="its number")
    other = Whole(min_value=1, max_value=LARGEST, help_text="the number of the run whose score is taken off")
    measure = Text(max_length=LONGEST_MEASURE, help_text="its name, as the library parses it")
    predictor = Whole(required=False, min_value=1, max_value=LARGEST, help_text="its id; without it, caption rank")


class Watches(Resource, at=f"{CAMPAIGN}/watches", name="watches"):
    @reads(Page(WatchSerializer))
    def get(self) -> Any:
        """The differences that leads of the campaign watch."""
        return Rows(watches.watches_of(self.lead.campaign), ("pk",), lambda page: [*map(_with_look, page)])

    @starts(WatchSerializer, UNFIT, body=NewWatch)
    def post(self) -> Any:
        """Watch the difference of two runs; the first look follows."""
        watch = watches.begin(self.lead, **self.data)
        return self.under_way(watches.estimate_difference.jobs(watch).first(), _with_look(watch))


class OneWatch(Resource, at=f"{CAMPAIGN}/watches/<int:pk>", name="watch"):
    @reads(WatchSerializer)
    def get(self, pk: int) -> Any:
        """A watched difference, with its last look."""
        return _with_look(access.watch(self.lead, pk))

    @starts(WatchSerializer)
    def put(self, pk: int) -> Any:
        """Look at a difference now."""
        watch = access.watch(self.lead, pk)
        return self.under_way(watches.estimate_difference.ask(watch), _with_look(watch))

    @changes()
    def delete(self, pk: int) -> Any:
        """Watch a difference no longer."""
        access.watch(self.lead, pk).delete()


def _with_look(watch: Watch) -> Any:
    return annotated(watch, look=watches.last_look(watch))


class SpreadSerializer(serializers.Serializer):
    judged = serializers.FloatField(help_text="standard deviation")
    left = serializers.FloatField(help_text="what the caption ranks do not explain of it")


class PlannedSerializer(serializers.Serializer):
    way = serializers.CharField()
    queries = serializers.IntegerField(allow_null=True, help_text="null if more than a million, or than are ranked")
    judgements = serializers.IntegerField(allow_null=True)
    hours = serializers.IntegerField(allow_null=True)
    cost = serializers.IntegerField(allow_null=True, help_text="null without an hourly rate")
    weeks = serializers.IntegerField(allow_null=True)


class PilotSerializer(serializers.Serializer):
    like = serializers.CharField()
    runs = serializers.ListField(child=serializers.IntegerField(), help_text="numbers")


class PlanAdvice(serializers.Serializer):
    spread = SpreadSerializer(help_text="of the difference of NDCG@20 between queries")
    plans = PlannedSerializer(many=True)
    pilots = PilotSerializer(many=True, help_text="releases with runs whose difference may serve as an example")


PlanParameters = parameters_of(PlanForm, like=Text(required=False, max_length=150, help_text="how differences vary"))


class PlanDraft(Resource, at="drafts/<slug:token>/plan", name="draft-plan"):
    @reads(PlanAdvice, UNFIT, query=PlanParameters)
    def get(self, token: str) -> Any:
        """How many queries tell two systems apart, and what judging them takes."""
        form = PlanForm(drafts_access.open_draft(self.request, token), self.params)
        if not form.is_valid():
            raise Unfit(faults_of(form))
        pilots = [{"like": name, "runs": list(pilot.runs)} for name, pilot in form.pilots.items()]
        return {"spread": form.spread, "plans": form.plans, "pilots": pilots}
