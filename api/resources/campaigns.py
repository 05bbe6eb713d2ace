"""Who asks, the campaigns that they belong to, a campaign at a glance, and its settings."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models
from django.shortcuts import get_object_or_404
from rest_framework import serializers

from api.fields import Body, Page, Shape, Truth, request_field
from api.operations import TAGGED, VERSIONED, Answer, Rows, changes, reads
from api.problems import checked
from api.resource import CAMPAIGN, Resource, must_match, tag_of
from campaigns.access import signed_in
from campaigns.models import Campaign, Membership, Token
from campaigns.settings import COLUMNS, SETTINGS
from judging.settings import fixed, set_up, values_of
from reports.tables.queries import at_a_glance


class Person(Shape):
    user = serializers.CharField()
    scopes = serializers.ListField(
        child=serializers.ChoiceField(Token.Scope.choices), help_text="what the token may do; all for a session"
    )
    expires = serializers.DateTimeField(allow_null=True, help_text="of the token")


class OwnCampaign(Shape):
    """A campaign, and what the person is in it."""

    of = Membership, "role state name=campaign.name title=campaign.title"


class CampaignDetail(Shape):
    of = Campaign, "name title encoder created corpus=corpus.name"
    helps = {"encoder": "the model that ranked its candidates; empty before"}
    queries = serializers.IntegerField(source="n_queries")
    closed = serializers.IntegerField(source="n_closed", help_text="queries that are closed")
    to_review = serializers.IntegerField(source="n_to_review", help_text="batches that wait for the lead")
    at_work = serializers.IntegerField(source="n_at_work", help_text="annotators with a batch in hand")


class Root(Resource, at="", name="root"):
    @reads(Person)
    def get(self) -> Any:
        """Who asks, and what the token may do."""
        token = self.request.auth if isinstance(self.request.auth, Token) else None
        return {
            "user": signed_in(self.request).get_username(),
            "scopes": token.scopes if token else Token.Scope.values,
            "expires": token.expires if token else None,
        }


class Campaigns(Resource, at="campaigns", name="campaigns"):
    @reads(Page(OwnCampaign))
    def get(self) -> Any:
        """The campaigns that the person belongs to."""
        own = Membership.objects.filter(user=self.request.user.pk, state__in=Membership.MAY_LEARN)
        return Rows(own.select_related("campaign"))


class OneCampaign(Resource, at=CAMPAIGN, name="campaign"):
    @reads(CampaignDetail)
    def get(self) -> Any:
        """A campaign, as its leads and researchers see it."""
        campaigns = at_a_glance(Campaign.objects.select_related("corpus"))
        return get_object_or_404(campaigns, pk=self.member.campaign_id)


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
    if not isinstance(column, models.BooleanField | models.CharField):
        least, most = (setting.least, setting.most) if setting.has_range else (-(2**63), 2**63 - 1)  # of a seed
        options |= {"min_value": least, "max_value": most}
    return request_field(column, **options)


class Settings(Resource, at=f"{CAMPAIGN}/settings", name="settings"):
    @reads(SettingsShape, TAGGED)
    def get(self) -> Any:
        """The settings of a campaign."""
        return _settings(self.member.campaign)

    @changes(SettingsShape, VERSIONED, body=SettingsChange)
    def patch(self) -> Any:
        """Change settings."""
        checked(
            set_up(self.lead, self.data, partial=True, precondition=lambda now: must_match(self.request, _tag(now)))
        )
        return _settings(Campaign.objects.get(pk=self.lead.campaign_id))


def _tag(campaign: Campaign) -> str:
    return tag_of("settings", values_of(campaign))


def _settings(campaign: Campaign) -> Answer:
    return Answer.tagged(values_of(campaign) | {"fixed": fixed(campaign)}, _tag(campaign))
