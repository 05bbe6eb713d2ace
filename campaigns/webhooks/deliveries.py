"""Webhooks of a campaign: making one, and telling it what happened."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from uuid import uuid4

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from base.errors import ReeljudgeError, WrongState
from base.transactions import locked
from campaigns.accounts.encryption import decrypt, encrypt, renews
from campaigns.events import About, Happened, listens
from campaigns.models import Campaign, Delivery, Membership, Webhook
from campaigns.webhooks.addresses import destination
from campaigns.webhooks.sender import FAULTS, send
from jobs.errors import JobError, JobPostponed
from jobs.models import Job
from jobs.registry import Report, each_hour, kind

TEST = "test"
MOST = 10  # webhooks of a campaign
KEPT = timedelta(days=30)
GIVE_UP = timedelta(hours=24)  # after it happened


@transaction.atomic
def make(campaign: Campaign, address: str, events: Iterable[str], by: Membership | None) -> tuple[Webhook, str]:
    """Make a webhook. Return it with the secret that signs what it is sent, which is told this once.

    Raises
    ------
    BadValue
        If the settings do not allow the address.
    WrongState
        If the campaign has as many webhooks as it can have.
    """
    destination(address)
    locked(Campaign.objects.filter(pk=campaign.pk)).get()
    if campaign.webhooks.count() >= MOST:
        raise WrongState(f"The campaign has {MOST} webhooks. Remove one first.")
    secret = secrets.token_urlsafe(32)
    made = campaign.webhooks.create(address=address, events=sorted(events), secret=encrypt(secret), by=by)
    return made, secret


def secret_of(webhook: Webhook) -> str:
    """Return the secret that signs what the webhook is sent.

    Raises
    ------
    WrongState
        If it was encrypted by a key that this site has no more.
    """
    try:
        return decrypt(webhook.secret)
    except WrongState as fault:
        raise WrongState("its secret cannot be read, because this site has a new key; make a new webhook") from fault


@renews
def renew_secrets() -> int:
    """Encrypt the secrets that can be read by the present key."""
    rows = list(locked(Webhook.objects.order_by("pk")))
    for row in rows:
        with suppress(WrongState):
            row.secret = encrypt(secret_of(row))
            row.save(update_fields=["secret"])
    return len(rows)


@listens
def announce(campaign: int, what: Happened, about: About) -> None:
    """Have each webhook told that wants to know."""
    for webhook in Webhook.objects.filter(campaign=campaign, enabled=True).select_related("campaign"):
        if what in webhook.events:
            deliver(webhook, what, about)


@transaction.atomic
def deliver(webhook: Webhook, event: str, about: About) -> Delivery:
    """Make a delivery, and ask for the job that sends it."""
    payload = {
        "id": str(uuid4()),  # by which the other site knows one that comes twice
        "event": event,
        "campaign": webhook.campaign.name,
        "at": timezone.now().isoformat(),
        "about": about,
    }
    delivery = webhook.deliveries.create(event=event, body=json.dumps(payload))
    tell_webhook.ask(delivery)
    return delivery


@kind(
    "tell-webhook",
    "Tell a webhook",
    of=Delivery,
    owner="webhook.campaign",
    subject="{0.event} to {0.webhook}",
    page=("webhook", "webhook.campaign.name", "webhook_id"),
    for_leads=True,
)
def tell_webhook(delivery: Delivery, report: Report) -> None:
    """Send one delivery. If it is not taken, wait longer each time, up to an hour, and give up after a day."""
    if delivery.delivered or not delivery.webhook.enabled:
        return
    report(0, 1, "sending")
    status, fault, is_final = _sent(delivery)
    taken = status is not None and 200 <= status < 300
    Delivery.objects.filter(pk=delivery.pk).update(
        tries=F("tries") + 1, status=status, error=fault[:300], delivered=timezone.now() if taken else None
    )
    if not taken and (is_final or timezone.now() > delivery.at + GIVE_UP):
        raise JobError(fault)
    if not taken:
        raise JobPostponed(fault)
    report(1, 1)


def _sent(delivery: Delivery) -> tuple[int | None, str, bool]:
    """Return the status of the answer, what was wrong, and whether trying again is of no use."""
    webhook = delivery.webhook
    try:
        status = send(webhook.address, secret_of(webhook), delivery.event, delivery.body)
    except ReeljudgeError as refusal:
        return None, str(refusal), True
    except FAULTS as fault:
        return None, f"no answer ({type(fault).__name__})", False
    return status, "" if 200 <= status < 300 else f"status {status}; expected 200 to 299", False


def test(webhook: Webhook) -> Delivery:
    """Have the webhook told something that did not happen.

    Raises
    ------
    WrongState
        If it is disabled.
    """
    _must_be_enabled(webhook)
    return deliver(webhook, TEST, {})


def send_again(delivery: Delivery) -> None:
    """Send a delivery again, unless it was taken.

    Raises
    ------
    WrongState
        If its webhook is disabled.
    """
    _must_be_enabled(delivery.webhook)
    if delivery.delivered is None:
        tell_webhook.ask(delivery)


def _must_be_enabled(webhook: Webhook) -> None:
    if not webhook.enabled:
        raise WrongState("The webhook is disabled. Enable it first.")


@each_hour
def forget_deliveries() -> None:
    """Delete deliveries of more than 30 days ago, with their jobs."""
    old = Delivery.objects.filter(at__lt=Now() - KEPT)
    tell_webhook.jobs(old).exclude(state=Job.State.RUNNING).delete()
    old.delete()
