"""What a lead does with a flag."""

from __future__ import annotations

from base.errors import WrongState
from campaigns.models import Membership
from judging.models.judgement import Flag
from judging.pool.clips import retry_clips


def dismiss(flag: Flag, lead: Membership) -> str:
    """Note that a lead has dealt with the flag, and return that in words."""
    Flag.objects.filter(pk=flag.pk).handle(lead)
    if not flag.candidate.is_flagged:
        return "The flag is put away."
    return "The flag is put away. Its pair has no grade until you grade it or have it judged again."


def cut_again(flag: Flag, lead: Membership) -> str:
    """Have the clips of the flag's batch cut again that cannot be played, and return that in words.

    Raises
    ------
    WrongState
        If the flagged candidate is in no batch any more.
    """
    if flag.candidate.batch is None:
        raise WrongState("This candidate is in no batch any more, so no clip is cut for it.")
    return f"Clips of this batch that are cut again: {retry_clips([flag.candidate.batch]).clips}."


ACTIONS = {"dismiss": dismiss, "retry": cut_again}
