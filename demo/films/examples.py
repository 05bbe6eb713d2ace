"""Worked examples for the demo: sentences that are not among its queries, each beside a moment, with a grade.

The first of each grade explains it in the tutorial; the second is for a new annotator to try.
"""

from __future__ import annotations

from typing import NamedTuple


class Example(NamedTuple):
    query: str
    caption: str  # names the moment
    grade: int
    why: str


EXAMPLES = (
    Example(
        "A woman gets up and walks to a window.",
        "The white-haired woman gets up from the sofa and walks to the window.",
        4,
        "Both actions are there, whole and in the middle of the picture, and hardly anything else happens.",
    ),
    Example(
        "A girl is eating an apple.",
        "A girl eats an apple.",
        4,
        "That is all that happens, from its beginning to its end. Others in the picture do no harm.",
    ),
    Example(
        "A woman eats an apple at a table.",
        "A bearded man sitting at the table picks up an apple and eats it.",
        3,
        "Everything is as the query says but for one detail: it is a man.",
    ),
    Example(
        "A woman picks up a yellow book.",
        "A woman with black hair walks to the desk and picks up a red book.",
        3,
        "She does pick up a book. Only its colour is another one, and the query names it.",
    ),
    Example(
        "A man stands up and leaves the room.",
        "The man with the tie stands up.",
        2,
        "He stands up, but he does not leave: one of two actions. What he may do next does not count.",
    ),
    Example(
        "An old man lifts a box and puts it on a table.",
        "An old man tries to lift a green box, but it is too heavy and he gives up.",
        2,
        "The right person and the right box, but the lifting is begun and never done.",
    ),
    Example(
        "A boy kicks a ball to somebody.",
        "The boy throws a yellow ball to the man.",
        1,
        "There is a boy and there is a ball, but throwing is not kicking: the main action is another one.",
    ),
    Example(
        "A woman waters flowers.",
        "The man in red gives the woman pink flowers.",
        1,
        "A woman and flowers are all that the clip shares with the query. Nobody waters anything.",
    ),
    Example(
        "A man repairs a bicycle.",
        "A woman looks out of the bedroom window.",
        0,
        "Nothing of the query is there. Somebody is in the picture, but that is so in nearly every clip.",
    ),
    Example(
        "A person opens an umbrella.",
        "The old woman sits down on the garden chair.",
        0,
        "There is a person, and nothing else in common: a person alone counts for nothing.",
    ),
)
