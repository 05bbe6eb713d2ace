"""The guideline with its versions and worked examples; a lead writes the next version and adds examples in place."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from base.errors import Outdated, WrongState
from base.forms import valid_data
from base.text import changes, rendered
from campaigns import access
from campaigns.forms import GuidelineForm
from campaigns.guideline_text import LEVELS
from campaigns.models import Campaign, Guideline, Membership
from campaigns.pages import campaign_page
from judging import access as judging_access
from judging.quality.examples import ABOVE, add_own_example, concerned, drawn, hidden_examples, regraded, teachable
from judging.quality.examples import add_example as add_judged
from judging.quality.examples import remove_example as forget_example
from lead.forms.judging import ExampleForm, OwnExampleForm, WhatIfForm

MOST_FOUND, NEAREST_SHOWN = 20, 10
OWN = "own"  # in place of a pair: an example that the lead writes


@require_safe
def detail(request: HttpRequest, name: str) -> HttpResponse:
    """A version of the guideline, or what changed to it, next to the examples; for leads also the forms."""
    member = access.membership(request, name)
    context: dict[str, Any] = {}
    if "changes" in request.GET:
        context = _compared(request, member.campaign)
    if member.may_review and "edit" in request.GET:
        present = member.campaign.guideline
        context["form"] = GuidelineForm(initial={"text": present.text, "started_from": present.version})
    if member.may_review and "example" in request.GET:
        context |= _adding(member, request.GET["example"], request.GET.get("find"))
    if member.may_review and request.GET.get("drawer") == "what-if":
        context |= _what_if(member, WhatIfForm(request.GET))
    return _page(request, member, **context)


def _what_if(lead: Membership, form: WhatIfForm) -> dict[str, Any]:
    """Return the drawer of a sentence that is not in the guideline: what it concerns, a blind sample, or its result."""
    data = valid_data(form)
    above = ABOVE if data["above"] is None else data["above"]
    known: dict[str, Any] = {"drawer": "what-if", "sentence": data["sentence"], "above": above}
    if form.grades:
        return known | {"result": regraded(lead.campaign, form.grades)}
    if data["sentence"]:
        answer, pairs = concerned(lead, data["sentence"], above)
        sample = drawn(pairs)
        known |= {"answer": answer, "concerned": len(pairs), "nearest": pairs[:NEAREST_SHOWN], "number": len(sample)}
        known["sample"] = sample if data["judge"] else []
    return known


def _page(request: HttpRequest, member: Membership, status: int = 200, **context: Any) -> HttpResponse:
    campaign = member.campaign
    versions = _versions(campaign)
    examples = campaign.examples.select_related("clip", "moment__video", "by__user")
    known = {
        "version": _chosen(request, "version", versions, len(versions) - 1),
        "versions": versions[::-1],
        "in_force": versions[-1],
        "answers": campaign.kept_answers.in_force().select_related("by__user"),
        "grades": sorted(LEVELS.items(), reverse=True),
        "examples": examples,
        "hidden": hidden_examples(examples),
    }
    return campaign_page(request, member, "lead/guideline.html", status, **known | context)


def _versions(campaign: Campaign) -> list[Guideline]:
    """Return all versions; number n is the n-th of the list."""
    return [campaign.first_guideline, *campaign.guidelines.select_related("by__user")]


def _chosen(request: HttpRequest, field: str, versions: list[Guideline], usual: int) -> Guideline:
    number = request.GET.get(field, str(usual))
    found = next((version for version in versions if str(version.version) == number), None)
    if found is None:
        raise Http404
    return found


def _compared(request: HttpRequest, campaign: Campaign) -> dict[str, Any]:
    """Return the changes to `?version=` from `?from=`, which is by default the version before."""
    versions = _versions(campaign)
    after = _chosen(request, "version", versions, len(versions) - 1)
    before = _chosen(request, "from", versions, max(0, after.version - 1))
    return {"before": before, "lines": list(changes(before.text, after.text))}


@require_POST
def edit(request: HttpRequest, name: str) -> HttpResponse:
    """Show the text as it will look (`do=preview`), or put it in force (`do=save`)."""
    lead, form = access.lead(request, name), GuidelineForm(request.POST)
    if not form.is_valid():
        return _page(request, lead, 400, form=form)
    data = form.cleaned_data
    if request.POST.get("do") == "preview":
        return _page(request, lead, form=form, preview=rendered(data["text"]))
    try:
        saved = lead.campaign.write_guideline(lead, data["text"], data["started_from"])
    except Outdated as fault:
        present = lead.campaign.guideline
        theirs = list(changes(present.text, data["text"]))
        form = GuidelineForm(initial={"text": data["text"], "started_from": present.version})
        return _page(request, lead, 409, form=form, fault=str(fault), theirs=theirs)
    messages.success(request, f"Version {saved.version} is in force.")
    return redirect("guideline", name=name)


@require_POST
def take_back_answer(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Remove a kept answer from below the guideline."""
    lead = access.lead(request, name)
    judging_access.kept_answer(lead, pk).take_back(lead)
    messages.success(request, "The answer is removed from the guideline.")
    return redirect("guideline", name=name)


def _adding(lead: Membership, pair: str, words: str | None, data: Any = None) -> dict[str, Any]:
    """Return the drawer that adds an example: of a settled pair, of the lead's own, or to find a pair by its query."""
    if pair == OWN:
        return {"adding": pair, "example_form": OwnExampleForm(lead.campaign, data)}
    if pair.isdecimal():
        candidate = get_object_or_404(teachable(lead.campaign), pk=pair)
        form = ExampleForm(data, initial={"grade": candidate.grade})
        return {"adding": pair, "example_form": form, "candidate": candidate}
    cleaned = (words or "").replace("\0", "").strip()
    found = None if words is None else teachable(lead.campaign, cleaned)[:MOST_FOUND]
    return {"adding": "find", "words": cleaned, "found": found}


@require_POST
def add_example(request: HttpRequest, name: str, pair: str) -> HttpResponse:
    """Make a judged pair, given its key, or a pair of the lead's own an example."""
    lead = access.lead(request, name)
    context = _adding(lead, pair, None, request.POST)
    if (form := context.get("example_form")) is None:
        raise Http404
    status = 400
    if form.is_valid():
        try:
            _add(lead, context.get("candidate"), form)
        except WrongState as fault:
            form.add_error(None, str(fault))
            status = fault.status
        else:
            messages.success(request, "The example is in the tutorial and next to the guideline.")
            return redirect("guideline", name=name)
    return _page(request, lead, status, **context)


def _add(lead: Membership, candidate: Any, form: forms.Form) -> None:
    data = form.cleaned_data
    if candidate:
        add_judged(lead, candidate, data["grade"], data["why"])
    else:
        add_own_example(lead, data["query"], data["moment"], data["grade"], data["why"])


@require_POST
def remove_example(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    lead = access.lead(request, name)
    if forget_example(lead, pk):
        messages.success(request, "The example is removed.")
    return redirect("guideline", name=name)
