"""The demo's tour: five pages for each role, each with a sentence or two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from campaigns.access import signed_in
from campaigns.models import Campaign, Membership
from demo.judged import NAME as JUDGED

DEMO = "demo"
TWO_RUNS = "?run=4&run=1"
STEP = "tour"  # of the session: the number of the step, from 1


@dataclass(frozen=True)
class Step:
    """A page and what it is for."""

    page: str
    words: Any
    campaign: str = JUDGED  # empty: the page is of no campaign
    query: str = ""

    @property
    def address(self) -> str:
        return reverse(self.page, args=[self.campaign] if self.campaign else None) + self.query


# The pages of leads and researchers are in English only.
STEPS: dict[str, list[Step]] = {
    Membership.Role.ANNOTATOR: [
        Step("work", _("Your home page has one button for each campaign, and what you did this week."), ""),
        Step("tutorial", _("The tutorial shows the five grades in clips. It takes five minutes."), DEMO),
        Step("mine", _("Your own page has your hours, what they earn, and your lead's answers."), DEMO),
        Step("preferences", _("Choose other keys, a goal for the day, and whether breaks are suggested."), ""),
        Step("work", _("Now get a batch: press 0 to 4 to grade a clip, and ? for the guideline."), ""),
    ],
    Membership.Role.LEAD: [
        Step("campaign", "How far the campaign is, how good the grades are, and which queries wait for what."),
        Step("queries", "Each query with its grades in the order of the ranking. Open one to see its clips."),
        Step("agreement", "How well the annotators agree, and who is stricter than others."),
        Step("releases", "A release is frozen: its figures, files, data card and checksums do not change."),
        Step("drafts", "Make a campaign of your own from a file of moments, or from the demo's films.", ""),
    ],
    Membership.Role.RESEARCHER: [
        Step("leaderboard", "All runs on one axis, with intervals. Those as good as the best are marked."),
        Step(
            "compare", "On which queries two runs differ, and whether the difference could be chance.", query=TWO_RUNS
        ),
        Step(
            "explain",
            "Why a run has its score on one query: its predictions beside the judged moments.",
            query=TWO_RUNS,
        ),
        Step("systems", "Systems that were trained here. Open one and search the films by a sentence."),
        Step("measures", "How much the order of runs depends on measure, queries and annotators."),
    ],
}


def steps_for(user: Any) -> list[Step]:
    """Return the steps of a person of the demo; none for others."""
    roles = Membership.objects.filter(user=user.pk, campaign__name=DEMO).values_list("role", flat=True)
    return STEPS[roles[0]] if roles else []


@require_safe
def tour(request: HttpRequest, step: int) -> HttpResponse:
    """Lead to the page of a step. Before the first and after the last one, the tour has ended."""
    steps = steps_for(signed_in(request))
    if not steps:
        raise Http404
    if not 1 <= step <= len(steps):
        request.session.pop(STEP, None)
        return redirect("home")
    request.session[STEP] = step
    return redirect(steps[step - 1].address)


def is_here() -> bool:
    """Return whether this installation has the demo. Others ask no database."""
    return (settings.HOME / "demo").exists() and Campaign.objects.filter(name=DEMO).exists()
