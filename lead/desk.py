"""The desk of a campaign: what is still to do before judging begins, how it goes in four charts, and the long work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import accumulate
from typing import Any

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.safestring import SafeString, mark_safe

from base.templatetags.figures import decimals, share_of
from campaigns import access
from campaigns.models import Campaign, Membership
from judging.models import Assignment, Batch, Candidate, Kind, Query
from judging.models.sitting import exam_batches
from judging.pool.clips import cut_clips
from judging.quality.exam import unexplained
from reports.hours import Rates
from reports.summaries import AGREEMENT, PROGRESS, CurrentSummary

JOBS_LOOKED_AT = 1000
JOBS_SHOWN = 4  # of each kind of state
JUDGES = 2  # of a batch in round one
DAYS_SHOWN = 28
WIDTH, HEIGHT = 240.0, 64.0  # of a drawing, in its own units
GAP = 0.25  # of a bar's step


def jobs_of(member: Membership) -> dict[str, Any]:
    """The campaign's long work: how much is under way, what of it runs, what is delayed, and what failed."""
    found = list(access.jobs(member).not_done().order_by("pk")[:JOBS_LOOKED_AT])
    failed = [job for job in found if job.has_failed]
    delayed = [job for job in found if job.is_delayed]
    return {
        "unfinished": len(found) - len(failed),
        "waiting": sum(not (job.has_failed or job.is_running or job.is_delayed) for job in found),
        "running": [job for job in found if job.is_running][:JOBS_SHOWN],
        "delayed": delayed[:JOBS_SHOWN],
        "more_delayed": len(delayed[JOBS_SHOWN:]),
        "failed": failed[:JOBS_SHOWN],
        "n_failed": len(failed),
        "n_without_clips": sum(job.kind == cut_clips.code for job in failed),
    }


@dataclass(frozen=True)
class Item:
    """Something to do, where, and what of it is done."""

    words: str
    state: str
    address: str
    done: bool
    is_optional: bool = False


def checklist(campaign: Campaign) -> list[Item]:
    """Return the items in their order; none once a batch of the pool was claimed, or if ratings were imported."""
    if campaign.imported or Assignment.objects.filter(batch__campaign=campaign, batch__kind=Kind.POOL).exists():
        return []
    return [_ranking(campaign), _guideline(campaign), _exam(campaign), _people(campaign), _batches(campaign)]


def _ranking(campaign: Campaign) -> Item:
    queries = Query.objects.pool().filter(campaign=campaign)
    ranked = Candidate.objects.in_campaign(campaign).filter(query__kind=Kind.POOL).values("query").distinct().count()
    total = queries.count()
    state = f"{ranked:,} of {total:,} queries are ranked." + ("" if ranked else " It runs by itself; see below.")
    return Item("Ranking", state, f"{_page('campaign', campaign)}#jobs", bool(total) and ranked >= total)


def _guideline(campaign: Campaign) -> Item:
    version = campaign.guideline.version
    state = (
        f"Version {version} is in force." if version else "The built-in guideline is in force. Read it; write your own."
    )
    return Item("Guideline", state, _page("guideline", campaign), version > 0, is_optional=True)


def _exam(campaign: Campaign) -> Item:
    made = exam_batches(campaign).exists()
    if not campaign.exam:
        state = "Annotators get work at once. To have them pass an exam first, make one and switch it on in Settings."
    else:
        state = _of_made_exam(campaign) if made else "There is none, and the settings want one: nobody gets work."
    return Item("Exam", state, _page("exam", campaign), campaign.exam and made, is_optional=not campaign.exam)


def _of_made_exam(campaign: Campaign) -> str:
    missing = unexplained(campaign).count()
    return f"It is made; {missing:,} of its pairs have no reason yet." if missing else "It is made."


def _people(campaign: Campaign) -> Item:
    active = campaign.memberships.annotators().filter(state=Membership.State.ACTIVE).count()
    invited = campaign.invitations.open().count()
    state = f"{active:,} of at least {JUDGES} annotators have joined; {invited:,} invitations are open."
    return Item("Invite annotators", state, _page("people", campaign), active >= JUDGES)


def _batches(campaign: Campaign) -> Item:
    batches = Batch.objects.in_campaign(campaign).filter(kind=Kind.POOL)
    ready = batches.filter(state=Batch.State.OPEN).count()
    total = batches.count()
    state = f"{ready:,} of {total:,} batches are open. Each opens by itself when its clips are cut."
    return Item("Open", state, f"{_page('campaign', campaign)}#jobs", ready > 0)


def _page(name: str, campaign: Campaign) -> str:
    return reverse(name, args=[campaign.name])


Numbers = dict[str, Any]


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
    left = f"about {numbers['left']:,} left" if numbers["left"] else "nothing open is left"
    note = f"{left}{_end(numbers)}"
    value = f"{numbers['judgements']:,} judgements"
    pace = f"{numbers['pace']:.0f} a day lately" if days else "the days are unknown"
    description = f"{value}; {pace}; {note}"
    ends = (_day(days[0][0]), _day(days[-1][0])) if days else ("", "")
    address = reverse("agreement-judgements", args=[campaign.name])
    return Spark(
        "Progress", value, note, description, address, bars=bars([done for _, done, _ in days], labels), labels=ends
    )


def _end(numbers: Numbers) -> str:
    """Say between which days a campaign ends at the present pace, as far as anybody can."""
    end, earliest, latest = (numbers.get(name) for name in ("end", "earliest", "latest"))
    if earliest and latest:
        return f", done between {_day(earliest)} and {_day(latest)} (95 %)"
    if earliest:
        return f", done after {_day(earliest)}; the pace varies too much to say when"
    return f", done around {_day(end)}" if end else ""


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


@dataclass(frozen=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    label: str

    @property
    def box(self) -> SafeString:
        """Its attributes in the drawing. A filter of templates would take as long for them as all the rest."""
        numbers = {"x": self.x, "y": self.y, "width": self.width, "height": self.height}
        return mark_safe(" ".join(f'{name}="{number:.1f}"' for name, number in numbers.items()))  # noqa: S308


@dataclass(frozen=True)
class Spark:
    """A number in words with a small drawing below it; `description` says the drawing as a sentence."""

    title: str
    value: str
    note: str
    description: str
    address: str = ""
    bars: list[Bar] = field(default_factory=list)
    line: str = ""
    labels: tuple[str, str] = ("", "")


def bars(heights: Sequence[float], labels: Sequence[str]) -> list[Bar]:
    """Return a bar for each number, or none if all are 0."""
    top, step = max(heights, default=0), WIDTH / max(1, len(heights))
    if not top:
        return []
    return [
        Bar(place * step, HEIGHT * (1 - height / top), step * (1 - GAP), HEIGHT * height / top, label)
        for place, (height, label) in enumerate(zip(heights, labels, strict=True))
    ]


def line(heights: Sequence[float | None], top: float) -> str:
    """Return the points of a line from 0 at the bottom to `top`, or none if it would have one point at most.

    What is not known is left out.
    """
    step = WIDTH / max(1, len(heights) - 1)
    points = [
        (place * step, HEIGHT * (1 - max(0.0, min(height, top)) / top))
        for place, height in enumerate(heights)
        if height is not None
    ]
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points) if len(points) > 1 else ""
