"""The lead's way in: campaigns, finding in one, and its settings, with its webhooks."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db.models import Prefetch, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from base.errors import BadValue
from base.forms import valid_data
from base.problem_documents import refusal_as_message
from campaigns import access, webhooks
from campaigns.access import may_create_campaigns
from campaigns.events import Happened
from campaigns.models import Campaign, Membership, Webhook
from campaigns.pages import campaign_page
from campaigns.webhooks import LONGEST, destination
from drafts.models import Draft
from judging.models import Batch, Query
from judging.settings import SettingsForm, set_up
from lead.forms.campaign import SearchForm, WebhookActionForm
from reports.tables.queries import at_a_glance
from runs.models import Run

MOST_FOUND = 8  # of each kind
Found = tuple[str, str, str]


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Redirect to the only campaign of a lead or researcher, to the list of several, or to an annotator's work."""
    seen = Membership.objects.seeing_all(request.user).select_related("campaign")[:2]
    if may_create_campaigns(request.user) or len(seen) > 1:
        return redirect("campaigns")
    if not seen:
        return redirect("work")
    return redirect("campaign" if seen[0].may_review else "leaderboard", seen[0].campaign.name)


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    campaigns = Campaign.objects.led_by(request.user).select_related("corpus").order_by("name")
    known = {
        "campaigns": at_a_glance(campaigns),
        "may_create": may_create_campaigns(request.user),
        "corpora": access.corpora(request).order_by("name"),
        "drafts": Draft.objects.unfinished().filter(owner=access.signed_in(request)).order_by("-touched"),
    }
    return render(request, "lead/campaigns.html", known)


@require_safe
def find_page(request: HttpRequest, name: str) -> HttpResponse:
    """The queries, annotators and runs that `?q=` finds."""
    member = access.participant(request, name)
    words = valid_data(SearchForm(request.GET))["q"]
    return campaign_page(request, member, "lead/find.html", words=words, found=find(member, words))


def find(member: Membership, words: str) -> list[Found]:
    """Return what the member may see and what contains the words or has the number: its kind, words and address."""
    if not words:
        return []
    number = int(words) if words.isdecimal() and len(words) < 10 else None
    queries = _queries(member, words) if member.sees_grades else []
    people = _people(member, words, number) if member.may_review else []
    return [*queries, *people, *_runs(member, words, number)]


def _queries(member: Membership, words: str) -> list[Found]:
    batches = Prefetch("batches", Batch.objects.order_by("number"))
    pool = Query.objects.pool().filter(campaign=member.campaign).prefetch_related(batches)
    matching = pool.filter(Q(text__icontains=words) | Q(query_id=words)).order_by("pk")[:MOST_FOUND]
    name = member.campaign.name
    return [
        ("query", f"{query.query_id} {query.text}", reverse("batch", args=[name, query.batches.all()[0].pk]))
        for query in matching
        if query.batches.all()
    ]


def _people(member: Membership, words: str, number: int | None) -> list[Found]:
    annotators = member.campaign.memberships.annotators().select_related("user").order_by("worker")
    matching = annotators.filter(Q(user__username__icontains=words) | Q(worker=number))[:MOST_FOUND]
    return [
        (
            "annotator",
            f"{person.worker} {person.user}",
            reverse("annotator", args=[member.campaign.name, person.worker]),
        )
        for person in matching
    ]


def _runs(member: Membership, words: str, number: int | None) -> list[Found]:
    matching = Run.objects.seen_by(member).filter(Q(name__icontains=words) | Q(number=number)).order_by("number")
    return [
        ("run", f"{run.number} {run.name}", reverse("run", args=[member.campaign.name, run.number]))
        for run in matching[:MOST_FOUND]
    ]


@require_http_methods(["GET", "HEAD", "POST"])
def edit_settings(request: HttpRequest, name: str) -> HttpResponse:
    """For researchers to read, for leads to change."""
    if request.method == "POST":
        lead = access.lead(request, name)
        form = set_up(lead, request.POST)
        if form.is_valid():
            messages.success(request, "The settings are saved.")
            return redirect("campaign-settings", name=name)
        return campaign_page(request, lead, "lead/settings.html", status=400, form=form)
    if request.GET.get("tab") == "webhooks":
        return webhooks_tab(request, access.lead(request, name))
    member = access.membership(request, name)
    return campaign_page(request, member, "lead/settings.html", form=SettingsForm(instance=member.campaign))


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


def webhooks_tab(request: HttpRequest, lead: Membership, status: int = 200, **context: Any) -> HttpResponse:
    """The tab of the settings with the webhooks, and the one of `?webhook=` in a drawer."""
    rows = [
        (webhook, _events(webhook), webhook.deliveries.first()) for webhook in lead.campaign.webhooks.order_by("pk")
    ]
    pk = request.GET.get("webhook", "")
    opened = _opened(access.webhook(lead, int(pk))) if pk.isdecimal() else {}
    known = {"webhooks": rows, "form": WebhookForm(), "hosts": settings.WEBHOOK_HOSTS} | opened
    return campaign_page(request, lead, "lead/webhooks.html", status, **known | context)


def _opened(webhook: Webhook) -> dict[str, Any]:
    """Return what a webhook was sent lately, and what was answered."""
    return {
        "opened": webhook,
        "events": _events(webhook),
        "deliveries": webhook.deliveries.all()[:SHOWN],
        "on_the_way": webhooks.tell_webhook.jobs(webhook.deliveries.filter(delivered=None)).unfinished().exists(),
        "days": webhooks.KEPT.days,
    }


@require_POST
def make_webhook(request: HttpRequest, name: str) -> HttpResponse:
    """Make a webhook, and show its secret this once."""
    lead, form = access.lead(request, name), WebhookForm(request.POST)
    if not form.is_valid():
        return webhooks_tab(request, lead, 400, form=form)
    made, secret = webhooks.make(lead.campaign, form.cleaned_data["address"], form.cleaned_data["events"], lead)
    return webhooks_tab(request, lead, made=made, secret=secret)


def _address(lead: Membership, opened: Webhook | None = None) -> str:
    address = reverse("campaign-settings", args=[lead.campaign.name]) + "?tab=webhooks"
    return f"{address}&webhook={opened.pk}" if opened else address


def _events(webhook: Webhook) -> list[str]:
    return [str(label) for event, label in Happened.choices if event in webhook.events]


@require_POST
def change_webhook(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Disable a webhook, enable it, send it a test, or remove it. Doing it twice is harmless, apart from the test."""
    lead = access.lead(request, name)
    webhook = access.webhook(lead, pk)
    action = valid_data(WebhookActionForm(request.POST))["action"]
    if action == "remove":
        webhooks.remove(webhook, lead)
        messages.success(request, "The webhook is removed, with what it was sent.")
        return redirect(_address(lead))
    with refusal_as_message(request):
        if action == "test":
            webhooks.test(webhook)
            messages.success(request, "The test is on its way. What is answered is shown below.")
        else:
            webhook.enable(action == "enable", lead)
            messages.success(request, f"The webhook is {action}d.")
    return redirect(_address(lead, webhook))


@require_POST
def send_again(request: HttpRequest, name: str, pk: int, delivery: int) -> HttpResponse:
    """Send a delivery again that was not taken."""
    lead = access.lead(request, name)
    webhook = access.webhook(lead, pk)
    found = get_object_or_404(webhook.deliveries, pk=delivery)
    with refusal_as_message(request):
        webhooks.send_again(found)
        messages.success(request, "It is on its way again.")
    return redirect(_address(lead, webhook))
