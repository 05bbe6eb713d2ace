"""Films in an S3-compatible store: listed below a prefix, and fetched one at a time to be cut or measured.

FFmpeg needs a file that it can seek in, and the process that cuts has no network. So a film is fetched as a whole.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path, PurePosixPath
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.conf import settings

from corpus.errors import CorpusError, FilmAway, Unavailable

SCHEME = "s3://"
PIECE = 8 * 2**20  # bytes between two signs
LONGEST_NAME = 200  # bytes
EXPECTED = "expected s3://BUCKET/PREFIX, which the credentials of this machine may list"


def is_remote(folder: str) -> bool:
    """Return whether a folder of films is a prefix of an S3-compatible store."""
    return folder.startswith(SCHEME)


def names_below(address: str) -> Iterator[str]:
    """Yield the names of all objects below a prefix, without the prefix.

    Raises
    ------
    CorpusError
        If the address is none, or the store refuses it; `Unavailable` if the store does not answer.
    """
    bucket, prefix = _parts(address)
    with _faults_at(address):
        pages = _client().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        for page in pages:
            for each in page.get("Contents", []):
                yield each["Key"].removeprefix(prefix)


def film_at(folder: str, place: str, sign: Callable[[], None]) -> AbstractContextManager[Path]:
    """Give a film or a folder of frames as a path on this machine, for as long as it is needed.

    Raises
    ------
    CorpusError
        If it is in a store and cannot be fetched.
    """
    return fetched(folder, place, sign) if is_remote(folder) else nullcontext(Path(folder) / place)


@contextmanager
def fetched(address: str, name: str, sign: Callable[[], None]) -> Iterator[Path]:
    """Give a copy of a film on this machine's disk, which is deleted in the end. `sign` is called meanwhile.

    Raises
    ------
    CorpusError
        If the film is gone; `Unavailable` if the store does not answer, or the disk has no room.
    """
    bucket, prefix = _parts(address)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / _own_name(name)
        with _faults_at(f"{address.rstrip('/')}/{name}"), file.open("wb") as out:
            body = _client().get_object(Bucket=bucket, Key=prefix + name)["Body"]
            for piece in body.iter_chunks(PIECE):
                out.write(piece)
                sign()
        yield file


def _own_name(name: str) -> str:
    """Return the object's own name, or a short one if no disk would take it."""
    own = PurePosixPath(name)
    return own.name if len(own.name.encode()) <= LONGEST_NAME else f"film{own.suffix}"


def _parts(address: str) -> tuple[str, str]:
    """Return the bucket, and the prefix with a slash at its end unless it is empty."""
    bucket, _, prefix = address.removeprefix(SCHEME).partition("/")
    if not is_remote(address) or not bucket:
        raise CorpusError(f"{address}: names no bucket; {EXPECTED}")
    return bucket, f"{prefix.strip('/')}/" if prefix.strip("/") else ""


@contextmanager
def _faults_at(address: str) -> Iterator[None]:
    try:
        yield
    except ClientError as fault:
        status = fault.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        code = fault.response.get("Error", {}).get("Code", status)
        if status >= 500 or status == 429:
            raise Unavailable(f"{address}: the store does not answer now ({code})") from fault
        raise CorpusError(f"{address}: the store refuses it ({code}); {EXPECTED}") from fault
    except BotoCoreError as fault:
        raise FilmAway(f"{address}: cannot be reached from this machine ({fault})") from fault
    except OSError as fault:
        raise Unavailable(f"{address}: cannot be fetched ({fault})") from fault


def _client() -> Any:
    """Return a client with the credentials of the environment, and the time limits of the store of clips."""
    import boto3  # slow to import, and needed where films are in a store only

    return boto3.client("s3", endpoint_url=settings.S3_ENDPOINT_URL or None, config=Config(**settings.S3_CLIENT))
