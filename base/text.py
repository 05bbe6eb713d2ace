"""Checking texts before they are stored, and writing values into messages."""

import json
import re
from unicodedata import category

OBEYED = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # categories of Unicode


def abbreviated(value: object) -> str:
    """Return the value as JSON, cut to a length that fits into a message."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**30:
        return "a very large integer"
    try:
        written = json.dumps(value, ensure_ascii=False, default=str)[:60]
    except RecursionError:  # a value that was just shallow enough to be parsed can be too deep to be written
        return f"a deeply nested {type(value).__name__}"
    return printable(written)


def printable(text: str) -> str:
    r"""Return the text with escapes for what a terminal would obey: control characters, line ends, turned directions.

    >>> print(printable("red: \x1b[31m, up: \n"))
    red: \x1b[31m, up: \n
    """
    return "".join(_escaped(sign) if category(sign) in OBEYED else sign for sign in text)


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape").decode()


def storable(text: str) -> bool:
    """Return whether databases and files can store the text. JSON can hold characters that UTF-8 cannot."""
    return not re.search("[\0\ud800-\udfff]", text)


def with_minus(number: str) -> str:
    """Return a written number with a minus sign in place of the hyphen.

    >>> with_minus("-0.25")
    '−0.25'
    """
    return number.replace("-", "−")
