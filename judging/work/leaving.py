"""Leaving a campaign, changing roles, and handing over the batch that a member holds."""

from __future__ import annotations

from base.transactions import all_or_nothing
from campaigns.models import Event, Membership


@all_or_nothing
def hand_over(member: Membership, by: Membership | None, reason: str) -> None:
    """Take the member's batch away at once. Its judgements stay on record and do not count."""
    member.lock()
    if (live := member.assignments.live().first()) and live.take_away():
        member.events.create(kind=Event.Kind.HANDED_OVER, by=by, reason=reason)


@all_or_nothing
def deactivate(member: Membership, by: Membership | None, reason: str) -> None:
    """Note that the member has left, and take their batch away. Their judgements stay."""
    member.leave(by, reason)
    hand_over(member, by, reason)


@all_or_nothing
def change_role(member: Membership, role: str, by: Membership | None, reason: str) -> None:
    """Give the member another role, and take their batch away. If they have the role already, nothing changes."""
    member.lock()
    if member.role != role:
        hand_over(member, by, reason)
        member.change_role(role, by, reason)
