"""Who asks, the campaigns that they belong to, and how far a campaign is."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Shape
from api.resource import Resource
from campaigns.doors import signed_in
from campaigns.models import Campaign, Membership, Token
from judging import doors
from reports.summaries import PROGRESS, CurrentSummary, current_summary
from reports.tables.campaigns import at_a_glance

READ = Token.Scope.READ


class Person(Shape):
    user = serializers.CharField()
    scopes = serializers.ListField(
        child=serializers.ChoiceField(Token.Scope.choices),
        help_text="what the token may do; all for a session",
    )
    expires = serializers.DateTimeField(allow_null=True, help_text="of the token")
    example = {"user": "ada", "scopes": ["judge", "read"], "expires": "2026-12-31T12:00:00Z"}


class OwnCampaign(Shape):
    """A campaign, and what the person is in it."""

    name = serializers.CharField(source="campaign.name")
    title = serializers.CharField(source="campaign.title")
    role = serializers.ChoiceField(Membership.Role.choices)
    state = serializers.ChoiceField(Membership.State.choices)
    example = {"name": "films", "title": "Films of 2024", "role": "annotator", "state": "active"}


class CampaignDetail(Shape):
    name = serializers.CharField()
    title = serializers.CharField()
    corpus = serializers.CharField(source="corpus.name")
    encoder = serializers.CharField(help_text="the model that ranked its candidates; empty before")
    created = serializers.DateTimeField()
    queries = serializers.IntegerField(source="n_queries")
    closed = serializers.IntegerField(source="n_closed", help_text="queries that are closed")
    to_review = serializers.IntegerField(source="n_to_review", help_text="batches that wait for the lead")
    at_work = serializers.IntegerField(source="n_at_work", help_text="annotators with a batch in hand")
    example = {
        "name": "films",
        "title": "",
        "corpus": "tvr",
        "encoder": "all-MiniLM-L6-v2",
        "queries": 500,
        "created": "2026-01-05T09:00:00Z",
        "closed": 120,
        "to_review": 3,
        "at_work": 8,
    }


class Numbers(Shape):
    """Numbers about a campaign. Those of a large one are counted by a job, and may be some minutes old."""

    made = serializers.DateTimeField(allow_null=True, help_text="when their judgements were read")
    counting = serializers.BooleanField(help_text="whether newer ones are being counted")
    numbers = serializers.DictField(
        child=serializers.JSONField(), allow_null=True, help_text="null until they were counted once"
    )


class Root(Resource):
    @operation("Who asks, and what the token may do", scope=READ, answer=Person)
    def get(self, request: Request) -> Response:
        token = request.auth if isinstance(request.auth, Token) else None
        who = {
            "user": signed_in(request).get_username(),
            "scopes": token.scopes if token else Token.Scope.values,
            "expires": token.expires if token else None,
        }
        return Response(Person(who).data)


class Campaigns(Resource):
    @operation("The campaigns that the person belongs to", scope=READ, answer=OwnCampaign, pages=True)
    def get(self, request: Request) -> Response:
        own = Membership.objects.filter(user=request.user.pk, state__in=Membership.MAY_LEARN)
        return self.page(own.select_related("campaign"), OwnCampaign)


class OneCampaign(Resource):
    @operation("A campaign, as its leads and researchers see it", scope=READ, answer=CampaignDetail)
    def get(self, request: Request, name: str) -> Response:
        member = doors.membership(request, name)
        found = at_a_glance(Campaign.objects.filter(pk=member.campaign_id).select_related("corpus")).first()
        if found is None:
            raise Http404
        return Response(CampaignDetail(found).data)


HOURS = ("seconds", "mean", "seconds_left")  # which a researcher is not told


class Progress(Resource):
    @operation(
        "How far a campaign is, how fast it goes, and when it ends at this pace", scope=READ, answer=Numbers
    )
    def get(self, request: Request, name: str) -> Response:
        member = doors.membership(request, name)
        found = current_summary(member.campaign, PROGRESS)
        numbers = dict(found.counts) if found.counts else None
        if numbers and not member.may_review:
            numbers = {key: value for key, value in numbers.items() if key not in HOURS}
            numbers["days"] = [[day, judgements] for day, judgements, _ in numbers["days"]]
        return counted(found, numbers)


def counted(found: CurrentSummary, numbers: Any) -> Response:
    """Answer the numbers of a summary, with their age."""
    return Response(Numbers({"made": found.made, "counting": found.counting, "numbers": numbers}).data)
