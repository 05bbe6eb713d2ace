"""The lead's way in: campaigns, one campaign's queries with the state of their batches, settings, and steering."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from base.listing import Choices
from base.problem_documents import refusal_as_message
from campaigns import access
from campaigns.access import may_create_campaigns
from campaigns.models import Campaign, Membership
from campaigns.pages import campaign_page, while_working
from judging.review.frontier import frontier, reach
from judging.review.verbs import ACTION_VERBS
from judging.settings import STEERING, SettingsForm, SteeringForm, set_up
from lead.charts import charts
from lead.desk import Progress, checklist, jobs_of, reused
from reports.campaign_summaries import AGREEMENT, PROGRESS, current_summaries
from reports.digest import counts_on_the_desk, needs
from reports.lists import views_of
from reports.steering import Outlook, held_rows, holding, outlook, steered
from reports.tables.queries import QUERIES, at_a_glance, numbers_in_states, queries_of, states_of_queries

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
def desk(request: HttpRequest, name: str) -> HttpResponseBase:
    """The desk: what needs the lead now, how it goes, and the queries. To a researcher it tells no needs and no pay."""
    member = access.participant(request, name)
    if not member.sees_grades:
        return redirect("leaderboard", name)
    campaign, choices, found = member.campaign, QUERIES.choices(request.GET), jobs_of(member)
    rows = queries_of(campaign, choices.filters.get("show", ""))
    if access.wants_csv(request):
        return choices.csv(rows, f"{name}-queries")
    kept = current_summaries(campaign, PROGRESS, AGREEMENT)
    waiting, numbers = _counts(member)
    sparks = charts(campaign, kept, with_pay=member.may_review)
    context: dict[str, Any] = {
        "needs": needs(campaign, found["n_failed"], waiting) if member.may_review else [],
        "checklist": checklist(campaign) if member.may_review and not sparks else [],
        "sparks": sparks,
        "kept": kept[PROGRESS],
        **_listed(member, choices, rows, numbers),
        "jobs": found,
        "frontier": frontier(campaign),
    }
    return campaign_page(request, member, "lead/campaign.html", status=400 if choices.form.errors else 200, **context)


def _counts(member: Membership) -> tuple[dict[str, int], dict[str, int]]:
    """Return how much of each kind waits for a lead, if it is one, and how many queries are in each state."""
    return counts_on_the_desk(member.campaign) if member.may_review else ({}, numbers_in_states(member.campaign_id))


def _listed(member: Membership, choices: Choices, rows: Any, numbers: dict[str, int]) -> dict[str, Any]:
    """Return the list of queries, how many are in each state, the views of it, and what can be done.

    All in a state are counted already.
    """
    only_state = choices.form.is_valid() and choices.filters.keys() <= {"show"}
    return {
        "progress": Progress(numbers[""], numbers["closed"], numbers["begun"]),
        "reused": reused(member.campaign),
        "states": states_of_queries(numbers, choices),
        "listed": choices.part(rows, numbers[choices.filters.get("show", "")] if only_state else None),
        "list_views": views_of(member).filter(listing=QUERIES.key),
        "verbs": ACTION_VERBS.values() if member.may_review else [],
    }


@require_safe
def frontier_page(request: HttpRequest, name: str) -> HttpResponse:
    """How far the queries are finished in their order, and what holds that back."""
    member = access.membership(request, name)
    found = frontier(member.campaign)
    queries = holding(member.campaign, found).select_related("campaign")
    page = Paginator(queries, QUERIES_ON_A_PAGE).get_page(request.GET.get("page"))
    return campaign_page(
        request,
        member,
        "lead/frontier.html",
        frontier=found,
        reach=reach(member.campaign),
        page=page,
        rows=held_rows(page.object_list),
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


@require_safe
def steering(request: HttpRequest, name: str) -> HttpResponse:
    """Which strata come first, for which group queries are, and how much everybody may judge."""
    return _steering(request, access.lead(request, name))


def _steering(
    request: HttpRequest,
    lead: Membership,
    what: str = "",
    form: SteeringForm | None = None,
    found: Outlook | None = None,
) -> HttpResponse:
    forms = {kind: made(lead) for kind, made in STEERING.items()} | ({what: form} if form else {})
    status = 200 if found or not form else 400
    known = {"steered": steered(lead.campaign), "frontier": frontier(lead.campaign)}
    return campaign_page(
        request, lead, "lead/steering.html", status, forms=forms, what=what, form=form, found=found, **known
    )


@require_POST
def steer(request: HttpRequest, name: str, what: str) -> HttpResponse:
    """Show what a way to steer would lead to, or do it."""
    lead = access.lead(request, name)
    if what not in STEERING:
        raise Http404
    form = STEERING[what](lead, request.POST)
    if not form.is_valid():
        return _steering(request, lead, what, form)
    with refusal_as_message(request):
        if "set" not in request.POST:
            return _steering(request, lead, what, form, outlook(form.campaign, form.apply))
        messages.success(request, form.apply())
    return redirect("steering", name=name)
