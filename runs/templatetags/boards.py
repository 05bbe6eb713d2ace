"""The small drawings of runs: forest plots, strips, bars and shaded cells; and scores as words."""

from __future__ import annotations

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from base.text import joined_markup, markup, with_minus
from runs.board.standing import Axis, Standing
from runs.board.table import Cell
from runs.estimates.watches import Look
from runs.reliability.figures import way

register = template.Library()
register.filter("way", way)
UNKNOWN = SafeString('<td class="n">–</td>')


@register.simple_tag
def forest(cell: Cell | Look, axis: Axis) -> SafeString:
    """Draw a score on the axis of its table: a dot, its interval, and inside that the one over annotators."""
    if cell.value is None:
        return SafeString()
    parts, value = [], cell.value
    deviation, spread = getattr(cell, "deviation", None), getattr(cell, "spread", None)
    low, high = (value - deviation, value + deviation) if deviation is not None else (cell.low, cell.high)
    if axis.low < 0 < axis.high:
        parts.append(_line("zero", axis.at(0), axis.at(0), 0, 24))
    if low is not None and high is not None:
        parts.append(_line("interval", axis.at(low), axis.at(high)))
    if spread is not None:
        parts.append(_line("inner", axis.at(value - spread), axis.at(value + spread)))
    parts += [_dot("seed", axis.at(each), 3) for each in getattr(cell, "seeds", [])]
    ends = "" if low is None else f", from {_number(low)} to {_number(high or 0)}"
    return markup(
        '<svg class="axis" height="24" role="img" aria-label="{}">{}</svg>',
        f"{_number(value)}{ends}",
        SafeString("".join([*parts, _dot("value", axis.at(value), 5)])),
    )


def _line(look: str, start: float, end: float, top: int = 12, bottom: int = 12) -> str:
    return f'<line class="{look}" x1="{start:.2f}%" x2="{end:.2f}%" y1="{top}" y2="{bottom}"/>'


def _dot(look: str, at: float, radius: int) -> str:
    return f'<circle class="{look}" cx="{at:.2f}%" cy="12" r="{radius}"/>'


@register.simple_tag
def axis_of_table(axis: Axis) -> SafeString:
    """Draw the numbers of an axis."""
    words = joined_markup(
        '<text x="{}%" y="12" text-anchor="{}">{}</text>',
        ((f"{at:.2f}", "start" if at < 1 else "end" if at > 99 else "middle", label) for at, label in axis.ticks),
    )
    return markup('<svg class="axis scale" height="16" aria-hidden="true">{}</svg>', words)


@register.simple_tag
def strip(standing: Standing) -> SafeString:
    """Draw all runs of a leaderboard as dots on one axis, each a link to its page; the run's own is filled."""
    axis, campaign = standing.axis, standing.row.run.campaign.name
    others = joined_markup(
        '<a href="{}" aria-label="{}"><circle class="{}" cx="{}%" cy="12" r="6"><title>{}</title></circle></a>',
        (
            (
                reverse("run", args=[campaign, row.run.number]),
                words := f"{row.name}: {score(row.cells[0].value)}",
                "value" if row is standing.row else "other",
                f"{axis.at(row.cells[0].value or 0):.2f}",
                words,
            )
            for row in [*(row for row in standing.board.rows if row is not standing.row), standing.row]
            if row.cells[0].value is not None
        ),
    )
    cell = standing.cell
    own = "" if cell.low is None else _line("interval", axis.at(cell.low), axis.at(cell.high or 0))
    words = f"All {len(standing.board.rows)} runs by NDCG@20 at IoU 0.5"
    return markup(
        '<figure class="strip"><svg class="axis" height="24" role="group" aria-label="{}">{}{}</svg>{}</figure>',
        words,
        SafeString(own),
        others,
        axis_of_table(axis),
    )


@register.simple_tag
def bar(share: float | None) -> SafeString:
    """Draw a share as a bar of a table's cell."""
    if share is None:
        return SafeString()
    width = f"{100 * share:.1f}"
    return markup(
        '<svg class="share" width="80" height="6" aria-hidden="true"><rect width="{}%" height="6"/></svg>', width
    )


@register.simple_tag
def shaded(cell: Cell | None) -> SafeString:
    """Write a score as a cell of a surface, the darker the higher."""
    if cell is None or cell.value is None:
        return UNKNOWN
    shade = min(4, int(5 * cell.value))
    return markup('<td class="q{}" title="{}">{}</td>', shade, _interval(cell), two_digits(cell.value))


@register.simple_tag
def matrix_cell(cell: Cell | None, unit: str) -> SafeString:
    """Write a score as a cell of the table of all measures, with its intervals as what a pointer shows."""
    if cell is None or cell.value is None:
        return markup("<td></td>")
    words = f"{100 * cell.value:.2f}" if cell.is_share and unit == "percent" else score(cell.value)
    return markup('<td class="n" title="{}">{}</td>', _interval(cell), words)


def _interval(cell: Cell) -> str:
    parts = (
        [] if cell.low is None or cell.high is None else [f"[{_number(cell.low)}, {_number(cell.high)}] over queries"]
    )
    parts += [] if cell.spread is None else [f"± {_number(cell.spread)} over annotators"]
    return ", ".join([*parts, *([] if cell.plain is None else [f"plain mean {_number(cell.plain)}"])])


@register.filter
def short(value: float | None) -> str:
    """A score with three digits and no zero before the point.

    >>> short(0.25612), short(25.612), short(None)
    ('.256', '25.6', '–')
    """
    if value is None:
        return "–"
    written = f"{value:.1f}" if abs(value) > 1.5 else f"{value:.3f}"
    return with_minus(written.replace("0.", ".", 1) if abs(value) < 1 else written)


@register.filter
def two_digits(value: float) -> str:
    """A score as short as a cell of a surface has it.

    >>> two_digits(0.256), two_digits(25.61)
    ('.26', '26')
    """
    return f"{value:.0f}" if value > 1.5 else f"{value:.2f}".removeprefix("0") if value < 1 else "1"


@register.filter
def unjudged_share(judged: float) -> float:
    return 1 - judged


def _number(value: float) -> str:
    return with_minus(f"{value:.4f}" if abs(value) < 1.5 else f"{value:.2f}")


@register.simple_tag
def mark(cell: Cell) -> SafeString:
    """Say whether a score differs significantly from that of the run compared with."""
    if not cell.is_significant:
        return SafeString("")
    sign, words = ("▲", "better") if (cell.difference or 0) > 0 else ("▼", "worse")
    return format_html(
        ' <span class="beats" title="p = {}">{}<span class="hidden"> significantly {}</span></span>',
        f"{cell.p:.4f}",
        sign,
        words,
    )


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
