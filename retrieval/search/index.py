"""The index of a corpus: the vectors of its captions in one file, which web processes map into memory.

A job writes the file into the media store. A machine that does not share a folder with the store fetches the file once.
The file has two NumPy arrays, one behind the other, in the order of the moments' ids, which breaks ties: the vectors,
and records of the moments. Vectors inside the records would triple the time of a search, as they would not be adjacent.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from django.conf import settings
from django.core.files.storage import FileSystemStorage, default_storage
from django.db.models import Count, Max
from django.db.models.functions import Now
from numpy.typing import NDArray

from corpus.errors import CorpusError, Unavailable
from corpus.models import Corpus, Moment
from corpus.stored_files import STORE_FAULTS, store
from jobs.keys import key_of
from jobs.models import Job
from jobs.registry import Report
from metrics.formats.moment_ids import moment_id
from retrieval.embedding import Vectors, embed
from retrieval.encoders import model_key
from retrieval.models import SearchIndex

INDEX = "index captions"  # the kind of job
FOLDER = "indexes"  # of the store, and of the home of a machine that fetches them
RECORD = np.dtype([("moment", "<i8"), ("caption", "<u8")])
fetching = Lock()


class Rows(NamedTuple):
    """What an index holds: n records of `moment` (its key) and `caption` (its checksum), and the vectors.

    Attributes
    ----------
    vectors : array of shape (n, dimensions), float32
        Mapped into memory.
    """

    records: NDArray[Any]
    vectors: Vectors


def ask_for_index(corpus: Corpus) -> Job:
    """Ask for the job that writes the corpus's index anew."""
    return Job.objects.ask(INDEX, key_of(corpus), corpus=corpus.pk)


def checksum(caption: str) -> int:
    """Return the first 8 bytes of a caption's SHA-256, by which a hit is checked against its row."""
    return int.from_bytes(hashlib.sha256(caption.encode()).digest()[:8], "little")


def extent(corpus: Corpus) -> tuple[int, int]:
    """Return how many moments the corpus has, and the highest key among them: an index knows both."""
    found = Moment.objects.filter(video__corpus=corpus).aggregate(count=Count("pk"), last=Max("pk"))
    return found["count"], found["last"] or 0


def holds_every_caption(index: SearchIndex) -> bool:
    """Return whether an index has exactly the captions that its corpus has now, by looking at all of them."""
    listed = Moment.objects.filter(video__corpus=index.corpus_id).values_list("pk", "caption")
    now = {pk: checksum(caption) for pk, caption in listed.iterator(chunk_size=5000)}
    rows = opened(index)
    return now == dict(rows.records.tolist())


def build(corpus: Corpus, report: Report) -> None:
    """Encode the captions that are new, and write the index.

    Raises
    ------
    CorpusError
        If the corpus holds no moments.
    """
    moments, last = extent(corpus)
    fields = ("video__name", "start", "end", "description", "pk", "caption")
    listed = Moment.objects.filter(video__corpus=corpus).values_list(*fields).iterator(chunk_size=5000)
    ordered = sorted((moment_id(*row[:3]), row[3], *row[4:]) for row in listed)
    if not ordered:
        raise CorpusError(f"corpus {corpus} holds no moments; import it first")

    def encoding(done: int, total: int) -> None:
        report(done, total, f"encoding captions: {done:,} of {total:,}")

    vectors = embed([caption for *_, caption in ordered], encoding)
    report(0, 1, "writing the index")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "index.npy"
        with file.open("wb") as out:
            np.save(out, vectors)
            np.save(out, np.array([(pk, checksum(caption)) for *_, pk, caption in ordered], RECORD))
        with file.open("rb") as content:
            sha256 = hashlib.file_digest(content, "sha256").hexdigest()
        stored = store(f"{FOLDER}/{corpus.pk}-{sha256[:32]}.npy", file)
    _publish(corpus, {"file": stored.name, "sha256": sha256, "moments": moments, "last": last, "at": Now()})
    report(1, 1)


def _publish(corpus: Corpus, written: dict[str, Any]) -> None:
    """Note the new file in the row of the present model, and delete the file before it and those of other models."""
    before = list(SearchIndex.objects.filter(corpus=corpus).values_list("file", flat=True))
    SearchIndex.objects.update_or_create(corpus=corpus, model=model_key(), defaults=written)
    SearchIndex.objects.filter(corpus=corpus).exclude(model=model_key()).delete()
    for name in before:
        if name != written["file"]:
            default_storage.delete(name)


def opened(index: SearchIndex) -> Rows:
    """Return what the file of an index holds.

    Raises
    ------
    Unavailable
        If the file is not there or is damaged, or the store does not answer.
    """
    try:
        return _mapped(index.file, index.sha256)
    except (OSError, ValueError, EOFError, *STORE_FAULTS) as fault:
        raise Unavailable(f"the index {index.file} cannot be read: {fault}") from fault


@lru_cache(maxsize=8)
def _mapped(name: str, sha256: str) -> Rows:
    if isinstance(default_storage, FileSystemStorage):
        path = Path(default_storage.path(name))
    else:
        with fetching:
            path = _fetched(name, sha256)
    vectors = np.load(path, mmap_mode="r")
    with path.open("rb") as content:
        content.seek(vectors.offset + vectors.nbytes)
        return Rows(np.load(content), vectors)


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
        with open(part, "rb") as content:
            if hashlib.file_digest(content, "sha256").hexdigest() != sha256:
                raise OSError("it was damaged on the way")
        for old in path.parent.glob(f"{path.name.partition('-')[0]}-*.npy"):
            old.unlink(missing_ok=True)
        os.replace(part, path)
    finally:
        Path(part).unlink(missing_ok=True)
    return path
