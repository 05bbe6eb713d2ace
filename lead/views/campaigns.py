"""The lead's way in: campaigns, one campaign's queries with the state of their batches, and its settings."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from campaigns.access import may_create_campaigns
from campaigns.models import Campaign
from campaigns.pages import campaign_page, while_working
from judging import access
from judging.review.frontier import frontier
from judging.settings import SettingsForm, set_up
from lead.desk import charts, checklist, jobs_of
from reports.digest import needs
from reports.frontier import held_rows, holding
from reports.summaries import AGREEMENT, PROGRESS, current_summaries
from reports.tables.queries import Table, at_a_glance, filters, query_rows

QUERIES_ON_A_PAGE = 50


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    leads = Campaign.objects.led_by(request.user).exists() or may_create_campaigns(request.user)
    return redirect("campaigns" if leads else "work")


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    campaigns = Campaign.objects.led_by(request.user).select_related("corpus").order_by("name")
    known = {
        "campaigns": at_a_glance(campaigns),
        "may_create": may_create_campaigns(request.user),
        "sees_corpora": access.corpora(request).exists(),
    }
    return render(request, "lead/campaigns.html", known)


@require_safe
def desk(request: HttpRequest, name: str) -> HttpResponse:
    """The desk: what needs the lead now, how it goes, and the queries. To a researcher it tells no needs and no pay."""
    member = access.membership(request, name)
    campaign, table, found = member.campaign, Table.from_params(request.GET), jobs_of(member)
    kept = current_summaries(campaign, PROGRESS, AGREEMENT)
    page = Paginator(table.queries(campaign), QUERIES_ON_A_PAGE).get_page(request.GET.get("page"))
    rows = query_rows(list(page))
    sparks = charts(campaign, kept, with_pay=member.may_review)
    context: dict[str, Any] = {
        "needs": needs(campaign, found["n_failed"]) if member.may_review else [],
        "checklist": checklist(campaign) if member.may_review and not sparks else [],
        "sparks": sparks,
        "kept": kept[PROGRESS],
        "filters": filters(campaign, table),
        "table": table,
        "page": page,
        "rows": rows,
        "accepts": member.may_review and any(batch.acceptable for row in rows for batch in row.batches),
        "jobs": found,
        "frontier": frontier(campaign),
    }
    return campaign_page(request, member, "lead/campaign.html", **context)


@require_safe
def frontier_page(request: HttpRequest, name: str) -> HttpResponse:
    """How far the queries are finished in their order, and what holds that back."""
    member = access.membership(request, name)
    found = frontier(member.campaign)
    queries = holding(member.campaign, found).select_related("campaign")
    page = Paginator(queries, QUERIES_ON_A_PAGE).get_page(request.GET.get("page"))
    return campaign_page(
        request, member, "lead/frontier.html", frontier=found, page=page, rows=held_rows(page.object_list)
    )


@require_safe
def jobs(request: HttpRequest, name: str) -> HttpResponse:
    """The bars of the work under way; asks for itself again while there is any."""
    member = access.membership(request, name)
    found = jobs_of(member)
    return while_working(campaign_page(request, member, "lead/_jobs.html", jobs=found), bool(found["unfinished"]))


@require_http_methods(["GET", "HEAD", "POST"])
def edit_settings(request: HttpRequest, name: str) -> HttpResponse:
    """For researchers to read, for leads to change."""
    if request.method == "POST":
        lead = access.lead(request, name)
        form = set_up(lead, request.POST)
        if form.is_valid():
            messages.success(request, "The settings are saved.")
            return redirect("campaign-settings", name=name)
        return campaign_page(request, lead, "lead/settings.html", status=400, form=form)
    member = access.membership(request, name)
    return campaign_page(request, member, "lead/settings.html", form=SettingsForm(instance=member.campaign))
