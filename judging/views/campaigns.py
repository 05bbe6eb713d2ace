"""The lead's way in: campaigns, and one campaign's queries with the state of their batches."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from judging import doors
from judging.desk import FILTERS, counts, jobs_of, overview, rows_of
from judging.models import Campaign

QUERIES_ON_A_PAGE = 50


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    leads = Campaign.objects.led_by(request.user).exists()
    return redirect("campaigns" if leads else "work")


@require_safe
def listed(request: HttpRequest) -> HttpResponse:
    campaigns = [
        (campaign, overview(campaign)) for campaign in Campaign.objects.led_by(request.user).order_by("name")
    ]
    return render(request, "judging/campaigns.html", {"campaigns": campaigns})


@require_safe
def one(request: HttpRequest, name: str) -> HttpResponse:
    member = doors.membership(request, name)
    campaign, chosen = member.campaign, request.GET.get("show", "")
    queries = FILTERS.get(chosen, FILTERS[""]).rows(campaign)
    page = Paginator(queries, QUERIES_ON_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "member": member,
        "campaign": campaign,
        "overview": overview(campaign),
        "filters": counts(campaign),
        "chosen": chosen if chosen in FILTERS else "",
        "page": page,
        "rows": rows_of(list(page)),
        "jobs": jobs_of(campaign),
    }
    return render(request, "judging/campaign.html", context)


@require_safe
def jobs(request: HttpRequest, name: str) -> HttpResponse:
    """The bars of the work under way; asks for itself again while there is any."""
    campaign = doors.membership(request, name).campaign
    found = jobs_of(campaign)
    answer = render(request, "judging/_jobs.html", {"campaign": campaign, "jobs": found})
    if not found["unfinished"]:
        answer["HX-Refresh"] = "true"
    return answer
