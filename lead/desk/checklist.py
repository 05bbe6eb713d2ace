"""What a new campaign still needs before it is judged. Rows say what is done; the list goes when somebody judges."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse

from campaigns.models import Campaign, Membership
from judging.models import Assignment, Batch, Candidate, Kind, Query
from judging.models.sitting import exam_batches

JUDGES = 2  # of a batch in round one


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
        state = "It is made." if made else "The settings want an exam, and there is none: nobody gets work. Make it."
    return Item("Exam", state, _page("exam", campaign), campaign.exam and made, is_optional=not campaign.exam)


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
