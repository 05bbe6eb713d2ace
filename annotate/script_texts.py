"""What the workplace's scripts say, in the page's language. `{names}` are filled in by the browser."""

from django.utils.translation import gettext


def workplace() -> dict[str, str]:
    return {
        "left": gettext("{n} left"),
        "today": gettext("{n} today"),
        "graded": gettext("{grade} for clip {clip} ✓ · ← to change"),
        "flagged": gettext("Clip {clip} is flagged ✓ · ← to change"),
        "unflagged": gettext("The flag of clip {clip} is taken back"),
        "gate": gettext("Watch the clip to its end once, then judge it."),
        "covered": gettext("The guideline covers the clip. Close it, then judge."),
        "muted": gettext("Sound on"),
        "heard": gettext("Sound off"),
        "speed": gettext("Speed {speed}"),
        "play": gettext("Play"),
        "pause": gettext("Pause"),
        "missing": gettext("This clip is missing. Flag it with f and go on."),
        "loading": gettext("This clip is on its way. Judge it when you have seen it."),
        "broken": gettext("This clip does not load. Try again with r, or flag it with f."),
        "open": gettext("{n} of {all} still to judge"),
        "all": gettext("All {all} judged. Change what you like, then submit."),
        "clip": gettext("Clip {clip}: {said}"),
        "grade": gettext("grade {grade}"),
        "flag": gettext("flagged"),
        "nothing": gettext("not judged"),
        "submit": gettext("Submit the batch"),
        "submitting": gettext("Sending…"),
        "unsent": gettext("No network right now. Your grades are kept here; submit again in a moment."),
    } | outbox()


def outbox() -> dict[str, str]:
    """Where what was said has got to, also on the annotator's home."""
    return {
        "saved": gettext("saved ✓"),
        "sending": gettext("saving…"),
        "offline": gettext("kept here, sending… ({n})"),
        "signed out": gettext("kept here ({n}): sign in again in another tab"),
        "closed": gettext("kept here ({n}): this batch is closed to you just now"),
        "busy": gettext("kept here ({n}): submit the other batch in your hands first"),
        "stale": gettext("closed"),
        "refused": gettext("Not stored: {detail}"),
        "again": gettext("The server can be reached again. All that was kept here is saved ({n})."),
        "resumed": gettext(
            "You were away for long. The batch is still yours, and all that you said is saved."
        ),
        "elsewhere": gettext("Changed in another tab: clip {clip}."),
        "gone": gettext(
            "This batch is closed to you: it is submitted, or went to others while you were away."
        ),
        "kept all": gettext("All that you said before is on record."),
        "kept not": gettext("What you said last ({n}) was not counted; all before it is on record."),
        "left saved": gettext("What you said last in an earlier batch ({n}) was saved just now."),
        "left stale": gettext(
            "What you said last in an earlier batch ({n}) was not counted: it was submitted, or went to others"
            " while you were away. All before it is on record."
        ),
        "left closed": gettext(
            "What you said last in an earlier batch ({n}) is kept in this browser; the batch is closed to you just now."
        ),
        "forget": gettext("Understood"),
    }
