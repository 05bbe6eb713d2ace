"""The exam: making it, where each examinee is, and the truth of each pair with its reason."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from base.forms import valid_data
from base.problem_documents import refusal_as_message
from campaigns import access
from campaigns.guideline_text import LEVELS
from campaigns.models import Membership
from campaigns.pages import campaign_page
from judging import access as judging_access
from judging.quality.exam import DEPTH, QUERIES, QUORUM, VERDICTS, set_exam, set_truth
from lead.forms.judging import ExamForm, TruthForm, VerdictForm
from reports.tables.examinees import Pair, overview, pairs_in

VIEWS = {"people": "Examinees", "pairs": "Pairs"}


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponse:
    """The examinees; or one pair after the other, with its truth and the reason for it."""
    member = access.membership(request, name)
    exam = overview(member.campaign)
    view = request.GET.get("view", "people")
    return campaign_page(
        request,
        member,
        "lead/exam.html",
        made=bool(exam.pairs),
        exam=exam,
        unexplained=[pair for pair in exam.pairs if not pair.candidate.why],
        quorum=QUORUM,
        queries=QUERIES,
        depth=DEPTH,
        views=VIEWS,
        view=view,
        **(_pair(member, exam.pairs, request.GET) if view == "pairs" and exam.pairs else {}),
    )


def _pair(member: Membership, pairs: list[Pair], params: Any) -> dict[str, Any]:
    """Return the pair that the address names, or the first without a reason; with the form, and the pairs around."""
    named = {str(pair.candidate.pk): place for place, pair in enumerate(pairs)}
    first = next((place for place, pair in enumerate(pairs) if not pair.candidate.why), 0)
    of_batch = (place for place, pair in enumerate(pairs) if str(pair.candidate.batch_id) == params.get("batch"))
    place = named.get(params.get("pair", ""), next(of_batch, first))
    key = pairs[place].candidate.pk
    batch = judging_access.exam_batch(member, pairs[place].candidate.batch_id or 0)
    chosen = next(pair for pair in pairs_in(batch) if pair.candidate.pk == key)
    return {
        "pair": chosen,
        "number": place + 1,
        "before": pairs[place - 1] if place else None,
        "after": pairs[place + 1] if place + 1 < len(pairs) else None,
        "form": TruthForm(initial=TruthForm.values_of(chosen.candidate)),
        "grades": LEVELS,
    }


@require_POST
def make(request: HttpRequest, name: str) -> HttpResponse:
    lead = access.lead(request, name)
    data = valid_data(ExamForm(lead.campaign, request.POST))
    if data["seed"] is None:
        data["seed"] = lead.campaign.order_seed
    with refusal_as_message(request):
        set_exam(lead.campaign, **data, by=lead)
        messages.success(request, "The exam is made. It opens when its clips are cut.")
    return redirect("exam", name=name)


@require_POST
def set_pair_truth(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Store the truth and the reason of a pair, and go on to the next one."""
    lead = access.lead(request, name)
    candidate, form = judging_access.exam_pair(lead, pk), TruthForm(request.POST)
    after = valid_data(form)["after"] or pk
    batch = judging_access.exam_batch(lead, candidate.batch_id or 0)
    set_truth(batch, {candidate.rank: form.truth_and_reason}, lead)
    messages.success(request, "Saved. Results that were already given stay as they are.")
    return redirect(f"{reverse('exam', args=[name])}?view=pairs&pair={after}")


@require_POST
def give_verdict(request: HttpRequest, name: str, worker: int) -> HttpResponse:
    """The lead's decision on an examinee: work in spite of the exam, or another round of it."""
    lead = access.lead(request, name)
    annotator = access.annotator_of(lead, worker)
    data = valid_data(VerdictForm(request.POST))
    with refusal_as_message(request):
        VERDICTS[data["verdict"]](annotator, lead, data["reason"])
        messages.success(request, "Done. The reason is kept on record.")
    return redirect(f"{reverse('annotator', args=[name, worker])}?view=exam")
