"""The requests that both clients make: addresses of the API, the submission of a run, and what is read from answers."""

import csv
import hashlib
import io
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from ..formats.errors import MeasureError
from ..formats.files import read_beginning
from ..formats.json_reader import read_json
from ..formats.release import LoadedRelease, load_release
from .requests import Answer, ApiError, Ask, Steps, answer_to, below_api, json_of, one_line, rows_of, until
from .shapes import About, Choices, Leaderboard, OwnCampaign, Progress, RunScores, StoredRun

Rows = list[dict[str, Any]]
NUMBERS: dict[str, Callable[[str], float]] = {
    "start": float,
    "end": float,
    "worker": int,
    "relevance": int,
    "iteration": int,
}
TREC = ("query_id", "iteration", "moment_id", "relevance")
PIECE = 1 << 20  # bytes


def inside(campaign: str, *parts: object) -> str:
    """Return the path of something in a campaign."""
    return "/".join(quote(str(part), safe="") for part in ("campaigns", campaign, *parts))


def campaigns() -> Steps[list[OwnCampaign]]:
    return rows_of("campaigns")


def progress(campaign: str) -> Steps[Progress]:
    return json_of(Ask("GET", inside(campaign, "progress")))


def runs(campaign: str) -> Steps[list[StoredRun]]:
    return rows_of(inside(campaign, "runs"))


def run(campaign: str, number: int) -> Steps[StoredRun]:
    return json_of(Ask("GET", inside(campaign, "runs", number)))


def releases(campaign: str) -> Steps[list[dict[str, Any]]]:
    return rows_of(inside(campaign, "releases"))


def export(campaign: str, file: str) -> Steps[Any]:
    answer = yield from answer_to(Ask("GET", inside(campaign, "exports", file)))
    return frame_of(rows_in(file, answer.content))


def download(path: str, to: str | Path) -> Steps[Path]:
    """Store a file under a path, as a whole or not at all."""
    to = Path(to)
    yield from answer_to(Ask("GET", path, to=to))
    return to


def load(campaign: str, version: int | None) -> Steps[LoadedRelease]:
    """Download a release, the newest by default, and open it. Its file is deleted with the object."""
    ready = [each for each in (yield from releases(campaign)) if each["state"] == "ready"]
    found = next((each for each in ready if version in (None, each["version"])), None)
    if found is None:
        what = "no release yet" if version is None else f"no release {version}"
        raise MeasureError(f"campaign {campaign}: has {what}; it has {[each['version'] for each in ready]}")
    folder = Path(tempfile.mkdtemp(prefix="reeljudge-release-"))
    try:
        path = inside(campaign, "releases", found["version"], "file")
        file = yield from download(path, folder / f"{campaign}-v{found['version']}.zip")
        loaded = load_release(file, found["sha256"])
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(loaded, shutil.rmtree, folder, ignore_errors=True)
    return loaded


def scores(campaign: str, number: int, release: int | None, patience: float) -> Steps[RunScores]:
    """Return the scores of a run as soon as they are computed."""
    query = {} if release is None else {"release": release}
    ask = Ask("GET", inside(campaign, "runs", number, "scores"), query)

    def look() -> Steps[RunScores | None]:
        answer: Answer = yield from answer_to(ask)
        return None if answer.status == 202 else answer.json()

    return until(look, patience, f"the scores of run {number} are not computed")


def leaderboard(campaign: str, measures: Sequence[str], seeds: bool, choices: Choices) -> Steps[Leaderboard]:
    query: dict[str, Any] = {name: value for name, value in choices.items() if value is not None}
    query |= {"m": list(measures)} if measures else {}
    query |= {"seeds": "together"} if seeds else {}
    return json_of(Ask("GET", inside(campaign, "leaderboard"), query))


def rows_in(file: str, content: bytes) -> Rows:
    """Return the records of an exported file; ids stay as the file has them, and times are seconds. Raises MeasureError
    if this kind of file holds no records.
    """
    text, kind = content.decode(), PurePath(file).suffix
    if kind == ".txt":
        return [_with_numbers(dict(zip(TREC, line.split(), strict=True))) for line in text.splitlines()]
    if kind == ".csv":
        return [_with_numbers(row) for row in csv.DictReader(io.StringIO(text, newline=""))]
    if kind == ".jsonl":
        return [read_json(line) for line in text.split("\n") if line]
    if kind == ".json":
        return [read_json(text)]
    raise MeasureError(f"{file}: not a table; expected a file that ends in .txt, .csv, .jsonl or .json")


def _with_numbers(row: dict[str, str]) -> dict[str, Any]:
    return {name: NUMBERS[name](value) if name in NUMBERS else value for name, value in row.items()}


def frame_of(rows: Rows) -> Any:
    """Return a pandas data frame of the rows, or the rows themselves where pandas is not installed."""
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


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


def submit(
    campaign: str, file: str | Path, name: str | None, videos: str | Path | None, about: About, patience: float
) -> Steps[StoredRun]:
    """Send a run, and return it once the server has checked and stored it. Raises MeasureError if a file cannot be
    read, which is found out before anything is sent. Raises RunRefused if the server finds faults in the run.
    """
    files = {"run": Path(file)} | ({"videos": Path(videos)} if videos else {})
    for path in files.values():
        read_beginning(path)
    payload = {field: value for field, value in about.items() if value is not None}
    payload["name"] = name or Path(file).name.partition(".")[0] or Path(file).name
    key = {"Idempotency-Key": str(uuid4())}
    made = yield from json_of(Ask("POST", inside(campaign, "runs"), payload=payload, headers=key))
    where = inside(campaign, "submissions", made["token"])
    for purpose, path in files.items():
        yield from _send(where, purpose, path)
    yield from _check(where, patience)
    found = yield from json_of(Ask("GET", where))
    if found["run"] is None:
        findings = found["findings"] or {"told": ["the check came to no end; submit it again"], "count": 1}
        raise RunRefused(str(file), findings["told"], findings["count"], findings.get("warnings", []))
    return (yield from run(campaign, found["run"]))


def _send(where: str, purpose: str, path: Path) -> Steps[None]:
    """Send a file in pieces; where an answer was lost, go on at the place that the server names."""
    payload = {"purpose": purpose, "name": path.name, "size": path.stat().st_size}
    file = yield from json_of(Ask("POST", f"{where}/files", payload=payload))
    address = f"{where}/files/{file['token']}"
    while not file["whole"]:
        before = file["received"]
        try:
            file = yield from json_of(_piece(address, path, before))
        except ApiError as fault:
            if "Upload-Offset" not in fault.fields:
                raise
            file = yield from json_of(Ask("GET", address))
            if file["received"] == before:
                raise


def _piece(address: str, path: Path, place: int) -> Ask:
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
    return Ask("PATCH", address, content=content, headers=headers)


def _check(where: str, patience: float) -> Steps[None]:
    """Have the server check the files, and wait for the job that does."""
    try:
        begun = yield from answer_to(Ask("POST", f"{where}/check"))
    except ApiError as fault:
        if fault.status != 409:
            raise
        return  # It is a run already: this was sent again, because the first answer was lost.
    job = below_api(begun.headers["location"])

    def look() -> Steps[Any]:
        found = yield from json_of(Ask("GET", job))
        if found["state"] == "failed":
            raise MeasureError(f"the check of this run broke off: {one_line(found['error'])}")
        return found if found["state"] == "done" else None

    yield from until(look, patience, "the run is sent, but its check is not done")
