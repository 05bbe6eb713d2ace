"""The client of a Reeljudge on a server: campaigns, progress, exports, releases, runs and scores."""

import os
import re
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import unquote
from uuid import uuid4

from ..formats.arrays import data_frame
from ..formats.errors import MeasureError
from ..formats.files import read_beginning
from ..formats.release import LoadedRelease, load_release
from ..formats.runs import read_run
from ..formats.tables import Run
from . import requests
from .requests import API, ApiError, RunRefused, below_api, inside, json_in, one_line

if TYPE_CHECKING:
    from httpx import Response

LATER = (429, 502, 503, 504)
WAITS = (0.5, 1.0, 2.0)  # seconds before what came to nothing is sent again
LONGEST_WAIT = 60.0  # seconds that a server may ask for; what takes longer is an error
FIRST_LOOK, SLOWEST_LOOK = 0.1, 5.0  # seconds between looks at work that a server does
MOST_OF_A_PAGE = 200
PATIENCE, TIMEOUT = 600.0, 60.0  # seconds
T = TypeVar("T")
PAGE_OF_RUN = re.compile(r"(https?://[^?#]+?)/campaigns/([^/?#]+)/runs/(?:public/([\w-]+)|(\d{1,9}))/?")


class Client:
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

    def __init__(
        self, address: str | None = None, token: str | None = None, timeout: float = TIMEOUT, *, is_public: bool = False
    ) -> None:
        self.address = requests.checked_address(address or os.environ.get(requests.ADDRESS, ""))
        try:
            import httpx
        except ImportError:
            raise MeasureError("this needs httpx: pip install 'reeljudge[client]'") from None
        self._fault = httpx.RequestError
        if is_public:
            self._http = httpx.Client(base_url=f"{self.address}/", timeout=timeout)
        else:
            known = requests.checked_token(token or os.environ.get(requests.TOKEN, ""))
            headers = {"Authorization": f"Bearer {known}", "Accept": "application/json"}
            self._http = httpx.Client(base_url=self.address + API, headers=headers, timeout=timeout)

    def __repr__(self) -> str:
        return f"Client({self.address!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def campaigns(self) -> list[dict[str, Any]]:
        """Return the campaigns that the person belongs to."""
        return self.rows_of("campaigns")

    def progress(self, campaign: str) -> dict[str, Any]:
        """Return how far a campaign is, how fast it goes, and when it ends at this pace."""
        return self.json_of("GET", inside(campaign, "progress"))  # type: ignore[no-any-return]

    def export(self, campaign: str, file: str) -> Any:
        """Return a file of a campaign's present state, such as ``qrels.jsonl`` or ``ratings.csv``, as a table.

        Returns
        -------
        pandas.DataFrame or list of dict
            A data frame; where pandas is not installed, its rows. Times are seconds.
        """
        rows = requests.rows_in(file, self.ask("GET", inside(campaign, "exports", file)).content)
        try:
            return data_frame(rows)
        except MeasureError:
            return rows

    def releases(self, campaign: str) -> list[dict[str, Any]]:
        """Return the releases, the newest first."""
        return self.rows_of(inside(campaign, "releases"))

    def load_release(self, campaign: str, version: int | None = None) -> LoadedRelease:
        """Return a release, the newest by default. Every function that takes qrels, a pool or ratings takes it.

        Its file is deleted with the object.

        Raises
        ------
        MeasureError
            If there is no such release, or its file has another SHA-256 than the server has stored.
        """
        ready = [each for each in self.releases(campaign) if each["state"] == "ready"]
        found = next((each for each in ready if version in (None, each["version"])), None)
        if found is None:
            what = "no release yet" if version is None else f"no release {version}"
            raise MeasureError(f"campaign {campaign}: has {what}; it has {[each['version'] for each in ready]}")
        folder = Path(tempfile.mkdtemp(prefix="reeljudge-release-"))
        try:
            file = self.download_release(campaign, found["version"], folder / f"{campaign}-v{found['version']}.zip")
            loaded = load_release(file, found["sha256"])
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        weakref.finalize(loaded, shutil.rmtree, folder, ignore_errors=True)
        return loaded

    def runs(self, campaign: str) -> list[dict[str, Any]]:
        """Return the runs that the person may see, the newest first."""
        return self.rows_of(inside(campaign, "runs"))

    def run(self, campaign: str, number: int) -> dict[str, Any]:
        """Return a run."""
        return self.json_of("GET", inside(campaign, "runs", number))  # type: ignore[no-any-return]

    def submit(
        self,
        campaign: str,
        file: str | Path,
        *,
        name: str | None = None,
        videos: str | Path | None = None,
        patience: float = PATIENCE,
        **about: str | None,
    ) -> dict[str, Any]:
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
            (private, shared or public), `citation`, `anonymous_until`, `format`, `task`. None leaves it to the server.

        Raises
        ------
        RunRefused
            If the server finds faults in the run; nothing is stored then.
        MeasureError
            If the file cannot be read, the server refuses it, or the check is not done in time.
        """
        files = {"run": Path(file)} | ({"videos": Path(videos)} if videos else {})
        for path in files.values():
            read_beginning(path)
        payload = {field: value for field, value in about.items() if value is not None}
        payload["name"] = name or Path(file).name.partition(".")[0] or Path(file).name
        key = {"Idempotency-Key": str(uuid4())}
        made = self.json_of("POST", inside(campaign, "runs"), json=payload, headers=key)
        where = inside(campaign, "submissions", made["token"])
        for purpose, path in files.items():
            self._send_file(where, purpose, path)
        self._check_files(where, patience)
        found = self.json_of("GET", where)
        if found["run"] is None:
            findings = found["findings"] or {"told": ["the check came to no end; submit it again"], "count": 1}
            raise RunRefused(str(file), findings["told"], findings["count"], findings.get("warnings", []))
        return self.run(campaign, found["run"])

    def scores(self, campaign: str, run: int, release: int | None = None, patience: float = PATIENCE) -> dict[str, Any]:
        """Return the scores of a run on a release, the newest by default, as soon as they are computed.

        Raises
        ------
        MeasureError
            If they are not computed after so many seconds of patience.
        """
        path = inside(campaign, "runs", run, "scores")
        query = {} if release is None else {"release": release}

        def look() -> dict[str, Any] | None:
            answer = self.ask("GET", path, params=query)
            return None if answer.status_code == 202 else json_in(answer)

        return self.until(look, patience, f"the scores of run {run} are not computed")

    def leaderboard(
        self, campaign: str, measures: Sequence[str] = (), *, seeds: bool = False, **choices: str | int | None
    ) -> dict[str, Any]:
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
            `length`, `relevant`. None leaves it to the server.
        """
        query: dict[str, Any] = {name: value for name, value in choices.items() if value is not None}
        query |= {"m": list(measures)} if measures else {}
        query |= {"seeds": "together"} if seeds else {}
        return self.json_of("GET", inside(campaign, "leaderboard"), params=query)  # type: ignore[no-any-return]

    def download_export(self, campaign: str, file: str, to: str | Path) -> Path:
        """Store a file of a campaign's present state under a path."""
        return self.download(inside(campaign, "exports", file), to)

    def download_release(self, campaign: str, version: int, to: str | Path) -> Path:
        """Store the zip of a release under a path."""
        return self.download(inside(campaign, "releases", version, "file"), to)

    def download_run(self, campaign: str, number: int, to: str | Path) -> Path:
        """Store the file of a run, as it was sent, under a path."""
        return self.download(inside(campaign, "runs", number, "file"), to)

    def download(self, path: str, to: str | Path) -> Path:
        """Store a file under a path, as a whole or not at all."""
        self.ask("GET", path, Path(to))
        return Path(to)

    def ask(self, method: str, path: str, to: Path | None = None, **content: Any) -> "Response":
        """Return the answer to a request below `/api/v1/`, whose content is what `httpx.request` takes.

        What a server cannot do now is asked again, a few times; so what makes something has an idempotency key. The
        content of a good answer goes to the file `to`, if there is one. Raises ApiError if the answer is an error.
        """
        for pause in (*WAITS, None):
            wait = 0.0
            try:
                answer = self._send(method, path, to, content)
                wait = requests.wait_in(answer)
                if pause is None or answer.status_code not in LATER or wait > LONGEST_WAIT:
                    break
            except self._fault as fault:
                if pause is None:
                    message = f"{self.address} does not answer: {str(fault) or type(fault).__name__}"
                    raise ApiError(one_line(message), 0) from None
            self.wait(wait or pause)
        if not answer.is_success:
            raise requests.problem(path, answer)
        return answer

    def _send(self, method: str, path: str, to: Path | None, content: dict[str, Any]) -> "Response":
        with self._http.stream(method, path, **content) as answer:
            if to is None or not answer.is_success:
                answer.read()
                return answer
            with requests.whole_file(to) as file:
                for piece in answer.iter_bytes():
                    file.write(piece)
            return answer

    def json_of(self, method: str, path: str, **content: Any) -> Any:
        return json_in(self.ask(method, path, **content))

    def rows_of(self, path: str) -> list[Any]:
        """Return all entries of a list that comes in pages."""
        page = self.json_of("GET", path, params={"limit": MOST_OF_A_PAGE})
        rows = list(page["results"])
        while page["next"]:
            page = self.json_of("GET", below_api(page["next"]))
            rows += page["results"]
        return rows

    def wait(self, seconds: float) -> None:
        """Wait between two attempts."""
        time.sleep(seconds)

    def until(self, look: Callable[[], T | None], patience: float, late: str) -> T:
        """Look again and again until there is something. Raises MeasureError after so many seconds without."""
        end, pause = monotonic() + patience, FIRST_LOOK
        while (found := look()) is None:
            if monotonic() + pause > end:
                raise MeasureError(f"{late} after {patience:g} seconds")
            self.wait(pause)
            pause = min(1.5 * pause, SLOWEST_LOOK)
        return found

    def _send_file(self, where: str, purpose: str, path: Path) -> None:
        """Send a file in pieces; where an answer was lost, go on at the place that the server names."""
        payload = {"purpose": purpose, "name": path.name, "size": path.stat().st_size}
        file = self.json_of("POST", f"{where}/files", json=payload)
        address = f"{where}/files/{file['token']}"
        while not file["whole"]:
            before = file["received"]
            try:
                file = self.json_of("PATCH", address, **requests.piece_of(path, before))
            except ApiError as fault:
                if "Upload-Offset" not in fault.fields:
                    raise
                file = self.json_of("GET", address)
                if file["received"] == before:
                    raise

    def _check_files(self, where: str, patience: float) -> None:
        """Have the server check the files, and wait for the job that does."""
        try:
            job = below_api(self.ask("POST", f"{where}/check").headers["location"])
        except ApiError as fault:
            if fault.status != 409:
                raise
            return  # It is a run already: this was sent again, because the first answer was lost.

        def look() -> Any:
            found = self.json_of("GET", job)
            if found["state"] == "failed":
                raise MeasureError(f"the check of this run broke off: {one_line(found['error'])}")
            return found if found["state"] == "done" else None

        self.until(look, patience, "the run is sent, but its check is not done")


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
            with Client(site, timeout=timeout, is_public=not number) as client:
                if number:
                    client.download_run(unquote(campaign), int(number), file)
                else:
                    client.download(inside(unquote(campaign), "runs", "public", token, "file"), file)
            return replace(read_run(file), name=f"{unquote(campaign)}-run-{number or token[:8]}")
        except ApiError as fault:
            if number or fault.status != 404:
                raise
            message = f"{one_line(address)}: has no file for everybody; expected the page of a run that its owner lists"
            raise ApiError(message, fault.status) from None
        except MeasureError as fault:
            raise MeasureError(str(fault).replace(str(file), one_line(address))) from None
