"""Requests as values, and how their answers are judged.

What a client does is written once, as generators that yield requests and receive answers. The two
clients send these in their own way. Nothing here needs httpx.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, TypeAlias, TypeVar
from urllib.parse import unquote

from ..formats.errors import MeasureError
from ..formats.json_reader import read_json

API = "/api/v1/"
BROKEN = 0  # the status where there was no answer
LATER = (BROKEN, 429, 502, 503, 504)
WAITS = (0.5, 1.0, 2.0)  # seconds before what came to nothing is sent again
LONGEST_WAIT = 60.0  # seconds that a server may ask for
FIRST_LOOK, SLOWEST_LOOK = 0.1, 5.0  # seconds between looks at work that a server does
MOST_OF_A_PAGE = 200


class ApiError(MeasureError):
    """A server refused a request, or did not answer: what was wrong, where, and what would be right.

    `status` is that of the answer, or 0 if there was none; `code` is the kind of error, for programs, and empty if the
    answer was no problem document; `fields` has the faults by field.
    """

    def __init__(self, message: str, status: int, code: str = "", fields: dict[str, list[str]] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.fields = status, code, fields or {}


@dataclass(frozen=True)
class Ask:
    """A request below `/api/v1/`. Each may be sent twice: what makes something has an idempotency key."""

    method: str
    path: str
    query: Mapping[str, Any] | None = None
    payload: Any = None  # becomes JSON
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    to: Path | None = None  # where the content of a good answer goes, instead of into the memory


@dataclass(frozen=True)
class Pause:
    seconds: float


@dataclass(frozen=True)
class Answer:
    """What came back; header names are in small letters. With the status 0, the content says what broke."""

    status: int
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    def json(self) -> Any:
        try:
            return read_json(self.content)
        except MeasureError:
            raise ApiError("the answer is no JSON; is this the address of a Reeljudge?", self.status) from None

    @property
    def wait(self) -> float:
        """Return the seconds that the server asks to wait; 0 if it does not say."""
        seconds = self.headers.get("retry-after", "")
        return min(float(seconds), LONGEST_WAIT) if seconds.isdecimal() else 0.0


T = TypeVar("T")
Steps: TypeAlias = Generator[Ask | Pause, Answer, T]


def answer_to(ask: Ask) -> Steps[Answer]:
    """Return the answer to a request; what a server cannot do now is asked again, a few times.

    Raises
    ------
    ApiError
        If the answer is an error.
    """
    for pause in WAITS:
        answer = yield ask
        if answer.status not in LATER:
            break
        yield Pause(answer.wait or pause)
    else:
        answer = yield ask
    if not 200 <= answer.status < 300:
        raise problem(ask, answer)
    return answer


def json_of(ask: Ask) -> Steps[Any]:
    return (yield from answer_to(ask)).json()


def rows_of(path: str, limit: int = MOST_OF_A_PAGE) -> Steps[list[Any]]:
    """Return all entries of a list that comes in pages."""
    ask, rows = Ask("GET", path, {"limit": limit}), list[Any]()
    while True:
        page = yield from json_of(ask)
        rows += page["results"]
        if not page["next"]:
            return rows
        ask = Ask("GET", below_api(page["next"]))


def below_api(address: str) -> str:
    """Return the part of an address that a server names, so that no token goes to another host."""
    return address.partition(API)[2]


def until(look: Callable[[], Steps[T | None]], patience: float, late: str) -> Steps[T]:
    """Look again and again until there is something.

    Raises
    ------
    MeasureError
        If there is nothing after so many seconds.
    """
    end, pause = monotonic() + patience, FIRST_LOOK
    while (found := (yield from look())) is None:
        if monotonic() + pause > end:
            raise MeasureError(f"{late} after {patience:g} seconds")
        yield Pause(pause)
        pause = min(1.5 * pause, SLOWEST_LOOK)
    return found


def problem(ask: Ask, answer: Answer) -> ApiError:
    """Return the error that an answer is, in one line."""
    if answer.status == BROKEN:
        return ApiError(one_line(answer.content.decode()), BROKEN)
    where = unquote(ask.path.partition("?")[0])
    if "location" in answer.headers and answer.status < 400:
        return ApiError(f"{where}: is at {one_line(answer.headers['location'])} instead", answer.status)
    try:
        document = read_json(answer.content)
        message, fields = f"{where}: {document['detail']}", dict(document.get("fields", {}))
        return ApiError(one_line(message), answer.status, str(document.get("code", "")), fields)
    except (ValueError, KeyError, TypeError):
        text = f"{where}: answered with the status {answer.status}, and not as a Reeljudge answers"
        return ApiError(text, answer.status)


def one_line(text: str) -> str:
    """Return a text of somebody else's without what could move a terminal's cursor."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
