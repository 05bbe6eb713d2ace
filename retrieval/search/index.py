"""The index of a corpus: the vectors of its captions in one file, which web processes map into memory.

A job writes the file into the media store, a block of captions at a time. A machine that does not share a folder with
the store fetches the file once. The file has two NumPy arrays, one behind the other, in the order in which moments were
stored, which breaks ties: the vectors, and records of the moments. Vectors inside the records would triple the time of
a search, as they would not be adjacent. Beyond a million captions a second file holds an approximate index, if faiss is
installed: a search computes the exact cosines of what it proposes, and its recall is measured when it is made.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import lru_cache, partial
from operator import attrgetter
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, NamedTuple, TypeVar

import numpy as np
from django.conf import settings
from django.core.files.storage import FileSystemStorage, default_storage
from django.db.models.functions import Now
from numpy.lib.format import write_array_header_1_0
from numpy.typing import NDArray

from corpus.errors import CorpusError, Unavailable
from corpus.models import Corpus, Moment
from corpus.stored_files import STORE_FAULTS, store
from jobs.registry import SELF, Report, kind
from retrieval.captions import CAPTIONS_OF_A_BLOCK, CaptionRow, encode_captions, ranges, rows_in
from retrieval.embedding import Vectors, embed
from retrieval.encoders import model_key
from retrieval.models import SearchIndex
from retrieval.nearest import Nearest, nearest
from systems.clips import codes
from systems.storage import digest

FOLDER = "indexes"  # of the store, and of the home of a machine that fetches them
RECORD = np.dtype([("moment", "<i8"), ("caption", "<u8")])
EXACT_UP_TO = 1_000_000  # captions; so many are searched exactly
WANTED_RECALL = 0.95
GROUPS_LOOKED_AT = (64, 128, 256, 512)  # as few of these as give the wanted recall, else the last
CANDIDATES = 10  # for each hit that is wanted, because 8 bits a number confuse near ones
QUERIES, DEPTH = 200, 20  # of the measurement of recall
fetching = Lock()
Opened = TypeVar("Opened")


class Rows(NamedTuple):
    """What an index holds: n records of `moment` (its key) and `caption` (its checksum), and the vectors.

    vectors: array of shape (n, dimensions), float32: mapped into memory.
    """

    records: NDArray[Any]
    vectors: Vectors


def checksum(caption: str) -> int:
    """Return the first 8 bytes of a caption's SHA-256, by which a hit is checked against its row."""
    return int.from_bytes(hashlib.sha256(caption.encode()).digest()[:8], "little")


def changes_of(corpus: Corpus) -> int:
    """Return how many imports have changed the corpus by now. Counting its moments would take as long as a search."""
    return Corpus.objects.values_list("changes", flat=True).get(pk=corpus.pk)


def holds_every_caption(index: SearchIndex) -> bool:
    """Return whether an index has exactly the captions that its corpus has now, by looking at all of them."""
    listed = Moment.objects.filter(video__corpus=index.corpus_id).order_by("pk").values_list("pk", "caption")
    now = ((pk, checksum(caption)) for pk, caption in listed.iterator(chunk_size=5000))
    return np.array_equal(np.fromiter(now, RECORD), opened(index).records)


def is_large(captions: int) -> bool:
    """Return whether a corpus has more captions than are searched exactly."""
    return captions > EXACT_UP_TO


def lacks_approximate(index: SearchIndex) -> bool:
    """Return whether a corpus needs an approximate index that could be made here, because faiss is there by now."""
    return not index.approximate and is_large(index.moments) and codes.is_installed()


@kind("index-captions", "Index captions", of=Corpus, owner=SELF, page=("corpus", "name"), refusals=(CorpusError,))
def index_captions(corpus: Corpus, report: Report) -> None:
    """Encode the captions that are new, and write the index. Raises CorpusError if the corpus holds no moments."""
    changes = changes_of(corpus)  # before the moments are read
    encode_captions(corpus, report)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "index.npy"
        written = {"moments": _write(corpus, file, report), "changes": changes, "at": Now()}
        if not written["moments"]:
            raise CorpusError(f"corpus {corpus} holds no moments; import it first")
        written["file"], written["sha256"] = _stored(corpus, file)
        written |= _approximate(corpus, np.load(file, mmap_mode="r"), Path(folder) / "index.ivf", report)
    _publish(corpus, written)
    report(1, 1)


def _write(corpus: Corpus, file: Path, report: Report) -> int:
    """Write the vectors and the records of all captions, a block at a time, and return how many there are."""
    records, width = np.empty(0, RECORD), 0
    blocks = ranges(corpus, CAPTIONS_OF_A_BLOCK)
    with file.open("wb") as out:
        _write_head(out, 0, 0)
        for number, block in enumerate(blocks):
            rows = sorted(rows_in(corpus, *block), key=attrgetter("pk"))
            vectors = _vectors(rows, partial(report, number, len(blocks), "writing the index"))
            width = max(width, vectors.shape[1])
            out.write(vectors.data)
            records = np.append(records, np.array([(row.pk, checksum(row.caption)) for row in rows], RECORD))
        np.save(out, records)
        out.seek(0)
        _write_head(out, len(records), width)
    return len(records)


