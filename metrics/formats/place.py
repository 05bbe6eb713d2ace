"""Where something stands in a file or a dict, so that every error says it in the same way."""

from typing import Any

from .errors import MeasureError
from .showing import show


class Place:
    """A spot in a source: `fail` makes the error ``source: spot: message``, and the others check a value there."""

    __slots__ = ("source", "spot")

    def __init__(self, source: str, spot: str) -> None:
        self.source = source
        self.spot = spot

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

    def number(self, text: str, name: str) -> float:
        """A finite number that is written as text."""
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not abs(value) < float("inf"):
            raise self.fail(f"{name} is {show(text)}; it must be a finite number")
        return value
