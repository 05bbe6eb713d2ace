"""Cutting clips, and asking films for their lengths, in a confined process."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from corpus.errors import CorpusError, FilmAway, Unavailable
from systems.features.confinement import Confined

CLIP = "clip.mp4"  # what the process writes


class Cutter(Confined):
    """Cuts clips one after the other. The process reads no files but those beside the film."""

    module = "corpus.cutting"
    packages = ("base", "corpus", "jobs", "systems")
    doing = "cutting"
    largest = 2**30
    kinds = {kind.__name__: kind for kind in (CorpusError, FilmAway, Unavailable)}
    stopped = Unavailable

    def cut(
        self,
        source: Path,
        start: float,
        end: float,
        to: Path,
        frame_rate: float | None = None,
        with_sound: bool = False,
        sign: Callable[[], None] = lambda: None,
    ) -> None:
        """Cut a clip as `corpus.cutting.cut` does, and call `sign` every few seconds meanwhile.

        Raises
        ------
        CorpusError
            For the reasons of `corpus.cutting.cut`, and if cutting exceeds the limits; `Unavailable` if somebody ended
            the process from outside.
        """
        self.ask(source, source.resolve().parent, [CLIP, start, end, frame_rate, with_sound], sign)
        shutil.move(Path(self.writable.name) / CLIP, to)

    def length(self, source: Path, sign: Callable[[], None] = lambda: None) -> float:
        """Return the seconds that a film lasts, and call `sign` every few seconds meanwhile.

        Raises
        ------
        CorpusError
            If the film cannot be read or does not tell them, and for the reasons of `cut`.
        """
        return float(self.ask(source, source.resolve().parent, None, sign))
