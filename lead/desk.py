"""The desk of a campaign: what is still to do before judging begins, how far it is, and the long work."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from django.db.models import Exists, OuterRef
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from campaigns import access
from campaigns.models import Campaign, Membership
from judging.models import Assignment, Batch, Candidate, Kind, Query
from judging.models.sitting import exam_batches
from judging.pool.clips import cut_clips
from judging.quality.exam import unexplained

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


def reused(campaign: Campaign) -> int:
    """Return how many pairs have a grade of the campaign whose grades this one reuses."""
    return Candidate.objects.in_pool(campaign).reused().count() if campaign.reuses_id else 0


@dataclass(frozen=True)
class Progress:
    """How many queries there are, are finished, and are begun without being finished."""

    queries: int
    finished: int
    begun: int

    @property
    def to_come(self) -> int:
        return self.queries - self.finished - self.begun

    @property
    def parts(self) -> list[tuple[str, str, int]]:
        """The state by which the queries of each part are listed, what they are, and how many."""
        return [("closed", "finished", self.finished), ("begun", "begun", self.begun), ("new", "to come", self.to_come)]

    @property
    def line(self) -> SafeString:
        """The parts as rectangles, one after the other, in a drawing that is 1,000 wide."""
        ends = list(accumulate(number for _, _, number in self.parts))
        unit = 1000 / (self.queries or 1)
        return format_html_join(
            "",
            '<rect class="{}" x="{}" width="{}" height="16"/>',
            (
                (state, f"{(end - number) * unit:.1f}", f"{number * unit:.1f}")
                for (state, _, number), end in zip(self.parts, ends, strict=True)
            ),
        )
