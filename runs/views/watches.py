"""Differences of runs that leads watch."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from base.forms import valid_data
from campaigns.models import Campaign
from campaigns.pages import campaign_page
from judging.review.frontier import frontier
from metrics import parse_measure
from runs import access
from runs.estimates.watches import Cost, Look, begin, cost_of, estimate_difference, last_look, watches_of
from runs.forms import WatchForm
from runs.measures import NDCG
from runs.models import Watch
from runs.pools.enlarging import open_runs

WIDE = 0.02  # the least half of the width of a watched difference's picture


@require_http_methods(["GET", "HEAD", "POST"])
def index(request: HttpRequest, name: str) -> HttpResponse:
    """The differences that leads watch, each with its last look; a POST begins another one."""
    lead = access.lead(request, name)
    if request.method == "POST":
        watch = begin(lead, **valid_data(WatchForm(request.POST)))
        messages.success(request, f"You watch {watch}.")
        return redirect("watches", name)
    jobs = list(estimate_difference.jobs(watches_of(lead.campaign)).not_done())
    context: dict[str, Any] = {
        "rows": _watched(lead.campaign),
        "frontier": frontier(lead.campaign),
        "jobs": jobs,
        "runs": open_runs(lead.campaign),
        "predictors": lead.campaign.predictors.exclude(ended=None),
        "measures": [parse_measure(each) for each in NDCG],
    }
    return campaign_page(request, lead, "runs/watches.html", **context)


@require_POST
def look_at(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Look at a difference now."""
    estimate_difference.ask(access.watch(access.lead(request, name), pk))
    return redirect("watches", name)


@require_POST
def end(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Watch a difference no longer; its looks are forgotten."""
    watch = access.watch(access.lead(request, name), pk)
    watch.delete()
    messages.success(request, f"You no longer watch {watch}.")
    return redirect("watches", name)


def _watched(campaign: Campaign) -> list[tuple[Watch, Look | None, dict[str, str] | None, Cost | None]]:
    """Return the watched differences, with their last look, its picture, and what deciding them costs."""
    found = [(watch, last_look(watch)) for watch in watches_of(campaign)]
    widest = max([WIDE, *(max(abs(look.low), abs(look.high)) for _, look in found if look)])
    of_one = cost_of(campaign, 1) if any(look and look.more for _, look in found) else None
    return [
        (watch, look, _picture(look, widest), of_one.times(look.more) if of_one and look.more else None)
        if look
        else (watch, None, None, None)
        for watch, look in found
    ]


def _picture(look: Look, widest: float) -> dict[str, str]:
    """Return where the ends of the interval and the difference stand, between 0 and 100; no difference is at 50."""
    return {end: f"{50 + 50 * getattr(look, end) / widest:.1f}" for end in ("low", "value", "high")}
