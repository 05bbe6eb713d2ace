"""Storing a file, and reading it or a part of it, in a folder or in an S3-compatible store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from django.core.files.base import File
from django.core.files.storage import default_storage
from django.db.models.fields.files import FieldFile

CHUNK = 64 * 1024
STORE_FAULTS = (BotoCoreError, ClientError)  # the store does not answer, or refuses the request

# 1 January 2000. Whatever sends a stored file may tell its time, from which an annotator could learn the order in which
# clips were cut. An S3 store tells the time of the upload, which nobody can set.
TIME_OF_ALL_FILES = 946_684_800


def store(name: str, content: File[bytes]) -> str:
    """Store a file with the same time as all others, and return the name that it got."""
    name = default_storage.save(name, content)
    with suppress(NotImplementedError):  # an S3 store has no paths
        os.utime(default_storage.path(name), (TIME_OF_ALL_FILES, TIME_OF_ALL_FILES))
    return name


def opened(file: FieldFile) -> File[bytes]:
    """Open a stored file without reading any of it.

    Raises
    ------
    OSError
        If the file is gone.
    """
    found: File[bytes] = file.storage.open(file.name or "")
    return found


class Part:
    """The bytes from `start` to `stop` of a stored file, in chunks. From an S3 store only these bytes are fetched.

    Django closes it together with the response that streams it, even if nobody reads the response.
    """

    def __init__(self, content: File[bytes], start: int, stop: int) -> None:
        self.content, self.start, self.stop = content, start, stop

    def __iter__(self) -> Iterator[bytes]:
        if self.start == self.stop:
            return
        if remote := getattr(self.content, "obj", None):  # django-storages' name for S3's object
            yield from self._remote(remote)
        else:
            yield from self._local()

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
