"""The exam as the lead sees it: making it, setting the truth of its pairs, and deciding on examinees."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from base.errors import BadValue
from base.problem_documents import refusal_as_message
from base.request_fields import one_of, reason_in, text_in, whole_in
from campaigns.pages import campaign_page
from judging import doors
from judging.consensus import GRADES
from judging.models.sitting import exam_batches
from judging.quality.exam import (
    DEPTH,
    LONGEST_REASON,
    QUERIES,
    QUORUM,
    VERDICTS,
    exam_grades,
    set_exam,
    set_truth,
    truths,
)
from judging.quality.examples import LONGEST_WHY
from reports.tables.examinees import examinee, overview, pairs_of, pairs_of_one

TRUTHS = {"": None} | {str(grade): grade for grade in GRADES}


@require_safe
def overview_page(request: HttpRequest, name: str) -> HttpResponse:
    member = doors.membership(request, name)
    return campaign_page(
        request,
        member,
        "lead/exam.html",
        made=exam_batches(member.campaign).exists(),
        exam=overview(member.campaign),
        quorum=QUORUM,
        queries=QUERIES,
        depth=DEPTH,
    )


@require_POST
def make(request: HttpRequest, name: str) -> HttpResponse:
    lead = doors.lead(request, name)
    queries, depth = (whole_in(request.POST, field) for field in ("queries", "depth"))
    seed = whole_in(request.POST, "seed") if request.POST.get("seed") else lead.campaign.order_seed
    with refusal_as_message(request):
        set_exam(lead.campaign, seed, queries, depth, keep_in_pool="keep_in_pool" in request.POST)
        messages.success(request, "The exam is made. It opens when its clips are cut.")
    return redirect("exam", name=name)


@require_safe
def batch(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    member = doors.membership(request, name)
    campaign, chosen = member.campaign, doors.exam_batch(member, pk)
    batches = exam_batches(campaign).order_by("query")
    grades = exam_grades(campaign)
    pairs = pairs_of(campaign, truths(campaign, grades), grades)
    return campaign_page(
        request,
        member,
        "lead/exam_batch.html",
        batch=chosen,
        pairs=[pair for pair in pairs if pair.candidate.batch_id == pk],
        grades=GRADES,
        longest=LONGEST_WHY,
        next=batches.filter(query__gt=chosen.query_id).first(),
    )


@require_POST
def truth(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    lead = doors.lead(request, name)
    chosen = doors.exam_batch(lead, pk)
    ranks = chosen.candidates.values_list("rank", flat=True)
    set_truth(chosen, {rank: _truth(request, rank) for rank in ranks})
    messages.success(request, "Saved. Results that were already given stay as they are.")
    return redirect("exam-batch", name=name, pk=pk)


def _truth(request: HttpRequest, rank: int) -> tuple[int | None, str]:
    field = f"truth-{rank}"
    value = request.POST.get(field)
    if value not in TRUTHS:
        raise BadValue(field, repr(value)[:40], "a grade from 0 to 4, or nothing")
    return TRUTHS[value], text_in(request.POST, f"why-{rank}", LONGEST_WHY)


@require_safe
def examinee_detail(request: HttpRequest, name: str, worker: int) -> HttpResponse:
    member = doors.membership(request, name)
    person = examinee(doors.annotator_of(member, worker))
    last = person.sittings[-1] if person.sittings else None
    return campaign_page(
        request,
        member,
        "lead/exam_person.html",
        examinee=person,
        pairs=pairs_of_one(person.member),
        may_repeat=last and last.may_be_repeated,
        events=person.member.events.select_related("by__user"),
        longest=LONGEST_REASON,
    )


@require_POST
def verdict(request: HttpRequest, name: str, worker: int) -> HttpResponse:
    """The lead's decision on an examinee: work in spite of the exam, or another round of it."""
    lead = doors.lead(request, name)
    annotator = doors.annotator_of(lead, worker)
    reason = reason_in(request.POST, LONGEST_REASON)
    decide = VERDICTS[one_of("verdict", request.POST.get("verdict", ""), VERDICTS)]
    with refusal_as_message(request):
        decide(annotator, lead, reason)
        messages.success(request, "Done. The reason is kept on record.")
    return redirect("exam-person", name=name, worker=worker)
