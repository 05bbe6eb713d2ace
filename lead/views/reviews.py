"""The review of a query: its batches with their clips and grades, the verdict, and a lead's own grades."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from base.forms import valid_data
from base.problem_documents import refusal_as_message, speaks_json
from campaigns import access
from campaigns.guideline_text import LEVELS
from campaigns.models import Membership
from campaigns.pages import campaign_page
from judging import access as judging_access
from judging.models import Candidate
from judging.pool.opening import open_without_clips
from judging.quality.examples import is_teachable
from judging.review import reviewing
from judging.review.decisions import adjudicate, withdraw_adjudication
from judging.review.reviewing import last_review, place_in_line, recommendations, reviewed_today, undo
from lead.forms.judging import GradeForm, OpenBatchesForm, ReviewForm, UndoForm
from lead.marks import grades_by_rank
from lead.views.inbox import back_to_inbox
from reports.tables.batch import CandidateRow, ClipsToCome, Editions, candidate_rows, verdict_buttons
from reports.tables.queries import appearance


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
        "recommendation": advice,
        "verdicts": verdict_buttons(advice),
        "to_review": editions.is_to_review,
        "line": place_in_line(batch),
        "n_today": reviewed_today(member),
        "others": editions.others,
        "grades": LEVELS,
        "teachable": {row.candidate.pk for row in rows if is_teachable(row.candidate)},
        **_sheet(editions, rows),
        **_reviews(member, editions),
    }
    return campaign_page(request, member, "lead/batch.html", **context)


def _sheet(editions: Editions, rows: list[CandidateRow]) -> dict[str, Any]:
    """Return the two parts of the contact sheet, and the chart of all batches of the query."""
    others = Candidate.objects.filter(query=editions.batch.query_id, batch__isnull=False)
    known = [row.candidate for row in rows]
    if editions.others:
        known += others.exclude(batch__in=editions.all)
    ranked = sorted(known, key=lambda candidate: candidate.rank)
    first_ones, last_five = ([row for row in rows if row.last == last] for last in (False, True))
    chart = grades_by_rank(ranked, {row.candidate.rank for row in last_five})
    return {"first_ones": first_ones, "last_five": last_five, "chart": chart}


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
        return _go_on(request, reverse("batch", args=[name, following]) if following else to_review(name))
    return redirect("batch", name=name, pk=pk)


def to_review(name: str) -> str:
    """Return the address of the batches that wait for a review."""
    return f"{reverse('queries', args=[name])}?view=batches"


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


@require_POST
def undo_review(request: HttpRequest, name: str) -> HttpResponse:
    """Undo a review."""
    lead = access.lead(request, name)
    found = judging_access.review(lead, valid_data(UndoForm(request.POST))["review"])
    if not found:  # a script asks again where an answer was lost
        return _go_on(request, to_review(name), "There was nothing left to undo.")
    with refusal_as_message(request):
        undo(found, lead)
        batch = reverse("batch", args=[name, found.batch_id])
        return _go_on(request, batch, "Undone: this batch is to be reviewed again.")
    return redirect(to_review(name))  # which offers the newest that can be undone


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
    if data["back"] == "inbox":
        return back_to_inbox(name, data, f"pair-{pk}" if data["grade"] != "none" else "")
    return redirect(f"{reverse('batch', args=[name, candidate.batch_id])}#rank-{candidate.rank}")
