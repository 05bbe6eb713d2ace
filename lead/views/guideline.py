"""The guideline, its versions and the next one; and worked examples, grade by grade, and two ways to make one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from base.errors import Outdated, WrongState
from base.text import changes, rendered
from campaigns import access
from campaigns.forms import GuidelineForm
from campaigns.guideline_text import LEVELS
from campaigns.models import Campaign, Guideline, Membership
from campaigns.pages import campaign_page
from judging import access as judging_access
from judging.models import Example
from judging.quality.examples import add_example, add_own_example, hidden_examples, teachable
from judging.quality.examples import remove_example as forget_example
from lead.forms.judging import ExampleForm, OwnExampleForm

MOST_FOUND = 20


@require_safe
def detail(request: HttpRequest, name: str) -> HttpResponse:
    member = access.membership(request, name)
    versions = _versions(member.campaign)
    version = _chosen(request, "version", versions, len(versions) - 1)
    return campaign_page(
        request,
        member,
        "lead/guideline.html",
        version=version,
        versions=versions[::-1],
        in_force=versions[-1],
        answers=member.campaign.kept_answers.in_force().select_related("by__user"),
    )


@require_POST
def take_back_answer(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Take a kept answer away from beside the guideline."""
    lead = access.lead(request, name)
    judging_access.kept_answer(lead, pk).take_back(lead)
    messages.success(request, "The answer is taken back: it no longer stands beside the guideline.")
    return redirect("guideline", name=name)


@require_safe
def compare(request: HttpRequest, name: str) -> HttpResponse:
    """What changed from one version to another; by default with the last one."""
    member = access.membership(request, name)
    versions = _versions(member.campaign)
    after = _chosen(request, "to", versions, len(versions) - 1)
    before = _chosen(request, "from", versions, max(0, after.version - 1))
    lines = list(changes(before.text, after.text))
    return campaign_page(
        request, member, "lead/guideline_changes.html", before=before, after=after, lines=lines, versions=versions
    )


@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, name: str) -> HttpResponse:
    """The editor: `do=preview` shows the text as it will look, `do=save` puts it in force."""
    lead = access.lead(request, name)
    present = lead.campaign.guideline
    if request.method != "POST":
        form = GuidelineForm(initial={"text": present.text, "started_from": present.version})
        return _editor(request, lead, form)
    form = GuidelineForm(request.POST)
    if not form.is_valid():
        return _editor(request, lead, form, status=400)
    if request.POST.get("do") == "preview":
        return _editor(request, lead, form, preview=form.cleaned_data["text"])
    return _save(request, lead, form)


def _save(request: HttpRequest, lead: Membership, form: GuidelineForm) -> HttpResponse:
    data = form.cleaned_data
    try:
        saved = lead.campaign.write_guideline(lead, data["text"], data["started_from"])
    except Outdated as fault:
        present = lead.campaign.guideline
        lines = list(changes(present.text, data["text"]))
        form = GuidelineForm(initial={"text": data["text"], "started_from": present.version})
        return _editor(request, lead, form, status=409, fault=str(fault), lines=lines)
    messages.success(request, f"Version {saved.version} is in force.")
    return redirect("guideline", name=lead.campaign.name)


def _editor(
    request: HttpRequest, lead: Membership, form: GuidelineForm, status: int = 200, preview: str = "", **context: object
) -> HttpResponse:
    return campaign_page(
        request, lead, "lead/guideline_editor.html", status, form=form, preview=rendered(preview), **context
    )


def _versions(campaign: Campaign) -> list[Guideline]:
    """Every version, where it says: number n is the n-th of the list."""
    return [campaign.first_guideline, *campaign.guidelines.select_related("by__user")]


def _chosen(request: HttpRequest, field: str, versions: list[Guideline], usual: int) -> Guideline:
    number = request.GET.get(field, str(usual))
    found = next((version for version in versions if str(version.version) == number), None)
    if found is None:
        raise Http404
    return found


@require_safe
def examples_page(request: HttpRequest, name: str) -> HttpResponse:
    """The examples by grade; with `?find=words`, judged pairs that may become one."""
    member = access.membership(request, name)
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
    lead = access.lead(request, name)
    candidate = get_object_or_404(teachable(lead.campaign), pk=pk)
    form = ExampleForm(request.POST or None, initial={"grade": candidate.grade})
    return _add(
        request, lead, form, lambda data: add_example(lead, candidate, data["grade"], data["why"]), candidate=candidate
    )


@require_http_methods(["GET", "HEAD", "POST"])
def add_own(request: HttpRequest, name: str) -> HttpResponse:
    """Make a pair of the lead's own an example."""
    lead = access.lead(request, name)
    form = OwnExampleForm(lead.campaign, request.POST or None)
    return _add(
        request,
        lead,
        form,
        lambda data: add_own_example(lead, data["query"], data["moment"], data["grade"], data["why"]),
    )


@require_POST
def remove_example(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    lead = access.lead(request, name)
    if forget_example(lead, pk):
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
