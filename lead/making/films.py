"""Films that do not fit their corpus: missing, broken, shorter or longer than it says."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from corpus.clips import cutter
from corpus.cutter import Cutter
from corpus.errors import CorpusError, FilmAway, Unavailable
from corpus.models import Corpus
from jobs.errors import JobLeft, JobPostponed
from jobs.registry import Report

AT_MOST = 2000  # films that are looked into; cutting finds what is wrong with the others
NAMED = 5  # of the videos without a film
END = 1.0  # seconds before the end of a video in which its film must have a picture
MUCH = 3.0  # seconds after the end at which it should have none


@dataclass(frozen=True)
class Films:
    """The films of a corpus that is not stored: those to look at with the seconds of their videos, and what is missing."""

    folder: Path
    to_look_at: list[tuple[str, str, float]]  # the video's name, its file, and its seconds
    missing: list[str]

    @classmethod
    def of(cls, corpus: Corpus) -> Films:
        videos = list(corpus.videos.order_by("pk"))
        there = [(video.name, video.media, video.duration) for video in videos if video.media]
        missing = [video.name for video in videos if not video.media] if there else []
        return cls(Path(corpus.media_folder), [] if corpus.frame_rate else there[:AT_MOST], missing)

    def faults(self, report: Report) -> Iterator[str]:
        """Yield what is wrong, after cutting two tiny clips of each film as annotators' clips are cut."""
        if self.missing:
            named = ", ".join(self.missing[:NAMED])
            more = f" and {len(self.missing) - NAMED:,} more" if len(self.missing) > NAMED else ""
            yield f"{len(self.missing):,} videos have no film: {named}{more}. Their clips will be missing."
        with cutter() as tool, tempfile.TemporaryDirectory() as folder:
            for number, (name, media, seconds) in enumerate(self.to_look_at):
                progress = partial(report, number, len(self.to_look_at), f"looking at the film of {name}")
                progress()
                cut = partial(_fault, tool, self.folder / media, Path(folder) / "clip.mp4", progress)
                if fault := cut(max(0.0, seconds - END), seconds):
                    yield f"{name}: its film, which should last {seconds:g} s: {fault}."
                elif not cut(seconds + MUCH, seconds + MUCH + END):
                    yield f"{name}: its film goes on after {seconds:g} s, where the corpus says that it ends."


def _fault(tool: Cutter, film: Path, clip: Path, sign: Callable[[], None], start: float, end: float) -> str:
    """Return why these seconds of a film cannot be cut; empty if they can."""
    try:
        tool.cut(film, start, end, clip, sign=sign)
    except FilmAway as fault:
        raise JobLeft(str(fault)) from fault
    except Unavailable as fault:
        raise JobPostponed(str(fault)) from fault
    except CorpusError as fault:
        return str(fault).removeprefix(f"{film.name}: ")
    return ""
