"""Flags: what annotators could not judge, until a lead has dealt with it."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from base.errors import BadValue
from campaigns.guideline_text import LEVELS
from judging import doors
from judging.models import Flag
from judging.pool.clips import retry_clips
from lead.tables.batch import Complaint, named

ON_A_PAGE = 50


@require_safe
def listed(request: HttpRequest, name: str) -> HttpResponse:
    member = doors.membership(request, name)
    flags = Flag.objects.waiting(member.campaign).order_by("-at", "-pk")
    flags = flags.select_related("candidate__query", "candidate__clip", "assignment__annotator__user")
    page = Paginator(flags, ON_A_PAGE).get_page(request.GET.get("page"))
    rows = [Complaint(flag, named(flag.assignment.annotator, member)) for flag in page]
    context = {"member": member, "campaign": member.campaign, "page": page, "rows": rows, "grades": LEVELS}
    return render(request, "lead/flags.html", context)


@require_POST
def handled(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Nothing wrong, so the flag is put away; or the clip is asked for again."""
    lead = doors.lead(request, name)
    flag, action = doors.flag(lead, pk), request.POST.get("action", "")
    if action == "dismiss":
        Flag.objects.filter(pk=flag.pk).handle(lead)
        messages.success(request, "Put away. A flagged candidate has no grade until you grade or reopen it.")
    elif action == "retry" and flag.candidate.batch:
        again = retry_clips([flag.candidate.batch])
        messages.success(request, f"Clips of this batch that are asked for again: {again}.")
    else:
        raise BadValue("action", repr(action[:20]), "dismiss or retry")
    return redirect("flags", name=name)
