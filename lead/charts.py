"""The charts of the desk, and that of a batch: how good a campaign is, what its grades say, when it ends, its costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import accumulate
from typing import Any

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.safestring import SafeString

from base.templatetags.figures import decimals, share_of
from base.text import joined_markup, markup
from campaigns.models import Campaign
from campaigns.models.campaign import LAST
from judging.consensus import GRADES
from judging.models import Candidate
from reports.campaign_summaries import AGREEMENT, PROGRESS, CurrentSummary
from reports.figures.numbers import week_name
from reports.hours import Rates

DAYS_SHOWN = 28
HOW = {Candidate.Outcome.ADJUDICATED.value: " by the lead", Candidate.Outcome.REUSED.value: ", reused"}  # grades came
WIDTH, HEIGHT = 240.0, 64.0  # of a drawing, in its own units
GAP = 0.25  # of a bar's step
STEPS = 5  # at least, so that few bars are no wide ones
RANK, BAR, HIGH = 20, 12, 128  # of the chart of a batch: the place and the bar of a rank, and its height, in pixels

Numbers = dict[str, Any]


def charts(campaign: Campaign, kept: dict[str, CurrentSummary], *, with_pay: bool) -> list[Spark]:
    """The charts of the numbers that are counted; none before the first are."""
    numbers, agreement = kept[PROGRESS].counts, kept[AGREEMENT].counts
    if not numbers or not numbers["judgements"]:
        return []
    drawn = [_agreement(campaign, agreement), _grades(campaign, numbers), _end(campaign, numbers)]
    return [*drawn, _spent(campaign, numbers)] if with_pay and numbers["seconds"] else drawn


def _end(campaign: Campaign, numbers: Numbers) -> Spark:
    """When a campaign ends at the present pace, as far as anybody can say."""
    days = numbers["days"][-DAYS_SHOWN:]
    labels = [f"{_day(day)}: {done:,} judgements" for day, done, _ in days]
    end, earliest, latest = (numbers.get(name) for name in ("end", "earliest", "latest"))
    pace = f"at {numbers['pace']:,.0f} a day" if days else "on unknown days"
    note = f"about {numbers['left']:,} judgements left {pace}" if numbers["left"] else "nothing open is left"
    if earliest and latest:
        value, note = f"{_day(earliest)} to {_day(latest)}", f"{note} (95 %)"
    elif earliest:
        value, note = f"After {_day(earliest)}", f"{note}, which varies too much to say when"
    else:
        value = f"Around {_day(end)}" if end else ("–" if numbers["left"] else "All is judged")
    ends = _ends([_day(day) for day, _, _ in days])
    drawn = bars([done for _, done, _ in days], labels)
    address = reverse("agreement-judgements", args=[campaign.name])
    return Spark("When it ends", value, note, address, drawn, "judgements by day", ends)


def _agreement(campaign: Campaign, numbers: Numbers) -> Spark:
    weeks = numbers["weeks"][-DAYS_SHOWN:]
    value, note, only = _alpha(numbers) if campaign.rounds_known else _alpha_without_rounds(numbers)
    ends = _ends([week_name(week["week"]) for week in weeks])
    lows, highs = ([week.get(end) for week in weeks] for end in ("alpha_low", "alpha_high"))
    points = line([week["alpha"] for week in weeks], top=1.0)
    drawn = band(lows, highs, top=1.0) + points if points else points
    judgements = reverse("agreement-judgements", args=[campaign.name]) + only
    address = reverse("agreement", args=[campaign.name])
    words = "alpha by week with its interval, from 0 to 1"
    return Spark("How good it is", value, note, address, drawn, words, ends, judgements)


def _alpha(numbers: Numbers) -> tuple[str, str, str]:
    alpha, contested = numbers["alpha"]["round_one"], numbers["contested"]
    note = "ordinal, before round two" if contested is None else f"{100 * contested:.0f} % of pairs contested"
    return _with_interval(alpha, numbers["alpha_interval"]["round_one"]), note, "?only=contested"


def _alpha_without_rounds(numbers: Numbers) -> tuple[str, str, str]:
    """All that imported ratings tell whose rounds are unknown."""
    alpha, share = numbers["alpha"]["all"], share_of(numbers["escalated"], numbers["rated"])
    value = _with_interval(alpha, numbers["alpha_interval"]["all"], 3)
    return value, f"over all grades; {share} escalated", "?only=escalated"


def _with_interval(alpha: float | None, ends: list[float] | None, places: int = 2) -> str:
    if alpha is None:
        return "–"
    value = f"α {decimals(alpha, places)}"
    return f"{value}, {decimals(ends[0], places)} to {decimals(ends[1], places)}" if ends else value


def _grades(campaign: Campaign, numbers: Numbers) -> Spark:
    grades = numbers["grades"]
    labels = [f"grade {grade}: {number:,}" for grade, number in enumerate(grades)]
    value = f"{sum(grades):,} pairs settled"
    outcomes = numbers["outcomes"]
    reused = f"{outcomes['reused']:,} reused, " if outcomes.get("reused") else ""  # those of before had none
    note = f"{reused}{outcomes['discarded']:,} discarded, {outcomes['contested']:,} contested"
    note = f"{numbers['judgements']:,} judgements; {note}"
    address = reverse("figures", args=[campaign.name]) + "#figure-5b"
    drawn = bars(grades, labels, [f"g{grade}" for grade in range(len(grades))])
    return Spark("What the grades say", value, note, address, drawn, ", ".join(labels), ("0", "4"))


def _spent(campaign: Campaign, numbers: Numbers) -> Spark:
    hours, left = numbers["seconds"] / 3600, numbers["seconds_left"] / 3600
    rates, rate = Rates.of(campaign), float(campaign.hourly_rate or 0)
    if rate:
        worked = ((date.fromisoformat(day), seconds) for day, _, seconds in numbers["days"])
        spent = sum(seconds / 3600 * float(rates.on(day) or 0) for day, seconds in worked)
        value = f"{campaign.currency} {spent:,.0f}" + (f" of about {spent + rate * left:,.0f}" if left else "")
        note = f"{hours:,.0f} hours; about {campaign.currency} {rate * left:,.0f} still to come"
    else:
        value, note = f"{hours:,.1f} hours", f"about {left:,.1f} hours still to come"
    sums = list(accumulate(seconds for _, _, seconds in numbers["days"]))
    points = line(sums, top=(max(sums, default=0) + numbers["seconds_left"]) or 1)
    ends = _ends([_day(day) for day, _, _ in numbers["days"]])
    address = reverse("hours", args=[campaign.name])
    return Spark("What it costs", value, note, address, points, "the sum by day; the top is what it will be", ends)


def _ends(words: Sequence[str]) -> tuple[str, str]:
    """Return the first and the last of what a drawing goes through; one alone is written once."""
    return words[0] if words else "", words[-1] if len(words) > 1 else ""


def _day(iso: str) -> str:
    return date_format(date.fromisoformat(iso), "j M Y")


@dataclass(frozen=True)
class Spark:
    """A number in words with a small drawing below it; `drawn` says what the drawing shows."""

    title: str
    value: str
    note: str
    address: str
    drawing: SafeString
    drawn: str
    labels: tuple[str, str]
    note_address: str = ""

    @property
    def description(self) -> str:
        return f"{self.title}: {self.value}; {self.drawn}; {self.note}"


def bars(heights: Sequence[float], labels: Sequence[str], looks: Sequence[str] = ()) -> SafeString:
    """Return a bar for each number, or nothing if all are 0.

    They are joined here, because a template's loop would take as long as the rest of the page.
    """
    top, step = max(heights, default=0), WIDTH / max(STEPS, len(heights))
    if not top:
        return SafeString()
    looks = looks or ["bar"] * len(heights)
    rising = [HEIGHT * height / top for height in heights]
    return joined_markup(
        '<rect class="{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>',
        (
            (look, *(f"{number:.1f}" for number in (place * step, HEIGHT - high, step * (1 - GAP), high)), label)
            for place, (high, label, look) in enumerate(zip(rising, labels, looks, strict=True))
        ),
    )


def line(heights: Sequence[float | None], top: float) -> SafeString:
    """Return a line from 0 at the bottom to `top`, or nothing if it would have one point at most.

    What is not known is left out.
    """
    points = _points(heights, top)
    return markup('<polyline class="line" points="{}"/>', _joined(points)) if len(points) > 1 else SafeString()


def band(lows: Sequence[float | None], highs: Sequence[float | None], top: float) -> SafeString:
    """Return the ground between two lines, where both are known."""
    known = [None not in pair for pair in zip(lows, highs, strict=True)]
    low, high = (
        _points([height if there else None for height, there in zip(heights, known, strict=True)], top)
        for heights in (lows, highs)
    )
    return markup('<polygon class="band" points="{}"/>', _joined(high + low[::-1]))


def _points(heights: Sequence[float | None], top: float) -> list[tuple[float, float]]:
    step = WIDTH / max(1, len(heights) - 1)
    return [
        (place * step, HEIGHT * (1 - max(0.0, min(height, top)) / top))
        for place, height in enumerate(heights)
        if height is not None
    ]


def _joined(points: list[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def grades_by_rank(candidates: list[Candidate]) -> SafeString:
    """Return the final grade of each candidate of a batch as a bar, and the similarities as a line.

    TVR-Ranking's Figure 6 draws one query so.
    """
    width, tinted = len(candidates) * RANK, min(LAST, len(candidates)) * RANK
    line = '<line class="grid" x1="0" x2="{0}" y1="{1}" y2="{1}"/><text class="axis" x="-10" y="{1}" dy="4">{2}</text>'
    similarities = [(_middle(place), each.similarity) for place, each in enumerate(candidates)]
    points = [(x, HIGH * (1 - min(max(level, 0.0), 1.0))) for x, level in similarities if level is not None]
    return markup(
        '<svg class="chart" width="{0}" height="{1}" role="img" viewBox="-28 -12 {0} {1}" aria-label="{2}">'
        '<rect class="ground" x="{3}" y="-8" width="{4}" height="{5}"/>{6}{7}'
        '<polyline class="similarity" points="{8}"/></svg>',
        width + 40,  # with the numbers of the grades
        HIGH + 48,
        "Final grade of each candidate by rank, with its similarity; the table below has the numbers",
        width - tinted,
        tinted,
        HIGH + 8,
        joined_markup(line, ((width, f"{_height(grade):.1f}", grade) for grade in GRADES)),
        SafeString("".join(_rank(place, each, width - tinted) for place, each in enumerate(candidates))),
        _joined(points),
    )


def _rank(place: int, candidate: Candidate, last_from: int) -> SafeString:
    """Return what the chart shows at a rank: a bar, × where there is no grade, or a dot while it is still open."""
    by_lead = candidate.outcome == Candidate.Outcome.ADJUDICATED
    what = candidate.outcome if candidate.grade is None else f"{candidate.grade}{HOW.get(candidate.outcome, '')}"
    looks = ["bar", *(["last"] if place * RANK >= last_from else []), *(["adjudicated"] if by_lead else [])]
    return markup(
        '<g><title>Rank {0}: {1}, similarity {2}</title>{3}<text class="axis" x="{4}" y="{5}" dy="20">{0}</text></g>',
        candidate.rank,
        what,
        decimals(candidate.similarity, 3),
        _bar(place, candidate, " ".join(looks)),
        f"{_middle(place):.1f}",
        HIGH,
    )


def _bar(place: int, candidate: Candidate, look: str) -> SafeString:
    if candidate.grade is None:
        sign = "·" if candidate.is_open else "×"
        return markup('<text class="none" x="{}" y="{}" dy="-6">{}</text>', f"{_middle(place):.1f}", HIGH, sign)
    left, top = _middle(place) - BAR / 2, _height(candidate.grade)
    bar = '<rect class="{}" x="{:.1f}" y="{:.1f}" width="{}" height="{:.1f}" rx="2"/>'
    drawn = bar.format(look, left, top, BAR, HIGH - top)
    if candidate.grade == 0:
        drawn += f'<line class="zero" x1="{left:.1f}" x2="{left + BAR:.1f}" y1="{HIGH}" y2="{HIGH}"/>'
    return SafeString(drawn)


def _middle(place: int) -> float:
    return (place + 0.5) * RANK


def _height(grade: int) -> float:
    return HIGH * (1 - grade / GRADES[-1])
