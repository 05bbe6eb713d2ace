"""What the lead's lists show in a column, where that is more than its value in words."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django import template
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.timesince import timesince
from django.utils.timezone import localtime

from base.listing import Column, Part
from base.templatetags.figures import UNKNOWN, decimals, plain
from campaigns.models import LogEntry, Membership
from judging.models import Judgement
from reports.tables.batch import named
from reports.tables.judgements import Line
from reports.tables.queries import QueryRow

register = template.Library()


def _text(row: QueryRow) -> SafeString:
    ids = " = ".join([row.query.query_id, *row.query.aliases])
    first = row.batches[0].batch if row.batches else None
    if first is None:
        return format_html('{} <span class="quiet">{}</span>', row.query.text, ids)
    address = reverse("batch", args=[row.query.campaign.name, first.pk])
    return format_html('<a class="plain" href="{}">{}</a> <span class="quiet">{}</span>', address, row.query.text, ids)


def _percent(share: float | None) -> str:
    return UNKNOWN if share is None else f"{100 * share:.0f} %"


def _squares(row: QueryRow) -> SafeString:
    if not row.batches:
        return format_html('<span class="quiet">{}</span>', "not ranked yet")
    square = '<a class="square {0}" href="{1}" title="Batch {2}: {3}">{2}<span class="hidden">: {3}</span></a>'
    address = reverse("batch", args=[row.query.campaign.name, 0])
    return format_html_join(
        "",
        square,
        (
            (each.look, address.replace("/0/", f"/{each.batch.pk}/"), each.batch.number, each.words)
            for each in row.batches
        ),
    )


def _query_of(line: Line) -> SafeString:
    candidate = line.judgement.candidate
    return format_html('<a class="plain" href="?query={}">{}</a>', candidate.query_id, candidate.query)


def _rank(line: Line) -> SafeString:
    candidate = line.judgement.candidate
    batch = reverse("batch", args=[candidate.query.campaign.name, candidate.batch_id])
    rank = format_html('<a href="{}">rank {}</a>', batch, candidate.rank)
    if not candidate.clip or not candidate.clip.is_ready:
        return rank
    return format_html('{} <a href="{}">clip</a>', rank, reverse("clip", args=[candidate.clip.token]))


def _worker(judgement: Judgement | None, reader: Membership | None) -> object:
    if judgement is None or reader is None:
        return format_html('<span class="quiet">{}</span>', "not yet")
    who = judgement.annotator.as_worker
    address = reverse("agreement-annotator", args=[reader.campaign.name, who.worker])
    return format_html('<a href="{}">{}</a>', address, named(who, reader))


def _grade(judgement: Judgement | None) -> object:
    return format_html('<span class="dot g{0}">{0}</span>', judgement.grade) if judgement else ""


CELLS: dict[type, dict[str, Callable[[Any], object]]] = {
    QueryRow: {
        "text": _text,
        "batches": _squares,
        "mean": lambda row: decimals(row.query.last_mean, 1),
        "contested": lambda row: _percent(row.query.contested_share),
        "similarity": lambda row: decimals(row.query.similarity, 2),
    },
    LogEntry: {
        "at": lambda entry: date_format(localtime(entry.at), "j M Y, H:i"),
        "before": lambda entry: entry.before or UNKNOWN,
        "after": lambda entry: entry.after or UNKNOWN,
    },
    Line: {
        "query": _query_of,
        "rank": _rank,
        "worker": lambda line: _worker(line.judgement, line.reader),
        "grade": lambda line: _grade(line.judgement),
        "other": lambda line: _worker(line.other, line.reader),
        "other_grade": lambda line: _grade(line.other),
        "seconds": lambda line: decimals(line.seconds, 1),
        "submitted": lambda line: date_format(localtime(line.judgement.assignment.submitted), "j M Y, H:i"),
    },
}


def cell(row: Any, column: Column) -> object:
    """What a row has in a column."""
    if own := CELLS.get(type(row), {}).get(column.key):
        return own(row)
    value = column.value(row)
    if isinstance(value, datetime):
        return format_html('<span class="when">{}</span>', f"{timesince(value, depth=1)} ago")
    return plain(value)


@register.simple_tag
def list_rows(listed: Part, ticks: object) -> SafeString:
    """Write the rows of a list, which is faster here than in a template, cell by cell."""
    columns = [(column, ' class="n"' if column.is_number else "") for column in listed.choices.columns]
    box = '<td class="ticks"><input type="checkbox" name="row" value="{}" aria-label="Tick {}"></td>'
    return mark_safe(  # noqa: S308 - of parts that are escaped
        "".join(
            "<tr>"
            + (format_html(box, line.pk, line) if ticks else "")
            + "".join(
                format_html('<td{} data-label="{}">{}</td>', mark_safe(look), column.label, cell(line, column))  # noqa: S308
                for column, look in columns
            )
            + "</tr>"
            for line in listed.lines
        )
    )
