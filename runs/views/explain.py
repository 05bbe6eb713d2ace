"""Why a run has its score: runs beside each other query by query, one query rank by rank, and the figures of both."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from base.forms import valid_data
from base.templatetags.page_parts import Heading
from campaigns.models import Membership
from campaigns.pages import campaign_page
from metrics import CONVENTIONS
from runs import access
from runs.explain.cases import Case, case_of, time_lines
from runs.explain.figures import plot_of, run_figure_file, tell_queries, tell_scatter
from runs.explain.queries import (
    EXPLAINED,
    MOST_RUNS,
    ExplanationOptions,
    address_of,
    explanation_options,
    largest_loss,
    scored_queries,
    texts_of,
)
from runs.forms import CompareForm, ExplainForm, FigureForm
from runs.models import Run

ON_A_PAGE = 50
GAINS = ("Gain", "Discount", "Counts")


@require_safe
def compare(request: HttpRequest, name: str) -> HttpResponse:
    """The queries of a run, the worst first; beside other runs, those first on which they differ most."""
    member = access.participant(request, name)
    options = explanation_options(member, **valid_data(CompareForm(request.GET)))
    if options is None:
        return _not_scored(request, member)
    lines = scored_queries(options)
    page = Paginator(lines or [], ON_A_PAGE).get_page(request.GET.get("page"))
    texts = texts_of(member.campaign, page.object_list)
    context: dict[str, Any] = {
        "page": page,
        "rows": [(line, texts.get(line.query, ""), address_of(options, line.query)) for line in page],
        "is_refused": lines is None,
        "plots": [],
        **_offered(options, member),
    }
    if lines and len(options.others) < 2:
        key, tells = ("scatter", tell_scatter(options, lines)) if options.others else ("queries", tell_queries(lines))
        context["plots"] = [plot_of(options, key, tells)]
    return campaign_page(request, member, "runs/compare.html", **context)


@require_safe
def explain(request: HttpRequest, name: str) -> HttpResponse:
    """One query: what each run finds, rank by rank, on the time lines of the videos; without a query, the worst one."""
    member = access.participant(request, name)
    data = valid_data(ExplainForm(request.GET))
    query = data.pop("query")
    options = explanation_options(member, **data)
    if options is None:
        return _not_scored(request, member)
    if not query and (line := largest_loss(scored_queries(options) or [])):
        return redirect(address_of(options, line.query))
    case = case_of(options, query)
    if case is None:
        raise Http404
    return campaign_page(request, member, "runs/explain.html", **_explained(case, options), **_offered(options, member))


def _explained(case: Case, options: ExplanationOptions) -> dict[str, Any]:
    values = {name: [side.values.get(name) for side in case.sides] for name in CONVENTIONS}
    rows = [(name, row) for name, row in values.items() if any(value is not None for value in row)]
    lines, has_gain = time_lines(case), case.sides[0].ideal is not None
    return {
        "case": case,
        "lines": lines,
        "folded": sum(not line.is_relevant for line in lines),
        "gains": [Heading(words, is_number=True) for words in GAINS] if has_gain else [],
        "values": rows if len({str(row) for _, row in rows}) > 1 else [],
        "plots": [plot_of(options, "gain", " ".join(case.sentences), query=case.query)] if has_gain else [],
        "kept": {"query": case.query},
    }


@require_safe
def figure(request: HttpRequest, name: str, number: int, figure: str, format: str) -> HttpResponse:
    """A figure of a run as its specification, as SVG or PDF, or the CSV of its numbers."""
    member = access.participant(request, name)
    data = valid_data(FigureForm(request.GET))
    query = data.pop("query")
    access.count_file(request, format)
    return run_figure_file(explanation_options(member, number, **data), data["against"], figure, format, query)


def _not_scored(request: HttpRequest, member: Membership) -> HttpResponse:
    release = member.campaign.releases.newest()
    return campaign_page(request, member, "runs/no_board.html", release=release, title="Compare")


def _offered(options: ExplanationOptions, member: Membership) -> dict[str, Any]:
    """What every page offers to choose from."""
    runs = Run.objects.seen_by(member).filter(scorings__release=options.reference.release).order_by("number")
    labels = ["Run", *["Beside"] * (MOST_RUNS - 1)]
    return {
        "options": options,
        "known": runs,
        "places": list(zip(labels, [*options.runs, None], strict=False)),
        "runs": options.runs,
        "headings": [Heading(run.name, is_number=True) for run in options.runs],
        "conventions": [CONVENTIONS[each] for each in EXPLAINED],
    }
