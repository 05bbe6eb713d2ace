"""The parts of the overview: four tiles, what is to do before judging begins, and the jobs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import Exists, OuterRef
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.safestring import SafeString
from django.utils.timezone import localdate

from base.templatetags.figures import decimals, share_of
from base.text import joined_markup, markup
from campaigns import access
from campaigns.models import Campaign, Membership
from judging.models import Assignment, Batch, Candidate, Kind, Query
from judging.models.sitting import exam_batches
from judging.pool.clips import cut_clips
from judging.quality.exam import unexplained
from judging.review.frontier import Frontier
from reports.campaign_summaries import AGREEMENT, PROGRESS, CurrentSummary
from runs.estimates.planning import paid

Numbers = dict[str, Any]
JOBS_LOOKED_AT = 1000
JOBS_SHOWN = 4  # of each kind of state
JUDGES = 2  # of a batch in round one


def jobs_of(member: Membership) -> dict[str, Any]:
    """The campaign's long work: how much is under way, what of it runs, what is delayed, and what failed."""
    found = list(access.jobs(member).not_done().order_by("pk")[:JOBS_LOOKED_AT])
    failed = [job for job in found if job.has_failed and not job.is_cancelled]
    delayed = [job for job in found if job.is_delayed]
    return {
        "unfinished": sum(not job.has_failed for job in found),
        "waiting": sum(not (job.has_failed or job.is_running or job.is_delayed) for job in found),
        "running": [job for job in found if job.is_running][:JOBS_SHOWN],
        "delayed": delayed[:JOBS_SHOWN],
        "more_delayed": len(delayed[JOBS_SHOWN:]),
        "failed": failed[:JOBS_SHOWN],
        "n_failed": len(failed),
        "n_without_clips": sum(job.has_failed and job.kind == cut_clips.code for job in found),
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
    ranked = queries.filter(Exists(Candidate.objects.filter(query=OuterRef("pk")))).count()
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
    elif made:
        missing = unexplained(campaign).count()
        state = f"It is made; {missing:,} of its pairs have no reason yet." if missing else "It is made."
    else:
        state = "There is none, and the settings want one: nobody gets work."
    return Item("Exam", state, _page("exam", campaign), campaign.exam and made, is_optional=not campaign.exam)


def _people(campaign: Campaign) -> Item:
    active = campaign.memberships.annotators().filter(state=Membership.State.ACTIVE).count()
    invited = campaign.invitations.open().count()
    open_ones = f" {invited:,} invitations are open." if invited else ""
    state = f"{active:,} annotators have joined ({JUDGES} are enough to begin).{open_ones}"
    return Item("Invite annotators", state, _page("annotators", campaign), active >= JUDGES)


def _batches(campaign: Campaign) -> Item:
    batches = Batch.objects.in_campaign(campaign).filter(kind=Kind.POOL)
    ready = batches.filter(state=Batch.State.OPEN).count()
    total = batches.count()
    state = f"{ready:,} of {total:,} batches are open. Each opens by itself when its clips are cut."
    return Item("Open", state, f"{_page('campaign', campaign)}#jobs", ready > 0)


def _page(name: str, campaign: Campaign) -> str:
    return reverse(name, args=[campaign.name])


def reused(campaign: Campaign) -> int:
    """Return how many pairs have a grade of the campaign whose grades this one reuses."""
    return Candidate.objects.in_pool(campaign).reused().count() if campaign.reuses_id else 0


LANDMARKS = (0.615, 0.667)  # alpha of TVR-Ranking's judgements, and the least for which Krippendorff draws conclusions
GOOD = 0.8  # from which Krippendorff calls data reliable


@dataclass(frozen=True)
class Tile:
    """A number with its unit, what else is known of it, and where it is made of."""

    title: str
    value: str
    of: str
    note: str
    address: str
    word: str = ""  # how good it is
    is_due: bool = False  # whether it needs somebody
    drawing: str = ""


def tiles(campaign: Campaign, found: Frontier, kept: dict[str, CurrentSummary], *, with_pay: bool) -> list[Tile]:
    """Return the tiles of what is counted: before the first judgement only how many queries there are."""
    numbers, agreement = kept[PROGRESS].counts, kept[AGREEMENT].counts
    listed = [_finished(campaign, found)]
    if not numbers or not agreement or not numbers["judgements"]:
        return listed
    listed += [_agreement(campaign, agreement), _end(campaign, numbers)]
    return [*listed, _pay(campaign, numbers)] if with_pay and numbers["seconds"] else listed


def _finished(campaign: Campaign, found: Frontier) -> Tile:
    done, whole = found.sample + found.beyond, max(1, found.queries)
    parts = (("closed", 0, found.sample), ("begun", found.sample, found.beyond))
    drawn = (
        (look, f"{100 * start / whole:.2f}%", f"{100 * number / whole:.2f}%") for look, start, number in parts if number
    )
    line = joined_markup('<rect class="{}" x="{}" width="{}" y="3" height="8"/>', drawn)
    track = SafeString('<rect class="track" width="100%" y="3" height="8"/>')
    note = f"{found.sample:,} ready to release"
    address = reverse("queries", args=[campaign.name]) + "?show=closed"
    return Tile("Finished", f"{done:,}", f"of {found.queries:,} queries", note, address, drawing=track + line)


def word_for(alpha: float) -> str:
    """Say how good an alpha is.

    >>> word_for(0.41), word_for(0.7), word_for(0.84)
    ('low', 'fair', 'good')
    """
    return "low" if alpha < LANDMARKS[0] else "fair" if alpha < GOOD else "good"


def _agreement(campaign: Campaign, numbers: Numbers) -> Tile:
    which = "round_one" if campaign.rounds_known else "all"
    alpha, ends = numbers["alpha"][which], numbers["alpha_interval"][which]
    address = reverse("agreement", args=[campaign.name])
    if alpha is None:
        return Tile("Agreement", "α –", "", "not enough pairs yet", address)
    note = f"{decimals(ends[0], 2)} to {decimals(ends[1], 2)}" if ends else "ordinal alpha"
    if not campaign.rounds_known:
        note = f"over all grades; {share_of(numbers['escalated'], numbers['rated'])} escalated"
    value, word = f"α {decimals(alpha, 2)}", word_for(alpha)
    return Tile("Agreement", value, "", note, address, word, word == "low", ruler(alpha, ends))


def ruler(value: float, ends: list[float] | None) -> SafeString:
    """Draw a value with its interval on a line from 0 to 1 with the landmarks."""
    band = ""
    if ends:
        low, high = (min(max(end, 0.0), 1.0) for end in ends)
        band = markup('<rect class="band" x="{}%" width="{}%" y="2" height="10"/>', *_percents(low, high - low))
    ticks = joined_markup(
        '<line class="tick" x1="{0}%" x2="{0}%" y1="0" y2="14"><title>{1}</title></line>',
        ((_percents(each)[0], each) for each in LANDMARKS),
    )
    dot = markup('<circle class="dot-now" cx="{}%" cy="7" r="5"/>', *_percents(min(max(value, 0.0), 1.0)))
    return markup('<rect class="track" width="100%" y="6" height="2"/>{}{}{}', SafeString(band), ticks, dot)


def _percents(*shares: float) -> list[str]:
    return [f"{100 * share:.1f}" for share in shares]


def _end(campaign: Campaign, numbers: Numbers) -> Tile:
    """When a campaign ends at the present pace, as far as anybody can say."""
    end, earliest, latest = (numbers.get(name) for name in ("end", "earliest", "latest"))
    address = reverse("campaign", args=[campaign.name]) + "?drawer=hours"
    note = f"{numbers['left']:,} judgements to go, {numbers['pace']:,.0f} a day" if numbers["left"] else ""
    if earliest and latest:
        first, last = _day(earliest), _day(latest)
        value = f"{first} – {last}" if first != last else first
    elif earliest:
        value, note = f"After {_day(earliest)}", f"{note}; the pace varies too much to say when"
    else:
        value = f"About {_day(end)}" if end else ("–" if numbers["left"] else "All judged")
    return Tile("Likely end", value, "", note or "nothing left to judge", address)


def _pay(campaign: Campaign, numbers: Numbers) -> Tile:
    hours, left = numbers["seconds"] / 3600, numbers["seconds_left"] / 3600
    rate = float(campaign.hourly_rate or 0)
    address = reverse("annotators", args=[campaign.name]) + "?view=pay"
    to_come = f"{left:,.1f} hours to come" if left >= 0.05 else "nothing left to pay"
    if not rate:
        return Tile("Hours", f"{hours:,.1f}", f"of about {hours + left:,.1f}", to_come, address)
    spent = paid(campaign, numbers)
    of = f"of about {spent + rate * left:,.0f}" if left >= 0.05 else ""
    return Tile("Paid", f"{campaign.currency} {spent:,.0f}".strip(), of, f"{hours:,.1f} hours, {to_come}", address)


def _day(iso: str) -> str:
    """Return a day, with its year only if that is another one."""
    day = date.fromisoformat(iso)
    return date_format(day, "j M" if day.year == localdate().year else "j M Y")
