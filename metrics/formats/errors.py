"""What the library raises for bad input and where it stands, and what it warns of."""

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

MOST_KEPT = 100  # faults
SWAPPED = "are qrels and run swapped?"
MATCH_VIDEOS = "as_run(run).with_videos_of(qrels)"  # as errors name it
CLOCK = re.compile(r"(?:(\d{1,4}):)?([0-5]?\d):([0-5]?\d(?:\.\d*)?)")
BEGINNING, END = 600, 200  # characters of a line that is too long


class MeasureError(ValueError):
    """Bad input: the message says what was wrong, where, and what would be right. What a message quotes may be of any
    length, and may hold what a terminal obeys. The message does not.
    """

    def __init__(self, message: str) -> None:
        super().__init__("\n".join(map(short, message.split("\n"))))


class MeasureWarning(UserWarning):
    """Input that is used although something about it is unusual: what, how often, and where first."""


def short(line: str) -> str:
    r"""A line of a message without its middle if it is long, and with escapes for what is not printed.

    >>> short("red: \x1b[31m")
    'red: \\x1b[31m'
    """
    line = f"{line[:BEGINNING]} … {line[-END:]}" if len(line) > BEGINNING + END else line
    if line.isprintable():
        return line
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in line)


def setting(name: str, value: object = ...) -> str:
    """A parameter of the library, as its errors name it; the command line puts its own flag there.

    >>> setting("lenient", True), setting("videos")
    ('lenient=True', 'videos=…')
    """
    return f"{name}=…" if value is ... else f"{name}={value!r}"


@dataclass
class Faults:
    """The messages of the first hundred faults of a file, and the number of all; and what makes one doubt that the file
    is right, such as a cause that many faults have.
    """

    messages: list[str] = field(default_factory=list)
    count: int = 0
    doubts: list[str] = field(default_factory=list)

    def add(self, fault: MeasureError) -> None:
        """Count a fault, and keep its message if it is among the first."""
        self.count += 1
        if len(self.messages) < MOST_KEPT:
            self.messages.append(str(fault))


def show(value: object) -> str:
    """A value as it should stand in an error: short, on one line.

    >>> show("a" * 50)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..."
    """
    try:
        text = repr(value)
    except RecursionError:
        text = f"a deeply nested {type(value).__name__}"
    return text if len(text) <= 40 else text[:37] + "..."


class Place(NamedTuple):
    """A spot in a source: `fail` makes the error ``source: spot: message``, and the others check a value there."""

    source: str
    spot: str

    def __str__(self) -> str:
        return f"{self.source}: {self.spot}"

    def fail(self, message: str) -> MeasureError:
        return MeasureError(f"{self}: {message}")

    def need(self, record: Any, *fields: str) -> Any:
        """The first of the fields that the record has; a record without any is an error."""
        if not isinstance(record, dict):
            raise self.fail(f"is {show(record)}; it must be an object")
        for name in fields:
            if name in record:
                return record[name]
        raise self.fail(f"field {' or '.join(fields)} is missing; there are: {', '.join(record) or 'none'}")

    def query(self, value: object) -> str:
        """A query id as text; integers and texts are ids, nothing else is."""
        if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
            raise self.fail(f"query_id is {show(value)}; it must be an integer or a text")
        return str(value)

    def span(self, record: Any) -> tuple[Any, Any]:
        """Start and end of a record's timestamp."""
        value = self.need(record, "timestamp")
        if not isinstance(value, list) or len(value) != 2:
            raise self.fail(f"timestamp is {show(value)}; it must be [start, end] in seconds")
        return value[0], value[1]

    def many(self, value: Any, name: str) -> list[Any]:
        if not isinstance(value, list):
            raise self.fail(f"{name} is {show(value)}; it must be a list")
        return value

    def seconds(self, text: str, name: str) -> float:
        """Seconds that are written as a number or as a time, such as 3723.5 or 1:02:03.5."""
        if clock := CLOCK.fullmatch(text):
            return int(clock[1] or 0) * 3600.0 + int(clock[2]) * 60 + float(clock[3])
        if ":" in text:
            raise self.fail(f"{name} is {show(text)}; it must be a number of seconds, or a time as 1:02:03.5")
        return self.number(text, name)

    def number(self, text: str, name: str) -> float:
        """A finite number that is written as text."""
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not abs(value) < float("inf"):
            raise self.fail(f"{name} is {show(text)}; it must be a finite number")
        return value
