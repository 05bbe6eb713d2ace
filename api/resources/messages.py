"""What others are told: messages to annotators, the digest for leads, and webhooks for other sites."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers

from api.fields import Choice, Text, Truth, Whole
from api.operations import LEAD, UNFIT, Rows, annotated, changes, fresh, makes, reads
from api.resource import CAMPAIGN, Resource
from api.serializers import Body, ModelAnswer, Page, inline
from base.forms import LARGEST
from base.sites import site_address
from campaigns import access, webhooks
from campaigns.events import Happened
from campaigns.models import Delivery, Message, Webhook
from campaigns.webhooks import LONGEST
from reports.digest import digest_of, have_mailed


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


class MessageSerializer(ModelAnswer):
    to = serializers.IntegerField(source="to.worker")

    class Meta:
        model = Message
        fields = ["id", "text", "at", "read"]


class NewMessage(Body):
    to = Whole(required=False, min_value=1, max_value=LARGEST, help_text="a worker's number; without it, all")

    class Meta:
        model = Message
        fields = ["text"]


class Messages(Resource, at=f"{CAMPAIGN}/messages", name="messages"):
    @reads(Page(MessageSerializer))
    def get(self) -> Any:
        """The messages to annotators, the newest first."""
        sent = Message.objects.filter(to__campaign=self.lead.campaign)
        return Rows(sent.select_related("to"), ("-pk",))

    @makes(inline("HowMany", number=serializers.IntegerField()), body=NewMessage)
    def post(self) -> Any:
        """Write to one annotator, or to all."""
        chosen = self.lead.campaign.memberships.reachable()
        if "to" in self.data:
            chosen = chosen.filter(pk=access.annotator_of(self.lead, self.data["to"]).pk)
        return {"number": Message.objects.send(chosen, self.data["text"], by=self.lead)}


class NeedSerializer(serializers.Serializer):
    number = serializers.IntegerField()
    words = serializers.CharField()
    address = serializers.CharField(help_text="of the page about it")


class DigestSerializer(serializers.Serializer):
    since = serializers.DateTimeField(help_text="the beginning of yesterday, in the time zone of the site")
    happened = NeedSerializer(many=True)
    waits = NeedSerializer(many=True)
    mailed = serializers.BooleanField(help_text="whether who asks gets it by mail each morning")


class TheDigest(Resource, at=f"{CAMPAIGN}/digest", name="digest"):
    @reads(DigestSerializer)
    def get(self) -> Any:
        """What happened since yesterday, and what waits for a lead."""
        return annotated(digest_of(self.lead), mailed=bool(self.lead.digest_site))


class DigestByMail(Resource, at=f"{CAMPAIGN}/digest/mail", name="digest-mail"):
    @changes(body=inline("DigestWanted", Body, wanted=Truth()))
    def put(self) -> Any:
        """Get the digest by mail each morning, or no longer."""
        have_mailed(self.lead, site_address(self.request._request) if self.data["wanted"] else "")
