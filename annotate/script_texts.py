"""The workplace's scripts and keys, and their texts in the page's language. The browser fills in the `{names}`."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models import Preferences
from campaigns.guideline_text import LEVELS
from campaigns.models import Campaign
from judging.models import KeptAnswer
from judging.quality.examples import levels

# What each of `accounts.models.KEYS` does.
KEY_WORDS: dict[str, Any] = {f"grade{grade}": format_lazy("{} {}", grade, name) for grade, (name, _m) in LEVELS.items()}
KEY_WORDS |= {
    "back": _("back, to change a grade"),
    "flag": _("flag"),
    "ask": _("ask your lead"),
    "later": _("look at it again later"),
    "list": _("all clips"),
    "pause": _("pause or play"),
    "again": _("the last two seconds again"),
    "rest": _("break"),
    "help": _("five grades and keys"),
}
# The keys that nobody changes.
FIXED = {
    "ArrowRight": _("forward, if the clip is judged"),
    "r": _("from the beginning"),
    "s": _("speed"),
    ",": _("one frame back"),
    ".": _("one frame forward"),
    "v": _("full screen"),
    "m": _("sound"),
    "c": _("compare with the last clip of a grade, while it is held"),
}
# Keys that have no sign of their own, by the names that browsers give them.
KEY_NAMES = {" ": _("space"), "ArrowLeft": "←", "ArrowRight": "→", "ArrowUp": "↑", "ArrowDown": "↓"}
KEY_NAMES |= {name: name for name in ("Home", "End", "PageUp", "PageDown", "Insert", "Delete")}


def key_name(key: str) -> str:
    """Return how a key is told on pages."""
    return str(KEY_NAMES.get(key, key))


def key_named(text: str) -> str | None:
    """Return the key that somebody typed or pressed into a field; None if it is none that can be used."""
    named = {str(name).casefold(): key for key, name in KEY_NAMES.items()}
    sign = text.strip().lower() or " "
    if key := named.get(sign):
        return key
    return sign if len(sign) == 1 and sign.isprintable() else None


def card(campaign: Campaign, user: User) -> dict[str, Any]:
    """Return what pages need that tell of grades and keys: the five grades with their examples, and a person's keys."""
    taught, own = levels(campaign), Preferences.objects.of(user)
    names = {does: key_name(key) for does, key in own.keys.items()}
    of_grades = [own.keys[f"grade{grade}"] for grade in LEVELS]
    return {
        "levels": taught,
        "kept_answers": KeptAnswer.objects.in_force().filter(campaign=campaign),
        "has_examples": any(level.examples for level in taught),
        "preferences": own,
        "keys": names,
        "buttons": [(level, key, key_name(key)) for level, key in zip(reversed(taught), of_grades, strict=True)],
    }


# In the order in which they run. The annotator's home loads them ahead, so that the first clip need not wait for them.
SCRIPTS = [
    f"annotate/{name}.js"
    for name in (
        *("words", "timer", "places", "stage", "outbox", "keys", "guideline", "elements", "bar", "pace", "overview"),
        *("compare", "moment", "ahead", "workplace"),
    )
]
SCRIPTS.append("annotate/asking.js")

# What the tutorial needs of them for the clip that is tried.
PLAYER = [f"annotate/{name}.js" for name in ("words", "stage", "elements", "bar")]


