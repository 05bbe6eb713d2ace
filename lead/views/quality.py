"""The exam and the quiet checks: making the exam, truths, where each person is, and decisions."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from base.forms import valid_data
from base.problem_documents import refusal_as_message
from campaigns import access
from campaigns.pages import campaign_page
from judging import access as judging_access
from judging.consensus import GRADES
from judging.models.sitting import exam_batches
from judging.quality import check_results
from judging.quality.exam import DEPTH, LONGEST_REASON, QUERIES, QUORUM, READY_REASONS, VERDICTS, set_exam, set_truth
from judging.quality.examples import LONGEST_WHY
from lead.forms.judging import ExamForm, TruthsForm, VerdictForm
from reports.campaign_summaries import PEOPLE, current_summary
from reports.tables.examinees import CheckRow, check_rows, examinee, overview, pairs_in, pairs_of_one

PAIRS_ON_A_PAGE = 50


@require_safe
def exam_page(request: HttpRequest, name: str) -> HttpResponse:
    member = access.membership(request, name)
    exam = overview(member.campaign)
    return campaign_page(
        request,
        member,
        "lead/exam.html",
        made=bool(exam.pairs),
        exam=exam,
        unexplained=[pair.candidate for pair in exam.pairs if not pair.candidate.why],
        quorum=QUORUM,
        queries=QUERIES,
        depth=DEPTH,
    )


@require_POST
def make_exam(request: HttpRequest, name: str) -> HttpResponse:
    lead = access.lead(request, name)
    data = valid_data(ExamForm(lead.campaign, request.POST))
    if data["seed"] is None:
        data["seed"] = lead.campaign.order_seed
    with refusal_as_message(request):
        set_exam(lead.campaign, **data, by=lead)
        messages.success(request, "The exam is made. It opens when its clips are cut.")
    return redirect("exam", name=name)


@require_safe
def exam_batch(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    member = access.membership(request, name)
    chosen = judging_access.exam_batch(member, pk)
    batches = exam_batches(member.campaign).order_by("query")
    return campaign_page(
        request,
        member,
        "lead/exam_batch.html",
        batch=chosen,
        pairs=pairs_in(chosen),
        grades=GRADES,
        ready_reasons=READY_REASONS,
        longest=LONGEST_WHY,
        next=batches.filter(query__gt=chosen.query_id).first(),
    )


@require_POST
def set_truths(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    lead = access.lead(request, name)
    chosen = judging_access.exam_batch(lead, pk)
    form = TruthsForm(chosen.candidates.values_list("rank", flat=True), request.POST)
    valid_data(form)
    set_truth(chosen, form.truths, lead)
    messages.success(request, "Saved. Results that were already given stay as they are.")
    return redirect("exam-batch", name=name, pk=pk)


@require_safe
def examinee_detail(request: HttpRequest, name: str, worker: int) -> HttpResponse:
    member = access.membership(request, name)
    person = examinee(access.annotator_of(member, worker))
    return campaign_page(
        request,
        member,
        "lead/exam_person.html",
        examinee=person,
        pairs=pairs_of_one(person.member),
        may_repeat=person.may_repeat,
        events=person.member.events.select_related("by__user"),
        longest=LONGEST_REASON,
    )


@require_POST
def give_verdict(request: HttpRequest, name: str, worker: int) -> HttpResponse:
    """The lead's decision on an examinee: work in spite of the exam, or another round of it."""
    lead = access.lead(request, name)
    annotator = access.annotator_of(lead, worker)
    data = valid_data(VerdictForm(request.POST))
    with refusal_as_message(request):
        VERDICTS[data["verdict"]](annotator, lead, data["reason"])
        messages.success(request, "Done. The reason is kept on record.")
    return redirect("exam-person", name=name, worker=worker)


@require_safe
def checks_page(request: HttpRequest, name: str) -> HttpResponse:
    lead = access.lead(request, name)
    counted = current_summary(lead.campaign, PEOPLE)
    return campaign_page(
        request,
        lead,
        "lead/checks.html",
        kept=counted,
        annotators=sorted(check_rows(lead.campaign, counted), key=_urgency),
        rules={"window": check_results.WINDOW, "enough": check_results.ENOUGH},
        fast=f"Under {check_results.FAST:g} s",
    )


def _urgency(row: CheckRow) -> tuple[bool, float]:
    """Put first who waits for the lead, then who missed most lately; the others stay by worker."""
    return not row.annotator.is_paused, -row.recent.share


@require_safe
def check_pairs(request: HttpRequest, name: str, worker: int, show: str) -> HttpResponse:
    """What a number on the page of checks was made from."""
    lead = access.lead(request, name)
    annotator = access.annotator_of(lead, worker)
    if show not in check_results.SELECTIONS:
        raise Http404
    # The keys are asked for once, and counted here.
    keys = list(check_results.pairs_behind(annotator, show).values_list("pk", flat=True))
    page = Paginator(keys, PAIRS_ON_A_PAGE).get_page(request.GET.get("page"))
    page.object_list = check_results.pairs_behind(annotator, show, list(page.object_list))
    return campaign_page(
        request,
        lead,
        "lead/check_pairs.html",
        annotator=annotator,
        kind=show,
        checks=show != "speed",
        kinds=check_results.SELECTIONS,
        page=page,
        events=annotator.events.select_related("by__user"),
    )
