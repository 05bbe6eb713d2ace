"""The exam as the lead sees it: made by a button, its truth set by her, its examinees let in."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from base.errors import BadValue, WrongState
from base.request_fields import text_in, whole
from judging import doors
from judging.consensus import GRADES
from judging.models.sitting import exam_batches
from judging.quality import sittings
from judging.quality.exam import DEPTH, QUERIES, set_exam, set_truth
from judging.quality.sittings import QUORUM, exam_grades, truths
from lead.tables.examinees import examinee, overview, pairs_of, pairs_of_one

LONGEST_WHY, LONGEST_REASON = 1000, 400
TRUTHS = {"": None} | {str(grade): grade for grade in GRADES}


@require_safe
def one(request: HttpRequest, name: str) -> HttpResponse:
    member = doors.membership(request, name)
    context = {
        "member": member,
        "campaign": member.campaign,
        "made": exam_batches(member.campaign).exists(),
        "exam": overview(member.campaign),
        "quorum": QUORUM,
        "queries": QUERIES,
        "depth": DEPTH,
    }
    return render(request, "lead/exam.html", context)


@require_POST
def make(request: HttpRequest, name: str) -> HttpResponse:
    lead = doors.lead(request, name)
    seed, queries, depth = (_number(request, field) for field in ("seed", "queries", "depth"))
    try:
        set_exam(lead.campaign, seed, queries, depth, keep_in_pool="keep_in_pool" in request.POST)
        messages.success(request, "The exam is made. It opens when its clips are cut.")
    except WrongState as fault:
        messages.error(request, str(fault))
    return redirect("exam", name=name)


def _number(request: HttpRequest, field: str) -> int:
    return whole(field, request.POST.get(field, ""))


@require_safe
def batch(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    member = doors.membership(request, name)
    campaign, shown = member.campaign, doors.exam_batch(member, pk)
    batches = exam_batches(campaign).order_by("query")
    said = exam_grades(campaign)
    pairs = pairs_of(campaign, truths(campaign, said), said)
    context = {
        "member": member,
        "campaign": campaign,
        "batch": shown,
        "pairs": [pair for pair in pairs if pair.candidate.batch_id == pk],
        "grades": GRADES,
        "longest": LONGEST_WHY,
        "next": batches.filter(query__gt=shown.query_id).first(),
    }
    return render(request, "lead/exam_batch.html", context)


@require_POST
def truth(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    lead = doors.lead(request, name)
    shown = doors.exam_batch(lead, pk)
    ranks = shown.candidates.values_list("rank", flat=True)
    set_truth(shown, {rank: _truth(request, rank) for rank in ranks})
    messages.success(request, "Saved. Results that were given stay as they are.")
    return redirect("exam-batch", name=name, pk=pk)


def _truth(request: HttpRequest, rank: int) -> tuple[int | None, str]:
    field = f"truth-{rank}"
    value = request.POST.get(field)
    if value not in TRUTHS:
        raise BadValue(field, repr(value)[:40], "a grade from 0 to 4, or nothing")
    return TRUTHS[value], text_in(request.POST, f"why-{rank}", LONGEST_WHY)


@require_safe
def person(request: HttpRequest, name: str, worker: int) -> HttpResponse:
    member = doors.membership(request, name)
    shown = examinee(doors.annotator_of(member, worker))
    last = shown.sittings[-1] if shown.sittings else None
    context = {
        "member": member,
        "campaign": member.campaign,
        "examinee": shown,
        "pairs": pairs_of_one(shown.member),
        "may_repeat": last and last.may_be_repeated,
        "events": shown.member.events.select_related("by__user"),
        "longest": LONGEST_REASON,
    }
    return render(request, "lead/exam_person.html", context)


@require_POST
def verdict(request: HttpRequest, name: str, worker: int) -> HttpResponse:
    """The lead's word on an examinee: work in spite of the exam, or another round of it."""
    lead = doors.lead(request, name)
    member, said = doors.annotator_of(lead, worker), request.POST.get("verdict", "")
    reason = text_in(request.POST, "reason", LONGEST_REASON)
    if not reason:
        raise BadValue("reason", "empty", "a word on why; it is kept")
    if said not in ("qualify", "repeat"):
        raise BadValue("verdict", repr(said[:40]), "qualify or repeat")
    try:
        if said == "qualify":
            member.qualify(lead, reason)
        else:
            sittings.repeat(member, lead, reason)
        messages.success(request, "Done, and noted.")
    except WrongState as fault:
        messages.error(request, str(fault))
    return redirect("exam-person", name=name, worker=worker)
