"""The clients: one that waits for each answer, and one for programs that are asynchronous."""

import asyncio
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack
from urllib.parse import unquote

from ..formats.errors import MeasureError
from ..formats.runs import read_run
from ..formats.tables import Run
from . import calls
from .requests import (
    BROKEN,
    PATIENCE,
    TIMEOUT,
    Answer,
    ApiError,
    Ask,
    Pause,
    Site,
    Steps,
    T,
    answer_of,
    one_line,
    request_of,
    whole_file,
)

if TYPE_CHECKING:
    from ..formats.release import LoadedRelease
    from .shapes import About, Choices, Leaderboard, OwnCampaign, Progress, RunScores, StoredRun

PAGE_OF_RUN = re.compile(r"(https?://[^?#]+?)/campaigns/([^/?#]+)/runs/(?:public/([\w-]+)|(\d{1,9}))/?")


class Client(Site):
    """Asks a Reeljudge, as a program with a token of yours: campaigns, progress, exports, runs and scores.

    Every error is one line that says what was wrong, where, and what would be right. A request to which there was no
    answer, or for which the server had no time, is sent again a few times, and done once.

    Parameters
    ----------
    address
        Of the server, such as ``https://judge.example.org``; None: what `REELJUDGE_ADDRESS` holds.
    token
        From the page *Your account · Tokens*; None: what `REELJUDGE_TOKEN` holds. It is never printed.
    timeout
        Seconds to wait for an answer.

    Raises
    ------
    MeasureError
        If the address or the token is missing or cannot be one, or if httpx is not installed.

    Examples
    --------
    ::

        with Client("https://judge.example.org", token) as client:
            run = client.submit("films", "run.json", system="ReLoCLNet")
            print(client.scores("films", run["number"]))
    """

    def __init__(self, address: str | None = None, token: str | None = None, timeout: float = TIMEOUT) -> None:
        super().__init__(address, token)
        self._http = self.httpx.Client(**self.options(timeout))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def campaigns(self) -> "list[OwnCampaign]":
        """Return the campaigns that the person belongs to."""
        return self._done(calls.campaigns())

    def progress(self, campaign: str) -> "Progress":
        """Return how far a campaign is, how fast it goes, and when it ends at this pace."""
        return self._done(calls.progress(campaign))

    def export(self, campaign: str, file: str) -> Any:
        """Return a file of a campaign's present state, such as ``qrels.jsonl`` or ``ratings.csv``, as a table.

        Returns
        -------
        pandas.DataFrame or list of dict
            A data frame; where pandas is not installed, its rows. Times are seconds.
        """
        return self._done(calls.export(campaign, file))

    def releases(self, campaign: str) -> list[dict[str, Any]]:
        """Return the releases, the newest first."""
        return self._done(calls.releases(campaign))

    def load_release(self, campaign: str, version: int | None = None) -> "LoadedRelease":
        """Return a release, the newest by default. Every function that takes qrels, a pool or ratings takes it.

        Raises
        ------
        MeasureError
            If there is no such release, or its file has another SHA-256 than the server has stored.
        """
        return self._done(calls.load(campaign, version))

    def runs(self, campaign: str) -> "list[StoredRun]":
        """Return the runs that the person may see, the newest first."""
        return self._done(calls.runs(campaign))

    def run(self, campaign: str, number: int) -> "StoredRun":
        """Return a run."""
        return self._done(calls.run(campaign, number))

    def submit(
        self,
        campaign: str,
        file: str | Path,
        *,
        name: str | None = None,
        videos: str | Path | None = None,
        patience: float = PATIENCE,
        **about: "Unpack[About]",
    ) -> "StoredRun":
        """Send a run, and return it once the server has checked and stored it; `scores` then waits for its scores.

        Parameters
        ----------
        campaign
            Its name.
        file
            The run, in any format that the library reads, plain or packed by gzip.
        name
            No other run of the campaign has it; None: the file's name without its endings.
        videos
            The video index, for a run that names videos by number.
        patience
            Seconds to wait for the check.
        **about
            What the fields of the API say of a run: `system`, `group`, `description`, `paper`, `code`, `visibility`
            (private, shared or public), `format`, `task`.

        Raises
        ------
        RunRefused
            If the server finds faults in the run; nothing is stored then.
        MeasureError
            If the file cannot be read, the server refuses it, or the check is not done in time.
        """
        return self._done(calls.submit(campaign, file, name, videos, about, patience))

    def scores(self, campaign: str, run: int, release: int | None = None, patience: float = PATIENCE) -> "RunScores":
        """Return the scores of a run on a release, the newest by default, as soon as they are computed.

        Raises
        ------
        MeasureError
            If they are not computed after so many seconds of patience.
        """
        return self._done(calls.scores(campaign, run, release, patience))

    def leaderboard(
        self, campaign: str, measures: Sequence[str] = (), *, seeds: bool = False, **choices: "Unpack[Choices]"
    ) -> "Leaderboard":
        """Return the runs of a campaign beside each other.

        Parameters
        ----------
        campaign
            Its name.
        measures
            The columns; else the usual ones of the convention.
        seeds
            Whether the runs of one system are one row.
        **choices
            What the API lets one choose: `release`, `convention`, `sort`, `baseline` (a run's number), `split`,
            `length`, `relevant`.
        """
        return self._done(calls.leaderboard(campaign, measures, seeds, choices))

    def download_export(self, campaign: str, file: str, to: str | Path) -> Path:
        """Store a file of a campaign's present state under a path."""
        return self._done(calls.download(calls.inside(campaign, "exports", file), to))

    def download_release(self, campaign: str, version: int, to: str | Path) -> Path:
        """Store the zip of a release under a path."""
        return self._done(calls.download(calls.inside(campaign, "releases", version, "file"), to))

    def download_run(self, campaign: str, number: int, to: str | Path) -> Path:
        """Store the file of a run, as it was sent, under a path."""
        return self._done(calls.download(calls.inside(campaign, "runs", number, "file"), to))

    def _done(self, steps: Steps[T]) -> T:
        try:
            step = next(steps)
            while True:
                step = steps.send(self._do(step))
        except StopIteration as end:
            done: T = end.value
            return done

    def _do(self, step: Ask | Pause) -> Answer:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return Answer(BROKEN)
        try:
            with self._http.stream(**request_of(step)) as found:
                if step.to is None or not found.is_success:
                    return answer_of(found, found.read())
                with whole_file(step.to) as file:
                    for piece in found.iter_bytes():
                        file.write(piece)
                return answer_of(found)
        except self.httpx.RequestError as fault:
            return self.broken(fault)


