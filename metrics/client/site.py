"""What both clients know of a server, and how they translate requests and answers for httpx."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..formats.errors import MeasureError
from .requests import API, BROKEN, Answer, Ask

if TYPE_CHECKING:
    import httpx

ADDRESS, TOKEN = "REELJUDGE_ADDRESS", "REELJUDGE_TOKEN"
PATIENCE = 600.0  # seconds
TIMEOUT = 60.0  # seconds


class Site:
    """Where a server is, and the token that says who asks, which is never printed."""

    def __init__(self, address: str | None, token: str | None) -> None:
        self.address = _address(address or os.environ.get(ADDRESS, ""))
        self._token = _token(token or os.environ.get(TOKEN, ""))
        try:
            import httpx
        except ImportError:
            raise MeasureError("this needs httpx: pip install 'reeljudge[client]'") from None
        self.httpx = httpx

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address!r})"

    def options(self, timeout: float) -> dict[str, Any]:
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
