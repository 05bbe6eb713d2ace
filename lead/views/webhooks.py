"""The pages of a campaign's webhooks, for its leads: which there are, what they were sent, and what was answered."""

from __future__ import annotations

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from base.errors import BadValue
from base.forms import valid_data
from base.problem_documents import refusal_as_message
from campaigns import access, webhooks
from campaigns.events import Happened
from campaigns.models import Membership, Webhook
from campaigns.pages import campaign_page
from campaigns.webhooks import LONGEST, destination
from lead.forms.campaign import WebhookActionForm

SHOWN = 50  # deliveries


class WebhookForm(forms.Form):
    address = forms.CharField(max_length=LONGEST, label="Address", help_text="At a host that this site allows.")
    events = forms.MultipleChoiceField(
        choices=Happened.choices, label="Tell it when", widget=forms.CheckboxSelectMultiple
    )

    def clean_address(self) -> str:
        try:
            destination(address := str(self.cleaned_data["address"]))
        except BadValue as fault:
            raise forms.ValidationError(str(fault)) from fault
        return address


@require_http_methods(["GET", "HEAD", "POST"])
def index(request: HttpRequest, name: str) -> HttpResponse:
    """The campaign's webhooks, and the form that makes another, whose secret is shown this once."""
    lead = access.lead(request, name)
    if request.method != "POST":
        return _index(request, lead, WebhookForm())
    form = WebhookForm(request.POST)
    if not form.is_valid():
        return _index(request, lead, form, status=400)
    made, secret = webhooks.make(lead.campaign, form.cleaned_data["address"], form.cleaned_data["events"], lead)
    return _index(request, lead, WebhookForm(), made=made, secret=secret)


def _index(
    request: HttpRequest, lead: Membership, form: WebhookForm, status: int = 200, **made: object
) -> HttpResponse:
    rows = [
        (webhook, _events(webhook), webhook.deliveries.first()) for webhook in lead.campaign.webhooks.order_by("pk")
    ]
    known = {"webhooks": rows, "form": form, "hosts": settings.WEBHOOK_HOSTS}
    return campaign_page(request, lead, "lead/webhooks.html", status, **known, **made)


def _events(webhook: Webhook) -> list[str]:
    return [str(label) for event, label in Happened.choices if event in webhook.events]


@require_safe
def detail(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """What a webhook was sent lately, and what was answered."""
    lead = access.lead(request, name)
    webhook = access.webhook(lead, pk)
    return campaign_page(
        request,
        lead,
        "lead/webhook.html",
        webhook=webhook,
        events=_events(webhook),
        deliveries=webhook.deliveries.all()[:SHOWN],
        on_the_way=webhooks.tell_webhook.jobs(webhook.deliveries.filter(delivered=None)).unfinished().exists(),
        days=webhooks.KEPT.days,
    )


@require_POST
def change(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Disable a webhook, enable it, send it a test, or remove it. Doing it twice is harmless, apart from the test."""
    lead = access.lead(request, name)
    webhook = access.webhook(lead, pk)
    action = valid_data(WebhookActionForm(request.POST))["action"]
    if action == "remove":
        webhooks.remove(webhook, lead)
        messages.success(request, "The webhook is removed, with what it was sent.")
        return redirect("webhooks", name)
    with refusal_as_message(request):
        if action == "test":
            webhooks.test(webhook)
            messages.success(request, "The test is on its way. What is answered is shown below.")
        else:
            webhook.enable(action == "enable", lead)
            messages.success(request, f"The webhook is {action}d.")
    return redirect("webhook", name, pk)


@require_POST
def again(request: HttpRequest, name: str, pk: int, delivery: int) -> HttpResponse:
    """Send a delivery again that was not taken."""
    webhook = access.webhook(access.lead(request, name), pk)
    found = get_object_or_404(webhook.deliveries, pk=delivery)
    with refusal_as_message(request):
        webhooks.send_again(found)
        messages.success(request, "It is on its way again.")
    return redirect("webhook", name, pk)