def _write_head(out: BinaryIO, *shape: int) -> None:
    """Write the head of an array as NumPy's files have it. It leaves room for any number of rows."""
    write_array_header_1_0(out, {"descr": "<f4", "fortran_order": False, "shape": shape})


def _vectors(rows: list[CaptionRow], tell: Callable[[], None]) -> Vectors:
    tell()
    return embed([row.caption for row in rows], lambda *_: tell())


def _stored(corpus: Corpus, file: Path) -> tuple[str, str]:
    """Store a file under a name that its content gives, and return the name and the SHA-256."""
    sha256 = digest(file)
    return str(store(f"{FOLDER}/{corpus.pk}-{sha256[:32]}{file.suffix}", file).name), sha256


def _approximate(corpus: Corpus, vectors: Vectors, file: Path, report: Report) -> dict[str, Any]:
    """Write the approximate index of a corpus that needs one, if faiss is here, and return what its row says of it."""
    if not (is_large(len(vectors)) and codes.is_installed()):
        return {"approximate": "", "approximate_sha256": "", "recall": None}
    report(0, 1, "grouping captions for the approximate index")
    recall = write_approximate(vectors, file)
    name, sha256 = _stored(corpus, file)
    return {"approximate": name, "approximate_sha256": sha256, "recall": recall}


def write_approximate(vectors: Vectors, file: Path) -> float:
    """Write an approximate index of vectors of length 1, and return its recall@DEPTH with captions as queries."""
    index = codes.by_cosine(vectors)
    drawn = np.sort(np.random.default_rng(2).permutation(len(vectors))[:QUERIES])
    exact = nearest(vectors[drawn], vectors, DEPTH).indices
    for index.nprobe in GROUPS_LOOKED_AT:
        found = (nearest_of(index, vectors[query], vectors, DEPTH).indices[0] for query in drawn)
        recall = float(np.mean([np.isin(wanted, some).mean() for wanted, some in zip(exact, found, strict=True)]))
        if recall >= WANTED_RECALL:
            break
    codes.write(index, file)
    return recall


def nearest_of(index: Any, query: Vectors, vectors: Vectors, k: int) -> Nearest:
    """Return the k nearest captions that an approximate index finds, or fewer, with their exact cosines."""
    candidates = codes.candidates(index, query, CANDIDATES * k)
    found = nearest(query[None], vectors[candidates], k)
    return Nearest(candidates[found.indices], found.similarities)


def _publish(corpus: Corpus, written: dict[str, Any]) -> None:
    """Note the new files in the row of the present model, and delete those before them and those of other models."""
    before = SearchIndex.objects.filter(corpus=corpus).values_list("file", "approximate")
    names = {name for row in before for name in row}
    SearchIndex.objects.update_or_create(corpus=corpus, model=model_key(), defaults=written)
    SearchIndex.objects.filter(corpus=corpus).exclude(model=model_key()).delete()
    for name in names - {written["file"], written["approximate"], ""}:
        default_storage.delete(name)


def opened(index: SearchIndex) -> Rows:
    """Return what the file of an index holds. Raises Unavailable if it is missing, damaged or out of reach."""
    return _or_unavailable(_mapped, index.file, index.sha256)


def opened_approximate(index: SearchIndex) -> Any:
    """Return the approximate index, or None without one or without faiss. Raises Unavailable as `opened` does."""
    if not (index.approximate and codes.is_installed()):
        return None
    return _or_unavailable(_read, index.approximate, index.approximate_sha256)


def _or_unavailable(read: Callable[[str, str], Opened], name: str, sha256: str) -> Opened:
    try:
        return read(name, sha256)
    except (OSError, ValueError, EOFError, *STORE_FAULTS) as fault:
        raise Unavailable(f"the index {name} cannot be read: {fault}") from fault


@lru_cache(maxsize=8)
def _mapped(name: str, sha256: str) -> Rows:
    path = _path(name, sha256)
    vectors = np.load(path, mmap_mode="r")
    with path.open("rb") as content:
        content.seek(vectors.offset + vectors.nbytes)
        return Rows(np.load(content), vectors)


@lru_cache(maxsize=8)
def _read(name: str, sha256: str) -> Any:
    return codes.mapped(_path(name, sha256))


def _path(name: str, sha256: str) -> Path:
    if isinstance(default_storage, FileSystemStorage):
        return Path(default_storage.path(name))
    with fetching:
        return _fetched(name, sha256)


def _fetched(name: str, sha256: str) -> Path:
    """Return this machine's copy of a file of the store. It is fetched if it is not there, and then checked."""
    path = settings.HOME / FOLDER / Path(name).name
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as out, default_storage.open(name) as content:
            shutil.copyfileobj(content, out, 1 << 20)
        if digest(Path(part)) != sha256:
            raise OSError("it was damaged on the way")
        for old in path.parent.glob(f"{path.name.partition('-')[0]}-*{path.suffix}"):
            old.unlink(missing_ok=True)
        os.replace(part, path)
    finally:
        Path(part).unlink(missing_ok=True)
    return path
