"""How far annotators agree, the judgements behind each number, and the paper's tables and figures."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from base.forms import valid_data
from base.listing import ON_A_PAGE
from base.problem_documents import refusal_as_message
from base.templatetags.page_parts import Heading
from campaigns import access
from campaigns.models import Campaign, Membership
from campaigns.pages import campaign_page, while_working
from judging.consensus import GRADES
from judging.models import Kind, Query
from judging.pool.ranking import RankingPlan, ask_for_study
from judging.review.reopening import OFF
from lead.forms.judging import StudyForm, SubjectForm
from reports.campaign_summaries import AGREEMENT, FIGURES, QUERIES, SEVERITY, count_agreement, current_summary
from reports.figures.catalogue import DRAWN, DRIFT, NOTHING, TABLES, WEEKS, CampaignFigure
from reports.figures.files import campaign_figure_file, subject_of
from reports.figures.numbers import FigureSubject, annotator_of, disputed, opposed, week_name
from reports.lists import list_page
from reports.statistics.severity import MUCH
from reports.tables.judgements import counted_judgements, judgements_listing

NUMBERS = {
    "judged": "Judged",
    "alpha": "Alpha",
    "kappa": "Quadratic kappa",
    "severity": "Severity",
    "settled": "Settled",
    "contested": "Contested",
    "seconds": "Median seconds",
    "fast": "Under 2 s",
}
OF_PAIRS, OF_TIMES = {"kappa", "severity", "contested"}, {"seconds", "fast"}
MOST_IN_MATRIX = 40
FEW_PAIRS = 30


@require_safe
def overall(request: HttpRequest, name: str) -> HttpResponse:
    member = access.membership(request, name)
    numbers = current_summary(member.campaign, AGREEMENT)
    sort = request.GET.get("sort", "")
    people = _people(member, numbers.counts["annotators"]) if numbers.counts else []
    return campaign_page(
        request,
        member,
        "lead/agreement.html",
        numbers=numbers,
        counts=numbers.counts,
        page=Paginator(_sorted(people, sort), ON_A_PAGE).get_page(request.GET.get("page")),
        headings=_headings(member.campaign),
        sort=sort or "worker",
        weeks=plot_of(WEEKS, numbers.counts, FigureSubject(member.campaign)) if numbers.counts else None,
        matrix=_matrix(people, numbers.counts["matrix"]) if numbers.counts else [],
        most=MOST_IN_MATRIX,
        few=FEW_PAIRS,
    )


@require_safe
def severity(request: HttpRequest, name: str) -> HttpResponse:
    """How severe and how exact each annotator is, and the pairs and queries that this calls into question."""
    member = access.membership(request, name)
    numbers = current_summary(member.campaign, SEVERITY)
    subject = FigureSubject(member.campaign)
    return campaign_page(
        request,
        member,
        "lead/severity.html",
        numbers=numbers,
        counts=numbers.counts,
        people=_sorted(_people(member, numbers.counts["annotators"]), "") if numbers.counts else [],
        opposed=opposed(numbers.counts, subject)[:ON_A_PAGE] if numbers.counts else [],
        disputed=disputed(numbers.counts, subject)[:ON_A_PAGE] if numbers.counts else [],
        much=MUCH,
    )


@require_safe
def annotator(request: HttpRequest, name: str, worker: int) -> HttpResponse:
    member = access.membership(request, name)
    who = get_object_or_404(member.campaign.memberships.select_related("user"), worker=worker)
    numbers = current_summary(member.campaign, AGREEMENT)
    own = annotator_of(numbers.counts, who) if numbers.counts else None
    return campaign_page(
        request,
        member,
        "lead/agreement_annotator.html",
        numbers=numbers,
        counts=numbers.counts,
        who=who,
        own=own,
        others=_people(member, own["others"]) if own else [],
        drift=plot_of(DRIFT, numbers.counts, FigureSubject(member.campaign, member=who)) if own else None,
        grades=GRADES,
        off=OFF,
        weeks=[each | {"name": week_name(each["week"])} for each in own["weeks"] if each["week"]] if own else [],
    )


@require_safe
def queries(request: HttpRequest, name: str) -> HttpResponse:
    """The queries, those with most disagreement first."""
    member = access.membership(request, name)
    numbers = current_summary(member.campaign, QUERIES)
    page = Paginator(numbers.counts or [], ON_A_PAGE).get_page(request.GET.get("page"))
    names = ("pairs", "contested", "discarded", "distance", "mean")
    found = Query.objects.in_bulk([row[0] for row in page])
    listed = [{"query": found[key]} | dict(zip(names, rest, strict=True)) for key, *rest in page if key in found]
    return campaign_page(
        request,
        member,
        "lead/agreement_queries.html",
        numbers=numbers,
        counts=numbers.counts,
        page=page,
        queries=listed,
    )


@require_safe
def judgements(request: HttpRequest, name: str) -> HttpResponseBase:
    member = access.membership(request, name)
    rows = counted_judgements(member.campaign)
    return list_page(request, member, "lead/agreement_judgements.html", judgements_listing(member), rows)


@require_safe
def counting(request: HttpRequest, name: str) -> HttpResponse:
    """How old the numbers are; asks for itself again while newer ones are being counted, then for the page."""
    member = access.membership(request, name)
    numbers = current_summary(member.campaign, FIGURES)
    return while_working(campaign_page(request, member, "lead/_counted.html", numbers=numbers), numbers.counting)


@require_POST
def count(request: HttpRequest, name: str) -> HttpResponse:
    """Have everything counted again."""
    count_agreement.ask(access.lead(request, name).campaign)
    messages.success(request, "The numbers are being counted again.")
    return redirect("agreement", name=name)


def _matrix(people: list[dict[str, Any]], pairs: list[list[Any]]) -> list[dict[str, Any]]:
    """A row for each annotator with a cell for each: their pairs and kappa, or None. Of many, those with most pairs."""
    cells = {key: (number, kappa) for one, other, number, kappa in pairs for key in ((one, other), (other, one))}
    known = [row for row in people if any(row["member"] in key for key in cells)]
    most = sorted(known, key=lambda row: -row["judged"])[:MOST_IN_MATRIX]
    listed = [row["who"] for row in _sorted(most, "")]
    return [{"who": one, "cells": [(other, cells.get((one.pk, other.pk))) for other in listed]} for one in listed]


def _headings(campaign: Campaign) -> list[Heading]:
    """The columns of what is known: imported ratings have no times, and often no rounds."""
    unknown = (OF_TIMES if campaign.imported else set()) | (set() if campaign.rounds_known else OF_PAIRS)
    known = {key: text for key, text in NUMBERS.items() if key not in unknown}
    numbers = (Heading(text, is_number=True, sort_key=key) for key, text in known.items())
    return [Heading("Worker", sort_key="worker"), *numbers]


def _people(member: Membership, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with the memberships that they are of."""
    found = member.campaign.memberships.select_related("user").in_bulk([row["member"] for row in rows])
    return [row | {"who": found[row["member"]]} for row in rows if row["member"] in found]


