"""Leaving: somebody leaves a campaign or changes roles, and the batch in their hands goes to others."""

from __future__ import annotations

from base.transactions import all_or_nothing
from campaigns.models import Event, Membership


@all_or_nothing
def hand_over(member: Membership, by: Membership | None, words: str) -> None:
    """Free the batch in the member's hands at once; what was judged in it stays on record, uncounted."""
    member.lock()
    if (held := member.assignments.live().first()) and held.take_away():
        member.events.create(kind=Event.Kind.HANDED_OVER, by=by, words=words)


@all_or_nothing
def deactivate(member: Membership, by: Membership | None, words: str) -> None:
    """Note that the member has left. Judgements stay, and a batch in hand goes to others."""
    member.leave(by, words)
    hand_over(member, by, words)


@all_or_nothing
def change_role(member: Membership, role: str, by: Membership | None, words: str) -> None:
    """Give the member another role, and a batch in hand to others. The same role again changes nothing."""
    member.lock()
    if member.role != role:
        hand_over(member, by, words)
        member.change_role(role, by, words)
