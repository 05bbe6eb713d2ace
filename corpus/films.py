"""The films of a corpus, or folders of frames: found on a disk or in an S3-compatible store, and fetched from there.

FFmpeg needs a file that it can seek in, and the process that cuts has no network. So a film is fetched as a whole, one
at a time, to be cut or measured.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.conf import settings

from corpus.errors import CorpusError, FilmAway, Unavailable
from corpus.models import Video
from systems.features.film_names import DEMUXERS, PICTURES, stem_and_ending

SCHEME = "s3://"
PIECE = 8 * 2**20  # bytes between two signs
LONGEST_NAME = 200  # bytes
EXPECTED = "expected s3://BUCKET/PREFIX, which the credentials of this machine may list"
AT_A_TIME = 200  # videos in one statement, which takes longer for each of them the more there are


def is_remote(folder: str) -> bool:
    """Return whether a folder of films is a prefix of an S3-compatible store."""
    return folder.startswith(SCHEME)


def names_below(address: str) -> Iterator[str]:
    """Yield the names of all objects below a prefix, without the prefix. Raises CorpusError if the address is none, or
    the store refuses it; `Unavailable` if the store does not answer.
    """
    bucket, prefix = _parts(address)
    with _faults_at(address):
        pages = _client().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        for page in pages:
            for each in page.get("Contents", []):
                yield each["Key"].removeprefix(prefix)


def film_at(folder: str, place: str, sign: Callable[[], None]) -> AbstractContextManager[Path]:
    """Give a film or a folder of frames as a local path. Raises CorpusError if it cannot be fetched from a store."""
    return fetched(folder, place, sign) if is_remote(folder) else nullcontext(Path(folder) / place)


@contextmanager
def fetched(address: str, name: str, sign: Callable[[], None]) -> Iterator[Path]:
    """Give a copy of a film on this machine's disk, which is deleted in the end. `sign` is called meanwhile. Raises
    CorpusError if the film is gone; `Unavailable` if the store does not answer, or the disk has no room.
    """
    bucket, prefix = _parts(address)
    with tempfile.TemporaryDirectory() as folder:
        own = PurePosixPath(name)  # or a short name, if no disk would take it
        file = Path(folder) / (own.name if len(own.name.encode()) <= LONGEST_NAME else f"film{own.suffix}")
        with _faults_at(f"{address.rstrip('/')}/{name}"), file.open("wb") as out:
            body = _client().get_object(Bucket=bucket, Key=prefix + name)["Body"]
            for piece in body.iter_chunks(PIECE):
                out.write(piece)
                sign()
        yield file


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


@dataclass
class MediaFolder:
    """A folder that holds, at any depth, a file or a folder of frames with the name of each video."""

    folder: str
    frame_rate: float | None = None
    index: dict[str, str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.folder = str(Path(self.folder).resolve())
        if not Path(self.folder).is_dir():
            raise CorpusError(f"--media {self.folder}: not a folder; expected one with videos or frames")
        seen = set[str]()
        for root, folders, files in os.walk(self.folder, followlinks=True):
            if (real := os.path.realpath(root)) in seen:  # a link to a folder that was looked into, or is above
                folders.clear()
                continue
            seen.add(real)
            self._look(Path(root), files)
            folders.sort()
        if not self.index:
            raise CorpusError(
                f"--media {self.folder}: no videos ({', '.join(sorted(DEMUXERS))}) and no folders of frames in it"
            )

    def _look(self, root: Path, files: list[str]) -> None:
        for file in sorted(files):
            self._index_film((root / file).relative_to(self.folder))
        if str(root) != self.folder and any(Path(file).suffix.lower() in PICTURES for file in files):
            if not self.frame_rate:
                raise CorpusError(f"{root}: a folder of frames; tell their rate with --fps")
            self.index.setdefault(root.name, str(root.relative_to(self.folder)))

    def _index_film(self, path: PurePath) -> None:
        stem, ending = stem_and_ending(path.name)
        if ending in DEMUXERS:
            self.index.setdefault(stem, str(path))

    def place(self, video: str) -> str:
        """Return where the media of a video are, below the folder; empty if there are none."""
        return self.index.get(self.name_of(video), "")

    def name_of(self, video: str) -> str:
        """Return the name that a video's media have in the index. DiDeMo and TACoS name videos with their suffixes."""
        stem, ending = stem_and_ending(video)
        return stem if ending in DEMUXERS and video not in self.index else video

    def attach(self, videos: Iterable[Video], sign: Callable[[], None] = lambda: None) -> int:
        """Store for each video where its media is, and sign after each part. Return how many videos have media."""
        videos = list(videos)
        for start in range(0, len(videos), AT_A_TIME):
            part = videos[start : start + AT_A_TIME]
            for video in part:
                video.media = self.place(video.name)
            Video.objects.bulk_update(part, ["media"])
            sign()
        return sum(bool(video.media) for video in videos)


class MediaPrefix(MediaFolder):
    """A prefix of an S3-compatible store below which, at any depth, is a file with the name of each video."""

    def __post_init__(self) -> None:
        self.folder = self.folder.rstrip("/")
        for name in sorted(names_below(self.folder)):
            self._index_film(PurePosixPath(name))
        if not self.index:
            raise CorpusError(
                f"{self.folder}: no videos ({', '.join(sorted(DEMUXERS))}) below it; folders of frames are read "
                "from disks only"
            )


def media_at(folder: str, frame_rate: float | None = None) -> MediaFolder:
    """Return the media in a local folder or below `s3://bucket/prefix`. Raises CorpusError if there are none."""
    return MediaPrefix(folder, frame_rate) if is_remote(folder) else MediaFolder(folder, frame_rate)
