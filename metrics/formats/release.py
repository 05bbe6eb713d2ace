"""Releases of test collections, from the zip or the unpacked folder. Each file is verified when it is read."""

import csv
import hashlib
import io
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from .csv_tables import read_side_file
from .errors import MeasureError, show
from .files import ReleaseFiles, text_of
from .json_files import json_lines
from .json_reader import read_json
from .pool import POOL_OF_RELEASE, Pool, read_pool
from .qrels import QRELS_OF_RELEASE, read_qrels
from .tables import Qrels

JUDGEMENTS, PAIRS = "judgements.jsonl", "pairs.csv"
CORPUS, QUERIES = "beir/corpus.jsonl", "beir/queries.jsonl"
OLD_MOMENTS, OLD_QUERIES = "moments.csv", "queries.csv"  # of releases by version 0.1.0
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # cells that begin so have an apostrophe before it


class ReleasedMoment(NamedTuple):
    """A moment of a release: start and end in seconds, and its caption; empty where the release has none."""

    video: str
    start: float
    end: float
    caption: str = ""


class ReleasedJudgement(NamedTuple):
    """A judgement of a release, by worker number.

    `counts` is False for one that was replaced, or whose batch was judged again. `seconds` are active seconds, None
    where they are unknown, as `round`, `guideline` and `doubt` are in imported ratings. `doubt` says whether the
    annotator hesitated between two grades; releases of version 0.1 do not say it.
    """

    pair_id: str
    query_id: str
    moment_id: str
    worker: int
    round: int | None
    grade: int
    counts: bool
    seconds: float | None = None
    guideline: int | None = None
    doubt: bool | None = None


