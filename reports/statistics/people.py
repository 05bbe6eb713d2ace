"""What each member did in all and on each day, and how fast they judged lately. This reads every judgement."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Count, Max, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from campaigns.models import Campaign
from judging.models import Judgement, Revision
from judging.quality.check_results import check_totals, speeds
from reports.pay.hours import EVER, worked_on_days


def people(campaign: Campaign) -> dict[str, Any]:
    """Return the members' totals, as lists that begin with the member's primary key.

    `made` has the number of judgements and the time of the last revision; `checked` the number of check pairs and of
    missed ones; `speeds` the number of judgements of thirty days, of fast ones, and the median of the seconds.
    """
    revisions = Revision.objects.filter(judgement__annotator__campaign=campaign).order_by()
    first, last = Count("pk", filter=Q(number=1)), Max("at")
    made = revisions.values_list("judgement__annotator").annotate(n=first, last=last)
    return {
        "made": [[key, number, at.isoformat()] for key, number, at in made] + _imported(campaign),
        "checked": [[key, each.pairs, each.missed] for key, each in check_totals(campaign).items()],
        "speeds": [[key, each.judgements, each.fast, each.median] for key, each in speeds(campaign).items()],
    }


def _imported(campaign: Campaign) -> list[list[Any]]:
    """Return the imported ratings of each worker. They have no revision, and nobody knows when they were made."""
    rows = Judgement.objects.filter(annotator__campaign=campaign, revisions__isnull=True).order_by()
    worker = Coalesce("annotator__same_as", "annotator")
    made = rows.values_list(worker).annotate(n=Count("pk")) if campaign.imported else ()
    return [[key, number, None] for key, number in made]


def days_over(campaign: Campaign) -> dict[str, Any]:
    """Return what each member did on each day before yesterday. Nothing is added to these days any more.

    The result names the time zone of the pages, because days are others in another zone.
    """
    yesterday = timezone.localtime() - timedelta(days=1)
    midnight = yesterday.replace(hour=0, minute=0, second=0, microsecond=0)
    days = worked_on_days(campaign, EVER, midnight)
    return {
        "zone": timezone.get_current_timezone_name(),
        "before": midnight.isoformat(),
        "worked": [
            [member, day.isoformat(), str(part.seconds), str(part.reported), part.judgements, part.batches]
            for (member, day), part in days.items()
        ],
    }
