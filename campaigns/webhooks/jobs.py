"""The kind of job that sends a delivery to a webhook."""

from datetime import timedelta
from typing import Any

from django.db.models import F
from django.utils import timezone

from base.errors import ReeljudgeError
from campaigns.models import Delivery
from campaigns.webhooks.deliveries import DELIVER, secret_of
from campaigns.webhooks.sender import FAULTS, send
from jobs.errors import JobError, JobPostponed
from jobs.registry import Report, kind

GIVE_UP = timedelta(hours=24)  # after it happened


@kind(DELIVER)
def tell_a_webhook(arguments: dict[str, Any], report: Report) -> None:
    """Send one delivery. If it is not taken, wait longer each time, up to an hour, and give up after a day."""
    waiting = Delivery.objects.filter(pk=arguments["delivery"], delivered=None, webhook__enabled=True)
    delivery = waiting.select_related("webhook").first()
    if delivery is None:
        return  # It was taken, or its webhook is disabled or gone.
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
