"""What a server answers, for type checkers: the fields are those of its OpenAPI document."""

from typing import Any, TypedDict


class About(TypedDict, total=False):
    """What is said of a run; None leaves it to the server."""

    system: str | None
    group: str | None
    description: str | None
    paper: str | None
    code: str | None
    citation: str | None
    anonymous_until: str | None
    visibility: str | None
    format: str | None
    task: str | None


class Choices(TypedDict, total=False):
    """What is chosen of a leaderboard; None leaves it to the server."""

    release: int | None
    convention: str | None
    sort: str | None
    baseline: int | None
    split: str | None
    length: str | None
    relevant: str | None


class OwnCampaign(TypedDict):
    """A campaign, and what the person is in it."""

    name: str
    title: str
    role: str
    state: str


class Progress(TypedDict):
    """How far a campaign is; `numbers` is None until they were counted once."""

    made: str | None
    counting: bool
    numbers: dict[str, Any] | None


class StoredRun(TypedDict):
    """A run that a server has checked and stored."""

    number: int
    name: str
    system: str
    group: str
    description: str
    paper: str
    code: str
    citation: str
    anonymous_until: str | None
    visibility: str
    by: int | None
    at: str
    filename: str
    sha256: str
    size: int
    queries: int
    predictions: int
    notes: list[str]


class Score(TypedDict):
    """One measure of a run under one convention; what does not exist is None."""

    convention: str
    measure: str
    value: float | None
    low: float | None
    high: float | None
    spread: float | None


class RunScores(TypedDict):
    """The scores of a run on a release; `release` is None where it has been scored on none."""

    release: int | None
    missing: int
    unjudged: int
    refusals: dict[str, str]
    scores: list[Score]


class Leaderboard(TypedDict):
    """Runs beside each other; each row has `name`, `system`, `runs`, `judged` and `scores` by measure."""

    campaign: str
    release: int
    sha256: str
    convention: str
    queries: int
    baseline: str | None
    level: float
    rows: list[dict[str, Any]]
