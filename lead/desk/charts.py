"""The four charts of the desk: progress and its forecast, agreement by week, grades so far, and spending."""

from __future__ import annotations

from datetime import date
from itertools import accumulate
from typing import Any

from django.urls import reverse
from django.utils.formats import date_format

from base.templatetags.figures import decimals, share_of
from campaigns.models import Campaign
from lead.desk.sparks import Spark, bars, line
from reports.hours import Rates
from reports.summaries import AGREEMENT, PROGRESS, CurrentSummary

Numbers = dict[str, Any]
DAYS_SHOWN = 28


def charts(campaign: Campaign, kept: dict[str, CurrentSummary], *, with_pay: bool) -> list[Spark]:
    """The charts of the numbers that are counted; none before the first are."""
    numbers, agreement = kept[PROGRESS].counts, kept[AGREEMENT].counts
    if not numbers or not numbers["judgements"]:
        return []
    drawn = [_progress(campaign, numbers), _agreement(campaign, agreement), _grades(campaign, numbers)]
    return [*drawn, _spent(campaign, numbers)] if with_pay and numbers["seconds"] else drawn


def _progress(campaign: Campaign, numbers: Numbers) -> Spark:
    days = numbers["days"][-DAYS_SHOWN:]
    labels = [f"{_day(day)}: {done:,} judgements" for day, done, _ in days]
    if not numbers["left"]:
        note = "nothing open is left"
    elif numbers["end"]:
        note = f"about {numbers['left']:,} left, done around {_day(numbers['end'])}"
    else:
        note = f"about {numbers['left']:,} left"
    value = f"{numbers['judgements']:,} judgements"
    pace = f"{numbers['pace']:.0f} a day lately" if days else "the days are unknown"
    description = f"{value}; {pace}; {note}"
    ends = (_day(days[0][0]), _day(days[-1][0])) if days else ("", "")
    address = reverse("agreement-judgements", args=[campaign.name])
    return Spark(
        "Progress", value, note, description, address, bars=bars([done for _, done, _ in days], labels), labels=ends
    )


def _agreement(campaign: Campaign, numbers: Numbers) -> Spark:
    weeks = numbers["weeks"][-DAYS_SHOWN:]
    value, note = _alpha(numbers) if campaign.rounds_known else _alpha_without_rounds(numbers)
    ends = (_week(weeks[0]["week"]), _week(weeks[-1]["week"])) if weeks else ("", "")
    points = line([week["alpha"] for week in weeks], top=1.0)
    drawn = "; a line of alpha by week, from 0 to 1" if points else ""
    description = f"Agreement {value}, {note}{drawn}"
    address = reverse("agreement", args=[campaign.name])
    return Spark("Agreement", value, note, description, address, line=points, labels=ends)


def _alpha(numbers: Numbers) -> tuple[str, str]:
    alpha, contested = numbers["alpha"]["round_one"], numbers["contested"]
    note = "ordinal, before round two" if contested is None else f"{contested:.0%} of pairs contested"
    return "–" if alpha is None else f"α {decimals(alpha, 2)}", note


def _alpha_without_rounds(numbers: Numbers) -> tuple[str, str]:
    """All that imported ratings tell whose rounds are unknown."""
    alpha, share = numbers["alpha"]["all"], share_of(numbers["escalated"], numbers["rated"])
    return "–" if alpha is None else f"α {decimals(alpha, 3)}", f"over all grades; {share} escalated"


def _grades(campaign: Campaign, numbers: Numbers) -> Spark:
    grades = numbers["grades"]
    labels = [f"grade {grade}: {number:,}" for grade, number in enumerate(grades)]
    value = f"{sum(grades):,} pairs settled"
    note = f"{numbers['outcomes']['discarded']:,} discarded, {numbers['outcomes']['contested']:,} contested"
    address = reverse("figures", args=[campaign.name])
    description = f"{value}; {', '.join(labels)}"
    return Spark("Grades", value, note, description, address, bars=bars(grades, labels), labels=("0", "4"))


def _spent(campaign: Campaign, numbers: Numbers) -> Spark:
    hours, left = numbers["seconds"] / 3600, numbers["seconds_left"] / 3600
    rates, rate = Rates.of(campaign), float(campaign.hourly_rate or 0)
    if rate:
        worked = ((date.fromisoformat(day), seconds) for day, _, seconds in numbers["days"])
        spent = sum(seconds / 3600 * float(rates.on(day) or 0) for day, seconds in worked)
        value = f"{campaign.currency} {spent:,.0f}"
        note = f"{hours:,.0f} hours; about {campaign.currency} {rate * left:,.0f} still to come"
    else:
        value, note = f"{hours:,.1f} hours", f"about {left:,.1f} still to come"
    sums = list(accumulate(seconds for _, _, seconds in numbers["days"]))
    points = line(sums, top=max(sums, default=0) or 1)
    ends = (_day(numbers["days"][0][0]), _day(numbers["days"][-1][0])) if numbers["days"] else ("", "")
    address = reverse("hours", args=[campaign.name])
    return Spark("Spent", value, note, f"{value}, {note}", address, line=points, labels=ends)


def _day(iso: str) -> str:
    return date_format(date.fromisoformat(iso), "j M Y")


def _week(number: int) -> str:
    return f"week {number % 100}, {number // 100}"
