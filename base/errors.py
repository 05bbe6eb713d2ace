"""The errors that apps raise because of a request or a command, each with its HTTP status.

Pages translate the titles when they show them.
"""

from math import ceil
from typing import Any

from django.utils.translation import gettext


def _(title: str) -> str:
    """Mark a title for translation. Django's own function needs settings, which confined processes do not have."""
    return title


class ReeljudgeError(Exception):
    """An error whose message says what was wrong, where, and what would be right."""

    status = 400
    title = _("This cannot be done")
    wait: int | None = None  # seconds after which it is worth trying again, if that is known


class BadValue(ReeljudgeError):
    """A field of a request or of a file has a wrong value."""

    title = _("A value is wrong")

    def __init__(self, field: str, found: str, right: str) -> None:
        self.field, self.fault = field, f"{found}; expected {right}"
        super().__init__(f"{field}: {self.fault}")


class BadFields(ReeljudgeError):
    """Several fields of a request have wrong values. `form` is the form of a page, which is shown again."""

    title = _("Values are wrong")

    def __init__(self, fields: dict[str, list[str]], form: Any = None) -> None:
        self.fields, self.form = fields, form
        super().__init__("; ".join(f"{name}: {' '.join(faults)}" for name, faults in fields.items()))


class Unfit(BadFields):
    """Each value is possible, but not together with the others, or with what is there."""

    status = 422
    title = _("These values do not go together")


class TooLarge(ReeljudgeError):
    status = 413
    title = _("Too large")


class Stale(ReeljudgeError):
    """Somebody writes with an old fence, or into a batch that they do not hold any more."""

    status = 409
    title = _("This batch is no longer in your hands")


class WrongState(ReeljudgeError):
    """An action is not possible in the present state."""

    status = 409
    title = _("Not in this state")


class Outdated(ReeljudgeError):
    """Somebody edited a version that is not in force any more."""

    status = 409
    title = _("Changed meanwhile")


class Unconditional(ReeljudgeError):
    """A change does not say which version it is made to."""

    status = 428
    title = _("Precondition required")


class Changed(ReeljudgeError):
    """A change was made to a version that is not the present one."""

    status = 412
    title = _("Precondition failed")


class WrongMethod(ReeljudgeError):
    status = 405
    title = _("Method not allowed")


class UnsupportedMedia(ReeljudgeError):
    """A request holds, or wants, a kind of content that there is not."""

    status = 415
    title = _("Unsupported media type")


class OutOfScope(ReeljudgeError):
    """A token may not do what its person may do."""

    status = 403
    title = _("Not with this token")


class KeyReused(ReeljudgeError):
    """An idempotency key came before with other content."""

    status = 422
    title = _("This key was used for something else")


class Busy(ReeljudgeError):
    """The database could not complete a transaction in three attempts."""

    status = 503
    title = _("Busy; try again in a moment")
    wait = 2


class SignedOut(ReeljudgeError):
    status = 401
    title = _("Signed out")


class CodeNeeded(ReeljudgeError):
    """A lead has no second factor where one is required."""

    status = 401
    title = _("A second factor is needed")


class LockedOut(ReeljudgeError):
    """There were too many attempts to sign in."""

    status = 429
    title = _("Too many attempts")


class TooManyRequests(ReeljudgeError):
    """A person has used up a budget of the settings. `wait` is in seconds."""

    status = 429
    title = _("Too many requests")

    def __init__(self, refusal: str, wait: float) -> None:
        self.wait = max(1, ceil(wait))
        in_words = f"{self.wait} s" if self.wait < 90 else f"{ceil(self.wait / 60)} min"
        when = gettext("Try again in {wait}.").format(wait=in_words)
        super().__init__(f"{refusal} {when}")


class Refused(ReeljudgeError):
    """Somebody proved who they are, and may still not come in."""

    status = 403
    title = _("You cannot sign in")


class StaleForm(ReeljudgeError):
    """A form was sent without the token that it has for the present sign-in."""

    status = 403
    title = _("This form is out of date")


class Unencrypted(ReeljudgeError):
    """A request came by plain HTTP where the settings want HTTPS."""

    status = 403
    title = _("HTTPS is required")


class NotAllowed(ReeljudgeError):
    """Somebody is signed in, and may not do this."""

    status = 403
    title = _("Not allowed")


class NotFound(ReeljudgeError):
    status = 404
    title = _("Not found")


class Replaced(ReeljudgeError):
    """An address of the API has been replaced by another one."""

    status = 410
    title = "This address was replaced"  # the API speaks English


class Gone(ReeljudgeError):
    status = 410
    title = _("This invitation has ended")
