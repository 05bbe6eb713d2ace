"""Putting right: judged again by others, graded by the lead, or a query taken out. Each is shown before it is done."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from base.errors import BadValue
from base.request_fields import KEY, is_whole, reason_in
from campaigns.models import Membership
from jobs.models import Job
from judging import doors
from judging.consensus import GRADES
from judging.models import Assignment, Judgement
from judging.review.adjudicating import adjudicate, withdraw_adjudication
from judging.review.reopening import (
    Scope,
    jobs_of,
    reopen,
    reopen_all_of,
    scope_of_annotator,
    scope_of_batch,
    scope_of_candidate,
)
from judging.review.withdrawing import bring_back, withdraw
from lead.tables.reopening_cost import cost_of

ON_A_PAGE = 50


@require_http_methods(["GET", "HEAD", "POST"])
def reopened(request: HttpRequest, name: str) -> HttpResponse:
    """What reopening would come to; and, with a reason, done."""
    lead = doors.lead(request, name)
    asked = request.POST if request.method == "POST" else request.GET
    scope = _scope(lead, asked)
    if request.method == "POST":
        if "worker" in asked:
            done = reopen_all_of(lead, doors.annotator_of(lead, int(asked["worker"])), reason_in(asked))
            messages.success(request, f"Being reopened, query by query: {done.what}.")
        else:
            done = reopen(lead, scope, reason_in(asked))
            messages.success(request, f"Reopened: {done.what}. Others judge it now.")
        return redirect("reopenings", name=name)
    context = {
        "member": lead,
        "campaign": lead.campaign,
        "scope": scope,
        "cost": cost_of(lead.campaign, scope),
    }
    return render(request, "lead/reopen.html", context | {"fields": asked.items()})


def _scope(lead: Membership, asked: QueryDict) -> Scope:
    """Exactly one of a candidate, a batch and a worker, by its number."""
    scopes = {
        "candidate": lambda key: scope_of_candidate(doors.candidate(lead, key)),
        "batch": lambda key: scope_of_batch(doors.batch(lead, key)),
        "worker": lambda key: scope_of_annotator(doors.annotator_of(lead, key)),
    }
    said = [(what, str(asked[what])) for what in scopes if what in asked]
    if len(said) != 1 or not is_whole(said[0][1], KEY):
        raise BadValue("what", "not one number", "one of candidate, batch or worker, as a number")
    return scopes[said[0][0]](int(said[0][1]))


@require_safe
def reopenings(request: HttpRequest, name: str) -> HttpResponse:
    """What was reopened, by whom and why; and the way to reopen somebody's work."""
    member = doors.membership(request, name)
    rows = member.campaign.reopenings.select_related("lead__user").order_by("-pk")
    people = member.campaign.memberships.annotators().select_related("user")
    page = Paginator(rows, ON_A_PAGE).get_page(request.GET.get("page"))
    jobs = {job.key: job for job in jobs_of(page).exclude(state=Job.State.DONE)}
    context = {
        "member": member,
        "campaign": member.campaign,
        "page": page,
        "rows": [(each, jobs.get(each.job_key)) for each in page],
        "people": people.order_by("worker"),
    }
    return render(request, "lead/reopenings.html", context)


@require_POST
def adjudicated(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """A grade of the lead's own with its reason; or, without a grade, the last one taken back."""
    lead = doors.lead(request, name)
    candidate, grade = doors.candidate(lead, pk), request.POST.get("grade", "")
    if grade == "none":
        withdraw_adjudication(candidate, lead)
        messages.success(request, f"Rank {candidate.rank} has no grade of yours any more.")
    elif grade in map(str, GRADES):
        adjudicate(candidate, lead, int(grade), reason_in(request.POST))
        messages.success(request, f"Rank {candidate.rank} has grade {grade} from you.")
    else:
        raise BadValue("grade", repr(grade[:20]), "0 to 4, or none")
    return redirect("batch", name=name, pk=candidate.batch_id)


@require_http_methods(["GET", "HEAD", "POST"])
def withdrawn(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Take a query out, after what would be lost was shown; or bring it back."""
    lead = doors.lead(request, name)
    query = doors.pool_query(lead, pk)
    if request.method == "POST" and "back" in request.POST:
        bring_back(query)
        messages.success(request, f"Back in the campaign: “{query}”.")
    elif request.method == "POST":
        withdraw(query, reason_in(request.POST))
        messages.success(request, f"Withdrawn: “{query}”.")
    if request.method == "POST":
        return redirect("withdraw", name=name, pk=pk)
    counted = Judgement.objects.filter(candidate__query=query, seat__isnull=False)
    context = {
        "member": lead,
        "campaign": lead.campaign,
        "query": query,
        "judgements": counted.count(),
        "settled": query.candidates.settled().count(),
        "live": Assignment.objects.live().filter(batch__query=query).count(),
    }
    return render(request, "lead/withdraw.html", context)
