"""The client for programs that are asynchronous."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from . import calls
from .requests import BROKEN, Answer, Ask, Pause, Steps, T
from .site import PATIENCE, TIMEOUT, Site, answer_of, request_of, whole_file
from .uploads import submit

if TYPE_CHECKING:
    from .shapes import About, Choices, Leaderboard, OwnCampaign, Progress, RunScores, StoredRun


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
        return await self._done(submit(campaign, file, name, videos, about, patience))

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
