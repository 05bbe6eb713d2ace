"""A batch as the lead sees it, and the two verdicts."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from judging import doors
from judging.chart import grades_by_rank
from judging.desk import appearance
from judging.errors import BadValue, WrongState
from judging.models import Batch, Review


@require_safe
def one(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    member = doors.membership(request, name)
    batch = doors.batch(member, pk)
    candidates = batch.candidates.order_by("rank").select_related("moment__video")
    candidates = candidates.prefetch_related("judgements__annotator", "flags__assignment__annotator")
    context = {
        "member": member,
        "campaign": member.campaign,
        "batch": batch,
        "look": appearance(batch),
        "candidates": candidates,
        "chart": grades_by_rank(list(candidates)),
        "last_ranks": set(batch.last().values_list("rank", flat=True)),
        "last_mean": batch.last_mean(),
        "recommends_second": batch.recommends_second(),
        "can_open_second": batch.number == 1 and batch.query.can_open_second,
        "review": Review.objects.filter(batch=batch).select_related("lead__user").first(),
        "others": batch.query.batches.exclude(pk=batch.pk),
        "next": Batch.objects.in_campaign(member.campaign).to_review().exclude(pk=pk).order_by("pk").first(),
    }
    return render(request, "judging/batch.html", context)


@require_POST
def review(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    lead = doors.lead(request, name)
    verdict = request.POST.get("verdict", "")
    if verdict not in Review.Verdict.values:
        raise BadValue("verdict", repr(verdict[:40]), "second or close")
    reason = request.POST.get("reason", "")
    if len(reason) > 500 or "\0" in reason:
        raise BadValue("reason", f"{len(reason)} characters", "at most 500, without NUL")
    try:
        done = doors.batch(lead, pk).review(lead, verdict, reason)
        messages.success(request, f"{done.get_verdict_display()}: done.")
    except WrongState as fault:
        messages.error(request, str(fault))
    return redirect("batch", name=name, pk=pk)
