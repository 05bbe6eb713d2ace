"""Flags: what annotators could not judge, until a lead has dealt with it."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from base.problem_documents import refusal_as_message
from base.request_fields import one_of
from campaigns.guideline_text import LEVELS
from campaigns.pages import campaign_page
from judging import doors
from judging.models import Flag
from judging.review.decisions import ACTIONS
from reports.tables.batch import FlagRow, named

ON_A_PAGE = 50


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponse:
    member = doors.membership(request, name)
    flags = Flag.objects.waiting(member.campaign).order_by("-at", "-pk")
    flags = flags.select_related("candidate__query", "candidate__clip", "assignment__annotator__user")
    page = Paginator(flags, ON_A_PAGE).get_page(request.GET.get("page"))
    rows = [FlagRow(flag, named(flag.assignment.annotator, member)) for flag in page]
    return campaign_page(request, member, "lead/flags.html", page=page, flags=rows, grades=LEVELS)


@require_POST
def handle(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Dismiss the flag, or have the clip cut again."""
    lead = doors.lead(request, name)
    flag = doors.flag(lead, pk)
    act = ACTIONS[one_of("action", request.POST.get("action", ""), ACTIONS)]
    with refusal_as_message(request):
        messages.success(request, act(flag, lead))
    return redirect("flags", name=name)
