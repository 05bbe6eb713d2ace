"""What the judging app raises: each kind says which HTTP status tells it best."""


class JudgingError(Exception):
    """What was wrong, where, and what would be right."""

    status = 400
    title = "This cannot be done"


class BadValue(JudgingError):
    """A field of a request or a file that is not what it should be."""

    title = "A value is wrong"

    def __init__(self, field: str, found: str, right: str) -> None:
        self.field = field
        super().__init__(f"{field}: {found}; expected {right}")


class TooLarge(JudgingError):
    status = 413
    title = "Too large"


class Stale(JudgingError):
    """The lease has passed: a write with an old fence, or into a batch that is no longer in one's hands."""

    status = 409
    title = "This batch is no longer in your hands"


class WrongState(JudgingError):
    """A verb that does not fit what things are now."""

    status = 409
    title = "Not in this state"


class KeyReused(JudgingError):
    """An idempotency key that came before with other content."""

    status = 422
    title = "This key was used for something else"


class Busy(JudgingError):
    """The database could not serialize this in three attempts."""

    status = 503
    title = "Busy; try again in a moment"


class SignedOut(JudgingError):
    status = 401
    title = "Signed out"


class Forged(JudgingError):
    status = 403
    title = "Not accepted"


class Nowhere(JudgingError):
    status = 404
    title = "Not found"
