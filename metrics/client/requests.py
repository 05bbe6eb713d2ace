"""Requests as values, how their answers are judged, and how both are translated for httpx.

What a client does is written once, as generators that yield requests and receive answers. The two
clients send these in their own way.
"""

import os
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import unquote, urlsplit

from ..formats.errors import MeasureError
from ..formats.json_reader import read_json

if TYPE_CHECKING:
    import httpx


API = "/api/v1/"
BROKEN = 0  # the status where there was no answer
LATER = (BROKEN, 429, 502, 503, 504)
WAITS = (0.5, 1.0, 2.0)  # seconds before what came to nothing is sent again
LONGEST_WAIT = 60.0  # seconds that a server may ask for; what takes longer is an error
FIRST_LOOK, SLOWEST_LOOK = 0.1, 5.0  # seconds between looks at work that a server does
MOST_OF_A_PAGE = 200
T = TypeVar("T")
ADDRESS, TOKEN = "REELJUDGE_ADDRESS", "REELJUDGE_TOKEN"
PATIENCE = 600.0  # seconds
TIMEOUT = 60.0  # seconds


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
        return float(seconds) if seconds.isdecimal() else 0.0


Steps: TypeAlias = Generator[Ask | Pause, Answer, T]


def answer_to(ask: Ask) -> Steps[Answer]:
    """Return the answer to a request; what a server cannot do now is asked again, a few times. Raises ApiError if the
    answer is an error.
    """
    for pause in WAITS:
        answer = yield ask
        if answer.status not in LATER or answer.wait > LONGEST_WAIT:
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
    """Look again and again until there is something. Raises MeasureError if there is nothing after so many seconds."""
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


class Site:
    """Where a server is, and the token that says who asks, which is never printed; nobody does on public pages."""

    def __init__(self, address: str | None, token: str | None, *, is_public: bool = False) -> None:
        self.address = _address(address or os.environ.get(ADDRESS, ""))
        self._token = "" if is_public else _token(token or os.environ.get(TOKEN, ""))
        try:
            import httpx
        except ImportError:
            raise MeasureError("this needs httpx: pip install 'reeljudge[client]'") from None
        self.httpx = httpx

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address!r})"

    def options(self, timeout: float) -> dict[str, Any]:
        if not self._token:
            return {"base_url": f"{self.address}/", "timeout": timeout}
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        return {"base_url": self.address + API, "headers": headers, "timeout": timeout}

    def broken(self, fault: Exception) -> Answer:
        message = f"{self.address} does not answer: {str(fault) or type(fault).__name__}"
        return Answer(BROKEN, message.encode())


def request_of(ask: Ask) -> dict[str, Any]:
    given = {"params": ask.query or None, "json": ask.payload, "content": ask.content}
    params = {name: value for name, value in given.items() if value is not None}
    return {"method": ask.method, "url": ask.path, "headers": dict(ask.headers)} | params


def answer_of(found: "httpx.Response", content: bytes = b"") -> Answer:
    return Answer(found.status_code, content, {name.lower(): text for name, text in found.headers.items()})


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that has its name only once all of it is written."""
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(path)
    except OSError as problem:
        raise MeasureError(f"{path}: cannot be written: {problem.strerror}") from None
    finally:
        part.unlink(missing_ok=True)


def _address(text: str) -> str:
    """Return the address of a server without the path of its API."""
    if not text:
        raise MeasureError(f"no address of a server: give it, or set {ADDRESS}")
    address = text.strip().rstrip("/").removesuffix(API.rstrip("/"))
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and parts.hostname and not parts.query + parts.fragment
        usable = usable and parts.port != 0 and parts.username is None and address.isprintable()
    except ValueError:
        usable = False
    if not usable:
        raise MeasureError("the address of the server is none; expected one such as https://judge.example.org")
    return address


def _token(text: str) -> str:
    if not text.strip():
        raise MeasureError(f"no token: make one on the page Your account, Tokens, and set {TOKEN}")
    token = text.strip()
    if not token.isascii() or not token.isprintable() or " " in token:
        raise MeasureError("the token is none: it has signs that no token has; copy it again")
    return token
