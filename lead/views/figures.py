"""The paper's tables and figures of a campaign: a page of them, and each as a file."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from base.errors import BadValue
from base.problem_documents import refusal_as_message
from base.request_fields import whole, whole_in
from campaigns.models import Membership
from campaigns.pages import campaign_page
from judging import doors
from judging.models import Kind, Query
from judging.pool.study import Plan, ask_for_study
from reports.figures.catalogue import BY_KEY, DRAWN, TABLES, Figure
from reports.figures.explanations import NOTHING
from reports.figures.numbers import Rows, Subject, rows_as_csv
from reports.summaries import FIGURES, current_summary

TYPES = {"svg": "image/svg+xml", "pdf": "application/pdf"}


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponse:
    member = doors.membership(request, name)
    subject = Subject(member.campaign, query=query_of(request, member))
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
    member = doors.membership(request, name)
    key, _, ending = file.rpartition(".")
    figure = BY_KEY.get(key)
    if figure is None or (ending != "csv" and not (figure.drawn and ending in ("json", *TYPES))):
        raise Http404
    numbers = current_summary(member.campaign, figure.summary)
    if numbers.counts is None:
        raise Http404
    rows = figure.rows(numbers.counts, _subject(request, member))
    answer = _file(figure, rows, ending)
    if ending != "json":
        answer["Content-Disposition"] = f'attachment; filename="{member.campaign.name}-{file}"'
    return answer


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
    asked = "?" + urlencode({"query": subject.query.query_id}) if subject.query else ""
    asked = f"?worker={subject.member.worker}" if subject.member else asked
    address = reverse("figure", args=[subject.campaign.name, f"{figure.key}.KIND"])
    return {
        "figure": figure,
        "is_drawn": figure.drawn and len(rows) >= figure.least and tells != NOTHING,
        "caption": figure.captioned(counts, subject),
        "tells": tells,
        "columns": [name.replace("_", " ") for name in rows[0]] if rows else [],
        "rows": [list(row.values()) for row in rows],
        "files": {kind: address.replace("KIND", kind) + asked for kind in ("json", "svg", "pdf", "csv")},
    }


def _subject(request: HttpRequest, member: Membership) -> Subject:
    if "worker" not in request.GET:
        return Subject(member.campaign, query=query_of(request, member))
    who = get_object_or_404(
        member.campaign.memberships, worker=whole("worker", request.GET["worker"], "a worker's number")
    )
    return Subject(member.campaign, member=who)


def query_of(request: HttpRequest, member: Membership) -> Query | None:
    """The query whose id the address names; else the first that has a batch."""
    asked = request.GET.get("query", "").strip()
    pool = member.campaign.queries.pool().order_by("pk")
    if not asked:
        return pool.filter(batches__isnull=False).first()
    found = None if "\0" in asked else pool.filter(query_id=asked[:100]).first()
    if found is None:
        raise BadValue("query", repr(asked[:40]), "the id of one of this campaign’s queries")
    return found


def _file(figure: Figure, rows: Rows, ending: str) -> HttpResponse:
    if ending == "csv":
        return HttpResponse("".join(rows_as_csv(rows)), content_type="text/csv; charset=utf-8")
    from reports.figures import drawing

    if ending == "json":
        return JsonResponse(drawing.specification(figure.key, rows))
    draw = {"svg": drawing.svg, "pdf": drawing.pdf}[ending]
    return HttpResponse(draw(figure.key, rows), content_type=TYPES[ending])
