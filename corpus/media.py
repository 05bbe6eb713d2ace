"""Finding the media of a corpus in a folder of video files, or of folders of frames."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from corpus.errors import CorpusError
from corpus.films import DEMUXERS, PICTURES
from corpus.models import Video


@dataclass
class MediaFolder:
    """A folder that holds, at any depth, a file or a folder of frames with the name of each video."""

    folder: Path
    frame_rate: float | None = None
    index: dict[str, str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.folder = self.folder.resolve()
        if not self.folder.is_dir():
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
            path = root / file
            if path.suffix.lower() in DEMUXERS:
                self.index.setdefault(path.stem, str(path.relative_to(self.folder)))
        if root != self.folder and any(Path(file).suffix.lower() in PICTURES for file in files):
            if not self.frame_rate:
                raise CorpusError(f"{root}: a folder of frames; tell their rate with --fps")
            self.index.setdefault(root.name, str(root.relative_to(self.folder)))

    def attach(self, videos: Iterable[Video]) -> int:
        """Store for each video where its media is. Return how many videos have media."""
        videos = list(videos)
        for video in videos:
            video.media = self.index.get(video.name, "")
        Video.objects.bulk_update(videos, ["media"], batch_size=500)
        return sum(bool(video.media) for video in videos)
