"""The charts of the desk: how good a campaign is, what its grades say, when it ends, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import accumulate
from typing import Any

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from base.templatetags.figures import decimals, share_of
from campaigns.models import Campaign
from reports.hours import Rates
from reports.summaries import AGREEMENT, PROGRESS, CurrentSummary

DAYS_SHOWN = 28
WIDTH, HEIGHT = 240.0, 64.0  # of a drawing, in its own units
GAP = 0.25  # of a bar's step
STEPS = 5  # at least, so that few bars are no wide ones

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
    pace = f"at {numbers['pace']:.0f} a day" if days else "on unknown days"
    note = f"about {numbers['left']:,} judgements left {pace}" if numbers["left"] else "nothing open is left"
    if earliest and latest:
        value, note = f"{_day(earliest)} to {_day(latest)}", f"{note} (95 %)"
    elif earliest:
        value, note = f"After {_day(earliest)}", f"{note}, which varies too much to say when"
    else:
        value = f"Around {_day(end)}" if end else ("–" if numbers["left"] else "All is judged")
    ends = (_day(days[0][0]), _day(days[-1][0])) if days else ("", "")
    drawn = bars([done for _, done, _ in days], labels)
    address = reverse("agreement-judgements", args=[campaign.name])
    return Spark("When it ends", value, note, address, drawn, "judgements by day", ends)


def _agreement(campaign: Campaign, numbers: Numbers) -> Spark:
    weeks = numbers["weeks"][-DAYS_SHOWN:]
    value, note, only = _alpha(numbers) if campaign.rounds_known else _alpha_without_rounds(numbers)
    ends = (_week(weeks[0]["week"]), _week(weeks[-1]["week"])) if weeks else ("", "")
    lows, highs = ([week.get(end) for week in weeks] for end in ("alpha_low", "alpha_high"))
    points = line([week["alpha"] for week in weeks], top=1.0)
    drawn = band(lows, highs, top=1.0) + points if points else points
    judgements = reverse("agreement-judgements", args=[campaign.name]) + only
    address = reverse("agreement", args=[campaign.name])
    words = "alpha by week with its interval, from 0 to 1"
    return Spark("How good it is", value, note, address, drawn, words, ends, judgements)


def _alpha(numbers: Numbers) -> tuple[str, str, str]:
    alpha, contested = numbers["alpha"]["round_one"], numbers["contested"]
    note = "ordinal, before round two" if contested is None else f"{contested:.0%} of pairs contested"
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
    note = f"{outcomes['discarded']:,} discarded, {outcomes['contested']:,} contested"
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
        value, note = f"{hours:,.1f} hours", f"about {left:,.1f} still to come"
    sums = list(accumulate(seconds for _, _, seconds in numbers["days"]))
    points = line(sums, top=(max(sums, default=0) + numbers["seconds_left"]) or 1)
    ends = (_day(numbers["days"][0][0]), _day(numbers["days"][-1][0])) if numbers["days"] else ("", "")
    address = reverse("hours", args=[campaign.name])
    return Spark("What it costs", value, note, address, points, "the sum by day; the top is what it will be", ends)


def _day(iso: str) -> str:
    return date_format(date.fromisoformat(iso), "j M Y")


def _week(number: int) -> str:
    return f"week {number % 100}, {number // 100}"


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
    return format_html_join(
        "",
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
    return format_html('<polyline class="line" points="{}"/>', _joined(points)) if len(points) > 1 else SafeString()


def band(lows: Sequence[float | None], highs: Sequence[float | None], top: float) -> SafeString:
    """Return the ground between two lines, where both are known."""
    known = [None not in pair for pair in zip(lows, highs, strict=True)]
    low, high = (
        _points([height if there else None for height, there in zip(heights, known, strict=True)], top)
        for heights in (lows, highs)
    )
    return format_html('<polygon class="band" points="{}"/>', _joined(high + low[::-1]))


def _points(heights: Sequence[float | None], top: float) -> list[tuple[float, float]]:
    step = WIDTH / max(1, len(heights) - 1)
    return [
        (place * step, HEIGHT * (1 - max(0.0, min(height, top)) / top))
        for place, height in enumerate(heights)
        if height is not None
    ]


def _joined(points: list[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
