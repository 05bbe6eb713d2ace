"""Why a run has its score: its queries, one query rank by rank, and runs beside each other."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from base.forms import valid_data
from base.templatetags.page_parts import Heading
from campaigns.models import Membership
from campaigns.pages import campaign_page
from metrics import CONVENTIONS
from runs import access
from runs.explain.cases import case_of, drawing_of
from runs.explain.queries import (
    MOST_RUNS,
    ExplanationOptions,
    ScoredQuery,
    address_of,
    explanation_options,
    scatter_file,
    scored_queries,
    texts_of,
)
from runs.forms import ExplanationForm, QueryForm
from runs.models import Run

ON_A_PAGE = 50
GAINS = ("Gain", "Discount", "Counts")


@require_safe
def queries(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """The queries of a run, the worst first; beside other runs, those first on which they differ most."""
    member = access.participant(request, name)
    options = explanation_options(member, number, **valid_data(ExplanationForm(request.GET)))
    if options is None:
        return _not_scored(request, member)
    lines = scored_queries(options)
    page = Paginator(lines or [], ON_A_PAGE).get_page(request.GET.get("page"))
    texts = texts_of(member.campaign, page.object_list)
    return campaign_page(
        request,
        member,
        "runs/queries.html",
        page=page,
        rows=[(line, texts.get(line.query, ""), address_of(options, line.query)) for line in page],
        is_refused=lines is None,
        headings=_headings(options),
        plot=_plot(options, lines) if len(options.others) == 1 and lines else None,
        **_offered(options, member),
    )


@require_safe
def query(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """One query: judged moments and predictions on the time lines of their videos, and what each rank counts."""
    member = access.participant(request, name)
    options = explanation_options(member, number, **valid_data(ExplanationForm(request.GET)))
    if options is None:
        return _not_scored(request, member)
    query_id = valid_data(QueryForm(request.GET))["query"]
    case = case_of(options, query_id)
    if case is None:
        raise Http404
    values = {name: [side.values.get(name) for side in case.sides] for name in CONVENTIONS}
    context: dict[str, Any] = {
        "case": case,
        "drawing": drawing_of(case),
        "gains": [Heading(words, is_number=True) for words in GAINS] if case.sides[0].ideal is not None else [],
        "headings": _headings(options),
        "values": [(name, row) for name, row in values.items() if any(value is not None for value in row)],
        **_offered(options, member, query=query_id),
    }
    return campaign_page(request, member, "runs/query.html", **context)


@require_safe
def scatter(request: HttpRequest, name: str, number: int, format: str) -> HttpResponse:
    """The figure of two runs as its specification, as SVG or PDF, or the CSV of its numbers."""
    member = access.participant(request, name)
    data = valid_data(ExplanationForm(request.GET))
    access.count_file(request, format)
    return scatter_file(explanation_options(member, number, **data), data["against"], format)


def _not_scored(request: HttpRequest, member: Membership) -> HttpResponse:
    release = member.campaign.releases.newest()
    return campaign_page(request, member, "runs/no_board.html", release=release, title="Why this score")


def _offered(options: ExplanationOptions, member: Membership, **kept: str) -> dict[str, Any]:
    """What every page offers to choose from; `kept` is what its address says besides."""
    runs = Run.objects.seen_by(member).filter(scorings__release=options.reference.release).order_by("number")
    kept_too = f"&{urlencode(kept)}" if kept else ""
    return {
        "options": options,
        "kept": kept,
        "others": [run for run in runs if run != options.run],
        "places": _places(options),
        "runs": [Heading(run.name) for run in options.runs],
        "conventions": [(each, address + kept_too) for each, address in options.conventions],
    }


def _headings(options: ExplanationOptions) -> list[Heading]:
    return [Heading(run.name, is_number=True) for run in options.runs]


def _places(options: ExplanationOptions) -> list[tuple[str, Run | None]]:
    """What the page offers beside the run: each run that it has there now, and room for one more."""
    labels = ["Beside", *["And"] * (MOST_RUNS - 2)]
    return list(zip(labels, [*options.others, None], strict=False))


def _plot(options: ExplanationOptions, lines: list[ScoredQuery]) -> dict[str, Any]:
    """The scatter of two runs: what it says in words, and where its files are."""
    [other], where = options.others, [options.run.campaign.name, options.run.number]
    files = {
        kind: f"{reverse('run-scatter', args=[*where, kind])}?{options.address()}"
        for kind in ("json", "svg", "pdf", "csv")
    }
    better = sum((line.difference or 0) > 0 for line in lines)
    worse = sum((line.difference or 0) < 0 for line in lines)
    ties = len(lines) - better - worse
    words = f"{options.run} scores higher on {better:,} queries and {other} on {worse:,}; they tie on {ties:,}."
    return {"files": files, "words": words, "points": len(lines)}
