"""The annotator's home: what was done, what is in hand, and what comes next."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.utils import timezone

from campaigns.models import Membership
from judging.models import Revision
from judging.quality.exam import exam_state, has_just_passed
from reports.own_work import agreement, week_of


def first_clip(data: dict[str, Any]) -> str | None:
    """The address of the clip that the workplace shows first: it loads before the scripts are there."""
    open_places = [each for each in data["places"] if each["grade"] is None and each["flag"] is None]
    address: str | None = open_places[0]["clip"] if open_places else None
    return address


def judged_today(member: Membership) -> int:
    """Clips that the annotator judged since midnight, the server's."""
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    first = Revision.objects.filter(number=1, at__gte=midnight)
    return first.filter(judgement__assignment__in=member.assignments.said_since(midnight)).count()


def progress(member: Membership) -> dict[str, Any]:
    """What the annotator did in a campaign, and the batch that the annotator holds, if any."""
    live = member.assignments.live().first()
    return {
        "member": member,
        "campaign": member.campaign,
        "live": live,
        "exam": exam_state(member),
        "passed": has_just_passed(member),
        "new": not member.assignments.exists(),
        "left": len(live.unanswered()) if live else 0,
        "batches": member.assignments.submitted().count(),
        "judgements": member.judgements.count(),
        "lease": settings.ASSIGNMENT_LEASE // 60,  # minutes
    }


def home(member: Membership) -> dict[str, Any]:
    """What the home page says below its button."""
    return progress(member) | {
        "week": week_of(member),
        "agreement": agreement(member),
        "inbox": member.messages.unread().order_by("-at", "-pk"),
    }