class LoadedRelease(ReleaseFiles):
    """A release of a test collection. Each part is read, and its file verified, when it is first asked for.

    Every function that takes qrels, a pool or ratings as a path takes a release, too.

    Attributes
    ----------
    manifest
        What the release says of itself: campaign, version, rule, counts, agreement, checksums.
    qrels : Qrels
        The final grades of all settled pairs.
    queries : dict
        The text of each query, by its id.
    moments : dict
        The moments of the pairs, by their ids.
    splits : dict
        The ids of each split's queries: `validation` and `test`, as hubs have them. Empty if version 0.1.0 wrote the
        release and the campaign had no splits.
    pool : Pool or None
        The ranked candidates of every query, for `estimate`; None if the release holds none.
    judgements : tuple
        Every judgement, also those that do not count.

    See Also
    --------
    load_release : opens one.
    """

    def __repr__(self) -> str:
        return f"<release {self.manifest['version']} of {self.manifest['campaign']}>"

    @cached_property
    def qrels(self) -> Qrels:
        return self.qrels_of(None)

    def qrels_of(self, split: str | None) -> Qrels:
        """The final grades of one split's queries, or of all.

        Raises
        ------
        MeasureError
            For a split that the release does not have.
        """
        if split is None:
            return read_qrels(self)
        if split not in self.splits:
            raise MeasureError(f"{self.source}: split {show(split)}: not found; there are {', '.join(self.splits)}")
        queries = set(self.splits[split])
        part = self._folder / "split.jsonl"
        lines = self.read(QRELS_OF_RELEASE).splitlines(keepends=True)
        part.write_bytes(b"".join(line for line in lines if str(read_json(line)["query_id"]) in queries))
        return read_qrels(part, "jsonl", lenient=True)

    @cached_property
    def queries(self) -> dict[str, str]:
        if QUERIES in self:
            return {each["_id"]: each["text"] for each in self._records(QUERIES)}
        return {row["query_id"]: _without_apostrophe(row["query"]) for row in self._rows(OLD_QUERIES)}

    @cached_property
    def moments(self) -> dict[str, ReleasedMoment]:
        if CORPUS in self:
            return {
                each["_id"]: ReleasedMoment(**each["metadata"], caption=each["text"]) for each in self._records(CORPUS)
            }
        return {name: ReleasedMoment(*moment) for name, moment in read_side_file(self.file(OLD_MOMENTS)).items()}

    @cached_property
    def splits(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {name: [] for name in self.manifest.get("splits", {})}
        if found:
            for each in self._records(QUERIES):
                found[each["metadata"]["split"]].append(each["_id"])
        else:
            for name in self.manifest["files"]:
                if name.startswith("splits/") and name.endswith(".queries.txt"):
                    split = unquote(name.removeprefix("splits/").removesuffix(".queries.txt"))
                    found[split] = text_of(self.read(name), name).split("\n")[:-1]
        return {name: tuple(queries) for name, queries in found.items()}

    @cached_property
    def pool(self) -> Pool | None:
        return read_pool(self, empty="skip") if POOL_OF_RELEASE in self else None

    @cached_property
    def judgements(self) -> tuple[ReleasedJudgement, ...]:
        pairs = {row["pair_id"]: (row["query_id"], row["moment_id"]) for row in self._rows(PAIRS)}
        fields = ("worker", "round", "grade", "counts", "seconds", "guideline", "doubt")
        return tuple(
            ReleasedJudgement(pair, *pairs[pair], *(each.get(name) for name in fields))
            for each in self._records(JUDGEMENTS)
            for pair in [str(each["pair_id"])]
        )

    def file(self, name: str) -> Path:
        """The path of a file of the release, whose checksum is that of the manifest.

        Raises
        ------
        MeasureError
            If the release has no such file, or it was changed since the release was written.
        """
        data = self.read(name)
        if self.path.is_dir():
            return self.path / name
        file = self._folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        return file

    @cached_property
    def _folder(self) -> Path:
        folder = tempfile.mkdtemp(prefix="reeljudge-release-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)

    def _records(self, name: str) -> Iterator[Any]:
        if name not in self:  # because it is empty
            return
        for _, record in json_lines(self.read(name), f"{self.source}: {name}"):
            yield record

    def _rows(self, name: str) -> Iterator[dict[str, str]]:
        if name not in self:
            return
        with io.StringIO(text_of(self.read(name), name), newline="") as lines:
            yield from csv.DictReader(lines)


def _without_apostrophe(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA) else cell


def load_release(path: str | Path, sha256: str | None = None) -> LoadedRelease:
    """A release of a test collection, from its zip or from the folder where it is unpacked.

    Nothing but the manifest is read here. Each file is compared with the manifest's checksum when it is first needed;
    `verify.py` inside the release, or `verify_release`, also computes the final grades again.

    Parameters
    ----------
    path : str or Path
        The zip, or the folder.
    sha256 : str, default None
        The SHA-256 that the zip is known to have, in hexadecimal digits.

    Returns
    -------
    LoadedRelease
        Its qrels, queries, moments, splits, pool and judgements, each read when it is first asked for.

    Raises
    ------
    MeasureError
        If this is no release, or the zip has another checksum.

    See Also
    --------
    read_qrels, read_pool : read single files.

    Examples
    --------
    >>> load_release("nothing.zip")
    Traceback (most recent call last):
    ...
    metrics.formats.errors.MeasureError: nothing.zip: not found; expected the zip or the folder of a release
    """
    path = Path(path)
    if not path.exists():
        raise MeasureError(f"{path}: not found; expected the zip or the folder of a release")
    if sha256 is not None:
        if path.is_dir():
            raise MeasureError(f"{path}: sha256 is that of the zip; this is a folder")
        with path.open("rb") as content:
            found = hashlib.file_digest(content, "sha256").hexdigest()
        if found != sha256.lower():
            raise MeasureError(f"{path}: SHA-256 is {found}, not {sha256}")
    return LoadedRelease(path)


class Example(NamedTuple):
    """The example: the path of its release, and those of its runs, by name."""

    release: Path
    runs: dict[str, Path]


def example() -> Example:
    """A small test collection and two runs, which are installed with the library.

    Its 60 queries and 240 moments are generated, and simulated annotators have judged 8 moments of each query. The run
    ``finder`` is better than the run ``guesser``. The numbers say nothing about real systems.

    Returns
    -------
    Example
        The path of a release, and a dict from name to the path of a run.

    See Also
    --------
    load_release : opens the release.

    Examples
    --------
    >>> from reeljudge import calc
    >>> collection, runs = example()
    >>> for name, run in runs.items():
    ...     print(name, round(calc("AxIoU@10", collection, run)["AxIoU@10"], 3))
    finder 0.907
    guesser 0.566
    """
    folder = Path(__file__).parents[1] / "example"
    return Example(folder / "example-v1.zip", {name: folder / f"{name}.json" for name in ("finder", "guesser")})
