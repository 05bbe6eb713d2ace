"""Whether a measure can be believed: a page with one figure of several, each as a file too."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from campaigns.models import Membership
from campaigns.pages import campaign_page, while_working
from metrics import parse_measure
from runs import access
from runs.reliability.choices import Choices, choices_of, examination_file
from runs.reliability.figures import FIGURES
from runs.reliability.inquiries import CONVENTIONS, MOST_RUNS, ask_to_examine, job_of


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponse:
    """A figure and what it tells, or how far its examination is, or a button that asks for it."""
    member = access.participant(request, name)
    choices = choices_of(request.GET, member)
    if choices is None:
        return campaign_page(request, member, "runs/no_board.html", title="Can a measure be believed?")
    job = job_of(choices.inquiry)
    if request.headers.get("hx-request"):
        return _progress(request, job)
    found = choices.findings
    context: dict[str, Any] = {
        "choices": choices,
        **_offered(choices, member),
        "most": MOST_RUNS,
        "found": found,
        "jobs": [job] if job else [],
        "job": job,
        "progress": f"{request.path}?{choices.address()}",
        **(_findings(found, choices, member) if found else {}),
    }
    return campaign_page(request, member, "runs/reliability.html", **context)


@require_safe
def download(request: HttpRequest, name: str, format: str) -> HttpResponse:
    """The figure of the same address as its specification, SVG, PDF, or the CSV of its numbers."""
    choices = choices_of(request.GET, access.participant(request, name))
    access.count_file(request, format)
    return examination_file(choices, format)


@require_POST
def ask(request: HttpRequest, name: str) -> HttpResponse:
    """Ask for the examination, and lead to the page that shows how far it is."""
    member = access.participant(request, name)
    choices = choices_of(request.POST, member)
    if choices is None:
        raise Http404
    ask_to_examine(choices.runs, choices.release, choices.convention, member)
    return redirect(f"{reverse('believe', args=[name])}?{choices.address()}")


def _offered(choices: Choices, member: Membership) -> dict[str, Any]:
    """Return what else can be chosen."""
    return {
        "conventions": [(each, choices.address(convention=each)) for each in CONVENTIONS],
        "tabs": [(each, choices.address(figure=each.key)) for each in FIGURES],
        "known": [(run, run in choices.runs) for run in choices.known],
        "releases": member.campaign.releases.filter(yardstick__isnull=False).only("version"),
    }


def _findings(found: Any, choices: Choices, member: Membership) -> dict[str, Any]:
    """What the page says of its figure, and its numbers."""
    figure, rows = choices.figure, choices.rows
    files = {
        kind: f"{reverse('believe-file', args=[member.campaign.name, kind])}?{choices.address()}"
        for kind in ("json", "svg", "pdf", "csv")
    }
    return {
        "plot": {
            "figure": figure,
            "is_drawn": bool(rows),
            "caption": f"{figure.caption(found)} ({figure.paper})",
            "tells": choices.tells,
            "columns": [name.replace("_", " ") for name in rows[0]] if rows else [],
            "rows": [list(row.values()) for row in rows],
            "files": files,
        },
        "measures": [(each, parse_measure(each).spelling) for each in found["measures"]],
        "orders": [row for row in found["rows"]["orders"] if row["measure"] == choices.measure],
    }


def _progress(request: HttpRequest, job: Any) -> HttpResponse:
    """The bar of the job; the page asks for it again until the job has ended, and is then loaded anew."""
    context = {"progress": request.get_full_path(), "jobs": [job] if job else []}
    return while_working(render(request, "parts/progress.html", context), job is not None and job.is_unfinished)
