"""The table of checks: each annotator's check pairs in all, the newest of them, and speed."""

from __future__ import annotations

from dataclasses import dataclass

from campaigns.models import Campaign, Membership
from judging.quality.check_results import Checked, RecentChecks, Speed, recent_checks
from reports.summaries import CurrentSummary


@dataclass(frozen=True)
class CheckRow:
    annotator: Membership
    checked: Checked | None
    recent: RecentChecks
    speed: Speed | None


def check_rows(campaign: Campaign, counted: CurrentSummary) -> list[CheckRow]:
    """Every annotator by worker number; check pairs in all and speeds are those that were counted last."""
    numbers = counted.counts or {"checked": [], "speeds": []}
    checked = {key: Checked(*rest) for key, *rest in numbers["checked"]}
    speeds = {key: Speed(*rest) for key, *rest in numbers["speeds"]}
    recent = recent_checks(campaign)
    annotators = campaign.memberships.annotators().select_related("user").order_by("worker")
    return [
        CheckRow(each, checked.get(each.pk), recent.get(each.pk, RecentChecks()), speeds.get(each.pk))
        for each in annotators
    ]
