"""How far annotators agree, the judgements behind each number, and the paper's tables and figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from base.forms import valid_data
from base.problem_documents import refusal_as_message
from campaigns import access
from campaigns.models import Campaign, Membership
from campaigns.pages import campaign_page, while_working
from judging.pool.ranking import ask_for_study
from lead.forms.judging import StudyForm, SubjectForm
from lead.marks import Matrix
from reports.campaign_summaries import (
    AGREEMENT,
    FIGURES,
    QUERIES,
    SEVERITY,
    CurrentSummary,
    count_agreement,
    current_summaries,
    current_summary,
)
from reports.figures.catalogue import NOTHING, SEVERITIES, TOO_FEW, WEEKS, CampaignFigure
from reports.figures.files import campaign_figure_file, files_at, subject_of
from reports.figures.numbers import FigureSubject, opposed
from reports.lists import list_page
from reports.tables.judgements import contested_queries, counted_judgements, judgements_listing

CONTESTED_SHOWN = 10  # queries


@require_safe
def overall(request: HttpRequest, name: str) -> HttpResponse:
    """Alpha on its scale, the weeks, each annotator and each two, and the queries with most disagreement."""
    member = access.membership(request, name)
    summaries = current_summaries(member.campaign, AGREEMENT, SEVERITY, QUERIES)
    numbers, order = summaries[AGREEMENT], request.GET.get("order", "")
    return campaign_page(
        request,
        member,
        "lead/agreement.html",
        numbers=numbers,
        counts=numbers.counts,
        **(_pictures(member, summaries, order, request.GET) if numbers.counts and numbers.counts["judgements"] else {}),
    )


def _pictures(
    member: Membership, summaries: dict[str, CurrentSummary], order: str, params: Mapping[str, str]
) -> dict[str, Any]:
    counts, severities = summaries[AGREEMENT].counts, summaries[SEVERITY].counts
    people, subject = named_people(member, counts["annotators"]), FigureSubject(member.campaign)
    model = {row["member"]: row["severity"] for row in severities["annotators"]} if severities else {}
    matrix = Matrix.of(people, counts["matrix"], model, order, member.may_review)
    return alpha_of(member.campaign, counts) | {
        "weeks": plot_of(WEEKS, counts, subject),
        "severities": plot_of(SEVERITIES, severities, subject) if severities else None,
        "matrix": matrix,
        "pair": matrix.pair(params.get("one", ""), params.get("other", "")) if "drawer" in params else None,
        "queries": contested_queries(member.campaign, (summaries[QUERIES].counts or [])[:CONTESTED_SHOWN]),
        "opposed": opposed(severities, subject)[:CONTESTED_SHOWN] if severities else [],
        "disputed": {row["query"]: row for row in severities["queries"]} if severities else {},
    }


def alpha_of(campaign: Campaign, counts: Any) -> dict[str, Any]:
    """Return the alpha that pages show, with the ends of its interval."""
    name = "round_one" if campaign.rounds_known else "all"
    return {"alpha": counts["alpha"][name], "ends": counts["alpha_interval"][name]}


@require_safe
def judgements(request: HttpRequest, name: str) -> HttpResponseBase:
    member = access.membership(request, name)
    rows = counted_judgements(member.campaign)
    return list_page(request, member, "lead/judgements.html", judgements_listing(member), rows)


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


def named_people(member: Membership, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows with the memberships that they are of, by worker number."""
    found = member.campaign.memberships.select_related("user").in_bulk([row["member"] for row in rows])
    named = [row | {"who": found[row["member"]]} for row in rows if row["member"] in found]
    return sorted(named, key=lambda row: int(row["who"].worker))


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
    return redirect("releases", name=name)


def plot_of(figure: CampaignFigure, counts: Any, subject: FigureSubject) -> dict[str, Any]:
    """A figure as the page shows it: its words, its numbers, and the addresses of its files."""
    rows = figure.rows(counts, subject)
    tells = figure.tells(rows)
    params = urlencode({"query": subject.query.query_id}) if subject.query else ""
    params = f"worker={subject.member.worker}" if subject.member else params
    address = reverse("figure", args=[subject.campaign.name, f"{figure.key}.KIND"])
    has_enough = len(rows) >= figure.least and tells not in (NOTHING, TOO_FEW)
    return {
        "figure": figure,
        "is_drawn": figure.drawn and has_enough,
        "is_empty": not has_enough,
        "caption": figure.captioned(counts, subject),
        "tells": tells,
        "columns": [name.replace("_", " ") for name in rows[0]] if rows else [],
        "rows": [list(row.values()) for row in rows],
        "files": files_at(address, params),
    }
