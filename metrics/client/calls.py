"""The requests that both clients make: the addresses of the API, and what is read from its answers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .exports import frame_of, rows_in
from .requests import Answer, Ask, Steps, answer_to, json_of, rows_of, until
from .shapes import Choices, Leaderboard, OwnCampaign, Progress, RunScores, StoredRun


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
