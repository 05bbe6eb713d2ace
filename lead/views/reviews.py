"""The lead's decisions: a batch and the verdict on it, reviews by the list, and what corrects judgements."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from base.forms import valid_data
from base.problem_documents import refusal_as_message, speaks_json
from campaigns import access
from campaigns.guideline_text import LEVELS
from campaigns.models import Membership
from campaigns.pages import campaign_page
from judging import access as judging_access
from judging.models import Assignment, Judgement, Query
from judging.pool.opening import open_without_clips
from judging.quality.examples import is_teachable
from judging.review import reviewing
from judging.review.actions import reopen, undo_reopening
from judging.review.decisions import adjudicate, bring_back, withdraw, withdraw_adjudication
from judging.review.reopening import OFF, ReopeningScope
from judging.review.reviewing import last_review, place_in_line, recommendations, undo
from lead.charts import grades_by_rank
from lead.forms import ReasonForm
from lead.forms.judging import GradeForm, OpenBatchesForm, ReviewForm, ScopeForm, UndoForm, WithdrawForm
from lead.views.messages import back_to_queue
from reports.lists import list_page
from reports.tables.batch import ClipsToCome, Editions, candidate_rows, verdict_buttons
from reports.tables.batches import BATCHES, REVIEW, STATES_OF_BATCHES, batches_of, states_of_batches
from reports.tables.costs import cost_of, withdrawal_cost
from reports.tables.history import reopening_rows, reopenings_of
from reports.tables.queries import appearance

ON_A_PAGE = 50


@require_safe
def batch_page(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    member = access.membership(request, name)
    editions = Editions.of(judging_access.batch(member, pk))
    batch, rows = editions.batch, candidate_rows(editions, member)
    advice = recommendations([batch], editions.with_second)[batch.pk]
    context: dict[str, Any] = {
        "batch": batch,
        "look": appearance(editions.at_work or batch),
        "to_come": ClipsToCome.of_batch(editions.at_work, rows),
        "rows": rows,
        "chart": grades_by_rank([row.candidate for row in rows]),
        "has_own_grades": any(row.adjudication for row in rows),
        "recommendation": advice,
        "verdicts": verdict_buttons(advice),
        "to_review": editions.is_to_review,
        "line": place_in_line(batch),
        "others": editions.others,
        "grades": LEVELS,
        "teachable": {row.candidate.pk for row in rows if is_teachable(row.candidate)},
        **_reviews(member, editions),
    }
    return campaign_page(request, member, "lead/batch.html", **context)


def _reviews(member: Membership, editions: Editions) -> dict[str, Any]:
    """Return the review in force, those that were undone, and what the lead can undo."""
    reviews = list(editions.reviews)
    own = next((each for each in reviews if not each.undone and each.batch_id == editions.batch.pk), None)
    last, skipped = last_review(member)
    return {
        "review": own,
        "undone": [each for each in reviews if each.undone],
        "last": None if last == own else last,
        "skipped": skipped,
        "may_undo": own is not None and not own.is_begun,
    }


@require_POST
def review(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Store the verdict, and go on to the next batch."""
    lead = access.lead(request, name)
    batch, data = judging_access.batch(lead, pk).newest_edition, valid_data(ReviewForm(request.POST))
    with refusal_as_message(request):
        reviewing.review(batch, lead, data["verdict"], data["reason"])
        following = place_in_line(batch).after
        return _go_on(
            request, reverse("batch", args=[name, following]) if following else reverse("reviews", args=[name])
        )
    return redirect("batch", name=name, pk=pk)


def _go_on(request: HttpRequest, address: str, words: str = "") -> HttpResponse:
    """Lead on to an address with a message. A script, which puts pages in their place by itself, learns the address."""
    if speaks_json(request):
        return JsonResponse({"address": address})
    if words:
        messages.success(request, words)
    return redirect(address)


@require_POST
def open_batches(request: HttpRequest, name: str) -> HttpResponse:
    """Open a batch, or all batches, that wait because clips of them cannot be cut. Doing it twice is harmless."""
    lead, key = access.lead(request, name), valid_data(OpenBatchesForm(request.POST))["batch"]
    opened = open_without_clips(lead, judging_access.batch(lead, key) if key else None)
    messages.success(request, f"Batches that are open now without some of their clips: {opened}.")
    return redirect("batch", name=name, pk=key) if key else redirect("campaign", name=name)


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponseBase:
    """The batches in a state, those to review unless the address names another, and the last review."""
    member = access.membership(request, name)
    choices = BATCHES.choices(request.GET)
    state = choices.filters.get("show", REVIEW)
    last, skipped = last_review(member)
    rows, states = batches_of(member.campaign, state), states_of_batches(choices)
    context = {"state": STATES_OF_BATCHES[state][0], "is_review": state == REVIEW, "states": states}
    return list_page(request, member, "lead/reviews.html", BATCHES, rows, last=last, skipped=skipped, **context)


