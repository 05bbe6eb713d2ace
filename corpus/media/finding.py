"""Finding the media of a corpus: video files or folders of frames on a disk, or video files in an S3 store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePath, PurePosixPath

from corpus.errors import CorpusError
from corpus.media.fetching import is_remote, names_below
from corpus.models import Video
from systems.features.films import DEMUXERS, PICTURES

AT_A_TIME = 200  # videos in one statement, which takes longer for each of them the more there are


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
        for root, folders, files in os.walk(self.folder):
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
        if path.suffix.lower() in DEMUXERS:
            self.index.setdefault(path.stem, str(path))

    def place(self, video: str) -> str:
        """Return where the media of a video are, below the folder; empty if there are none."""
        return self.index.get(self.name_of(video), "")

    def name_of(self, video: str) -> str:
        """Return the name that a video's media have in the index. DiDeMo and TACoS name videos with their suffixes."""
        stem, suffix = os.path.splitext(video)
        return stem if suffix.lower() in DEMUXERS and video not in self.index else video

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
    """Return the media in a folder of this machine, or below a prefix `s3://bucket/prefix`.

    Raises
    ------
    CorpusError
        If there are none, or the place is not there.
    """
    return MediaPrefix(folder, frame_rate) if is_remote(folder) else MediaFolder(folder, frame_rate)
