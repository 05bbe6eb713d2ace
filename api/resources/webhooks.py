"""Webhooks of a campaign, for its leads."""

from __future__ import annotations

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Body, Choice, Shape, Text, Truth
from api.models import Delivery, Webhook
from api.problems import unfit
from api.resource import Resource, empty
from api.webhooks import announcing
from api.webhooks.addresses import LONGEST
from campaigns.models import Membership, Token
from campaigns.news import Happened
from judging import doors

READ, LEAD = Token.Scope.READ, Token.Scope.LEAD


class WebhookShape(Shape):
    id = serializers.IntegerField(source="pk")
    address = serializers.CharField()
    events = serializers.ListField(child=serializers.ChoiceField(Happened.choices))
    made = serializers.DateTimeField()
    enabled = serializers.BooleanField(help_text="whether it is told anything")


class WebhookWithSecret(WebhookShape):
    secret = serializers.CharField(help_text="signs what is sent; told this once")
    example = {
        "id": 1,
        "address": "https://hooks.example.org/reeljudge",
        "events": ["release.frozen"],
        "made": "2026-01-05T09:00:00Z",
        "enabled": True,
        "secret": "q2Zk",
    }


class NewWebhook(Body):
    address = Text(max_length=LONGEST, help_text="at a host that the operator allows")
    events = serializers.ListField(
        child=Choice(choices=Happened.choices), min_length=1, max_length=len(Happened)
    )
    example = {
        "address": "https://hooks.example.org/reeljudge",
        "events": ["batch.settled", "release.frozen"],
    }


class DeliveryShape(Shape):
    id = serializers.IntegerField(source="pk")
    event = serializers.CharField()
    body = serializers.CharField(help_text="JSON as it was sent")
    at = serializers.DateTimeField()
    tries = serializers.IntegerField()
    status = serializers.IntegerField(allow_null=True, help_text="of the last answer")
    error = serializers.CharField()
    delivered = serializers.DateTimeField(allow_null=True)


class Webhooks(Resource):
    @operation("The webhooks of a campaign", scope=LEAD, answer=WebhookShape, pages=True)
    def get(self, request: Request, name: str) -> Response:
        return self.page(Webhook.objects.filter(campaign=doors.lead(request, name).campaign), WebhookShape)

    @operation(
        "Have another site told what happens",
        scope=LEAD,
        body=NewWebhook,
        answer=WebhookWithSecret,
        status=201,
        makes=True,
    )
    def post(self, request: Request, name: str) -> Response:
        lead = doors.lead(request, name)
        with unfit():
            made, secret = announcing.make(
                lead.campaign, self.said["address"], set(self.said["events"]), lead
            )
        made.refresh_from_db()
        return Response(WebhookShape(made).data | {"secret": secret}, 201)


def _webhook(lead: Membership, pk: int) -> Webhook:
    return get_object_or_404(Webhook.objects.select_related("campaign"), campaign=lead.campaign, pk=pk)


class WebhookChange(Body):
    enabled = Truth(help_text="whether it is told anything")
    example = {"enabled": False}


class OneWebhook(Resource):
    @operation("Disable a webhook, or enable it again", scope=LEAD, body=WebhookChange, answer=WebhookShape)
    def patch(self, request: Request, name: str, pk: int) -> Response:
        webhook = _webhook(doors.lead(request, name), pk)
        webhook.enable(self.said["enabled"])
        return Response(WebhookShape(webhook).data)

    @operation("Remove a webhook, with its deliveries", scope=LEAD, status=204)
    def delete(self, request: Request, name: str, pk: int) -> Response:
        _webhook(doors.lead(request, name), pk).delete()
        return empty()


class TestWebhook(Resource):
    @operation("Send a webhook a test", scope=LEAD, answer=DeliveryShape, status=202)
    def post(self, request: Request, name: str, pk: int) -> Response:
        sent = announcing.test(_webhook(doors.lead(request, name), pk))
        sent.refresh_from_db()
        return Response(DeliveryShape(sent).data, 202)


class Deliveries(Resource):
    @operation("What a webhook was sent, the newest first", scope=LEAD, answer=DeliveryShape, pages=True)
    def get(self, request: Request, name: str, pk: int) -> Response:
        return self.page(_webhook(doors.lead(request, name), pk).deliveries.all(), DeliveryShape, "-pk")


class DeliverAgain(Resource):
    @operation("Send a delivery again that was not taken", scope=LEAD, answer=DeliveryShape, status=202)
    def post(self, request: Request, name: str, pk: int, delivery: int) -> Response:
        deliveries = Delivery.objects.filter(webhook=_webhook(doors.lead(request, name), pk))
        found = get_object_or_404(deliveries.select_related("webhook"), pk=delivery)
        announcing.send_again(found)
        return Response(DeliveryShape(found).data, 202)
