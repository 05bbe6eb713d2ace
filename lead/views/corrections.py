"""Correcting what was judged: judged again by others, graded by the lead, or a query withdrawn."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from base.errors import BadValue
from base.problem_documents import refusal_as_message
from base.request_fields import KEY, is_whole, reason_in
from base.text import abbreviated
from campaigns.models import Membership
from campaigns.pages import campaign_page
from judging import doors
from judging.consensus import GRADES
from judging.models import Assignment, Judgement, Query
from judging.review.decisions import adjudicate, bring_back, withdraw, withdraw_adjudication
from judging.review.reopening import Scope, reopen, reopen_work
from reports.tables.reopening_cost import cost_of

ON_A_PAGE = 50


@require_http_methods(["GET", "HEAD", "POST"])
def reopen_page(request: HttpRequest, name: str) -> HttpResponse:
    """Show what reopening would come to; with a reason, reopen."""
    lead = doors.lead(request, name)
    params = request.POST if request.method == "POST" else request.GET
    scope = _scope(lead, params)
    if request.method == "POST":
        with refusal_as_message(request):
            record = reopen(lead, scope, reason_in(params))
            whole = f"This is being reopened, query by query: {record.what}."
            part = f"Reopened: {record.what}. Others judge it now."
            messages.success(request, whole if record.annotator_id else part)
        return redirect("reopenings", name=name)
    cost = cost_of(lead.campaign, scope)
    return campaign_page(request, lead, "lead/reopen.html", scope=scope, cost=cost, fields=params.items())


def _scope(lead: Membership, params: QueryDict) -> Scope:
    """Exactly one of a candidate, a batch and a worker, by its number."""
    named = [(what, str(params[what])) for what in doors.REOPENED if what in params]
    if len(named) != 1 or not is_whole(named[0][1], KEY):
        raise BadValue("what", "not one number", "one of candidate, batch or worker, as a number")
    return doors.scope(lead, named[0][0], int(named[0][1]))


@require_safe
def reopenings(request: HttpRequest, name: str) -> HttpResponse:
    """What was reopened, by whom and why; and the way to reopen somebody's work."""
    member = doors.membership(request, name)
    rows = member.campaign.reopenings.select_related("lead__user").order_by("-pk")
    people = member.campaign.memberships.annotators().select_related("user")
    page = Paginator(rows, ON_A_PAGE).get_page(request.GET.get("page"))
    jobs = {job.row: job for job in reopen_work.jobs(page).not_done()}
    return campaign_page(
        request,
        member,
        "lead/reopenings.html",
        page=page,
        reopenings=[(each, jobs.get(each.pk)) for each in page],
        people=people.order_by("worker"),
    )


@require_POST
def grade_candidate(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """A grade of the lead's own with its reason; or, without a grade, the last one taken back."""
    lead = doors.lead(request, name)
    candidate, grade = doors.candidate(lead, pk), request.POST.get("grade", "")
    if grade == "none":
        withdraw_adjudication(candidate, lead)
        messages.success(request, f"Your grade of rank {candidate.rank} is taken back.")
    elif grade in map(str, GRADES):
        reason = reason_in(request.POST)
        with refusal_as_message(request):
            adjudicate(candidate, lead, int(grade), reason)
            messages.success(request, f"Rank {candidate.rank} has grade {grade} from you.")
    else:
        raise BadValue("grade", abbreviated(grade), "0 to 4, or none")
    return redirect("batch", name=name, pk=candidate.batch_id)


@require_http_methods(["GET", "HEAD", "POST"])
def withdraw_page(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Show what withdrawing a query would come to; with a reason, withdraw it, or bring it back."""
    lead = doors.lead(request, name)
    query = doors.pool_query(lead, pk)
    if request.method == "POST":
        with refusal_as_message(request):
            messages.success(request, _withdraw(query, request.POST))
        return redirect("withdraw", name=name, pk=pk)
    counted = Judgement.objects.filter(candidate__query=query, seat__isnull=False)
    return campaign_page(
        request,
        lead,
        "lead/withdraw.html",
        query=query,
        judgements=counted.count(),
        settled=query.candidates.settled().count(),
        live=Assignment.objects.live().filter(batch__query=query).count(),
    )


def _withdraw(query: Query, params: QueryDict) -> str:
    if "back" in params:
        bring_back(query)
        return f"“{query}” is back in the campaign."
    withdraw(query, reason_in(params))
    return f"“{query}” is withdrawn."
