"""Worked examples: those there are, grade by grade, and two ways to make one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from base.errors import WrongState
from campaigns.guideline_text import LEVELS
from campaigns.models import Membership
from campaigns.pages import campaign_page
from judging import doors
from judging.models import Example
from judging.quality.examples import (
    ExampleForm,
    OwnExampleForm,
    add_example,
    add_own_example,
    hidden_examples,
    teachable,
)

MOST_FOUND = 20


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponse:
    """The examples by grade; with `?find=words`, judged pairs that may become one."""
    member = doors.membership(request, name)
    examples = member.campaign.examples.select_related("clip", "moment__video", "by__user")
    words = request.GET.get("find", "").replace("\0", "").strip()
    return campaign_page(
        request,
        member,
        "lead/examples.html",
        grades=sorted(LEVELS.items(), reverse=True),
        examples=examples,
        hidden=hidden_examples(examples),
        words=words,
        found=teachable(member.campaign, words)[:MOST_FOUND] if "find" in request.GET else None,
    )


@require_http_methods(["GET", "HEAD", "POST"])
def add_judged(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Make a judged pair an example."""
    lead = doors.lead(request, name)
    candidate = get_object_or_404(teachable(lead.campaign), pk=pk)
    form = ExampleForm(request.POST or None, initial={"grade": candidate.grade})
    return _add(
        request, lead, form, lambda data: add_example(lead, candidate, data["grade"], data["why"]), candidate=candidate
    )


@require_http_methods(["GET", "HEAD", "POST"])
def add_own(request: HttpRequest, name: str) -> HttpResponse:
    """Make a pair of the lead's own an example."""
    lead = doors.lead(request, name)
    form = OwnExampleForm(lead.campaign, request.POST or None)
    return _add(
        request,
        lead,
        form,
        lambda data: add_own_example(lead, data["query"], data["moment"], data["grade"], data["why"]),
    )


@require_POST
def remove(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    lead = doors.lead(request, name)
    if lead.campaign.examples.filter(pk=pk).delete()[0]:
        messages.success(request, "The example is removed.")
    return redirect("examples", name=name)


def _add(
    request: HttpRequest,
    lead: Membership,
    form: ExampleForm,
    add: Callable[[dict[str, Any]], Example],
    **context: object,
) -> HttpResponse:
    """Add what the form says, or show it (again) with what is wrong."""
    status = 200
    if request.method == "POST":
        status = 400
        try:
            if form.is_valid():
                add(form.cleaned_data)
                messages.success(request, "The example is in the tutorial and beside the guideline.")
                return redirect("examples", name=lead.campaign.name)
        except WrongState as fault:
            form.add_error(None, str(fault))
            status = fault.status
    return campaign_page(request, lead, "lead/example.html", status, form=form, **context)
