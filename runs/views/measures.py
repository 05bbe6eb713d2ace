"""How reliable measures are: a score card, and below it one figure of several, each as a file too."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from base.forms import valid_data
from campaigns.models import Membership
from campaigns.pages import campaign_page, while_working
from metrics import parse_measure
from reports.figures.files import files_at
from runs import access
from runs.forms import ReliabilityForm
from runs.reliability.figures import BY_KEY, FIGURES, score_card
from runs.reliability.inquiries import (
    CONVENTIONS,
    MOST_RUNS,
    ReliabilityOptions,
    ask_to_examine,
    examination_file,
    job_of,
    reliability_options,
)


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponse:
    """The score card and a figure, or how far its examination is, or a button that asks for it."""
    member = access.participant(request, name)
    if address := _newer_address(request):
        return redirect(address)
    options = reliability_options(member, **valid_data(ReliabilityForm(request.GET)))
    if options is None:
        return campaign_page(request, member, "runs/no_board.html", title="Measures")
    job = job_of(options.inquiry)
    if request.headers.get("hx-request"):
        return _progress(request, job)
    context: dict[str, Any] = {
        "options": options,
        **_offered(options, member),
        "found": options.findings,
        "jobs": [job] if job else [],
        "job": job,
        "progress": f"{request.path}?{options.address()}",
        **(_findings(options, member) if options.findings else {}),
    }
    return campaign_page(request, member, "runs/measures.html", **context)


def _newer_address(request: HttpRequest) -> str:
    """Return the address of the figure that an older one names by the beginning of its key, such as `stability`."""
    params = request.GET.copy()
    older = params.get("figure", "")
    found = [key for key in BY_KEY if older and key.startswith(older)]
    if not found or older in found:
        return ""
    params["figure"] = found[0]
    return f"{request.path}?{params.urlencode()}"


@require_safe
def download(request: HttpRequest, name: str, format: str) -> HttpResponse:
    """The figure of the same address as its specification, SVG, PDF, or the CSV of its numbers."""
    options = reliability_options(access.participant(request, name), **valid_data(ReliabilityForm(request.GET)))
    access.count_file(request, format)
    return examination_file(options, format)


@require_POST
def ask(request: HttpRequest, name: str) -> HttpResponse:
    """Ask for the examination, and lead to the page that shows how far it is."""
    member = access.participant(request, name)
    options = reliability_options(member, **valid_data(ReliabilityForm(request.POST)))
    if options is None:
        raise Http404
    ask_to_examine(options.runs, options.release, options.convention, member)
    return redirect(f"{reverse('measures', args=[name])}?{options.address()}")


def _offered(options: ReliabilityOptions, member: Membership) -> dict[str, Any]:
    """Return what else can be chosen."""
    return {
        "most": MOST_RUNS,
        "conventions": [(convention, options.address(convention=convention)) for convention in CONVENTIONS],
        "tabs": [(figure, options.address(figure=figure.key)) for figure in FIGURES],
        "known": [(run, run in options.runs) for run in options.known],
        "releases": member.campaign.releases.filter(scoring_reference__isnull=False).only("version"),
    }


def _findings(options: ReliabilityOptions, member: Membership) -> dict[str, Any]:
    """What the page says of its figure, and its numbers."""
    found, figure, rows = options.findings, options.figure, options.rows
    caption = figure.caption if isinstance(figure.caption, str) else figure.caption(found)
    address = reverse("measures-file", args=[member.campaign.name, "KIND"])
    return {
        "plot": {
            "figure": figure,
            "is_drawn": bool(rows),
            "caption": f"{caption} ({figure.paper})",
            "tells": options.tells,
            "columns": [name.replace("_", " ") for name in rows[0]] if rows else [],
            "rows": [list(row.values()) for row in rows],
            "files": files_at(address, options.address()),
        },
        "card": score_card(found),
        "measures": [(each, parse_measure(each).spelling) for each in found["measures"]],
        "orders": [row for row in found["rows"]["orders"] if row["measure"] == options.measure],
    }


def _progress(request: HttpRequest, job: Any) -> HttpResponse:
    """The bar of the job; the page asks for it again until the job has ended, and is then loaded anew."""
    context = {"progress": request.get_full_path(), "jobs": [job] if job else []}
    return while_working(render(request, "parts/progress.html", context), job is not None and job.is_unfinished)
