"""Predictors: their grades from a file or the chat endpoint, how these compare with consensus, and what they save."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.http import StreamingHttpResponse
from rest_framework import serializers

from api.fields import Body, Choice, Page, Shape, Text, Whole
from api.operations import STORES, UNFIT, Rows, With, changes, fresh, makes, reads, starts
from api.resource import CAMPAIGN, LARGEST, Resource
from api.resources.runs import MOST, PIECE, FileShape, take
from campaigns.models import Membership
from metrics.formats.predicted import predicted_csv
from runs import access
from runs.estimates.endpoint import Estimate, estimate
from runs.estimates.predictors import (
    FEWEST_FRAMES,
    FRAMES,
    MOST_FRAMES,
    add_predictor,
    announce,
    begin,
    remove_predictor,
)
from runs.estimates.worth import Saving, Worth, ask_to_weigh, worth_of
from runs.models import PredictionsFile, Predictor


class AskingCostShape(Shape):
    of = Estimate, "candidates input_tokens output_tokens cost"
    helps = {"candidates": "that are left"}


class PredictorShape(Shape):
    of = (
        Predictor,
        "id=pk name source model frames prompt_sha256 filename sha256 fault at ended requests input_tokens "
        "output_tokens cost by=by.worker",
    )
    helps = {
        "frames": "pictures of each clip that the endpoint sees",
        "fault": "what is wrong with its file; empty if nothing is",
        "ended": "when all grades were there; null before",
    }


class OnePredictorShape(PredictorShape):
    prompt = serializers.CharField(help_text="what the endpoint is told before each clip")
    estimate = AskingCostShape(
        allow_null=True, help_text="what asking the endpoint for the rest costs; null with a file"
    )


class NewPredictor(Body):
    """Its grades follow: send a file, or begin to ask the chat endpoint."""

    of = Predictor, "name"
    helps = {"name": "no other predictor of the campaign has it"}
    source = Choice(choices=Predictor.Source.values)
    model = Text(required=False, max_length=200, allow_blank=True, help_text="of a file: what predicted")
    frames = Whole(
        required=False,
        min_value=FEWEST_FRAMES,
        max_value=MOST_FRAMES,
        help_text=f"pictures of each clip for the endpoint, {FRAMES} by default",
    )


class NewPredictionsFile(Body):
    of = PredictionsFile, "name"
    size = Whole(min_value=1, max_value=MOST, help_text="bytes")


class Predictors(Resource, at=f"{CAMPAIGN}/predictors", name="predictors"):
    @reads(Page(PredictorShape))
    def get(self) -> Any:
        """The predictors of the campaign."""
        return Rows(self.lead.campaign.predictors.select_related("by"))

    @makes(PredictorShape, UNFIT, body=NewPredictor)
    def post(self) -> Any:
        """Add a predictor."""
        return fresh(add_predictor(self.lead, **self.data))


class OnePredictor(Resource, at=f"{CAMPAIGN}/predictors/<int:pk>", name="predictor"):
    @reads(OnePredictorShape)
    def get(self, pk: int) -> Any:
        """A predictor, with its prompt and what asking for the rest will cost."""
        return _with_estimate(access.predictor(self.lead, pk))

    @starts(OnePredictorShape, UNFIT)
    def put(self, pk: int) -> Any:
        """Store the grades of its file, or ask the chat endpoint for those that are left."""
        predictor = access.predictor(self.lead, pk)
        return self.under_way(begin(predictor), _with_estimate(fresh(predictor)))

    @changes()
    def delete(self, pk: int) -> Any:
        """Delete a predictor with what it predicts."""
        remove_predictor(access.predictor(self.lead, pk))


def _with_estimate(predictor: Predictor) -> With:
    return With(predictor, estimate=estimate(predictor) if predictor.is_of_chat else None)


class PredictorFiles(Resource, at=f"{CAMPAIGN}/predictors/<int:pk>/files", name="predictor-files"):
    @changes(FileShape, STORES, UNFIT, body=NewPredictionsFile, status=201)
    def post(self, pk: int) -> Any:
        """Announce the file of predicted grades, or find one that broke off."""
        return announce(access.predictor(self.lead, pk), **self.data)


class PredictorFile(Resource, at=f"{CAMPAIGN}/predictors/<int:pk>/files/<slug:file>", name="predictor-file"):
    @reads(FileShape)
    def get(self, pk: int, file: str) -> Any:
        """How much of a file has arrived."""
        return take(self.request, partial(access.predictions_file, self.lead, pk, file))

    @changes(FileShape, PIECE, STORES)
    def patch(self, pk: int, file: str) -> Any:
        """Send the next piece, of a mebibyte at most; 422 and where to go on, if it belongs elsewhere."""
        return take(self.request, partial(access.predictions_file, self.lead, pk, file))


class PredictorGrades(Resource, at=f"{CAMPAIGN}/predictors/<int:pk>/grades", name="predictor-grades"):
    @reads(("text/csv",))
    def get(self, pk: int) -> Any:
        """The predicted grades as a CSV, which `predictor=` of the library reads."""
        rows = access.predictor(self.lead, pk).rows()
        return StreamingHttpResponse(predicted_csv(rows), content_type="text/csv; charset=utf-8")


class SavingShape(Shape):
    of = Saving, "name left alone"
    helps = {
        "left": "share of the variance between queries that the predictions leave; null if not known",
        "alone": "queries judged alone that tell as much as these, which all ranked ones correct; null if not known",
    }
    predictor = serializers.IntegerField(source="predictor.pk", allow_null=True, default=None, help_text="null: ranks")


class CalibrationShape(Shape):
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


class WorthShape(Shape):
    of = Worth, "made run judged ranked why"
    helps = {
        "made": "null before the first time",
        "run": "its number; 0: the candidates in caption order",
        "why": "why savings are not known",
    }
    savings = SavingShape(many=True, help_text="caption rank first")
    calibrations = CalibrationShape(many=True)


class Weighed(Body):
    run = Whole(required=False, min_value=0, max_value=LARGEST, help_text="its number; 0: the caption order")


class PredictorsWorth(Resource, at=f"{CAMPAIGN}/predictors/worth", name="predictors-worth"):
    @reads(WorthShape)
    def get(self) -> Any:
        """How each predictor compares with consensus, and how much judging it saves."""
        return _worth(self.lead)

    @starts(WorthShape, UNFIT, body=Weighed)
    def put(self) -> Any:
        """Compute both anew, for the score of a run."""
        return self.under_way(ask_to_weigh(self.lead.campaign, self.data.get("run")), _worth(self.lead))


def _worth(lead: Membership) -> With:
    worth = worth_of(lead.campaign)
    return With(worth, calibrations=[held | {"predictor": key} for key, held in sorted(worth.calibrations.items())])
