"""Releases of test collections, from the zip or the unpacked folder. Each file is verified when it is read."""

import csv
import hashlib
import io
import shutil
import tempfile
import weakref
import zipfile
import zlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from .csv_tables import read_side_file
from .errors import MeasureError, show
from .files import source_name
from .json_files import json_lines
from .json_reader import read_json
from .pool import Pool, read_pool
from .qrels import read_qrels
from .tables import Qrels

MANIFEST, FORMAT = "MANIFEST.json", "reeljudge-release/1"
QRELS, POOL, JUDGEMENTS, PAIRS = "qrels.jsonl", "pool.jsonl", "judgements.jsonl", "pairs.csv"
CORPUS, QUERIES = "beir/corpus.jsonl", "beir/queries.jsonl"
OLD_MOMENTS, OLD_QUERIES = "moments.csv", "queries.csv"  # of releases by version 0.1.0
LARGEST_MANIFEST = 2**24  # bytes
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
    where they are unknown, as `round` and `guideline` are in imported ratings.
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


class LoadedRelease:
    """A release of a test collection. Each part is read, and its file verified, when it is first asked for.

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

    def __init__(self, path: Path) -> None:
        self.path = path
        self.source = source_name(path)
        self.manifest: dict[str, Any] = self._manifest()

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
        file = self.file(QRELS)
        if split is None:
            return read_qrels(file, "jsonl", lenient=True)
        if split not in self.splits:
            raise MeasureError(f"{self.source}: split {show(split)}: not found; there are {', '.join(self.splits)}")
        queries = set(self.splits[split])
        part = self._folder / "split.jsonl"
        with file.open(encoding="utf-8") as lines, part.open("w", encoding="utf-8") as out:
            out.writelines(line for line in lines if str(read_json(line)["query_id"]) in queries)
        return read_qrels(part, "jsonl", lenient=True)

    @cached_property
    def queries(self) -> dict[str, str]:
        if self._has(QUERIES):
            return {each["_id"]: each["text"] for each in self._records(QUERIES)}
        return {row["query_id"]: _without_apostrophe(row["query"]) for row in self._rows(OLD_QUERIES)}

    @cached_property
    def moments(self) -> dict[str, ReleasedMoment]:
        if self._has(CORPUS):
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
                    found[split] = self.file(name).read_text(encoding="utf-8").split("\n")[:-1]
        return {name: tuple(queries) for name, queries in found.items()}

    @cached_property
    def pool(self) -> Pool | None:
        return read_pool(self.file(POOL)) if self._has(POOL) else None

    @cached_property
    def judgements(self) -> tuple[ReleasedJudgement, ...]:
        pairs = {row["pair_id"]: (row["query_id"], row["moment_id"]) for row in self._rows(PAIRS)}
        fields = ("worker", "round", "grade", "counts", "seconds", "guideline")
        return tuple(
            ReleasedJudgement(pair, *pairs[pair], *(each.get(name) for name in fields))
            for each in self._records(JUDGEMENTS)
            for pair in [str(each["pair_id"])]
        )

    def file(self, name: str) -> Path:
        """The path of a file of the release, which has the checksum that the manifest says.

        Raises
        ------
        MeasureError
            If the release has no such file, or it is not what it was when the release was written.
        """
        entry = self.manifest["files"].get(name)
        if not isinstance(entry, dict) or ".." in Path(name).parts or Path(name).is_absolute():
            raise MeasureError(f"{self.source}: holds no {show(name)}")
        file = self.path / name if self.path.is_dir() else self._taken_out(name, entry)
        try:
            with file.open("rb") as content:
                found = hashlib.file_digest(content, "sha256").hexdigest()
        except OSError as fault:
            raise MeasureError(f"{self.source}: {name}: cannot be read ({fault.strerror})") from fault
        if found != entry.get("sha256"):
            raise MeasureError(f"{self.source}: {name}: SHA-256 is {found[:16]}…; the manifest says otherwise")
        return file

    def _taken_out(self, name: str, entry: dict[str, Any]) -> Path:
        file = self._folder / name
        if file.exists():
            return file
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with zipfile.ZipFile(self.path) as archive, archive.open(name) as packed:
                content = packed.read(int(entry["bytes"]) + 1)  # and no more, whatever the zip unpacks to
        except (KeyError, OSError, ValueError, zipfile.BadZipFile, zlib.error) as fault:
            raise MeasureError(f"{self.source}: {name}: cannot be read ({fault})") from fault
        file.write_bytes(content)
        return file

    @cached_property
    def _folder(self) -> Path:
        folder = tempfile.mkdtemp(prefix="reeljudge-release-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)

    def _manifest(self) -> dict[str, Any]:
        try:
            if self.path.is_dir():
                text = (self.path / MANIFEST).read_bytes()
            else:
                with zipfile.ZipFile(self.path) as archive, archive.open(MANIFEST) as packed:
                    text = packed.read(LARGEST_MANIFEST)
            found = read_json(text)
        except (KeyError, OSError, ValueError, zipfile.BadZipFile) as fault:
            raise MeasureError(f"{self.source}: {MANIFEST} cannot be read ({fault}); expected a release") from fault
        if not isinstance(found, dict) or found.get("format") != FORMAT or not isinstance(found.get("files"), dict):
            raise MeasureError(f"{self.source}: {MANIFEST} does not say format {FORMAT}")
        return found

    def _has(self, name: str) -> bool:
        return name in self.manifest["files"]

    def _records(self, name: str) -> Iterator[Any]:
        for _, record in json_lines(self.file(name).read_bytes(), f"{self.source}: {name}"):
            yield record

    def _rows(self, name: str) -> Iterator[dict[str, str]]:
        with io.StringIO(self.file(name).read_text(encoding="utf-8"), newline="") as lines:
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
