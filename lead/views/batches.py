"""A batch as the lead sees it, and the word on it."""

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from base.errors import BadValue, WrongState
from base.request_fields import text_in
from campaigns.guideline_text import LEVELS
from campaigns.models import Membership
from judging import doors
from judging.models import Batch, Review
from judging.quality.examples import teachable
from judging.review.recommending import recommendation
from judging.review.reviewing import next_to_review
from judging.review.reviewing import review as say
from lead.desk.queries import appearance
from lead.tables.batch import Number, rows_of
from lead.tables.batch_chart import grades_by_rank


@require_safe
def one(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    member = doors.membership(request, name)
    number = Number.of(doors.batch(member, pk))
    batch, rows = number.batch, rows_of(number, member)
    reviews = list(number.reviews)
    context = {
        "member": member,
        "campaign": member.campaign,
        "batch": batch,
        "look": appearance(number.at_work or batch),
        "rows": rows,
        "chart": grades_by_rank([row.candidate for row in rows]),
        "recommendation": recommendation(batch),
        "to_review": number.is_to_review,
        "review": next((each for each in reviews if not each.undone and each.batch_id == batch.pk), None),
        "undone": [each for each in reviews if each.undone],
        "others": number.others,
        "next": next_to_review(batch),
        "done": doors.reviews(member, request.GET.getlist("done")),
        "grades": LEVELS,
        "teachable": {each.pk for each in teachable(member.campaign).filter(query=batch.query)},
    }
    return render(request, "lead/batch.html", context)


@require_POST
def review(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Say the verdict, and go on to the next batch."""
    lead = doors.lead(request, name)
    verdict, reason = request.POST.get("verdict", ""), text_in(request.POST, "reason", 500)
    if verdict not in Review.Verdict.values:
        raise BadValue("verdict", repr(verdict[:40]), "second or close")
    batch = doors.batch(lead, pk).newest_edition
    try:
        said = say(batch, lead, verdict, reason)
    except WrongState as fault:
        messages.error(request, str(fault))
        return redirect("batch", name=name, pk=pk)
    return redirect(address_after(lead, next_to_review(batch), [said]))


def address_after(lead: Membership, following: Batch | None, done: list[Review]) -> str:
    """The next batch to review, or the list of them, with what was done and can be undone."""
    name = lead.campaign.name
    address = reverse("batch", args=[name, following.pk]) if following else reverse("reviews", args=[name])
    return f"{address}?{urlencode({'done': [each.pk for each in done]}, doseq=True)}"
