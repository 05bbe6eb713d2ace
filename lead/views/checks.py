"""Quiet checks as the lead sees them: where each annotator stands, the pairs behind each number, and gold."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from base.errors import WrongState
from base.request_fields import KEY, is_whole
from judging import doors
from judging.quality import check_results
from judging.quality.checks import REPEAT_AFTER
from judging.quality.gold import draw_gold, gold, make_gold, sources
from reports.summaries import PEOPLE, current_summary

SOURCES_SHOWN = 20
SOURCES_LOOKED_AT = 200  # closed queries
DRAWN_AT_ONCE = 10
PAIRS_ON_A_PAGE = 100


@require_safe
def listed(request: HttpRequest, name: str) -> HttpResponse:
    lead = doors.lead(request, name)
    campaign = lead.campaign
    recent, counted = check_results.recent_checks(campaign), current_summary(campaign, PEOPLE)
    numbers = counted.counts or {"checked": [], "speeds": []}
    checked = {key: check_results.Checked(*rest) for key, *rest in numbers["checked"]}
    speeds = {key: check_results.Speed(*rest) for key, *rest in numbers["speeds"]}
    annotators = campaign.memberships.annotators().select_related("user")
    found = sources(campaign, most=SOURCES_LOOKED_AT)
    context = {
        "member": lead,
        "campaign": campaign,
        "kept": counted,
        "rows": [
            (
                annotator,
                checked.get(annotator.pk),
                recent.get(annotator.pk, check_results.RecentChecks()),
                speeds.get(annotator.pk),
            )
            for annotator in annotators.order_by("worker")
        ],
        "rules": {
            "window": check_results.WINDOW,
            "enough": check_results.ENOUGH,
            "fast": check_results.FAST,
            "after": REPEAT_AFTER,
        },
        "gold": gold(campaign),
        "sources": found[:SOURCES_SHOWN],
        "n_sources": len(found),
        "looked_at": SOURCES_LOOKED_AT,
        "drawn": DRAWN_AT_ONCE,
    }
    return render(request, "lead/checks.html", context)


@require_safe
def pairs(request: HttpRequest, name: str, worker: int, show: str) -> HttpResponse:
    """What a number on the page of checks was made from."""
    lead = doors.lead(request, name)
    annotator = doors.annotator_of(lead, worker)
    if show not in check_results.SELECTIONS:
        raise Http404
    context = {
        "member": lead,
        "campaign": lead.campaign,
        "annotator": annotator,
        "show": show,
        "kinds": check_results.SELECTIONS,
        "page": Paginator(check_results.pairs_behind(annotator, show), PAIRS_ON_A_PAGE).get_page(
            request.GET.get("page")
        ),
        "events": annotator.events.select_related("by__user"),
    }
    return render(request, "lead/check_pairs.html", context)


@require_POST
def set_gold(request: HttpRequest, name: str) -> HttpResponse:
    """Gold of one closed query, or drawn from those that can be."""
    campaign = doors.lead(request, name).campaign
    if asked := request.POST.get("query"):
        query = get_object_or_404(campaign.queries, pk=int(asked) if is_whole(asked, KEY) else 0)
        try:
            make_gold(query)
            messages.success(request, f"“{query}” is a check now.")
        except WrongState as fault:
            messages.error(request, str(fault))
    else:
        made = draw_gold(campaign, DRAWN_AT_ONCE, seed=campaign.order_seed)
        messages.success(request, f"{len(made)} checks made.")
    return redirect("checks", name=name)
