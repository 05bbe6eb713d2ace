"""Parts of the client: addresses, a run's file in pieces, tables in answers, and answers that are errors."""

import csv
import hashlib
import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from ..formats.errors import MeasureError
from ..formats.json_reader import read_json

if TYPE_CHECKING:
    from httpx import Response

API = "/api/v1/"
ADDRESS, TOKEN = "REELJUDGE_ADDRESS", "REELJUDGE_TOKEN"
NUMBERS: dict[str, Callable[[str], float]] = {
    **dict.fromkeys(("start", "end"), float),
    **dict.fromkeys(("worker", "relevance", "iteration"), int),
}
TREC = ("query_id", "iteration", "moment_id", "relevance")
PIECE = 1 << 20  # bytes


class ApiError(MeasureError):
    """A server refused a request, or did not answer: what was wrong, where, and what would be right.

    `status` is that of the answer, or 0 if there was none; `code` is the kind of error, for programs, and empty if the
    answer was no problem document; `fields` has the faults by field.
    """

    def __init__(self, message: str, status: int, code: str = "", fields: dict[str, list[str]] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.fields = status, code, fields or {}


class RunRefused(MeasureError):
    """A server found faults in a run, and stored nothing.

    `messages` has the first hundred faults, each with its place, its field and what would be right; `count` is the
    number of all; `warnings` has likely causes.
    """

    def __init__(self, file: str, messages: list[str], count: int, warnings: Iterable[str] = ()) -> None:
        self.messages, self.count, self.warnings = tuple(map(one_line, messages)), count, tuple(map(one_line, warnings))
        faults = "one fault" if count == 1 else f"{count} faults, the first"
        causes = "".join(f"; {cause}" for cause in self.warnings)
        super().__init__(f"{file}: not stored because of {faults}: {self.messages[0]}{causes}")


def inside(campaign: str, *parts: object) -> str:
    """Return the path of something in a campaign."""
    return "/".join(quote(str(part), safe="") for part in ("campaigns", campaign, *parts))


def below_api(address: str) -> str:
    """Return the part of an address that a server names, so that no token goes to another host."""
    return address.partition(API)[2]


def json_in(answer: "Response") -> Any:
    """Return the JSON of an answer; raises ApiError if it is none."""
    try:
        return read_json(answer.content)
    except MeasureError:
        message = "the answer is no JSON; is this the address of a Reeljudge?"
        raise ApiError(message, answer.status_code) from None


def wait_in(answer: "Response") -> float:
    """Return the seconds that a server asks to wait; 0 if it does not say."""
    seconds = answer.headers.get("retry-after", "")
    return float(seconds) if seconds.isdecimal() else 0.0


def problem(path: str, answer: "Response") -> ApiError:
    """Return the error that an answer is, in one line."""
    where, status = unquote(path.partition("?")[0]), answer.status_code
    if "location" in answer.headers and status < 400:
        return ApiError(f"{where}: is at {one_line(answer.headers['location'])} instead", status)
    try:
        document = read_json(answer.content)
        message, fields = f"{where}: {document['detail']}", dict(document.get("fields", {}))
        return ApiError(one_line(message), status, str(document.get("code", "")), fields)
    except (ValueError, KeyError, TypeError):
        return ApiError(f"{where}: answered with the status {status}, and not as a Reeljudge answers", status)


def one_line(text: str) -> str:
    """Return a text of somebody else's without what could move a terminal's cursor."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def rows_in(file: str, content: bytes) -> list[dict[str, Any]]:
    """Return the records of an exported file; ids stay as the file has them, and times are seconds. Raises MeasureError
    if this kind of file holds no records.
    """
    text, kind = content.decode(), PurePath(file).suffix
    if kind == ".txt":
        return [_with_numbers(dict(zip(TREC, line.split(), strict=True))) for line in text.splitlines()]
    if kind == ".csv":
        return [_with_numbers(row) for row in csv.DictReader(io.StringIO(text, newline=""))]
    if kind in (".jsonl", ".json"):
        return [read_json(line) for line in (text.split("\n") if kind == ".jsonl" else [text]) if line]
    raise MeasureError(f"{file}: not a table; expected a file that ends in .txt, .csv, .jsonl or .json")


def _with_numbers(row: dict[str, str]) -> dict[str, Any]:
    return {name: NUMBERS[name](value) if name in NUMBERS else value for name, value in row.items()}


def piece_of(path: Path, place: int) -> dict[str, Any]:
    """Return a piece of a file as content and headers of a request."""
    try:
        with path.open("rb") as file:
            file.seek(place)
            content = file.read(PIECE)
    except OSError as problem:
        raise MeasureError(f"{path}: cannot be read: {problem.strerror}") from None
    if not content:
        raise MeasureError(f"{path}: became shorter while it was sent; submit it again")
    headers = {
        "Content-Type": "application/octet-stream",
        "Upload-Offset": str(place),
        "Upload-Checksum": f"sha256 {hashlib.sha256(content).hexdigest()}",
    }
    return {"content": content, "headers": headers}


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


def checked_address(text: str) -> str:
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


def checked_token(text: str) -> str:
    token = text.strip()
    if not token:
        raise MeasureError(f"no token: make one on the page Your account, Tokens, and set {TOKEN}")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise MeasureError("the token is none: it has signs that no token has; copy it again")
    return token
