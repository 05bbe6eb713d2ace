"""What every substituter is: it proposes a text for each description, and says what it replaced."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Protocol

Replaced = list[tuple[str, str]]  # words before, words after
Beat = Callable[[], None]  # called now and then by work that takes long, so that its job keeps its lease
TOKEN = re.compile(r"[\w’'-]+|[^\w\s]")


@dataclass(frozen=True)
class Proposal:
    """What a substituter proposes for one description.

    Attributes
    ----------
    after
        The proposed caption; empty if there is none.
    replaced
        The pairs of what was taken out and what was put in.
    why
        Why there is no proposal; empty if there is one.
    """

    after: str
    replaced: Replaced
    why: str = ""


class Substituter(Protocol):
    """Proposes captions. It knows nothing of the checks.

    Attributes
    ----------
    made_by
        What is stored with each proposal: another value means that descriptions are worth rewording again.
    attempts
        How often a description may be tried before it waits for a lead.
    at_a_time
        How many descriptions are proposed, checked and stored together.
    """

    made_by: str
    attempts: int
    at_a_time: int

    def propose(self, descriptions: Sequence[str], attempt: int, beat: Beat) -> Iterator[list[Proposal]]:
        """Yield one proposal for each description, in their order, as many at a time as come together.

        `attempt` counts from 1.
        """
        ...


def differences(before: str, after: str) -> Replaced:
    """Return which words of a text were replaced by which, from a comparison of both word by word.

    >>> differences("Ross hugs Rachel.", "A man hugs a woman.")
    [('Ross', 'A man'), ('Rachel', 'a woman')]
    """
    old, new = TOKEN.findall(before), TOKEN.findall(after)
    matcher = SequenceMatcher(None, [word.lower() for word in old], [word.lower() for word in new], autojunk=False)
    return [
        (" ".join(old[i1:i2]), " ".join(new[j1:j2]))
        for operation, i1, i2, j1, j2 in matcher.get_opcodes()
        if operation != "equal"
    ]
