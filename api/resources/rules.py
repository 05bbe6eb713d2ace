"""A campaign's rules: its guideline and its settings, which several people may edit at once."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from api.fields import Body, Number, Page, Shape, Text, Truth, Whole
from api.operations import TAGGED, VERSIONED, Answer, Rows, changes, reads, tagged
from api.problems import checked
from api.resource import CAMPAIGN, Resource, must_match, tag_of
from base.errors import Changed, Outdated
from campaigns.forms import LONGEST_GUIDELINE, GuidelineForm
from campaigns.models import Campaign, Guideline
from campaigns.settings import COLUMNS, SETTINGS
from judging import access
from judging.quality import examples
from judging.settings import fixed, set_up, values_of


class Level(Shape):
    of = examples.Level, "grade name meaning"


class GuidelineShape(Shape):
    of = Guideline, "version text"
    helps = {"text": "Markdown"}
    levels = Level(many=True)


class VersionShape(Shape):
    of = Guideline, "version text at"
    helps = {"text": "Markdown"}
    by = serializers.IntegerField(source="by.worker", allow_null=True, default=None)


class NewText(Body):
    text = Text(max_length=LONGEST_GUIDELINE, trim_whitespace=False, help_text="Markdown")


class OneGuideline(Resource, at=f"{CAMPAIGN}/guideline", name="guideline"):
    @reads(GuidelineShape, TAGGED)
    def get(self, request: Request, name: str) -> Any:
        """What annotators are told about grading; all members read it."""
        return _guideline(access.anybody(request, name).campaign)

    @changes(GuidelineShape, VERSIONED, body=NewText)
    def put(self, request: Request, name: str) -> Any:
        """Put a new version of the guideline in force."""
        lead = access.lead(request, name)
        present = lead.campaign.guideline
        must_match(request, tag_of("guideline", present.version))
        data = checked(GuidelineForm({"text": self.data["text"], "started_from": present.version}))
        try:
            lead.campaign.write_guideline(lead, data["text"], present.version)
        except Outdated as fault:  # within the last milliseconds
            raise Changed(str(fault)) from fault
        return _guideline(lead.campaign)


def _guideline(campaign: Campaign) -> Answer:
    present = campaign.guideline
    data = {"version": present.version, "text": present.text, "levels": examples.levels(campaign)}
    return tagged(data, tag_of("guideline", present.version))


class Versions(Resource, at=f"{CAMPAIGN}/guideline/versions", name="guideline-versions"):
    @reads(Page(VersionShape))
    def get(self, request: Request, name: str) -> Any:
        """The versions of the guideline that leads wrote, the newest first."""
        campaign = access.membership(request, name).campaign
        return Rows(campaign.guidelines.select_related("by"), ("-version",))


class OneVersion(Resource, at=f"{CAMPAIGN}/guideline/versions/<int:version>", name="guideline-version"):
    @reads(VersionShape)
    def get(self, request: Request, name: str, version: int) -> Any:
        """A version of the guideline that a lead wrote."""
        versions = access.membership(request, name).campaign.guidelines
        return get_object_or_404(versions.select_related("by"), version=version)


class SettingsShape(Shape):
    of = Campaign, " ".join(name for name in SETTINGS if name in COLUMNS)
    fixed = serializers.DictField(
        child=serializers.CharField(), help_text="settings that can no longer change, each with the reason"
    )


class SettingsChange(Body):
    """Any of the settings; what is not named stays as it is."""

    left_out: ClassVar[tuple[str, ...]] = ()

    def get_fields(self) -> dict[str, serializers.Field]:
        return {name: _setting(name) for name in SETTINGS if name not in self.left_out} | super().get_fields()


def _setting(name: str) -> serializers.Field:
    """Return the field of a setting: its kind is the column's, its range and its words those of the settings."""
    setting = SETTINGS[name]
    options: dict[str, Any] = {"required": False, "help_text": setting.help}
    if name == "all_days":
        return Truth(**options)
    column = Campaign._meta.get_field(name)
    if isinstance(column, models.BooleanField):
        return Truth(**options)
    if isinstance(column, models.CharField):
        return Text(max_length=column.max_length, allow_blank=True, **options)
    least, most = (setting.least, setting.most) if setting.has_range else (-(2**63), 2**63 - 1)  # of a seed
    options |= {"min_value": least, "max_value": most}
    options |= {"allow_null": True} if column.null else {}
    return (Whole if isinstance(column, models.IntegerField) else Number)(**options)


class Settings(Resource, at=f"{CAMPAIGN}/settings", name="settings"):
    @reads(SettingsShape, TAGGED)
    def get(self, request: Request, name: str) -> Any:
        """The settings of a campaign."""
        return _settings(access.membership(request, name).campaign)

    @changes(SettingsShape, VERSIONED, body=SettingsChange)
    def patch(self, request: Request, name: str) -> Any:
        """Change settings."""
        lead = access.lead(request, name)
        checked(set_up(lead, self.data, partial=True, precondition=lambda now: must_match(request, _tag(now))))
        return _settings(Campaign.objects.get(pk=lead.campaign_id))


def _tag(campaign: Campaign) -> str:
    return tag_of("settings", values_of(campaign))


def _settings(campaign: Campaign) -> Answer:
    return tagged(values_of(campaign) | {"fixed": fixed(campaign)}, _tag(campaign))
