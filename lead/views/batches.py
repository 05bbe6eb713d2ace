"""A batch as the lead sees it, and the verdict on it."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from base.problem_documents import refusal_as_message
from base.request_fields import one_of, text_in
from campaigns.guideline_text import LEVELS
from campaigns.models import Membership
from campaigns.pages import campaign_page
from judging import doors
from judging.models import Review
from judging.pool.opening import open_all_without_clips, open_without_clips
from judging.quality.examples import teachable
from judging.review import reviewing
from judging.review.reviewing import last_reviews, neighbours_to_review, recommendation, to_undo
from reports.tables.batch import ClipsToCome, Editions, candidate_rows, grades_by_rank, verdict_buttons
from reports.tables.queries import appearance


@require_safe
def detail(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    member = doors.membership(request, name)
    editions = Editions.of(doors.batch(member, pk))
    batch, rows = editions.batch, candidate_rows(editions, member)
    advice = recommendation(batch)
    previous, following = neighbours_to_review(batch)
    return campaign_page(
        request,
        member,
        "lead/batch.html",
        batch=batch,
        look=appearance(editions.at_work or batch),
        to_come=ClipsToCome.of_batch(editions.at_work),
        rows=rows,
        chart=grades_by_rank([row.candidate for row in rows]),
        recommendation=advice,
        verdicts=verdict_buttons(advice),
        to_review=editions.is_to_review,
        others=editions.others,
        previous=previous,
        next=following,
        grades=LEVELS,
        teachable={each.pk for each in teachable(member.campaign).filter(query=batch.query)},
        **_reviews(member, editions, doors.reviews(member, request.GET.getlist("done"))),
    )


def _reviews(member: Membership, editions: Editions, just_done: list[Review]) -> dict[str, Any]:
    """Return the review in force and those that were undone, and what the lead can undo."""
    found = list(editions.reviews_and(last_reviews(member)))
    reviews = [each for each in found if each.batch in editions.all]
    own = next((each for each in reviews if not each.undone and each.batch_id == editions.batch.pk), None)
    mine = [each for each in found if not each.undone and each.lead_id == member.pk]
    done, skipped = to_undo(just_done, mine)
    return {
        "review": own,
        "undone": [each for each in reviews if each.undone],
        "done": [] if own is not None and done == [own] else done,
        "skipped": skipped,
        "may_undo": own is not None and not own.is_begun,
    }


@require_POST
def review(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Store the verdict, and go on to the next batch."""
    lead = doors.lead(request, name)
    verdict = one_of("verdict", request.POST.get("verdict", ""), Review.Verdict.values)
    reason, batch = text_in(request.POST, "reason", 500), doors.batch(lead, pk).newest_edition
    with refusal_as_message(request):
        done = reviewing.review(batch, lead, verdict, reason)
        return redirect(address_after(lead, neighbours_to_review(batch)[1], [done]))
    return redirect("batch", name=name, pk=pk)


@require_POST
def open_one(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Open a batch without the clips that are not there. Doing it twice is harmless."""
    lead = doors.lead(request, name)
    if open_without_clips(lead, doors.batch(lead, pk)):
        messages.success(request, "The batch is open. Annotators can claim it.")
    return redirect("batch", name=name, pk=pk)


@require_POST
def open_all(request: HttpRequest, name: str) -> HttpResponse:
    """Open all batches that wait because clips of them cannot be cut."""
    lead = doors.lead(request, name)
    opened = open_all_without_clips(lead)
    messages.success(request, f"Batches that are open now without some of their clips: {opened}.")
    return redirect("campaign", name=name)


def address_after(lead: Membership, following: int | None, done: list[Review]) -> str:
    """The next batch to review, or the list of them, with what was done and can be undone."""
    name = lead.campaign.name
    address = reverse("batch", args=[name, following]) if following else reverse("reviews", args=[name])
    return f"{address}?{urlencode({'done': [each.pk for each in done]}, doseq=True)}"