@require_POST
def undo_review(request: HttpRequest, name: str) -> HttpResponse:
    """Undo a review."""
    lead = access.lead(request, name)
    found = judging_access.review(lead, valid_data(UndoForm(request.POST))["review"])
    if not found:  # a script asks again where an answer was lost
        return _go_on(request, reverse("reviews", args=[name]), "There was nothing left to undo.")
    with refusal_as_message(request):
        undo(found, lead)
        batch = reverse("batch", args=[name, found.batch_id])
        return _go_on(request, batch, "Undone: this batch is to be reviewed again.")
    return redirect("reviews", name=name)  # which offers the newest that can be undone


@require_http_methods(["GET", "HEAD", "POST"])
def reopen_page(request: HttpRequest, name: str) -> HttpResponse:
    """Show what reopening would come to; with a reason, reopen."""
    lead = access.lead(request, name)
    scope_form = ScopeForm(request.POST or request.GET)
    scope, form = _scope(lead, valid_data(scope_form)), ReasonForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        with refusal_as_message(request):
            record = reopen(lead, scope, form.cleaned_data["reason"])
            whole = f"This is being reopened, query by query: {record}."
            part = f"Reopened: {record}. Others judge it now."
            messages.success(request, whole if record.annotator_id else part)
        return redirect("reopenings", name=name)
    known = {"scope": scope, "cost": cost_of(lead.campaign, scope), "form": form, "scope_form": scope_form, "off": OFF}
    return campaign_page(request, lead, "lead/reopen.html", status=400 if form.errors else 200, **known)


def _scope(lead: Membership, data: dict[str, Any]) -> ReopeningScope:
    what = data["what"]
    return judging_access.scope(lead, what, data[what], data["week"], data["with"], data["off"] == "on")


@require_POST
def undo_reopened(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Undo a reopening, as far as nobody has begun to judge again."""
    lead = access.lead(request, name)
    record = judging_access.reopening(lead, pk)
    with refusal_as_message(request):
        at_once = undo_reopening(record, lead).undone_ended
        whole = f"This is being undone, query by query: {record}."
        messages.success(request, f"Undone: {record}, as far as nobody has begun it." if at_once else whole)
    return redirect("reopenings", name=name)


@require_safe
def reopenings(request: HttpRequest, name: str) -> HttpResponse:
    """What was reopened, by whom and why; and the way to reopen somebody's work."""
    member = access.membership(request, name)
    people = member.campaign.memberships.annotators().select_related("user")
    page = Paginator(reopenings_of(member.campaign), ON_A_PAGE).get_page(request.GET.get("page"))
    rows = reopening_rows(page)
    return campaign_page(
        request,
        member,
        "lead/_reopenings.html" if request.headers.get("hx-request") else "lead/reopenings.html",
        page=page,
        reopenings=rows,
        is_working=any(row.job and not row.job.has_failed for row in rows),
        people=people.order_by("worker"),
        off=OFF,
    )


@require_POST
def grade_candidate(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """A grade of the lead's own with its reason; or, without a grade, the last one taken back."""
    lead = access.lead(request, name)
    candidate, data = judging_access.candidate(lead, pk), valid_data(GradeForm(request.POST))
    with refusal_as_message(request):
        if data["grade"] == "none":
            withdraw_adjudication(candidate, lead)
            messages.success(request, f"Your grade of rank {candidate.rank} is taken back.")
        else:
            adjudicate(candidate, lead, int(data["grade"]), data["reason"])
            messages.success(request, f"Rank {candidate.rank} has grade {data['grade']} from you.")
    if data["back"] == "queue":
        return back_to_queue(name, data)
    return redirect(f"{reverse('batch', args=[name, candidate.batch_id])}#rank-{candidate.rank}")


@require_http_methods(["GET", "HEAD", "POST"])
def withdraw_page(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Show what withdrawing a query would come to; with a reason, withdraw it, or bring it back."""
    lead = access.lead(request, name)
    query = judging_access.pool_query(lead, pk)
    form = WithdrawForm(query, request.POST if request.method == "POST" else None)
    if "back" in request.POST or form.is_valid():
        with refusal_as_message(request):
            messages.success(request, _withdraw(query, form, lead))
        return redirect("withdraw", name=name, pk=pk)
    counted = Judgement.objects.filter(candidate__query=query, seat__isnull=False)
    return campaign_page(
        request,
        lead,
        "lead/withdraw.html",
        status=400 if form.errors else 200,
        form=form,
        query=query,
        cost=withdrawal_cost(query),
        judgements=counted.count(),
        settled=query.candidates.settled().count(),
        live=Assignment.objects.live().filter(batch__query=query).count(),
    )


def _withdraw(query: Query, form: WithdrawForm, lead: Membership) -> str:
    if "back" in form.data:
        bring_back(query, lead)
        return f"“{query}” is back in the campaign."
    withdraw(query, form.cleaned_data["reason"], form.cleaned_data["for"], lead)
    return f"“{query}” is withdrawn."
