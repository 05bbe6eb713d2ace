"""Leaving a campaign, changing roles, and handing over the batch that a member holds."""

from __future__ import annotations

from collections.abc import Callable

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


VERBS: dict[str, tuple[Callable[[Membership, Membership, str], None], str]] = {
    "pause": (Membership.pause, "is paused"),
    "resume": (Membership.resume, "is active again"),
    "deactivate": (deactivate, "has left"),
    "take_back": (Membership.take_back, "is a member again"),
    "hand_over": (hand_over, "no longer holds a batch"),
}


def change_member(member: Membership, by: Membership, verb: str, reason: str, hand_over_too: bool = False) -> str:
    """Apply one of the verbs to a member, and return what became of them, in words.

    With `hand_over_too`, a member who is paused loses the batch in hand as well.
    """
    apply, outcome = VERBS[verb]
    apply(member, by, reason)
    if verb == "pause" and hand_over_too:
        hand_over(member, by, reason)
    return outcome
