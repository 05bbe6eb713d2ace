"""The lengths of films, read in the process that cuts clips, because a film can be hostile."""

from __future__ import annotations

from types import TracebackType

from django.conf import settings

from corpus.cutter import Cutter
from corpus.errors import CorpusError
from corpus.films import PICTURES
from corpus.media import MediaFolder


class FilmLengths:
    """Tells the lengths of the films in a folder. The process that reads them begins with the first question."""

    def __init__(self, media: MediaFolder | None) -> None:
        self.media = media
        self.cutter = Cutter(seconds=settings.CUTTING_SECONDS, memory=settings.CUTTING_MEMORY)

    def __enter__(self) -> FilmLengths:
        self.cutter.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cutter.__exit__(kind, fault, trace)

    def length(self, video: str) -> float | None:
        """Return the seconds that a video's film lasts; None if there is no film.

        Raises
        ------
        CorpusError
            If the film cannot be read, or does not tell its length.
        """
        place = self.media.index.get(video) if self.media else None
        if self.media is None or place is None:
            return None
        film = self.media.folder / place
        if film.is_dir():
            pictures = sum(file.suffix.lower() in PICTURES for file in film.iterdir())
            return pictures / (self.media.frame_rate or 1)
        try:
            return self.cutter.length(film)
        except CorpusError as fault:
            raise CorpusError(f"field duration: missing, and its film does not tell it: {fault}") from fault
