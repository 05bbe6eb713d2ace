"""A campaign's statistics: computed at once while the campaign is small, by a job and stored when it is large."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, partial
from typing import Any

from django.db import transaction
from django.db.models import BooleanField, Exists, ExpressionWrapper, F, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from base.database import compiled
from campaigns.models import Campaign, Membership
from corpus.models import Moment
from jobs.models import Job
from jobs.registry import SELF, Report, kind
from judging.models import Assignment, Candidate
from reports.models import Summary
from reports.statistics.agreement import agreement, by_query, work
from reports.statistics.arrays import Read, read, times_of
from reports.statistics.collection import collection
from reports.statistics.progress import days_over, people, progress
from reports.statistics.severity import who_judges

AGREEMENT, SEVERITY, QUERIES, FIGURES = "agreement", "severity", "queries", "figures"
PROGRESS, PEOPLE, DAYS, WORKING = "progress", "people", "days", "working"
# How each summary is computed. The campaign's arrays are read once, when the first summary needs them.
NAMES: dict[str, Callable[[Campaign, Callable[[], Read]], Any]] = {
    AGREEMENT: lambda campaign, pool: agreement(pool(), campaign.tolerance, campaign.rounds_known),
    SEVERITY: lambda campaign, pool: who_judges(pool(), campaign.tolerance, campaign.rounds_known),
    QUERIES: lambda campaign, pool: by_query(pool(), campaign.tolerance, campaign.rounds_known),
    FIGURES: lambda campaign, pool: collection(campaign, pool()),
    PROGRESS: lambda campaign, pool: progress(campaign, pool()),
    PEOPLE: lambda campaign, pool: people(campaign),
    DAYS: lambda campaign, pool: days_over(campaign),
    WORKING: lambda campaign, pool: work(pool(), times_of(campaign)),
}
AT_ONCE = 5000  # candidates or moments; a campaign with more is summarized by a job
FRESH = timedelta(minutes=1)  # a stored summary is not replaced before this age,
PAUSE = 10  # nor before so many times as long as its counting took


@dataclass(frozen=True)
class CurrentSummary:
    """A summary, the time when its judgements were read, and the job that computes newer ones."""

    counts: Any
    made: datetime | None
    job: Job | None = None

    @property
    def counting(self) -> bool:
        return self.job is not None and self.job.state in (Job.State.WAITING, Job.State.RUNNING)

    @property
    def failed(self) -> bool:
        return self.job is not None and self.job.state == Job.State.FAILED


def current_summary(campaign: Campaign, name: str) -> CurrentSummary:
    """Return the campaign's summary of that name.

    The summary of a large campaign may be out of date, or missing. This asks for the job that computes a newer one.
    """
    return current_summaries(campaign, name)[name]


def current_summaries(campaign: Campaign, *names: str) -> dict[str, CurrentSummary]:
    """Return several summaries that were made at the same time; see `current_summary`."""
    row = _changes(campaign.pk, AT_ONCE)
    assert row is not None
    is_large, *times = row
    newest = max((at for at in times if at), default=None)
    if not is_large:
        now, pool = timezone.now(), cache(partial(read, campaign))
        # The days are of use where they save reading revisions.
        return {name: CurrentSummary(NAMES[name](campaign, pool) if name != DAYS else None, now) for name in names}
    job = count_agreement.jobs(campaign).first()
    rows = Summary.objects.filter(campaign=campaign, name__in=names)
    summaries = {summary.name: summary for summary in rows}
    made = min((each.made for each in summaries.values()), default=None) if len(summaries) == len(names) else None
    waiting = job is not None and job.state != Job.State.DONE  # only a person starts a failed job again
    is_old = made is None or (newest is not None and newest > made and timezone.now() > made + _fresh(job))
    if not waiting and is_old:
        job = count_agreement.ask(campaign)
    counts = {name: summary.counts for name, summary in summaries.items()}
    return {name: CurrentSummary(counts.get(name), made, job) for name in names}


def _fresh(job: Job | None) -> timedelta:
    """Return for how long summaries are not counted anew, so that the largest campaign uses a tenth of a worker."""
    took = job.ended - job.started if job and job.started and job.ended else timedelta()
    return max(FRESH, PAUSE * took)


def last_summary(campaign: Campaign, name: str) -> Any:
    """Return the counts of the stored summary, however old, or None if it was never stored."""
    row = Summary.objects.filter(campaign=campaign, name=name).first()
    return row.counts if row else None


@kind("count-agreement", "Count agreement", of=Campaign, owner=SELF, page=("agreement", "name"))
def count_agreement(campaign: Campaign, report: Report) -> None:
    store_summaries(campaign)


def store_summaries(campaign: Campaign) -> None:
    """Compute all summaries of the campaign, and replace the stored ones."""
    made = timezone.now()  # before reading, so that judgements stored meanwhile are newer
    pool = cache(partial(read, campaign))
    computed = {name: count(campaign, pool) for name, count in NAMES.items()}
    with transaction.atomic():
        for name, counts in computed.items():
            Summary.objects.update_or_create(campaign=campaign, name=name, defaults={"made": made, "counts": counts})


def _of_campaign(key: int, few: int) -> QuerySet[Campaign, Any]:
    """Return whether there are more candidates or moments than a few, and when the campaign changed."""
    candidates = Candidate.objects.filter(query__campaign=key).order_by()  # each has at most four judgements
    moments = Moment.objects.filter(video__corpus=OuterRef("corpus")).order_by()
    further = Q(Exists(candidates[few : few + 1])) | Q(Exists(moments[few : few + 1]))
    # An index gives each annotator's newest one. Reopening, which takes some away, touches the campaign.
    own = Assignment.objects.submitted().filter(annotator=OuterRef("pk")).order_by("-submitted")
    members = Membership.objects.filter(campaign=key).annotate(newest=Subquery(own.values("submitted")[:1]))
    newest = Subquery(members.order_by(F("newest").desc(nulls_last=True)).values("newest")[:1])
    large = ExpressionWrapper(further, BooleanField())
    return Campaign.objects.filter(pk=key).values_list(large, newest, "touched")


_changes = compiled(_of_campaign)
