"""Submitting a run: its description, its files in pieces, and the check by the server."""

import hashlib
from pathlib import Path
from typing import Any
from uuid import uuid4

from ..formats.errors import MeasureError
from ..formats.files import read_beginning
from . import calls
from .requests import ApiError, Ask, Steps, answer_to, below_api, json_of, one_line, until
from .shapes import About, StoredRun

PIECE = 1 << 20  # bytes


class RunRefused(MeasureError):
    """A server found faults in a run, and stored nothing.

    `messages` has the first hundred faults, each with its place, its field and what would be right; `count` is the
    number of all.
    """

    def __init__(self, file: str, messages: list[str], count: int) -> None:
        self.messages, self.count = tuple(map(one_line, messages)), count
        faults = "one fault" if count == 1 else f"{count} faults, the first"
        super().__init__(f"{file}: not stored because of {faults}: {self.messages[0]}")


def usual_name(file: str | Path) -> str:
    """Return the name of a run that is in a file: `a` of `runs/a.json.gz`."""
    return Path(file).name.partition(".")[0] or Path(file).name


def submit(
    campaign: str, file: str | Path, name: str | None, videos: str | Path | None, about: About, patience: float
) -> Steps[StoredRun]:
    """Send a run, and return it once the server has checked and stored it.

    Raises
    ------
    MeasureError
        If a file cannot be read, which is found out before anything is sent.
    RunRefused
        If the server finds faults in the run.
    """
    files = {"run": Path(file)} | ({"videos": Path(videos)} if videos else {})
    for path in files.values():
        read_beginning(path)
    payload = {field: value for field, value in about.items() if value is not None}
    payload["name"] = name or usual_name(file)
    key = {"Idempotency-Key": str(uuid4())}
    made = yield from json_of(Ask("POST", calls.inside(campaign, "runs"), payload=payload, headers=key))
    where = calls.inside(campaign, "submissions", made["token"])
    for purpose, path in files.items():
        yield from _send(where, purpose, path)
    yield from _check(where, patience)
    found = yield from json_of(Ask("GET", where))
    if found["run"] is None:
        findings = found["findings"] or {"told": ["the check came to no end; submit it again"], "count": 1}
        raise RunRefused(str(file), findings["told"], findings["count"])
    return (yield from calls.run(campaign, found["run"]))


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
