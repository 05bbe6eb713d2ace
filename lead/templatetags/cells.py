"""What the lead's lists show in a column, where that is more than its value in words."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

from base.listing import Column
from base.templatetags.figures import UNKNOWN, decimals, plain
from reports.tables.queries import QueryRow

register = template.Library()


def _text(row: QueryRow) -> SafeString:
    ids = " = ".join([row.query.query_id, *row.query.aliases])
    first = row.batches[0].batch if row.batches else None
    if first is None:
        return format_html('{} <span class="quiet">{}</span>', row.query.text, ids)
    address = reverse("batch", args=[row.query.campaign.name, first.pk])
    return format_html('<a class="plain" href="{}">{}</a> <span class="quiet">{}</span>', address, row.query.text, ids)


def _squares(row: QueryRow) -> SafeString:
    if not row.batches:
        return format_html('<span class="quiet">{}</span>', "not ranked yet")
    square = '<a class="square {0}" href="{1}" title="Batch {2}: {3}">{2}<span class="hidden">: {3}</span></a>'
    name = row.query.campaign.name
    return format_html_join(
        "",
        square,
        (
            (each.look, reverse("batch", args=[name, each.batch.pk]), each.batch.number, each.words)
            for each in row.batches
        ),
    )


CELLS: dict[type, dict[str, Callable[[Any], object]]] = {
    QueryRow: {
        "text": _text,
        "batches": _squares,
        "mean": lambda row: decimals(row.query.last_mean, 1),
        "contested": lambda row: UNKNOWN if row.query.contested_share is None else f"{row.query.contested_share:.0%}",
        "similarity": lambda row: decimals(row.query.similarity, 2),
    }
}


@register.filter
def cell(row: Any, column: Column) -> object:
    """What a row has in a column."""
    if own := CELLS.get(type(row), {}).get(column.key):
        return own(row)
    value = column.value(row)
    if isinstance(value, datetime):
        return format_html('<span class="when">{}</span>', f"{timesince(value, depth=1)} ago")
    return plain(value)
