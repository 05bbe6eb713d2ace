"""The tutorial: a walk through the tool in steps, each with an address of its own, with the lead's examples."""

from __future__ import annotations

import hashlib
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from base.request_fields import is_whole
from campaigns.guideline_text import LEVELS
from campaigns.models import Membership
from judging import doors
from judging.models import Example, Flag
from judging.quality.examples import Level, levels

STEPS = {
    "pair": _("A query and a clip"),
    "questions": _("Three questions"),
    "levels": _("Five grades"),
    "try": _("Try it"),
    "tool": _("The tool"),
    "ready": _("Ready"),
}
FEWEST, MOST = 3, 6  # examples to try oneself on, as far as there are any


@require_safe
@never_cache
def tutorial(request: HttpRequest, name: str) -> HttpResponse:
    """One step; where one is stands in the address, so going back and loading again work."""
    member = doors.anybody(request, name)
    step = _number(request, "step", len(STEPS))
    taught = levels(member.campaign)
    chosen = to_try(taught)
    context = {
        "member": member,
        "campaign": member.campaign,
        "levels": taught,
        "grades": LEVELS.items(),
        "reasons": Flag.Reason.choices,
        "best": next(iter(taught[0].examples), None),
        "any": any(level.examples for level in taught),
        "steps": list(enumerate(STEPS.values(), 1)),
        "step": step,
        "before": step - 1,
        "after": step + 1 if step < len(STEPS) else None,
        "part": f"annotate/tutorial/{list(STEPS)[step - 1]}.html",
        "exam_first": member.campaign.exam and not member.qualified,
    }
    if list(STEPS)[step - 1] == "try" and chosen:
        return render(request, "annotate/tutorial_try.html", context | _tried(request, member, chosen))
    return render(request, "annotate/tutorial.html", context)


def to_try(taught: list[Level]) -> list[Example]:
    """Examples that the levels were not explained with, in an order that tells nothing; else those that were."""
    ready = [[each for each in level.examples if each.clip and each.clip.is_ready] for level in taught]
    fresh = sorted((each for examples in ready for each in examples[1:]), key=_shuffled)[:MOST]
    known = sorted((each for examples in ready for each in examples[:1]), key=_shuffled)
    return fresh + known[: max(0, FEWEST - len(fresh))]


def _shuffled(example: Example) -> bytes:
    return hashlib.sha256(str(example.pk).encode()).digest()


def _tried(request: HttpRequest, member: Membership, chosen: list[Example]) -> dict[str, Any]:
    """The example to try, what the annotator said of it, and only then what the lead says."""
    number = _number(request, "example", len(chosen))
    example, said = chosen[number - 1], request.GET.get("said", "")
    grade = int(said) if said in map(str, LEVELS) else None
    apart = abs(grade - example.grade) if grade is not None else None
    return {
        "example": example,
        "number": number,
        "total": len(chosen),
        "said": grade,
        "flagged": said == "flag",
        "same": apart == 0,
        "agrees": apart is not None and apart <= member.campaign.tolerance,
        "previous": number - 1,
        "next": number + 1 if number < len(chosen) else None,
    }


def _number(request: HttpRequest, field: str, most: int) -> int:
    """A number from 1 in the address; the nearest that there is, for what is none."""
    said = request.GET.get(field, "")
    return min(most, max(1, int(said))) if is_whole(said) else 1
