"""Drawings: marks and bars of annotators, bar codes of grades, the map of each two, and the chart of a batch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from django.utils.safestring import SafeString

from base.templatetags.figures import decimals, interval, plain
from base.text import joined_markup, markup
from judging.consensus import GRADES
from judging.models import Candidate

LANDMARKS = {0.615: "TVR-Ranking", 0.667: "", 0.8: ""}  # alphas: that of its paper, and Krippendorff's two limits
FIRM = 0.667  # below it, Krippendorff draws no conclusions
ROW = 20  # the height of a mark on the axis of a row, in pixels
DAY, HIGH = 4, 20  # of a bar of a day in a row, in pixels
WIDE_DAY, TALL = 20, 96  # of one on a page of its own
DOTS = 5  # which stand for the newest check pairs
STRIPE, CODE = 12, 24  # of a bar code of grades

MOST_SHOWN = 40  # annotators, those who judged most
FEW_PAIRS = 20  # below which a cell is hatched
CELL, MARGIN = 24, 24  # in pixels
STEP, STEPS = 0.1, 3  # of kappa for each shade on either side of the middle
ORDERS = {"severity": "By severity", "likeness": "By likeness"}
Person = dict[str, Any]


def ruler(alpha: float, ends: Sequence[float] | None) -> SafeString:
    """Return alpha with its interval on a ruler from 0 to 1 as wide as its place, with landmarks.

    Positions are percentages, so that words keep their size.
    """
    look = "due" if alpha < FIRM else "firm"
    low, high = ends or (alpha, alpha)
    tick = '<line class="tick" x1="{0}%" x2="{0}%" y1="24" y2="{2}"/><text class="{3}" x="{0}%" y="56">{1}</text>'
    landmarks = (
        (f"{100 * at:.1f}", f"{words} {at:g}".replace("0.", ".").strip(), 44, "before" if words else "after")
        for at, words in LANDMARKS.items()
    )
    ends_of_ruler = ((place, number, 40, look) for place, number, look in ((0, 0, "first"), (100, 1, "last")))
    first, last, at = (min(max(number, 0.0), 1.0) for number in (low, high, alpha))  # alpha can be negative
    words = f"α {decimals(alpha, 2)}" + (f", {decimals(low, 2)} to {decimals(high, 2)}" if ends else "")
    return markup(
        '<svg class="ruler {}" width="100%" height="64" role="img" aria-label="{} on a scale from 0 to 1">'
        '<line class="axis" x1="0" x2="100%" y1="34" y2="34"/>{}{}'
        '<rect class="band" x="{}%" width="{}%" y="28" height="12"/><circle cx="{}%" cy="34" r="7"/>'
        '<text class="here {}" x="{}%" y="16">{}</text></svg>',
        look,
        words,
        joined_markup(tick, ends_of_ruler),
        joined_markup(tick, landmarks),
        *(f"{100 * part:.1f}" for part in (first, last - first, at)),
        "last" if at > 0.75 else "first" if at < 0.25 else "",  # so that the words stay inside
        f"{100 if at > 0.75 else 0 if at < 0.25 else 100 * at:.1f}",
        words,
    )


def mark(
    value: float | None,
    ends: tuple[float | None, float | None],
    axis: tuple[float, float],
    at: float,
    width: int,
    is_due: bool,
) -> SafeString:
    """Return a number as a dot on the axis that all rows share, with its interval, and a line `at` a landmark."""
    if value is None:
        return SafeString()
    first, last = axis

    def place(number: float) -> str:
        return f"{4 + (width - 8) * (min(max(number, first), last) - first) / (last - first):.1f}"

    low, high = (value if end is None else end for end in ends)
    return markup(
        '<svg class="mark{0}" width="{1}" height="{2}" aria-hidden="true">'
        '<line class="axis" x1="{4}" x2="{4}" y2="20"/><line class="ends" x1="{5}" x2="{6}" y1="10" y2="10"/>'
        '<circle cx="{3}" cy="10" r="4"/></svg>',
        " due" if is_due else "",
        width,
        ROW,
        *map(place, (value, at, low, high)),
    )


def day_bars(numbers: Sequence[int], top: int, step: int = DAY, high: int = HIGH) -> SafeString:
    """Return a bar for each day, in proportion to `top`; a day without work keeps a thin line."""
    heights = [max(1.0, high * number / max(top, 1)) for number in numbers]
    wide = step - step // 4
    one = f'<rect class="{{}}" x="{{}}" y="{{:.0f}}" width="{wide}" height="{{:.0f}}"><title>{{:,}}</title></rect>'
    bars = [  # of numbers, which need no escaping: a table has many
        one.format("day" if number else "none", place * step, high - height, height, number)
        for place, (number, height) in enumerate(zip(numbers, heights, strict=True))
    ]
    return markup(
        '<svg class="days" width="{}" height="{}" role="img" aria-label="{}">{}</svg>',
        step * len(numbers),
        high,
        f"{sum(numbers):,} judgements in {len(numbers)} days",
        SafeString("".join(bars)),
    )


def missed_dots(missed: int, pairs: int) -> SafeString:
    """Return five dots, filled in proportion to the check pairs that were missed, rounded up."""
    filled = -(-DOTS * missed // pairs) if pairs else 0
    dots = ((8 + 12 * place, "missed" if place < filled else "kept") for place in range(DOTS))
    return markup(
        '<svg class="missed-dots" width="64" height="16" aria-hidden="true">{}</svg>',
        joined_markup('<circle class="{1}" cx="{0}" cy="8" r="4"/>', dots),
    )


def bar_code(pairs: Iterable[tuple[int, int, int, bool]]) -> SafeString:
    """Return a stripe for each candidate: below its lowest raw grade, above its highest, ringed if contested.

    pairs: rank, lowest grade, highest grade, and whether two grades of round one are too far apart.
    """
    stripes = [
        (x, highest, lowest, f"rank {rank}: {lowest} to {highest}", markup(RING, x) if ringed else "")
        for x, (rank, lowest, highest, ringed) in zip(count(0, STRIPE), pairs, strict=False)
    ]
    one = (
        '<g><title>{3}</title><rect class="g{1}" x="{0}" width="10" height="12"/>'
        '<rect class="g{2}" x="{0}" y="12" width="10" height="12"/>{4}</g>'
    )
    return markup(
        '<svg class="code" viewBox="-1 -1 {0} {1}" width="{0}" role="img" aria-label="{2}">{3}</svg>',
        max(len(stripes), 20) * STRIPE + 2,
        CODE + 2,
        "highest and lowest grade of each candidate, by rank",
        joined_markup(one, stripes),
    )


RING = '<rect class="ring" x="{}" width="10" height="24"/>'


@dataclass(frozen=True)
class PairOfAnnotators:
    """Two annotators, how many pairs both judged, and their quadratic kappa with the ends of its interval."""

    one: Any
    other: Any
    pairs: int
    kappa: float | None
    ends: tuple[float | None, float | None]

    @property
    def both(self) -> tuple[Any, Any]:
        return self.one, self.other

    def words(self, with_names: bool) -> str:
        names = (who.user.get_username() if with_names else f"worker {who.worker}" for who in (self.one, self.other))
        ends = interval(self.ends, 2)  # type: ignore[arg-type]  # one that is unknown is none
        kappa = f"κ {decimals(self.kappa, 2)} of {plain(self.pairs)} pair{'' if self.pairs == 1 else 's'}"
        return f"{' and '.join(names)}: {kappa}" + (f", 95 % interval {ends}" if ends else "")


@dataclass(frozen=True)
class Matrix:
    """Annotators in their order, and the pairs of annotators by the keys of the two memberships."""

    people: list[Any]
    pairs: dict[tuple[int, int], PairOfAnnotators]
    order: str
    with_names: bool

    @classmethod
    def of(
        cls,
        people: list[Person],
        rows: list[list[Any]],
        severity: dict[int, float | None],
        order: str,
        with_names: bool,
    ) -> Matrix:
        """Return the map of the annotators with common pairs, sorted by severity or so that those alike are near."""
        order = order if order in ORDERS else "severity"
        members = {row["member"]: row for row in people}
        pairs = {}
        for one, other, number, kappa, *ends in rows:
            if one in members and other in members:
                found = members[one]["who"], members[other]["who"]
                pairs[one, other] = PairOfAnnotators(*found, number, kappa, (ends[0], ends[1]))
                pairs[other, one] = PairOfAnnotators(*found[::-1], number, kappa, (ends[0], ends[1]))
        known = [key for key in members if any(key in pair for pair in pairs)]
        most = sorted(known, key=lambda key: -members[key]["judged"])[:MOST_SHOWN]
        by_severity = sorted(most, key=lambda key: (severity.get(key) is None, severity.get(key) or 0.0, key))
        ordered = _by_likeness(most, pairs) if order == "likeness" else by_severity
        return cls([members[key]["who"] for key in ordered], pairs, order, with_names)

    @property
    def orders(self) -> list[tuple[str, str, bool]]:
        """The orders that there are, with their words, and whether each is the present one."""
        return [(key, words, key == self.order) for key, words in ORDERS.items()]

    @property
    def middle(self) -> float | None:
        """The mean kappa, each with its number of pairs: what divides the two ends of the scale."""
        known = [(pair.kappa, pair.pairs) for pair in self.pairs.values() if pair.kappa is not None]
        return float(np.average([kappa for kappa, _ in known], weights=[n for _, n in known])) if known else None

    def pair(self, one: str, other: str) -> PairOfAnnotators | None:
        """Return two annotators by their worker numbers."""
        named = {(str(pair.one.worker), str(pair.other.worker)): pair for pair in self.pairs.values()}
        return named.get((one, other))

    @property
    def size(self) -> int:
        return MARGIN + CELL * len(self.people)

    @property
    def cells(self) -> SafeString:
        """The cells, of which the first can be reached by the tab key; arrows go on from there."""
        middle, found = self.middle or 0.0, list[tuple[Any, ...]]()
        cell = (
            '<a href="?order={0}&amp;drawer=pair&amp;one={1}&amp;other={2}" tabindex="{3}"><title>{4}</title>'
            '<rect class="{5}" x="{6}" y="{7}" width="23" height="23"/>{8}</a>'
        )
        for row, one in enumerate(self.people):
            for column, other in enumerate(self.people):
                if pair := self.pairs.get((one.pk, other.pk)):
                    x, y = MARGIN + CELL * column, MARGIN + CELL * row
                    few = SafeString(FEW.format(x, y)) if pair.pairs < FEW_PAIRS else ""
                    words, shade = pair.words(self.with_names), _shade(pair.kappa, middle)
                    found.append((self.order, one.worker, other.worker, -1 if found else 0, words, shade, x, y, few))
        return joined_markup(cell, found)

    @property
    def labels(self) -> SafeString:
        """The worker numbers above the columns and before the rows, and the diagonal."""
        places = [(MARGIN + CELL * place, who.worker) for place, who in enumerate(self.people)]
        each = '<text x="{0}" y="16" dx="12">{1}</text><text x="12" y="{0}" dy="16">{1}</text>'
        diagonal = '<rect class="self" x="{0}" y="{0}" width="23" height="23"/>'
        return markup("{}{}", joined_markup(each, places), joined_markup(diagonal, ((at,) for at, _ in places)))


FEW = '<rect class="few" x="{}" y="{}" width="23" height="23" fill="url(#few)"/>'


def _shade(kappa: float | None, middle: float) -> str:
    """Return the name of a shade: below the middle, near it, or above it."""
    if kappa is None:
        return "unknown"
    step = max(-STEPS, min(STEPS, round((kappa - middle) / STEP)))
    return f"low{-step}" if step < 0 else f"high{step}" if step else "near"


def _by_likeness(keys: list[int], pairs: dict[tuple[int, int], PairOfAnnotators]) -> list[int]:
    """Order annotators along the first axis of what is left of kappa without its mean."""
    table = np.full((len(keys), len(keys)), np.nan)
    for row, one in enumerate(keys):
        for column, other in enumerate(keys):
            if (pair := pairs.get((one, other))) and pair.kappa is not None:
                table[row, column] = pair.kappa
    off = np.nan_to_num(table - (np.nanmean(table) if np.isfinite(table).any() else 0))
    axis = np.linalg.eigh(off)[1][:, -1]
    return [keys[place] for place in np.argsort(axis, kind="stable")]


PANEL = 56  # the height of one of several lines below each other, in pixels


def panels(lines: Iterable[tuple[str, Sequence[float]]], at: int, words: str) -> SafeString:
    """Return lines below each other, each on a scale of its own, with a dot and a rule at one of their places."""
    drawn = [
        (place * PANEL, title, *_polyline(values, at, place * PANEL)) for place, (title, values) in enumerate(lines)
    ]
    line = (
        '<text class="axis start" x="0" y="{0}" dy="12">{1}</text><polyline class="similarity" points="{2}"/>'
        '<circle cx="{3}" cy="{4}" r="4"/>'
    )
    return markup(
        '<svg class="chart panels" viewBox="-6 0 {0} {1}" width="100%" role="img" aria-label="{2}">'
        '<line class="grid" x1="{3}" x2="{3}" y2="{1}"/>{4}</svg>',
        WIDTH + 12,
        PANEL * len(drawn),
        words,
        drawn[0][-2] if drawn else 0,
        joined_markup(line, drawn),
    )


def _polyline(values: Sequence[float], at: int, top: int) -> tuple[str, str, str]:
    """Return the points of a line, and where the one `at` a place is."""
    low, wide = min(values), max(values) - min(values) or 1.0
    points = [
        (f"{WIDTH * place / (len(values) - 1):.1f}", f"{top + PANEL - 8 - (PANEL - 28) * (value - low) / wide:.1f}")
        for place, value in enumerate(values)
    ]
    return " ".join(map(",".join, points)), *points[at]


HOW = {Candidate.Outcome.ADJUDICATED.value: " by the lead", Candidate.Outcome.REUSED.value: ", reused"}  # grades came
WIDTH, CHART_HEIGHT = 316, 160  # of the drawing, in pixels
LEFT, RIGHT, TOP, BOTTOM = 28, 8, 16, 124  # the room beside the bars, and the levels of the highest grade and of 0
LABELLED = 10  # a number below each so many ranks, and below the first


def grades_by_rank(candidates: list[Candidate], tinted: Collection[int]) -> SafeString:
    """Return the final grade of each candidate in a batch as a bar, and the similarities as a curve.

    TVR-Ranking's Figure 6 draws one query so. `tinted` are the ranks of the last five.
    """
    step = (WIDTH - LEFT - RIGHT) / max(1, len(candidates))
    middles = [LEFT + (place + 0.5) * step for place in range(len(candidates))]
    curve = [
        (x, BOTTOM - (BOTTOM - TOP) * min(max(each.similarity, 0.0), 1.0))
        for x, each in zip(middles, candidates, strict=True)
        if each.similarity is not None
    ]
    line = '<line class="grid" x1="{0}" x2="{1}" y1="{2:.0f}" y2="{2:.0f}"/>'
    line += '<text class="axis" x="18" y="{2:.0f}" dy="4">{3}</text>'
    ground = f'<rect class="ground" x="{{:.1f}}" y="8" width="{step:.1f}" height="124"/>'
    found = [x - step / 2 for x, each in zip(middles, candidates, strict=True) if each.rank in tinted]
    named = '<text class="axis named" x="{}" y="{}" dy="-6">similarity</text>'
    words = markup(named, f"{curve[-1][0]:.0f}", f"{curve[-1][1]:.0f}") if curve else ""
    return markup(
        '<svg class="chart" width="{0}" height="{1}" role="img" viewBox="0 0 {0} {1}" aria-label="{2}">{3}{4}{5}'
        '<polyline class="similarity" points="{6}"/>{7}<text class="axis start" x="0" y="10">grade</text>'
        '<text class="axis named" x="{0}" y="156">rank by similarity</text></svg>',
        WIDTH,
        CHART_HEIGHT,
        "Final grade of each candidate by rank, with its similarity; the table below has the numbers",
        SafeString("".join(map(ground.format, found))),
        SafeString("".join(line.format(LEFT, WIDTH, _height(grade), grade) for grade in GRADES)),
        SafeString("".join(_rank(x, step, each) for x, each in zip(middles, candidates, strict=True))),
        " ".join(f"{x:.1f},{y:.1f}" for x, y in curve),
        words,
    )


def _rank(x: float, step: float, candidate: Candidate) -> str:
    """Return what the chart shows at a rank: a bar, × where there is no grade, or a dot while it is still open."""
    what = candidate.outcome if candidate.grade is None else f"{candidate.grade}{HOW.get(candidate.outcome, '')}"
    label = f'<text class="axis" x="{x:.1f}" y="142">{candidate.rank}</text>'
    label = label if candidate.rank == 1 or not candidate.rank % LABELLED else ""
    title = f"Rank {candidate.rank}: {what}, similarity {decimals(candidate.similarity, 3)}"
    return f"<g><title>{title}</title>{_bar(x, step, candidate)}{label}</g>"


def _bar(x: float, step: float, candidate: Candidate) -> str:
    if candidate.grade is None:
        sign = "·" if candidate.is_open else "×"
        return f'<text class="none" x="{x:.1f}" y="{BOTTOM}" dy="-4">{sign}</text>'
    wide, top = max(2.0, min(12.0, step - 2)), _height(candidate.grade)
    look = "bar adjudicated" if candidate.outcome == Candidate.Outcome.ADJUDICATED else f"bar g{candidate.grade}"
    high = max(2.0, BOTTOM - top)  # a line for grade 0
    place = f'x="{x - wide / 2:.1f}" y="{BOTTOM - high:.1f}" width="{wide:.1f}" height="{high:.1f}"'
    return f'<rect class="{look}" {place}/>'


def _height(grade: int) -> float:
    return BOTTOM - (BOTTOM - TOP) * grade / GRADES[-1]
