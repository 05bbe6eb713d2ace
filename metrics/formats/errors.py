"""What the library raises for bad input, and what it warns of."""


class MeasureError(ValueError):
    """Bad input: the message says what was wrong, where, and what would be right."""


class MeasureWarning(UserWarning):
    """Input that is used although something about it is unusual: what, how often, and where first."""
