"""Who asks, the campaigns that they belong to, and a campaign at a glance."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from api.fields import Page, Shape
from api.operations import Rows, reads
from api.resource import CAMPAIGN, Resource
from campaigns.access import signed_in
from campaigns.models import Campaign, Membership, Token
from judging import access
from reports.tables.queries import at_a_glance


class Person(Shape):
    user = serializers.CharField()
    scopes = serializers.ListField(
        child=serializers.ChoiceField(Token.Scope.choices), help_text="what the token may do; all for a session"
    )
    expires = serializers.DateTimeField(allow_null=True, help_text="of the token")


class OwnCampaign(Shape):
    """A campaign, and what the person is in it."""

    of = Membership, "role state"
    name = serializers.CharField(source="campaign.name")
    title = serializers.CharField(source="campaign.title")


class CampaignDetail(Shape):
    of = Campaign, "name title encoder created"
    helps = {"encoder": "the model that ranked its candidates; empty before"}
    corpus = serializers.CharField(source="corpus.name")
    queries = serializers.IntegerField(source="n_queries")
    closed = serializers.IntegerField(source="n_closed", help_text="queries that are closed")
    to_review = serializers.IntegerField(source="n_to_review", help_text="batches that wait for the lead")
    at_work = serializers.IntegerField(source="n_at_work", help_text="annotators with a batch in hand")


class Root(Resource, at="", name="root"):
    @reads(Person)
    def get(self, request: Request) -> Any:
        """Who asks, and what the token may do."""
        token = request.auth if isinstance(request.auth, Token) else None
        return {
            "user": signed_in(request).get_username(),
            "scopes": token.scopes if token else Token.Scope.values,
            "expires": token.expires if token else None,
        }


class Campaigns(Resource, at="campaigns", name="campaigns"):
    @reads(Page(OwnCampaign))
    def get(self, request: Request) -> Any:
        """The campaigns that the person belongs to."""
        own = Membership.objects.filter(user=request.user.pk, state__in=Membership.MAY_LEARN)
        return Rows(own.select_related("campaign"))


class OneCampaign(Resource, at=CAMPAIGN, name="campaign"):
    @reads(CampaignDetail)
    def get(self, request: Request, name: str) -> Any:
        """A campaign, as its leads and researchers see it."""
        member = access.membership(request, name)
        return get_object_or_404(at_a_glance(Campaign.objects.select_related("corpus")), pk=member.campaign_id)
