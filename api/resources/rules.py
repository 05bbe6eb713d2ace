"""A campaign's rules: its guideline and its settings, which several people may edit at once."""

from __future__ import annotations

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Body, Number, Shape, Text, Truth, Whole
from api.problems import faults_of
from api.resource import Resource, must_match, tag_of
from base.errors import Changed, Outdated, Unfit
from campaigns.forms import LONGEST_GUIDELINE, GuidelineForm
from campaigns.models import Campaign, Guideline, Token
from judging import doors
from judging.quality.examples import levels
from judging.settings import fixed, set_up, values_of

READ, LEAD = Token.Scope.READ, Token.Scope.LEAD


class Level(Shape):
    grade = serializers.IntegerField()
    name = serializers.CharField()
    meaning = serializers.CharField()


class GuidelineShape(Shape):
    version = serializers.IntegerField()
    text = serializers.CharField(help_text="Markdown")
    levels = Level(many=True)
    example = {
        "version": 3,
        "text": "Watch the clip to its end.\n",
        "levels": [
            {"grade": 4, "name": "Perfect", "meaning": "Everything in the query happens in the clip."}
        ],
    }


class VersionShape(Shape):
    version = serializers.IntegerField()
    text = serializers.CharField(help_text="Markdown")
    by = serializers.IntegerField(source="by.worker", allow_null=True, default=None)
    at = serializers.DateTimeField()


class NewText(Body):
    text = Text(max_length=LONGEST_GUIDELINE, trim_whitespace=False, help_text="Markdown")
    example = {"text": "Watch the clip to its end.\n"}


class OneGuideline(Resource):
    @operation(
        "What annotators are told about grading; all members read it",
        scope=READ,
        answer=GuidelineShape,
        tagged=True,
    )
    def get(self, request: Request, name: str) -> Response:
        return _guideline(doors.anybody(request, name).campaign)

    @operation(
        "Put a new version of the guideline in force",
        scope=LEAD,
        body=NewText,
        answer=GuidelineShape,
        versioned=True,
        tagged=True,
    )
    def put(self, request: Request, name: str) -> Response:
        lead = doors.lead(request, name)
        present = lead.campaign.guideline
        must_match(request, tag_of("guideline", present.version))
        form = GuidelineForm({"text": self.said["text"], "started_from": present.version})
        if not form.is_valid():
            raise Unfit(faults_of(form))
        try:
            lead.campaign.write_guideline(lead, form.cleaned_data["text"], present.version)
        except Outdated as fault:  # within the last milliseconds
            raise Changed(str(fault)) from fault
        return _guideline(lead.campaign)


def _guideline(campaign: Campaign) -> Response:
    present = campaign.guideline
    found = {"version": present.version, "text": present.text, "levels": levels(campaign)}
    return Response(GuidelineShape(found).data, headers={"ETag": tag_of("guideline", present.version)})


class Versions(Resource):
    @operation(
        "The versions of the guideline that leads wrote, the newest first",
        scope=READ,
        answer=VersionShape,
        pages=True,
    )
    def get(self, request: Request, name: str) -> Response:
        campaign = doors.membership(request, name).campaign
        return self.page(campaign.guidelines.select_related("by"), VersionShape, "-version")


class OneVersion(Resource):
    @operation("A version of the guideline that a lead wrote", scope=READ, answer=VersionShape)
    def get(self, request: Request, name: str, version: int) -> Response:
        versions = Guideline.objects.filter(campaign=doors.membership(request, name).campaign)
        return Response(VersionShape(get_object_or_404(versions.select_related("by"), version=version)).data)


class SettingsShape(Shape):
    title = serializers.CharField()
    padding = serializers.FloatField()
    sound = serializers.BooleanField()
    play_once = serializers.BooleanField()
    watch_first = serializers.FloatField()
    batch_size = serializers.IntegerField()
    batches = serializers.IntegerField()
    tolerance = serializers.IntegerField()
    order_seed = serializers.IntegerField()
    second_from = serializers.FloatField()
    auto_second_from = serializers.FloatField(allow_null=True)
    auto_close_below = serializers.FloatField(allow_null=True)
    exam = serializers.BooleanField()
    exam_rounds = serializers.IntegerField()
    may_return = serializers.BooleanField()
    check_rate = serializers.FloatField()
    check_warn = serializers.FloatField()
    check_pause = serializers.FloatField()
    hourly_rate = serializers.FloatField(allow_null=True)
    currency = serializers.CharField()
    paid_plays = serializers.IntegerField()
    paid_beyond = serializers.IntegerField()
    fixed = serializers.DictField(
        child=serializers.CharField(), help_text="settings that can no longer change, each with the reason"
    )


class SettingsChange(Body):
    """Any of the settings; what is not named stays as it is."""

    title = Text(required=False, max_length=200, allow_blank=True)
    padding = Number(required=False, min_value=0, max_value=60)
    sound = Truth(required=False)
    play_once = Truth(required=False)
    watch_first = Number(required=False, min_value=0, max_value=10)
    batch_size = Whole(required=False, min_value=1, max_value=100)
    batches = Whole(required=False, min_value=1, max_value=2)
    tolerance = Whole(required=False, min_value=0, max_value=3)
    order_seed = Whole(required=False, min_value=-(2**63), max_value=2**63 - 1)
    second_from = Number(required=False, min_value=0, max_value=4)
    auto_second_from = Number(required=False, allow_null=True, min_value=0, max_value=4)
    auto_close_below = Number(required=False, allow_null=True, min_value=0, max_value=4)
    exam = Truth(required=False)
    exam_rounds = Whole(required=False, min_value=1, max_value=10)
    may_return = Truth(required=False)
    check_rate = Number(required=False, min_value=0, max_value=0.15)
    check_warn = Number(required=False, min_value=0, max_value=1)
    check_pause = Number(required=False, min_value=0, max_value=1)
    hourly_rate = Number(required=False, allow_null=True, min_value=0, max_value=999_999)
    currency = Text(required=False, max_length=3, allow_blank=True)
    all_days = Truth(
        required=False, help_text="pay the days before today at the new rate, too, unless they are approved"
    )
    paid_plays = Whole(required=False, min_value=1, max_value=20, help_text="of a clip, counted by one press")
    paid_beyond = Whole(required=False, min_value=0, max_value=120, help_text="seconds beyond these plays")
    example = {"second_from": 2.5, "sound": False}


class Settings(Resource):
    @operation("The settings of a campaign", scope=READ, answer=SettingsShape, tagged=True)
    def get(self, request: Request, name: str) -> Response:
        return _settings(doors.membership(request, name).campaign)

    @operation(
        "Change settings", scope=LEAD, body=SettingsChange, answer=SettingsShape, versioned=True, tagged=True
    )
    def patch(self, request: Request, name: str) -> Response:
        lead = doors.lead(request, name)
        form = set_up(
            lead, self.said, partial=True, precondition=lambda campaign: must_match(request, _tag(campaign))
        )
        if not form.is_valid():
            raise Unfit(faults_of(form))
        return _settings(Campaign.objects.get(pk=lead.campaign_id))


def _tag(campaign: Campaign) -> str:
    return tag_of("settings", values_of(campaign))


def _settings(campaign: Campaign) -> Response:
    found = values_of(campaign) | {"fixed": fixed(campaign)}
    return Response(SettingsShape(found).data, headers={"ETag": _tag(campaign)})
