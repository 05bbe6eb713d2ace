"""How far annotators agree: overall, one annotator, the queries, and the judgements behind each number."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from campaigns.models import Membership
from judging import doors
from judging.models import Query
from lead.tables.judgements import FILTERS, ON_A_PAGE, ONLY, evidence
from lead.views.figures import shown
from reports.figures.catalogue import DRIFT, WEEKS
from reports.figures.numbers import Subject, annotator_of, week_name
from reports.summaries import AGREEMENT, FIGURES, QUERIES, ask_to_count, current_summary

SORTS = ("worker", "judged", "kappa", "severity", "settled", "contested", "seconds", "fast")


@require_safe
def overall(request: HttpRequest, name: str) -> HttpResponse:
    member = doors.membership(request, name)
    numbers = current_summary(member.campaign, AGREEMENT)
    sort = request.GET.get("sort", "")
    people = _people(member, numbers.counts["annotators"]) if numbers.counts else []
    context = _context(member, numbers) | {
        "page": Paginator(_sorted(people, sort), ON_A_PAGE).get_page(request.GET.get("page")),
        "sort": sort,
        "weeks": shown(WEEKS, numbers.counts, Subject(member.campaign)) if numbers.counts else None,
    }
    return render(request, "lead/agreement.html", context)


@require_safe
def annotator(request: HttpRequest, name: str, worker: int) -> HttpResponse:
    member = doors.membership(request, name)
    who = get_object_or_404(member.campaign.memberships.select_related("user"), worker=worker)
    numbers = current_summary(member.campaign, AGREEMENT)
    mine = annotator_of(numbers.counts, who) if numbers.counts else None
    context = _context(member, numbers) | {
        "who": who,
        "mine": mine,
        "others": _people(member, mine["others"]) if mine else [],
        "drift": shown(DRIFT, numbers.counts, Subject(member.campaign, member=who)) if mine else None,
        "levels": range(5),
        "weeks": [each | {"name": week_name(each["week"])} for each in mine["weeks"]] if mine else [],
    }
    return render(request, "lead/agreement_annotator.html", context)


@require_safe
def queries(request: HttpRequest, name: str) -> HttpResponse:
    """The queries, those with most disagreement first."""
    member = doors.membership(request, name)
    numbers = current_summary(member.campaign, QUERIES)
    page = Paginator(numbers.counts or [], ON_A_PAGE).get_page(request.GET.get("page"))
    names = ("pairs", "contested", "discarded", "distance", "mean")
    found = Query.objects.in_bulk([row[0] for row in page])
    rows = [
        {"query": found[key]} | dict(zip(names, rest, strict=True)) for key, *rest in page if key in found
    ]
    context = _context(member, numbers) | {"page": page, "rows": rows}
    return render(request, "lead/agreement_queries.html", context)


@require_safe
def judgements(request: HttpRequest, name: str) -> HttpResponse:
    member = doors.membership(request, name)
    asked = {key: value for key in FILTERS if (value := request.GET.get(key)) and key != "before"}
    found = evidence(member.campaign, request.GET)
    context = {
        "member": member,
        "campaign": member.campaign,
        "found": found,
        "asked": asked,
        "further": urlencode(asked | {"before": found.older}),
        "only": ONLY,
    }
    return render(request, "lead/agreement_judgements.html", context)


@require_safe
def counting(request: HttpRequest, name: str) -> HttpResponse:
    """How old the numbers are; asks for itself again while newer ones are being counted, then for the page."""
    member = doors.membership(request, name)
    numbers = current_summary(member.campaign, FIGURES)
    answer = render(request, "lead/_counted.html", _context(member, numbers))
    if not numbers.counting:
        answer["HX-Refresh"] = "true"
    return answer


@require_POST
def count(request: HttpRequest, name: str) -> HttpResponse:
    """Have everything counted again."""
    ask_to_count(doors.lead(request, name).campaign)
    messages.success(request, "The numbers are being counted again.")
    return redirect("agreement", name=name)


def _context(member: Membership, numbers: Any) -> dict[str, Any]:
    return {"member": member, "campaign": member.campaign, "numbers": numbers, "counts": numbers.counts}


def _people(member: Membership, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with the memberships that they are of."""
    found = member.campaign.memberships.select_related("user").in_bulk([row["member"] for row in rows])
    return [row | {"who": found[row["member"]]} for row in rows if row["member"] in found]


def _sorted(people: list[dict[str, Any]], sort: str) -> list[dict[str, Any]]:
    """By worker, or by a number with the largest first and the unknown last."""
    if sort not in SORTS[1:]:
        return sorted(people, key=lambda row: int(row["who"].worker))
    return sorted(people, key=lambda row: (row[sort] is None, -(row[sort] or 0)))
