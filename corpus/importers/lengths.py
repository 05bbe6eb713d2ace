"""The lengths of videos that their films tell.

Films are read in the process that cuts clips, because a film can be hostile; it is told whether they fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import NamedTuple

from base.text import printable
from corpus.clips import cutter
from corpus.errors import CorpusError, Reason, Unavailable, Unusable
from corpus.films import MediaFolder, film_at
from corpus.importers.formats import importer_of
from corpus.importers.interface import Source
from corpus.importers.rows import MomentRow
from corpus.reading import moments_in
from systems.features.film_names import PICTURES

TOLERANCE = 1.0  # seconds by which a film and the corpus may differ
NOT_TOLD = "field duration: missing, and its film does not tell it: "
Measured = Callable[[str], float | None]


@contextmanager
def lengths_in(media: MediaFolder | None, sign: Callable[[], None] = lambda: None) -> Iterator[Measured]:
    """Give a function that returns the seconds that a video's film lasts, or None if there is no film. It raises
    CorpusError if the film cannot be read, or does not tell its length. `sign` is called every few seconds meanwhile.
    """
    with cutter() as cutting:

        def length(video: str) -> float | None:
            if media is None or not (place := media.place(video)):
                return None
            with film_at(media.folder, place, sign) as film:
                if film.is_dir():
                    pictures = sum(file.suffix.lower() in PICTURES for file in film.iterdir())
                    return pictures / (media.frame_rate or 1)
                try:
                    return cutting.length(film, sign)
                except Unavailable:
                    raise
                except CorpusError as fault:
                    raise Unusable(f"{NOT_TOLD}{fault}", Reason.NO_DURATION) from fault

        yield length


def film_lengths(source: Source, known: Mapping[str, float]) -> Measured:
    """Look at the films of all videos whose lengths only their films tell, and return what tells them.

    known: the lengths of videos that were stored before, in seconds, by their names.
    """
    found: dict[str, float | CorpusError | None] = {}

    def length(video: str) -> float | None:
        outcome = found.get(video)
        if isinstance(outcome, CorpusError):
            raise outcome
        return outcome

    if source.media:
        with lengths_in(source.media) as measured:
            for video in _untold(source):
                if video not in known and video not in found:
                    found[video] = _length_or_fault(measured, video)
    return length


def _untold(source: Source) -> Iterator[str]:
    """Yield the video of each row whose duration neither the row tells nor a file of durations."""
    importer = importer_of(source)
    for file in source.files:
        with suppress(CorpusError):  # of the file as a whole, which the import tells
            for row in moments_in(file, source):
                if isinstance(row, MomentRow) and importer.exact_length(source, row) is None:
                    yield row.video


def _length_or_fault(measured: Measured, video: str) -> float | CorpusError | None:
    try:
        return measured(video)
    except CorpusError as fault:
        return fault


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

    lengths: the durations of videos, in seconds, by their names.
    media: the folder of films. Each of them is opened, which takes some milliseconds.
    sign: is called with the number of films looked at.
    """
    with lengths_in(media) as measured:
        for number, (video, length) in enumerate(lengths.items(), 1):
            if fault := _fault(measured, video, length):
                yield Misfit(video, fault)
            sign(number)


def _fault(measured: Measured, video: str, length: float) -> str:
    try:
        found = measured(video)
    except CorpusError as fault:
        return str(fault).removeprefix(NOT_TOLD)
    if found is None:
        return "no film has its name"
    if abs(found - length) <= TOLERANCE:
        return ""
    how = "longer" if found > length else "shorter"
    return f"its film is {how} ({found:.2f} s) than the corpus says ({length:g} s)"