def _sorted(people: list[dict[str, Any]], sort: str) -> list[dict[str, Any]]:
    """By worker, or by a number with the largest first and the unknown last."""
    if sort not in NUMBERS:
        return sorted(people, key=lambda row: int(row["who"].worker))
    return sorted(people, key=lambda row: (row[sort] is None, -(row[sort] or 0)))


@require_safe
def figures_page(request: HttpRequest, name: str) -> HttpResponse:
    member = access.membership(request, name)
    subject = subject_of(member.campaign, valid_data(SubjectForm(request.GET))["query"])
    numbers = current_summary(member.campaign, FIGURES)
    has_any = bool(numbers.counts and numbers.counts["splits"]["all"]["queries"])
    return campaign_page(
        request,
        member,
        "lead/figures.html",
        numbers=numbers,
        counts=numbers.counts,
        tables=[plot_of(table, numbers.counts, subject) for table in TABLES] if has_any else [],
        figures=[plot_of(each, numbers.counts, subject) for each in DRAWN] if has_any else [],
        query=subject.query,
        study=member.campaign.queries.filter(kind=Kind.STUDY).count(),
        plan=RankingPlan(),
    )


@require_safe
def figure_file(request: HttpRequest, name: str, file: str) -> HttpResponse:
    """A figure as its specification, SVG, PDF, or the CSV of its numbers."""
    member = access.membership(request, name)
    access.count_file(request, file.rpartition(".")[2])
    return campaign_figure_file(subject_of(member.campaign, **valid_data(SubjectForm(request.GET))), file)


@require_POST
def start_study(request: HttpRequest, name: str) -> HttpResponse:
    """Ask for the study with the numbers of the form."""
    lead = access.lead(request, name)
    form = StudyForm(request.POST)
    valid_data(form)
    with refusal_as_message(request):
        ask_for_study(lead.campaign, form.plan)
        messages.success(request, "The study’s candidates are being ranked. Its batches open by themselves.")
    return redirect("figures", name=name)


def plot_of(figure: CampaignFigure, counts: Any, subject: FigureSubject) -> dict[str, Any]:
    """A figure as the page shows it: its words, its numbers, and the addresses of its files."""
    rows = figure.rows(counts, subject)
    tells = figure.tells(rows)
    params = "?" + urlencode({"query": subject.query.query_id}) if subject.query else ""
    params = f"?worker={subject.member.worker}" if subject.member else params
    address = reverse("figure", args=[subject.campaign.name, f"{figure.key}.KIND"])
    has_enough = len(rows) >= figure.least and tells != NOTHING
    return {
        "figure": figure,
        "is_drawn": figure.drawn and has_enough,
        "is_empty": not has_enough,
        "caption": figure.captioned(counts, subject),
        "tells": tells,
        "columns": [name.replace("_", " ") for name in rows[0]] if rows else [],
        "rows": [list(row.values()) for row in rows],
        "files": {kind: address.replace("KIND", kind) + params for kind in ("json", "svg", "pdf", "csv")},
    }
