"""Reviews by the list: what waits, accepting all that is listed, and undoing what was just done."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from base.errors import BadValue, WrongState
from base.problem_documents import refusal_as_message
from base.request_fields import KEY, is_whole
from campaigns.models import Membership
from campaigns.pages import campaign_page
from judging import doors
from judging.models import Batch, Review
from judging.review.reviewing import MOST_AT_ONCE, accept_all, last_reviews, recommendations, to_undo, undo
from lead.views.batches import address_after


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponse:
    member = doors.membership(request, name)
    waiting = Batch.objects.in_campaign(member.campaign).to_review().select_related("query__campaign")
    page = Paginator(waiting.order_by("pk"), MOST_AT_ONCE).get_page(request.GET.get("page"))
    found = recommendations(page)
    rows = [(batch, found[batch.pk]) for batch in page]
    held = Review.objects.filter(last_reviews(member)).with_begun().select_related("batch__query__campaign")
    done, skipped = to_undo(doors.reviews(member, request.GET.getlist("done")), list(held))
    return campaign_page(
        request,
        member,
        "lead/reviews.html",
        page=page,
        batches=rows,
        acceptable=[row for row in rows if row[1].verdict],
        done=done,
        skipped=skipped,
    )


@require_POST
def accept_listed(request: HttpRequest, name: str) -> HttpResponse:
    """Follow each recommendation as it was seen in the list; what changed meanwhile is left and named."""
    lead = doors.lead(request, name)
    listed = _seen(request.POST.getlist("seen"))
    seen = [(doors.batch(lead, pk), verdict, mean) for pk, verdict, mean in listed]
    done, left = accept_all(lead, seen)
    if left:
        words = "; ".join(f"{batch}: {why}" for batch, why in left[:10])
        messages.error(request, f"{len(left)} left as they are: {words}")
    return redirect(address_after(lead, None, done))


def _seen(fields: list[str]) -> list[tuple[int, str, str]]:
    """Batch, verdict and mean of each row, as the list had them."""
    rows = [field.split(":") for field in fields]
    if len(rows) > MOST_AT_ONCE or not all(_is_row(row) for row in rows):
        raise BadValue("seen", "not what the list sends", f"at most {MOST_AT_ONCE} of batch:verdict:mean")
    return [(int(pk), verdict, mean) for pk, verdict, mean in rows]


def _is_row(row: list[str]) -> bool:
    return len(row) == 3 and is_whole(row[0], KEY) and row[1] in Review.Verdict.values


@require_POST
def undo_reviews(request: HttpRequest, name: str) -> HttpResponse:
    """Take back one review, or all of one action."""
    lead = doors.lead(request, name)
    reviews = doors.reviews(lead, request.POST.getlist("review"))
    if len(reviews) == 1:
        with refusal_as_message(request):
            undo(reviews[0], lead)
            messages.success(request, "Undone: this batch is to be reviewed again.")
            return redirect("batch", name=name, pk=reviews[0].batch_id)
        return redirect("reviews", name=name)  # which offers the newest that can be undone
    if reviews:
        _undo_all(request, lead, reviews)
    else:
        messages.info(request, "There was nothing left to undo.")
    return redirect("reviews", name=name)


def _undo_all(request: HttpRequest, lead: Membership, reviews: list[Review]) -> None:
    left = []
    for review in reviews:
        try:
            undo(review, lead)
        except WrongState as fault:
            left.append(f"{review.batch}: {fault}")
    messages.success(request, f"Undone: {len(reviews) - len(left)} reviews.")
    if left:
        messages.error(request, f"{len(left)} not undone: {'; '.join(left[:10])}")
