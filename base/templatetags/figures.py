"""How numbers are written in tables, where what is not known is a dash; and what a browser calls itself, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from base.text import markup, with_minus
from base.text import percent as written

register = template.Library()
UNKNOWN = "–"
# The first that occurs counts: most browsers also name those that they descend from.
BROWSERS = {
    "Edg": "Edge",
    "OPR": "Opera",
    "Firefox": "Firefox",
    "FxiOS": "Firefox",
    "Chrom": "Chrome",
    "Safari": "Safari",
}
SYSTEMS = {name: name for name in ("Android", "iPhone", "iPad", "Windows")} | {"Mac OS": "macOS", "Linux": "Linux"}


@register.filter
def plain(value: Any) -> str:
    """Any value of a row: thousands apart, and three decimals at most.

    >>> plain(12345), plain(0.61234), plain(-0.5), plain(None), plain("2026-W05")
    ('12,345', '0.612', '−0.5', '–', '2026-W05')
    """
    if value is None:
        return UNKNOWN
    if isinstance(value, float):
        return with_minus(f"{value:,.3f}".rstrip("0").rstrip("."))
    return with_minus(f"{value:,}") if isinstance(value, int) else str(value)


@register.filter
def cells(row: Sequence[Any]) -> SafeString:
    """The cells of a row, the first of words and the others of numbers; a template takes nearly five times as long.

    >>> cells(["<all>", 12345])
    '<td>&lt;all&gt;</td><td class="n">12,345</td>'
    """
    return markup("<td>{}</td>" + '<td class="n">{}</td>' * (len(row) - 1), *map(plain, row))


@register.filter
def percent(value: float | None) -> str:
    """A share.

    >>> percent(0.0811)
    '8.1 %'
    """
    return UNKNOWN if value is None else written(value, 1)


@register.filter
def share_of(number: int, whole: int) -> str:
    """A number as a share of another, with two decimals.

    >>> share_of(17_421, 96_483), share_of(0, 0)
    ('18.06 %', '–')
    """
    return f"{100 * number / whole:.2f} %" if whole else UNKNOWN


@register.filter
def decimals(value: float | None, places: int) -> str:
    """A number with so many decimals.

    >>> decimals(-0.123, 2), decimals(1234.5, 1), decimals(-0.001, 2)
    ('−0.12', '1,234.5', '0.00')
    """
    return UNKNOWN if value is None else with_minus(f"{round(value, places) + 0.0:,.{places}f}")  # never −0


@register.filter
def interval(ends: tuple[float, float] | None, places: int) -> str:
    """The ends of an interval, or nothing where it is not known.

    >>> interval((-0.5, 0.25), 2), interval(None, 2)
    ('−0.50 to 0.25', '')
    """
    return " to ".join(decimals(end, places) for end in ends) if ends and None not in ends else ""


@register.filter
def signed(value: float | None) -> str:
    """With its sign, as grades above or below others have.

    >>> signed(-0.25)
    '−0.25'
    """
    return UNKNOWN if value is None else with_minus(f"{round(value, 2) + 0.0:+.2f}")


@register.filter
def device(user_agent: str) -> str:
    """Return the browser and the system that a header `User-Agent` names."""
    browser = next((name for sign, name in BROWSERS.items() if sign in user_agent), _("another browser"))
    system = next((name for sign, name in SYSTEMS.items() if sign in user_agent), "")
    return f"{browser}, {system}" if system else browser
