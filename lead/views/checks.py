"""Quiet checks as the lead sees them: where each annotator stands, the pairs behind each number, and gold."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from base.problem_documents import refusal_as_message
from base.request_fields import KEY, is_whole
from campaigns.pages import campaign_page
from judging import doors
from judging.quality import check_results
from judging.quality.checks import DRAWN_AT_ONCE, REPEAT_AFTER, SOURCES_LOOKED_AT, draw_gold, gold, make_gold, sources
from reports.summaries import PEOPLE, current_summary
from reports.tables.people import check_rows

SOURCES_SHOWN = 20
PAIRS_ON_A_PAGE = 100


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponse:
    lead = doors.lead(request, name)
    counted, found = current_summary(lead.campaign, PEOPLE), sources(lead.campaign, most=SOURCES_LOOKED_AT)
    return campaign_page(
        request,
        lead,
        "lead/checks.html",
        kept=counted,
        annotators=check_rows(lead.campaign, counted),
        rules={"window": check_results.WINDOW, "enough": check_results.ENOUGH, "after": REPEAT_AFTER},
        fast=f"Under {check_results.FAST:g} s",
        gold=gold(lead.campaign),
        sources=found[:SOURCES_SHOWN],
        n_sources=len(found),
        looked_at=SOURCES_LOOKED_AT,
        drawn=DRAWN_AT_ONCE,
    )


@require_safe
def pairs(request: HttpRequest, name: str, worker: int, show: str) -> HttpResponse:
    """What a number on the page of checks was made from."""
    lead = doors.lead(request, name)
    annotator = doors.annotator_of(lead, worker)
    if show not in check_results.SELECTIONS:
        raise Http404
    return campaign_page(
        request,
        lead,
        "lead/check_pairs.html",
        annotator=annotator,
        kind=show,
        checks=show != "speed",
        kinds=check_results.SELECTIONS,
        page=Paginator(check_results.pairs_behind(annotator, show), PAIRS_ON_A_PAGE).get_page(request.GET.get("page")),
        events=annotator.events.select_related("by__user"),
    )


@require_POST
def set_gold(request: HttpRequest, name: str) -> HttpResponse:
    """Gold of one closed query, or drawn from those that can be."""
    campaign = doors.lead(request, name).campaign
    if key := request.POST.get("query"):
        query = get_object_or_404(campaign.queries, pk=int(key) if is_whole(key, KEY) else 0)
        with refusal_as_message(request):
            make_gold(query)
            messages.success(request, f"“{query}” is a check now.")
    else:
        made = draw_gold(campaign, DRAWN_AT_ONCE, seed=campaign.order_seed)
        messages.success(request, f"Checks made from closed queries: {len(made)}.")
    return redirect("checks", name=name)
