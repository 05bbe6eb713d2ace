"""What the measures raise when they are given something wrong."""


class MeasureError(ValueError):
    """Bad input to a measure: the message says what was wrong, where, and what would be right."""
