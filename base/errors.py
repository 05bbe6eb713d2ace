"""What the apps raise for whoever asked: each kind has the HTTP status that fits it best.

Titles are translated where they are shown.
"""

from django.utils.translation import gettext_noop as _


class ReeljudgeError(Exception):
    """What was wrong, where, and what would be right."""

    status = 400
    title = _("This cannot be done")


class BadValue(ReeljudgeError):
    """A field of a request or a file that is not what it should be."""

    title = _("A value is wrong")

    def __init__(self, field: str, found: str, right: str) -> None:
        self.field = field
        super().__init__(f"{field}: {found}; expected {right}")


class TooLarge(ReeljudgeError):
    status = 413
    title = _("Too large")


class Stale(ReeljudgeError):
    """The lease has passed: a write with an old fence, or into a batch that is no longer in one's hands."""

    status = 409
    title = _("This batch is no longer in your hands")


class WrongState(ReeljudgeError):
    """A verb that does not fit what things are now."""

    status = 409
    title = _("Not in this state")


class Outdated(ReeljudgeError):
    """Written from a version that is no longer the one in force."""

    status = 409
    title = _("Somebody was faster")


class KeyReused(ReeljudgeError):
    """An idempotency key that came before with other content."""

    status = 422
    title = _("This key was used for something else")


class Busy(ReeljudgeError):
    """The database could not serialize this in three attempts."""

    status = 503
    title = _("Busy; try again in a moment")


class SignedOut(ReeljudgeError):
    status = 401
    title = _("Signed out")


class CodeNeeded(ReeljudgeError):
    """Signed in by password only, where a second factor is due."""

    status = 401
    title = _("A code is needed")


class Forged(ReeljudgeError):
    status = 403
    title = _("Not accepted")


class NotFound(ReeljudgeError):
    status = 404
    title = _("Not found")


class Gone(ReeljudgeError):
    status = 410
    title = _("This invitation has ended")