def run(address: str, timeout: float = TIMEOUT) -> Run:
    """The run of a page: of a public leaderboard, or of a campaign of yours.

    Parameters
    ----------
    address : str
        Of the page, such as ``https://judge.example.org/campaigns/films/runs/public/…``, for which nobody needs an
        account; or ``https://judge.example.org/campaigns/films/runs/7/``, for which `REELJUDGE_TOKEN` holds a token.
    timeout : float, default 60
        Seconds to wait for an answer.

    Returns
    -------
    Run
        What every function of the library takes. Its name is that of the campaign with the run's number.

    Raises
    ------
    ApiError
        If the server refuses the file: a public run has one for everybody only if its owner lists it.
    MeasureError
        If the address is that of no run, the file cannot be read, or httpx is not installed.

    See Also
    --------
    read_run : reads a file.

    Examples
    --------
    A run of somebody else beside one's own::

        theirs = reeljudge.run("https://judge.example.org/campaigns/films/runs/public/…")
        reeljudge.compare(["nDCG_IoU(iou=0.5)@20"], "qrels.jsonl", {"theirs": theirs, "mine": "run.json"})

    Another page:

    >>> run("https://judge.example.org/campaigns/films/")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    metrics.formats.errors.MeasureError: the address is that of no run; expected ...
    """
    found = PAGE_OF_RUN.fullmatch(address.strip())
    if not found:
        raise MeasureError("the address is that of no run; expected …/campaigns/NAME/runs/public/… or …/runs/NUMBER/")
    site, campaign, token, number = found.groups()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run"
        try:
            with Client(site, timeout=timeout) if number else _Visitor(site, timeout) as client:
                if number:
                    client.download_run(unquote(campaign), int(number), file)
                else:
                    client._done(calls.download(calls.inside(unquote(campaign), "runs", "public", token, "file"), file))
            return replace(read_run(file), name=f"{unquote(campaign)}-run-{number or token[:8]}")
        except ApiError as fault:
            if number or fault.status != 404:
                raise
            message = f"{one_line(address)}: has no file for everybody; expected the page of a run that its owner lists"
            raise ApiError(message, fault.status) from None
        except MeasureError as fault:
            raise MeasureError(str(fault).replace(str(file), one_line(address))) from None


