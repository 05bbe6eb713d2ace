"""The paper's tables and figures of a campaign: a page of them, and each as a file."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from base.problem_documents import refusal_as_message
from base.request_fields import whole_in
from campaigns.pages import campaign_page
from judging import doors
from judging.models import Kind
from judging.pool.ranking import Plan, ask_for_study
from reports.figures.catalogue import DRAWN, NOTHING, TABLES, Figure
from reports.figures.files import campaign_figure_file, query_of
from reports.figures.numbers import Subject
from reports.summaries import FIGURES, current_summary


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponse:
    member = doors.membership(request, name)
    subject = Subject(member.campaign, query=query_of(member.campaign, request.GET))
    numbers = current_summary(member.campaign, FIGURES)
    has_any = bool(numbers.counts and numbers.counts["splits"]["all"]["queries"])
    return campaign_page(
        request,
        member,
        "lead/figures.html",
        numbers=numbers,
        counts=numbers.counts,
        tables=[plot_of(each, numbers.counts, subject) for each in TABLES] if has_any else [],
        figures=[plot_of(each, numbers.counts, subject) for each in DRAWN] if has_any else [],
        query=subject.query,
        study=member.campaign.queries.filter(kind=Kind.STUDY).count(),
        plan=Plan(),
    )


@require_safe
def download(request: HttpRequest, name: str, file: str) -> HttpResponse:
    """A figure as its specification, SVG, PDF, or the CSV of its numbers."""
    return campaign_figure_file(doors.membership(request, name).campaign, file, request.GET)


@require_POST
def start_study(request: HttpRequest, name: str) -> HttpResponse:
    """Ask for the study with the numbers of the form."""
    lead = doors.lead(request, name)
    plan = Plan(**{field: whole_in(request.POST, field, str(n)) for field, n in Plan()._asdict().items()})
    with refusal_as_message(request):
        ask_for_study(lead.campaign, plan)
        messages.success(request, "The study’s candidates are being ranked. Its batches open by themselves.")
    return redirect("figures", name=name)


def plot_of(figure: Figure, counts: Any, subject: Subject) -> dict[str, Any]:
    """A figure as the page shows it: its words, its numbers, and the addresses of its files."""
    rows = figure.rows(counts, subject)
    tells = figure.tells(rows)
    params = "?" + urlencode({"query": subject.query.query_id}) if subject.query else ""
    params = f"?worker={subject.member.worker}" if subject.member else params
    address = reverse("figure", args=[subject.campaign.name, f"{figure.key}.KIND"])
    return {
        "figure": figure,
        "is_drawn": figure.drawn and len(rows) >= figure.least and tells != NOTHING,
        "caption": figure.captioned(counts, subject),
        "tells": tells,
        "columns": [name.replace("_", " ") for name in rows[0]] if rows else [],
        "rows": [list(row.values()) for row in rows],
        "files": {kind: address.replace("KIND", kind) + params for kind in ("json", "svg", "pdf", "csv")},
    }
