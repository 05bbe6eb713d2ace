"""The cells of a leaderboard: the number, a bar behind it, and whiskers for its intervals; and words of other pages."""

from __future__ import annotations

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from base.text import with_minus
from metrics.measures.explain import can_explain
from runs.board.table import Board, Cell
from runs.explain.queries import EXPLAINED
from runs.reliability.figures import way

register = template.Library()
register.filter("way", way)
WIDE = 100  # units of a bar
UNKNOWN = SafeString('<td class="n">–</td>')


@register.simple_tag
def score_cell(cell: Cell, top: float) -> SafeString:
    """Write a cell; `top` is the number at which its bar is full."""
    if cell.value is None:
        return UNKNOWN
    number = f"<strong>{_number(cell.value)}</strong>" if cell.is_best else _number(cell.value)
    return format_html(
        '<td class="n score">{}{}<svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">{}{}</svg>'
        '<span class="quiet">{}</span></td>',
        SafeString(number),
        _mark(cell),
        SafeString(f'<rect class="bar" y="2" height="4" width="{_place(cell.value, top)}"/>'),
        _whisker(cell, top),
        _width(cell),
    )


def _number(value: float) -> str:
    return with_minus(f"{value:.4f}" if abs(value) < 1.5 else f"{value:.2f}")


def _place(value: float, top: float) -> str:
    return f"{max(0.0, min(1.0, value / top)) * WIDE:.1f}"


def _mark(cell: Cell) -> SafeString:
    if not cell.is_significant:
        return SafeString("")
    sign, words = ("▲", "better") if (cell.difference or 0) > 0 else ("▼", "worse")
    return format_html(
        ' <span class="beats" title="p = {}">{}<span class="hidden"> significantly {}</span></span>',
        f"{cell.p:.4f}",
        sign,
        words,
    )


def _whisker(cell: Cell, top: float) -> SafeString:
    if cell.low is None or cell.high is None:
        return SafeString("")
    low, high = _place(cell.low, top), _place(cell.high, top)
    line = f'<line class="whisker" x1="{low}" x2="{high}" y1="4" y2="4"/>'
    ends = "".join(f'<line class="whisker" x1="{at}" x2="{at}" y1="1" y2="7"/>' for at in (low, high))
    return SafeString(line + ends)


def _width(cell: Cell) -> str:
    if cell.deviation is not None:
        return f"± {_number(cell.deviation)}"
    queries = "" if cell.low is None or cell.high is None else f"[{_number(cell.low)}, {_number(cell.high)}]"
    return queries + ("" if cell.spread is None else f" ±{_number(cell.spread)}")


@register.simple_tag
def run_cell(value: float | None, end: str) -> SafeString:
    """Write the value of a run on a query; `end` says whether it is the highest or the lowest of several."""
    if not end:
        return format_html('<td class="n">{}</td>', score(value))
    sign, words = ("▲", "the best") if end == "high" else ("▼", "the worst")
    return format_html(
        '<td class="n {0}">{1} <span class="end {0}">{2}<span class="hidden"> {3}</span></span></td>',
        end,
        score(value),
        sign,
        words,
    )


@register.filter
def why_link(number: int, board: Board) -> str:
    """Return the address of a run's queries: beside the baseline if there is one, by the column of the table."""
    params: dict[str, str | int] = {"release": board.release.version}
    if board.options.convention.name in EXPLAINED:
        params["convention"] = board.options.convention.name
        if measure := next(
            (each for each in (board.options.sort, *board.options.measures) if each and can_explain(each)), None
        ):
            params["measure"] = str(measure)
    if board.baseline and board.baseline.number != number:
        params["against"] = board.baseline.number
    where = reverse("run-queries", args=[board.release.campaign.name, number])
    return f"{where}?{urlencode(params)}"


@register.filter
def score(value: float | None) -> str:
    return "–" if value is None else _number(value)


@register.filter
def difference(value: float) -> str:
    """A difference of scores, with its sign and as many digits as a score."""
    return with_minus(f"{value:+.4f}")


@register.filter
def signed_score(value: float | None) -> str:
    """A difference of scores, with its sign."""
    return "–" if value is None else with_minus(f"{value:+.3f}")
