"""Webhooks of a campaign, for its leads."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers

from api.fields import Choice, Text, Truth
from api.operations import LEAD, UNFIT, Rows, annotated, changes, fresh, makes, reads
from api.resource import CAMPAIGN, Resource
from api.serializers import Body, ModelAnswer, Page, inline
from campaigns import access, webhooks
from campaigns.events import Happened
from campaigns.models import Delivery, Webhook
from campaigns.webhooks import LONGEST


class WebhookSerializer(ModelAnswer):
    events = serializers.ListField(child=serializers.ChoiceField(Happened.choices))

    class Meta:
        model = Webhook
        fields = ["id", "address", "made", "enabled"]
        help_texts = {"enabled": "whether it is told anything"}


class WebhookWithSecret(WebhookSerializer):
    secret = serializers.CharField(help_text="signs what is sent; told this once")


class NewWebhook(Body):
    address = Text(max_length=LONGEST, help_text="at a host that the operator allows")
    events = serializers.ListField(child=Choice(choices=Happened.choices), min_length=1, max_length=len(Happened))


class DeliverySerializer(ModelAnswer):
    class Meta:
        model = Delivery
        fields = ["id", "event", "body", "at", "tries", "status", "error", "delivered"]
        help_texts = {"body": "JSON as it was sent", "status": "of the last answer"}


class Webhooks(Resource, at=f"{CAMPAIGN}/webhooks", name="webhooks"):
    @reads(Page(WebhookSerializer), scope=LEAD)
    def get(self) -> Any:
        """The webhooks of a campaign."""
        return Webhook.objects.filter(campaign=self.lead.campaign)

    @makes(WebhookWithSecret, UNFIT, body=NewWebhook)
    def post(self) -> Any:
        """Have another site told what happens."""
        events = set(self.data["events"])
        made, secret = webhooks.make(self.lead.campaign, self.data["address"], events, self.lead)
        return annotated(fresh(made), secret=secret)


class OneWebhook(Resource, at=f"{CAMPAIGN}/webhooks/<int:pk>", name="webhook"):
    @changes(
        WebhookSerializer, body=inline("WebhookChange", Body, enabled=Truth(help_text="whether it is told anything"))
    )
    def patch(self, pk: int) -> Any:
        """Disable a webhook, or enable it again."""
        webhook = access.webhook(self.lead, pk)
        webhook.enable(self.data["enabled"], self.lead)
        return webhook

    @changes()
    def delete(self, pk: int) -> Any:
        """Remove a webhook, with its deliveries."""
        webhooks.remove(access.webhook(self.lead, pk), self.lead)


class TestWebhook(Resource, at=f"{CAMPAIGN}/webhooks/<int:pk>/test", name="webhook-test"):
    @changes(DeliverySerializer, status=202)
    def post(self, pk: int) -> Any:
        """Send a webhook a test."""
        return fresh(webhooks.test(access.webhook(self.lead, pk)))


class Deliveries(Resource, at=f"{CAMPAIGN}/webhooks/<int:pk>/deliveries", name="deliveries"):
    @reads(Page(DeliverySerializer), scope=LEAD)
    def get(self, pk: int) -> Any:
        """What a webhook was sent, the newest first."""
        return Rows(access.webhook(self.lead, pk).deliveries.all(), ("-pk",))


class DeliverAgain(Resource, at=f"{CAMPAIGN}/webhooks/<int:pk>/deliveries/<int:delivery>/again", name="delivery-again"):
    @changes(DeliverySerializer, status=202)
    def post(self, pk: int, delivery: int) -> Any:
        """Send a delivery again that was not taken."""
        found = get_object_or_404(access.webhook(self.lead, pk).deliveries, pk=delivery)
        webhooks.send_again(found)
        return found
