"""The table of annotators: what each did, how each agrees with the others, what was missed, pay and limits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import Any

from django import forms
from django.db.models import Count, F, Subquery
from django.db.models.functions import Abs
from django.db.models.lookups import GreaterThan
from django.utils import timezone

from base.listing import Column, Listing
from campaigns.models import Applicant, Campaign, Invitation, Membership
from campaigns.models.membership import LONGEST_GROUP
from judging.models import Candidate, Judgement
from judging.quality.check_results import RecentChecks, recent_checks
from judging.review.reopening import OFF_BY
from reports.campaign_summaries import AGREEMENT, DAYS, SEVERITY, CurrentSummary, current_summaries
from reports.hours import Rates, Worked, total
from reports.pay import Period, days_counted, days_in
from reports.tables.people import is_idle, last_days

Numbers = dict[str, Any]
FAR_OFF_SHOWN = 6
MUCH = 0.25  # grades: who is at least so severe, or so mild, and surely so, needs a word


@dataclass(frozen=True)
class AnnotatorLine:
    """A member, what they did in the last weeks, and the numbers of their judgements."""

    member: Any  # a membership with the numbers of invitations
    days: tuple[int, ...] = ()  # judgements on each of the last 28 days, the oldest first
    month: Worked = field(default_factory=Worked)
    pay: Decimal | None = None  # of this month; None without a rate
    today: int = 0
    week: int = 0
    last: date | None = None  # with work, in these weeks
    agreement: Numbers = field(default_factory=dict)
    model: Numbers = field(default_factory=dict)
    checks: RecentChecks = field(default_factory=RecentChecks)
    lowest: float | None = None  # the lower end of the campaign's own alpha
    top: int = 1  # the most judgements of anybody on a day

    def __str__(self) -> str:
        return self.name

    @property
    def pk(self) -> int:
        """The worker number, by which a ticked row is named."""
        return self.worker

    @property
    def worker(self) -> int:
        return int(self.member.worker)

    @property
    def name(self) -> str:
        return str(self.member.user.get_username())

    @property
    def done(self) -> int:
        """The judgements of the last 28 days."""
        return sum(self.days)

    @property
    def seen(self) -> int | None:
        """The days since the last work; None if that is longer ago."""
        return (timezone.localdate() - self.last).days if self.last else None

    @property
    def alpha(self) -> float | None:
        return self.agreement.get("alpha")

    @property
    def severity(self) -> float | None:
        return self.model.get("severity")

    @property
    def hours(self) -> float:
        return round(float(self.month.hours), 2)

    @property
    def share_missed(self) -> float | None:
        return self.checks.share if self.checks.tells else None

    def number(self, name: str) -> Any:
        """Return a number of agreement, or of the model; None where it is not known."""
        return self.agreement.get(name, self.model.get(name))

    @property
    def is_low(self) -> bool:
        """Whether the annotator surely agrees less than all together do."""
        high = self.agreement.get("alpha_high")
        return high is not None and self.lowest is not None and high < self.lowest

    @property
    def is_far(self) -> bool:
        """Whether the annotator is surely more severe or milder than the others, by a quarter of a grade or more."""
        known = self.severity is not None and abs(self.severity) >= MUCH
        return known and not self.model["severity_low"] <= 0 <= self.model["severity_high"]

    @property
    def is_missing(self) -> bool:
        """Whether as many check pairs are missed as bring a warning."""
        return self.checks.tells and self.checks.share >= self.member.campaign.check_warn

    @property
    def is_idle(self) -> bool:
        return bool(getattr(self.member, "is_idle", False))

    @cached_property
    def slips(self) -> list[str]:
        """What needs a lead, in words."""
        slips = {"paused": self.member.is_paused, "low α": self.is_low, "misses checks": self.is_missing}
        slips |= {"mild" if (self.severity or 0) > 0 else "severe": self.is_far}
        return [words for words, holds in slips.items() if holds]


def annotator_rows(campaign: Campaign) -> tuple[list[AnnotatorLine], dict[str, CurrentSummary]]:
    """Return a row for each member, those first who need the lead; and the summaries that they were made from."""
    summaries = current_summaries(campaign, AGREEMENT, SEVERITY, DAYS)
    counted = days_counted(summaries[DAYS].counts)
    counts = summaries[AGREEMENT].counts or {"annotators": [], "alpha_interval": {}}
    own = {row["member"]: row for row in counts["annotators"]}
    model = {row["member"]: row for row in (summaries[SEVERITY].counts or {"annotators": []})["annotators"]}
    name = "round_one" if campaign.rounds_known else "all"
    lowest = (counts["alpha_interval"].get(name) or [None])[0]
    checks, rates = recent_checks(campaign), Rates.of(campaign)
    today = timezone.localdate()
    last = last_days()
    first = last[0]
    worked: dict[int, dict[date, Worked]] = {}
    for (key, day), part in days_in(campaign, Period(min(first, today.replace(day=1)), today), rates, counted).items():
        worked.setdefault(key, {})[day] = part
    top = max((part.judgements for days in worked.values() for part in days.values()), default=1)
    rows = []
    for member in _members(campaign):
        days = worked.get(member.pk, {})
        member.campaign = campaign
        month = {day: part for day, part in days.items() if day >= today.replace(day=1)}
        numbers = tuple(days[day].judgements if day in days else 0 for day in last)
        row = AnnotatorLine(member, numbers, total(month.values()), rates.earned(month), numbers[-1])
        row = replace(row, week=sum(numbers[-1 - today.weekday() :]), last=max(days, default=None), top=top)
        row = replace(row, agreement=own.get(member.pk, {}), model=model.get(member.pk, {}), lowest=lowest)
        rows.append(replace(row, checks=checks.get(member.pk, RecentChecks())))
    return sorted(rows, key=_urgency), summaries


def _members(campaign: Campaign) -> Any:
    """Return the members, each with the numbers of invitations, which are the same for all and cost no statement."""
    members = campaign.memberships.filter(same_as=None).select_related("user").order_by("worker")
    unused = Invitation.objects.filter(
        campaign=campaign, role=Membership.Role.ANNOTATOR, used=None, withdrawn=None, places=None
    )
    return members.annotate(
        is_idle=is_idle(),
        n_unused=_number(unused, "campaign"),
        n_opened=_number(unused.filter(opened__isnull=False), "campaign"),
        n_asking=_number(Applicant.objects.waiting().filter(invitation__campaign=campaign), "invitation__campaign"),
    )


def _number(rows: Any, by: str) -> Subquery:
    return Subquery(rows.order_by().values(by).annotate(n=Count("pk")).values("n"))


def _urgency(row: AnnotatorLine) -> tuple[bool, bool, bool, int, float]:
    """Put those first who are paused or slip, then the others by worker, and last who has left or does not judge."""
    member = row.member
    missed = -(row.share_missed or 0.0)
    return not member.is_annotator, member.has_left, not member.is_paused, -len(row.slips), missed


class AnnotatorFilters(forms.Form):
    """The filters of the table."""

    role = forms.ChoiceField(required=False, choices=[("", "all"), *Membership.Role.choices], label="Role")
    state = forms.ChoiceField(required=False, choices=[("", "all"), *Membership.State.choices], label="State")
    group = forms.CharField(required=False, max_length=LONGEST_GROUP, label="Group")


def _of_limits(name: str, label: str) -> Column:
    return Column(name, label, lambda row: getattr(row.member, name), is_number=True)


def _of_pairs(name: str, label: str) -> Column:
    return Column(name, label, lambda row: row.number(name), is_number=True, places=2)


COLUMNS = (
    Column("worker", "Worker", lambda row: row.worker, by="worker", is_number=True),
    Column("name", "Name", lambda row: row.name, by="name"),
    Column("role", "Role", lambda row: row.member.role),
    Column("state", "State", lambda row: row.member.state),
    Column("group", "Group", lambda row: row.member.group),
    Column("days", "28 days", lambda row: row.done, by="done"),
    Column("today", "Today", lambda row: row.today, by="today", is_number=True),
    _of_limits("most_a_day", "A day, at most"),
    Column("week", "This week", lambda row: row.week, by="week", is_number=True),
    _of_limits("most_a_week", "A week, at most"),
    Column("judged", "Judged", lambda row: row.number("judged"), is_number=True),
    _of_limits("most_in_all", "In all, at most"),
    Column("alpha", "α", lambda row: row.alpha, by="alpha"),
    _of_pairs("kappa", "κ"),
    Column("severity", "Severity", lambda row: row.severity, by="severity"),
    _of_pairs("difference", "Mean difference"),
    _of_pairs("spread", "Spread"),
    Column("contested", "Contested", lambda row: row.number("contested"), is_number=True),
    Column("settled", "Settled", lambda row: row.number("settled"), is_number=True),
    Column("checks", "Checks", lambda row: row.share_missed, by="share_missed"),
    Column("seconds", "Seconds", lambda row: row.number("seconds"), is_number=True, places=1),
    Column("fast", "Under 2 s", lambda row: row.number("fast"), is_number=True),
    Column("hours", "Hours", lambda row: row.hours, by="hours", is_number=True, places=1),
    Column("pay", "Pay", lambda row: row.pay, is_number=True),
    Column("seen", "Seen", lambda row: row.seen, by="seen", is_number=True),
)
# The columns of each view that is a table of annotators.
OF_VIEWS = {
    "progress": ("name", "days", "week", "alpha", "severity", "checks", "seconds", "hours", "pay", "seen"),
    "quality": ("name", "alpha", "kappa", "severity", "difference", "spread", "contested", "checks", "fast"),
    "limits": ("name", "group", "today", "most_a_day", "week", "most_a_week", "judged", "most_in_all"),
}


def annotators_listing(view: str) -> Listing:
    """Return the table with the usual columns of a view."""
    return Listing(
        "people",
        tuple(replace(column, is_usual=column.key in OF_VIEWS[view]) for column in COLUMNS),
        AnnotatorFilters,
        {
            "role": lambda rows, role: [row for row in rows if row.member.role == role],
            "state": lambda rows, state: [row for row in rows if row.member.state == state],
            "group": lambda rows, group: [row for row in rows if row.member.group == group],
        },
    )


def funnel(campaign: Campaign, rows: list[AnnotatorLine]) -> tuple[list[tuple[str, int]], int]:
    """Return how many annotators were invited, opened the link, joined, passed the exam, and judge this week.

    The second number is that of the people who ask to join by a link for several, and wait for a lead.
    """
    annotators, anybody = [row for row in rows if row.member.is_annotator], rows[0].member
    joined = len(annotators)
    unused, opened = anybody.n_unused or 0, anybody.n_opened or 0
    steps = [("invited", joined + unused), ("opened the link", joined + opened), ("joined", joined)]
    if campaign.exam:
        steps.append(("passed", sum(bool(row.member.qualified) for row in annotators)))
    return [*steps, ("judging this week", sum(bool(row.week) for row in annotators))], anybody.n_asking or 0


def far_off(member: Membership) -> list[Judgement]:
    """Return the latest judgements that differ much from the final grade, of which the page shows the clips."""
    counted = member.judgements.filter(seat__isnull=False, candidate__outcome=Candidate.Outcome.SETTLED)
    apart = counted.filter(GreaterThan(Abs(F("grade") - F("candidate__grade")), OFF_BY - 1))
    return list(apart.select_related("candidate__query", "candidate__clip").order_by("-pk")[:FAR_OFF_SHOWN])
