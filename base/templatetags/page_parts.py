"""The parts that pages are made of: tables, rows of forms, buttons, paging, empty states. Each is written once.

Their HTML is in templates/parts; every template may use them without loading anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from django import template
from django.core.paginator import Page
from django.forms import BoundField
from django.template.loader import render_to_string

register = template.Library()


class Heading(NamedTuple):
    """The heading of a table's column."""

    text: str
    is_number: bool = False  # the cells have the class `n`, and stand to the right
    is_hidden: bool = False  # heard by screen readers, not seen
    address: str = ""  # makes it a link to this address
    is_current: bool = False  # whether the rows are sorted by that link


@register.filter
def number(heading: str | Heading) -> Heading:
    """Mark the heading of a column of numbers: `"Hours"|number`."""
    return _heading(heading)._replace(is_number=True)


@register.filter
def hidden(heading: str | Heading) -> Heading:
    """Mark a heading that is for screen readers only: `"Withdraw"|hidden`."""
    return _heading(heading)._replace(is_hidden=True)


@register.filter
def only_if(heading: str | Heading, wanted: object) -> Heading | None:
    """Leave the column out unless it is wanted: `"Days"|only_if:several`."""
    return _heading(heading) if wanted else None


def _heading(heading: str | Heading) -> Heading:
    return heading if isinstance(heading, Heading) else Heading(str(heading))


@register.simple_block_tag
def table(content: str, *headings: str | Heading | list[Heading] | None, **options: str) -> str:
    """Write a table around its body's rows: `{% table "Query" "Hours"|number %}<tr>…</tr>{% endtable %}`.

    headings: one for each column, in their order, or lists of them; None leaves a column out.
    options: `kind`: a class beside that of every table; `label`: what the table shows, where no heading says so.
    """
    columns = [
        _heading(heading)
        for each in headings
        for heading in (each if isinstance(each, list) else [each])
        if heading is not None
    ]
    return render_to_string("parts/table.html", options | {"columns": columns, "rows": content})


@register.simple_block_tag
def row(content: str, label: str, **options: str) -> str:
    """Write a row of a form around its control: `{% row "Reason" %}<input name="reason">{% endrow %}`.

    Options are `help`, a sentence below the control, and `kind="tick"` for a checkbox.
    """
    return render_to_string("parts/form_row.html", options | {"label": label, "control": content})


@register.inclusion_tag("parts/form_row.html")
def form_row(field: BoundField) -> dict[str, Any]:
    """Write the same row for a field of a Django form, with its help and its errors.

    A page of a refused form comes with the focus on the first field that is wrong, so that it is in sight.
    """
    is_tick = getattr(field.field.widget, "input_type", "") == "checkbox"
    errors = field.errors
    if errors:
        field.field.widget.attrs["autofocus"] = True
    return {
        "label": field.label,
        "control": field,
        "control_id": field.id_for_label,
        "help": field.help_text,
        "help_id": f"{field.auto_id}_helptext",
        "errors": errors,
        "kind": "tick" if is_tick else "",
    }


@register.inclusion_tag("parts/form_rows.html")
def form_rows(form: Any) -> dict[str, Any]:
    """Write every row of a Django form, and the errors that belong to no single field."""
    return {"form": form}


@register.inclusion_tag("parts/post_button.html", takes_context=True)
def post_button(
    context: Mapping[str, Any],
    words: str,
    address: str,
    look: str = "",
    key: str = "",
    about: str = "",
    focus: bool = False,
    **fields: object,
) -> dict[str, Any]:
    """Write a button that posts `fields` to an address, as a form of its own.

    `look` is the button's class, `key` the key that presses it, `about` what a screen reader adds to its words; `focus`
    gives it the focus when the page opens.
    """
    return {
        "words": words,
        "address": address,
        "look": look,
        "key": key,
        "about": about,
        "focus": focus,
        "fields": fields.items(),
        "csrf_token": context.get("csrf_token"),
    }


@register.inclusion_tag("parts/paging.html", takes_context=True)
def paging(
    context: Mapping[str, Any],
    page: Page[Any] | None = None,
    before: object = None,
    after: object = None,
    is_first: bool = True,
    at: str = "",
) -> dict[str, Any]:
    """Link the pages of a list: those around `page`, or the one that goes on before or after a key, and the first.

    The links keep whatever else the address says, such as filters. `at` is the place on the page that they lead to.
    """
    links = {"page": page, "before": before, "after": after, "is_later": not is_first, "at": at}
    return links | {"request": context["request"]}


@register.simple_block_tag
def empty_state(content: str) -> str:
    """Write what stands where there is nothing to list, and what to do next."""
    return render_to_string("parts/empty.html", {"content": content})