def workplace(keys: dict[str, str]) -> dict[str, str]:
    """Return the texts of the workplace for a person whose keys have these names."""
    return (
        {
            "back": gettext("Back"),
            "key of back": keys["back"],
            "done": gettext("{n} of {all}"),
            "each": gettext("{n} s"),
            "since": gettext("{n} min"),
            "long": gettext("{n} min since the last break"),
            "today": gettext("{n} today"),
            "today of goal": gettext("{n} of {goal} today"),
            "goal reached": gettext("{n} of {goal} today ✓"),
            "later": gettext("later"),
            "marked": gettext("Clip {clip} is marked “later”"),
            "unmarked": gettext("Clip {clip} is no longer marked “later”"),
            "later left": gettext("Clips still marked “later”: {n}"),
            "one later left": gettext("1 clip is still marked “later”"),
            "minutes": gettext("{minutes} min {seconds} s"),
            "seconds": gettext("{seconds} s"),
            "begin": gettext("Begin the next batch"),
            "home": gettext("Back to your work"),
            "graded": gettext("{grade} for clip {clip} ✓ · {back} to change"),
            "reason": gettext("Choose what is wrong. Your words go with it."),
            "flagged": gettext("Clip {clip} is flagged ✓ · {back} to change"),
            "unflagged": gettext("The flag of clip {clip} is removed"),
            "early": gettext("Too fast: this clip has just started. Watch it, then judge."),
            "early, or back": gettext("Too fast: clip {clip} has just started. {back} goes back to clip {before}."),
            "gate": gettext("Watch the clip to its end once, then judge it."),
            "missing": gettext("This clip is missing. Flag it and go on."),
            "loading": gettext("This clip is loading. Judge it when you have seen it."),
            "broken": gettext("This clip does not load. Press Replay to try again, or flag it."),
            "open": gettext("Clips left: {n} of {all}"),
            "one open": gettext("1 of {all} clips is left"),
            "all": gettext("All {all} judged. Change any grade if you like, then submit."),
            "clip": gettext("Clip {clip}: {state}"),
            "grade": gettext("grade {grade}"),
            "grade between": gettext("grade {grade}, between two grades"),
            "flag": gettext("flagged"),
            "nothing": gettext("not judged"),
            "compared": gettext("Clip {clip}: {grade}"),
            "no comparison": gettext("No other clip of this query has this grade yet."),
            "exam": gettext("Exam · {n} of {all}"),
            "worked": gettext("You worked {n} min since the last break. The clock is stopped."),
            "resting": gettext("Resting {time}"),
            "answer here": gettext("Your lead: {text}"),
            "own note": gettext("Your note: {text}"),
            "question": gettext("Your question is on its way. Go on judging; the answer comes here."),
            "answer": gettext("Your lead on clip {clip}: {text}"),
            "answer on query": gettext("Your lead on the query: {text}"),
            "submit": gettext("Submit the batch"),
            "submitting": gettext("Sending…"),
            "parked": gettext("Kept in this browser. It is submitted as soon as there is a network."),
            "unsent": gettext("There is no network right now. Your grades are kept here. Submit again in a moment."),
        }
        | player()
        | outbox()
    )


def player() -> dict[str, str]:
    """What the transport below a clip says, also in the tutorial."""
    return {
        "comes": gettext("Loading, {percent} %"),
        "muted": gettext("Sound on"),
        "heard": gettext("Sound off"),
        "speed": gettext("Speed {speed}"),
        "halted": gettext("Paused at {time}"),
        "play": gettext("Play"),
        "pause": gettext("Pause"),
    }


def outbox() -> dict[str, str]:
    """How far the grades and flags have come, also on the annotator's home page."""
    return {
        "saved": gettext("saved ✓"),
        "sending": gettext("saving…"),
        "offline": gettext("kept here, sending… ({n})"),
        "signed out": gettext("kept here ({n}): sign in again in another tab"),
        "another": gettext("kept here ({n}): {user} is signed in now. Sign in as {who} again to send it."),
        "closed": gettext("kept here ({n}): this batch is closed to you at the moment"),
        "busy": gettext("kept here ({n}): submit the other batch that you hold first"),
        "newer": gettext("kept here ({n}): load this page again to send it"),
        "stale": gettext("closed"),
        "refused": gettext("Not stored: {detail}"),
        "again": gettext("The server answers again. Everything that was kept here is saved ({n})."),
        "resumed": gettext("You were away for a long time. The batch is still yours, and all your grades are saved."),
        "overtaken": gettext(
            "Clip {clip} was judged later in another browser, and that grade holds. Load this page again to see it."
        ),
        "elsewhere": gettext("Clip {clip} was changed in another tab."),
        "gone": gettext("This batch is closed to you: it was submitted, or went to others while you were away."),
        "kept all": gettext("All your grades are on record."),
        "kept not": gettext("Your last grades or flags ({n}) were not counted; all before them are on record."),
        "left saved": gettext("Your last grades or flags of an earlier batch ({n}) were saved just now."),
        "left stale": gettext(
            "Your last grades or flags of an earlier batch ({n}) were not counted: it was submitted, or went to others"
            " while you were away. All before them are on record."
        ),
        "left closed": gettext(
            "Your last grades or flags of an earlier batch ({n}) are kept in this browser. The batch is closed to you"
            " at the moment."
        ),
        "ahead kept": gettext("Batches in this browser: {n}"),
        "ahead asks": gettext("Getting the batches…"),
        "ahead loads": gettext("Loading clip {n} of {all}. Keep this page open."),
        "ahead loaded": gettext("Loaded: {n} batches with {all} clips. They are yours until {time}."),
        "ahead none": gettext("There are no batches for you right now."),
        "ahead broke": gettext("The network broke off at clip {n} of {all}. Press again to load the rest."),
        "forget": gettext("Understood"),
        "unsent here": gettext(
            "Your last grades or flags ({n}) are not sent. If you sign out now, they are deleted from this browser, and"
            " nobody can send them."
        ),
        "stay": gettext("Stay signed in"),
        "lose": gettext("Sign out and lose them"),
    }
