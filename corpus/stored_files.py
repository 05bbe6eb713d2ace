"""Storing a file, and reading it or a part of it, in a folder or in an S3-compatible store."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from botocore.exceptions import BotoCoreError, ClientError
from django.core.files.base import File
from django.core.files.storage import FileSystemStorage, default_storage
from django.db.models.fields.files import FieldFile

from corpus.errors import Unavailable
from systems.storage import digest

CHUNK = 64 * 1024
STORE_FAULTS = (BotoCoreError, ClientError)  # the store does not answer, or refuses the request

# 1 January 2000. Whatever sends a stored file may tell its time, from which an annotator could learn the order in which
# clips were cut. An S3 store tells the time of the upload, which nobody can set.
TIME_OF_ALL_FILES = 946_684_800


@dataclass(frozen=True)
class Stored:
    """A file of the store: its name there, its bytes, and their checksum if it was computed."""

    name: str
    size: int
    sha256: str = ""


def store(name: str, file: Path) -> Stored:
    """Store a file with the same time as all others, in place of one of the same name. It is there whole or not at all.
    Raises Unavailable if the store does not answer, or has no room.
    """
    checksum = digest(file)
    with _store_faults():
        if isinstance(default_storage, FileSystemStorage):
            _copy(file, Path(default_storage.path(name)))
        else:
            with file.open("rb") as content:
                default_storage.save(name, File(content))
    return Stored(name, file.stat().st_size, checksum)


def _copy(file: Path, to: Path) -> None:
    """Copy a file under another name, and rename it when it is whole and on the disk."""
    to.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=to.parent, prefix=f".{to.stem}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as out, file.open("rb") as content:
            shutil.copyfileobj(content, out)
            out.flush()
            os.fsync(handle)
        os.chmod(part, 0o644)
        os.utime(part, (TIME_OF_ALL_FILES, TIME_OF_ALL_FILES))
        os.replace(part, to)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(part)


@contextmanager
def _store_faults() -> Iterator[None]:
    try:
        yield
    except (OSError, *STORE_FAULTS) as fault:
        raise Unavailable(f"the media store does not answer, or has no room: {fault}") from fault


def files_in(folder: str) -> Iterator[Stored]:
    """Yield the files of a folder of the store, unread. Raises Unavailable if the store does not answer."""
    with _store_faults():
        if not isinstance(default_storage, FileSystemStorage):
            yield from _objects_in(folder)
            return
        with suppress(FileNotFoundError), os.scandir(default_storage.path(folder)) as found:
            for entry in found:
                yield Stored(f"{folder}/{entry.name}", entry.stat().st_size)


def _objects_in(folder: str) -> Iterator[Stored]:
    store = cast(Any, default_storage)  # django-storages' S3Storage
    above = f"{store.location}/" if store.location else ""
    for found in store.bucket.objects.filter(Prefix=f"{above}{folder}/"):
        yield Stored(found.key.removeprefix(above), found.size)


def read(name: str) -> Stored | None:
    """Return the size and checksum of a stored file, or None. Raises Unavailable if the store does not answer."""
    with _store_faults():
        try:
            content: File[bytes] = default_storage.open(name)
        except FileNotFoundError:
            return None
        checksum = hashlib.sha256()
        with content:
            for chunk in FileRange(content, 0, content.size):
                checksum.update(chunk)
            return Stored(name, content.size, checksum.hexdigest())


def opened(file: FieldFile) -> File[bytes]:
    """Open a stored file without reading any of it. Raises OSError if the file is gone."""
    found: File[bytes] = file.storage.open(file.name or "")
    return found


class FileRange:
    """The bytes from `start` to `stop` of a stored file and of what comes `after` it, in chunks. From an S3 store only
    these bytes are fetched. Django closes it together with the response that streams it, even if nobody reads the
    response.
    """

    def __init__(self, content: File[bytes], start: int, stop: int, after: bytes = b"") -> None:
        self.content, self.start, self.stop = content, start, min(stop, content.size)
        self.after = after[max(0, start - content.size) : max(0, stop - content.size)]

    def __iter__(self) -> Iterator[bytes]:
        if self.start < self.stop:
            if remote := getattr(self.content, "obj", None):  # django-storages' name for S3's object
                yield from self._remote(remote)
            else:
                yield from self._local()
        if self.after:
            yield self.after

    def _remote(self, remote: Any) -> Iterator[bytes]:
        body = remote.get(Range=f"bytes={self.start}-{self.stop - 1}")["Body"]
        with body:
            yield from body.iter_chunks(CHUNK)

    def _local(self) -> Iterator[bytes]:
        self.content.seek(self.start)
        left = self.stop - self.start
        while left and (chunk := self.content.read(min(CHUNK, left))):
            left -= len(chunk)
            yield chunk

    def close(self) -> None:
        self.content.close()
