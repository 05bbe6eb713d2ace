"""What an annotator learns by: the tutorial, the result of each round of the exam, and practice.

The tutorial is a walk through the tool in steps, with the lead's examples. Each step has its own address.
"""

from __future__ import annotations

import hashlib
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate import script_texts
from annotate.forms import PracticeForm, TutorialForm
from annotate.script_texts import card
from base.forms import valid_data
from campaigns import access
from campaigns.models import Membership
from campaigns.pages import campaign_page
from judging import access as judging_access
from judging.models import Example, Flag, Practice, Sitting
from judging.quality.examples import Level
from judging.work import practising
from reports import own_work
from reports.hours import PRACTICE_SHARE

STEPS = {
    "pair": _("A query and a clip"),
    "questions": _("Three questions"),
    "levels": _("Five grades"),
    "try": _("Try it"),
    "tool": _("The tool"),
    "ready": _("Ready"),
}
FEWEST, MOST = 3, 6  # examples to try, as far as there are any


@require_safe
def tutorial(request: HttpRequest, name: str) -> HttpResponse:
    """One step of the tutorial. The address names the step, so going back and loading again work."""
    member = access.anybody(request, name)
    known = card(member.campaign, access.signed_in(request))
    taught: list[Level] = known["levels"]
    number = _number(_given(request).get("step"), len(STEPS))
    part = list(STEPS)[number - 1]
    context: dict[str, Any] = known | _step(number) | _next(member)
    context["reasons"] = Flag.Reason.choices
    context["best"] = next(iter(taught[0].examples), None)
    if part == "try" and (chosen := to_try(taught)):
        context |= _tried(request, member, chosen)
        return campaign_page(request, member, "annotate/tutorial_try.html", **context)
    return campaign_page(request, member, "annotate/tutorial.html", **context)


def _step(number: int) -> dict[str, Any]:
    """Where a step stands among the others, and its template."""
    after = number + 1 if number < len(STEPS) else None
    part = f"annotate/tutorial/{list(STEPS)[number - 1]}.html"
    return {"steps": list(enumerate(STEPS.values(), 1)), "step": number, "after": after, "part": part}


def _next(member: Membership) -> dict[str, Any]:
    """What comes after the tutorial: an exam, or batches, which stay so many minutes with whoever is away."""
    return {"exam_first": member.campaign.exam and not member.qualified, "lease": settings.ASSIGNMENT_LEASE // 60}


def to_try(taught: list[Level]) -> list[Example]:
    """The examples to try, in an order that tells nothing: first those that no level was explained with."""
    ready = [[example for example in level.examples if example.clip and example.clip.is_ready] for level in taught]
    fresh = sorted((example for examples in ready for example in examples[1:]), key=_shuffled)[:MOST]
    known = sorted((example for examples in ready for example in examples[:1]), key=_shuffled)
    return fresh + known[: max(0, FEWEST - len(fresh))]


def _shuffled(example: Example) -> bytes:
    return hashlib.sha256(str(example.pk).encode()).digest()


def _tried(request: HttpRequest, member: Membership, chosen: list[Example]) -> dict[str, Any]:
    """The example to try, the annotator's answer, and only after it the lead's grade."""
    given = _given(request)
    number, answer = _number(given.get("example"), len(chosen)), given.get("answer", "")
    example, grade = chosen[number - 1], int(answer) if answer.isdecimal() else None
    return {
        **_transport(),
        "example": example,
        "number": number,
        "total": len(chosen),
        "answer": grade,
        "flagged": answer == "flag",
        "same": grade == example.grade,
        "agrees": grade is not None and member.campaign.tolerates(grade, example.grade),
        "previous": number - 1,
        "next": number + 1 if number < len(chosen) else None,
    }


def _transport() -> dict[str, Any]:
    """What a page needs for one clip with the workplace's transport."""
    return {"player": script_texts.PLAYER, "words": script_texts.player()}


def _given(request: HttpRequest) -> dict[str, Any]:
    """Return what the address says, without what cannot be read."""
    form = TutorialForm(request.GET)
    form.is_valid()
    return form.cleaned_data


def _number(number: int | None, most: int) -> int:
    """Return a number from 1; one that is missing or out of range gives the nearest."""
    return min(most, max(1, number or 1))


@require_safe
def exam_result(request: HttpRequest, name: str) -> HttpResponse:
    """How the last marked round of the exam ended: what came back, with the annotator's own grade and a reason."""
    member = access.learner(request, name)
    if (result := own_work.exam_result(member)) is None:
        raise Http404
    passed = result.sitting.result == Sitting.Result.PASSED
    return campaign_page(
        request,
        member,
        "annotate/exam_passed.html" if passed else "annotate/exam_result.html",
        result=result,
        failed=result.sitting.result == Sitting.Result.FAILED,
        rounds_left=member.campaign.exam_rounds - result.sitting.round,
    )


@require_http_methods(["GET", "HEAD", "POST"])
def practice(request: HttpRequest, name: str) -> HttpResponse:
    """What practice is; and, by the button, the next clip of it."""
    member = access.learner(request, name)
    if request.method == "POST" and (given := practising.begin(member)):
        return redirect("practice-clip", name=name, pk=given.pk)
    context: dict[str, Any] = {"clips": len(practising.known_clips(member)), "share": f"{PRACTICE_SHARE:.0%}"}
    return campaign_page(request, member, "annotate/practice.html", **context)


@require_safe
def practice_clip(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """A clip with a known answer; and, once it is answered, the right grade and why."""
    given = judging_access.practice(request, name, pk)
    known, member = practising.known_of(given), given.annotator
    context = card(member.campaign, access.signed_in(request)) | _transport() | _feedback(given, known)
    return campaign_page(request, member, "annotate/practice_clip.html", given=given, known=known, **context)


def _feedback(given: Practice, known: practising.Known) -> dict[str, Any]:
    if given.grade is None:
        return {}
    return {"same": given.grade in known.right, "agrees": given.annotator.campaign.tolerates(given.grade, known.truth)}


@require_POST
def practise(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Store the answer, and show the right one."""
    given = judging_access.practice(request, name, pk)
    practising.answer(given, **valid_data(PracticeForm(request.POST)))
    return redirect("practice-clip", name=name, pk=pk)
