"""Texts as they are stored, and values as they stand in messages."""

import json
import re


def shown(value: object) -> str:
    """The value as JSON writes it, cut to a length that fits a message."""
    try:
        written = json.dumps(value, ensure_ascii=False, default=str)[:80]
    except RecursionError:  # what was just deep enough to be read can be too deep to be written
        return f"a deeply nested {type(value).__name__}"
    return written.encode(errors="backslashreplace").decode()


def storable(text: str) -> bool:
    """Whether databases and files take the text: JSON can hold characters that UTF-8 cannot."""
    return not re.search("[\0\ud800-\udfff]", text)