class _Visitor(Client):
    """Asks for public pages, without a token."""

    def __init__(self, address: str, timeout: float) -> None:
        Site.__init__(self, address, None, is_public=True)
        self._http = self.httpx.Client(**self.options(timeout))


class AsyncClient(Site):
    """The same as `Client` for programs that are asynchronous: each method is awaited.

    Examples
    --------
    ::

        async with AsyncClient("https://judge.example.org", token) as client:
            boards = await asyncio.gather(*map(client.leaderboard, ["films", "series"]))
    """

    def __init__(self, address: str | None = None, token: str | None = None, timeout: float = TIMEOUT) -> None:
        super().__init__(address, token)
        self._http = self.httpx.AsyncClient(**self.options(timeout))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def campaigns(self) -> "list[OwnCampaign]":
        """See `Client.campaigns`."""
        return await self._done(calls.campaigns())

    async def progress(self, campaign: str) -> "Progress":
        """See `Client.progress`."""
        return await self._done(calls.progress(campaign))

    async def export(self, campaign: str, file: str) -> Any:
        """See `Client.export`."""
        return await self._done(calls.export(campaign, file))

    async def releases(self, campaign: str) -> list[dict[str, Any]]:
        """See `Client.releases`."""
        return await self._done(calls.releases(campaign))

    async def load_release(self, campaign: str, version: int | None = None) -> "LoadedRelease":
        """See `Client.load_release`."""
        return await self._done(calls.load(campaign, version))

    async def runs(self, campaign: str) -> "list[StoredRun]":
        """See `Client.runs`."""
        return await self._done(calls.runs(campaign))

    async def run(self, campaign: str, number: int) -> "StoredRun":
        """See `Client.run`."""
        return await self._done(calls.run(campaign, number))

    async def submit(
        self,
        campaign: str,
        file: str | Path,
        *,
        name: str | None = None,
        videos: str | Path | None = None,
        patience: float = PATIENCE,
        **about: "Unpack[About]",
    ) -> "StoredRun":
        """See `Client.submit`."""
        return await self._done(calls.submit(campaign, file, name, videos, about, patience))

    async def scores(
        self, campaign: str, run: int, release: int | None = None, patience: float = PATIENCE
    ) -> "RunScores":
        """See `Client.scores`."""
        return await self._done(calls.scores(campaign, run, release, patience))

    async def leaderboard(
        self, campaign: str, measures: Sequence[str] = (), *, seeds: bool = False, **choices: "Unpack[Choices]"
    ) -> "Leaderboard":
        """See `Client.leaderboard`."""
        return await self._done(calls.leaderboard(campaign, measures, seeds, choices))

    async def download_export(self, campaign: str, file: str, to: str | Path) -> Path:
        """See `Client.download_export`."""
        return await self._done(calls.download(calls.inside(campaign, "exports", file), to))

    async def download_release(self, campaign: str, version: int, to: str | Path) -> Path:
        """See `Client.download_release`."""
        return await self._done(calls.download(calls.inside(campaign, "releases", version, "file"), to))

    async def download_run(self, campaign: str, number: int, to: str | Path) -> Path:
        """See `Client.download_run`."""
        return await self._done(calls.download(calls.inside(campaign, "runs", number, "file"), to))

    async def _done(self, steps: Steps[T]) -> T:
        try:
            step = next(steps)
            while True:
                step = steps.send(await self._do(step))
        except StopIteration as end:
            done: T = end.value
            return done

    async def _do(self, step: Ask | Pause) -> Answer:
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
            return Answer(BROKEN)
        try:
            async with self._http.stream(**request_of(step)) as found:
                if step.to is None or not found.is_success:
                    return answer_of(found, await found.aread())
                with whole_file(step.to) as file:
                    async for piece in found.aiter_bytes():
                        file.write(piece)
                return answer_of(found)
        except self.httpx.RequestError as fault:
            return self.broken(fault)
