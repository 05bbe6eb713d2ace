"""How messages show a value."""


def show(value: object) -> str:
    """A value as it should stand in an error: short, on one line.

    >>> show("a" * 50)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..."
    """
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
