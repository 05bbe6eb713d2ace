"""The workplace's scripts, and their texts in the page's language. The browser fills in the `{names}`."""

from django.utils.translation import gettext

# In the order in which they run. The annotator's home loads them ahead, so that the first clip need not wait for them.
SCRIPTS = [
    f"annotate/{name}.js"
    for name in ("words", "timer", "places", "stage", "outbox", "keys", "guideline", "elements", "bar", "workplace")
]

# What the tutorial needs of them for the clip that is tried.
PLAYER = [f"annotate/{name}.js" for name in ("words", "stage", "elements", "bar")]


def workplace() -> dict[str, str]:
    return (
        {
            "left": gettext("{n} left"),
            "today": gettext("{n} today"),
            "graded": gettext("{grade} for clip {clip} ✓ · ← to change"),
            "reason": gettext("Choose what is wrong. Your words go with it."),
            "flagged": gettext("Clip {clip} is flagged ✓ · ← to change"),
            "unflagged": gettext("The flag of clip {clip} is removed"),
            "early": gettext("Too early: this clip has only just appeared. Watch it, then judge."),
            "early, or back": gettext(
                "Too early for clip {clip}, which has only just appeared. ← changes clip {before}."
            ),
            "gate": gettext("Watch the clip to its end once, then judge it."),
            "covered": gettext("The guideline covers the clip. Close it, then judge."),
            "missing": gettext("This clip is missing. Flag it and go on."),
            "loading": gettext("This clip is loading. Judge it when you have seen it."),
            "broken": gettext("This clip does not load. Press Replay to try again, or flag it."),
            "open": gettext("{n} of {all} are still to judge"),
            "all": gettext("All {all} judged. Change any grade if you like, then submit."),
            "clip": gettext("Clip {clip}: {state}"),
            "grade": gettext("grade {grade}"),
            "flag": gettext("flagged"),
            "nothing": gettext("not judged"),
            "submit": gettext("Submit the batch"),
            "submitting": gettext("Sending…"),
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
        "forget": gettext("Understood"),
        "unsent here": gettext(
            "Your last grades or flags ({n}) are not sent. If you sign out now, they are deleted from this browser, and"
            " nobody can send them."
        ),
        "stay": gettext("Stay signed in"),
        "lose": gettext("Sign out and lose them"),
    }
