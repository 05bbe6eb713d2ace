"""The lengths of films, read in the process that cuts clips, because a film can be hostile; and whether they fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import NamedTuple

from django.conf import settings

from base.text import printable
from corpus.cutter import Cutter
from corpus.errors import CorpusError
from corpus.films import PICTURES
from corpus.media import MediaFolder

TOLERANCE = 1.0  # seconds by which a film and the corpus may differ
NOT_TOLD = "field duration: missing, and its film does not tell it: "


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
            raise CorpusError(f"{NOT_TOLD}{fault}") from fault


class Misfit(NamedTuple):
    """A video whose film is missing, cannot be read, or is longer or shorter than the corpus says."""

    video: str
    fault: str

    def __str__(self) -> str:
        return printable(f"video {self.video}: {self.fault}")


def misfits(
    lengths: Mapping[str, float], media: MediaFolder, sign: Callable[[int], None] = lambda films: None
) -> Iterator[Misfit]:
    """Yield the videos whose films do not fit.

    Parameters
    ----------
    lengths
        The durations of videos, in seconds, by their names.
    media
        The folder of films. Each of them is opened, which takes some milliseconds.
    sign
        Is called with the number of films looked at.
    """
    with FilmLengths(media) as films:
        for number, (video, length) in enumerate(lengths.items(), 1):
            if fault := _fault(films, video, length):
                yield Misfit(video, fault)
            sign(number)


def _fault(films: FilmLengths, video: str, length: float) -> str:
    try:
        found = films.length(video)
    except CorpusError as fault:
        return str(fault).removeprefix(NOT_TOLD)
    if found is None:
        return "no film has its name"
    if abs(found - length) <= TOLERANCE:
        return ""
    how = "longer" if found > length else "shorter"
    return f"its film is {how} ({found:.2f} s) than the corpus says ({length:g} s)"
