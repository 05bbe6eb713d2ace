"""What each member did in all and day by day, and how fast lately: for this every judgement is looked at."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Count, Max, Q
from django.utils import timezone

from campaigns.models import Campaign
from judging.models import Revision
from judging.quality.check_results import check_totals, speeds
from reports.pay.hours import EVER, worked_on_days


def people(campaign: Campaign) -> dict[str, Any]:
    """By the member's key: judgements and the last press; check pairs, and how many were off; and of thirty days how
    many judgements, how many fast, the median.
    """
    presses = Revision.objects.filter(judgement__annotator__campaign=campaign).order_by()
    first, last = Count("pk", filter=Q(number=1)), Max("at")
    made = presses.values_list("judgement__annotator").annotate(n=first, last=last)
    return {
        "made": [[key, number, at.isoformat()] for key, number, at in made],
        "checked": [[key, each.pairs, each.off] for key, each in check_totals(campaign).items()],
        "speeds": [[key, each.judgements, each.fast, each.median] for key, each in speeds(campaign).items()],
    }


def days_over(campaign: Campaign) -> dict[str, Any]:
    """What each member did on each day before yesterday: to such a day nothing is added any more.

    Days are those of the pages' time zone, which is noted: in another one they are others.
    """
    yesterday = timezone.localtime() - timedelta(days=1)
    midnight = yesterday.replace(hour=0, minute=0, second=0, microsecond=0)
    days = worked_on_days(campaign, EVER, midnight)
    return {
        "zone": timezone.get_current_timezone_name(),
        "before": midnight.isoformat(),
        "worked": [
            [member, day.isoformat(), str(part.seconds), part.judgements, part.batches]
            for (member, day), part in days.items()
        ],
    }
