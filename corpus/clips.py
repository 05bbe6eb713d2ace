"""Making the rows of clips for moments, and cutting the clips that wait in a confined process."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from django.conf import settings

from base.confinement import Confined
from corpus.errors import SYSTEMS, CorpusError, FilmAway, Unavailable
from corpus.films import film_at
from corpus.models import Clip, Moment, Video
from corpus.stored_files import store

CLIP = "clip.mp4"  # what the process writes
log = logging.getLogger(__name__)
FOLDER = "clips"  # of the store
FOR_CORPUS_PAGE = "corpus page"  # the audience of clips on the pages of corpora, which no campaign shares
OUTCOME = ["state", "error", "file"]  # fields of a clip
Stretch = tuple[float, float]  # start and end, in seconds


class Cutter(Confined):
    """Cuts clips one after the other. The process reads no files but those beside the film."""

    module = "corpus.cutting"
    packages = ("corpus", "jobs", SYSTEMS)
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

        Raises CorpusError for the reasons of `corpus.cutting.cut`, and if cutting exceeds the limits; `Unavailable` if
        somebody ended the process from outside.
        """
        self.ask(source, source.resolve().parent, [CLIP, start, end, frame_rate, with_sound], sign)
        with self.written(CLIP) as clip, to.open("wb") as out:
            shutil.copyfileobj(clip, out)

    def length(self, source: Path, sign: Callable[[], None] = lambda: None) -> float:
        """Return the seconds that a film lasts, and call `sign` every few seconds meanwhile. Raises CorpusError if the
        film cannot be read or does not tell them, and for the reasons of `cut`.
        """
        return float(self.ask(source, source.resolve().parent, None, sign))


def clip_on_page(moment: Moment) -> Clip | None:
    """Return the clip of a moment that was asked for on the page of its corpus, if one was."""
    cut = Clip.objects.filter(video=moment.video_id, start=moment.start, end=moment.end, audience=FOR_CORPUS_PAGE)
    return cut.first()


def clips_of(moments: Iterable[Moment], audience: str, padding: float = 0, sound: bool = False) -> dict[int, Clip]:
    """Return a clip for each moment, by the moment's key. A new clip waits for its job, or is missing.

    moments: moments, with their videos.
    audience: whom the clips are for. Two audiences never share a clip, so that nobody can tell that two addresses or
    files show the same.
    padding: seconds before and after each moment that the clip shows too, as far as the video has them.
    sound: whether the clips have sound.
    """
    moments = list(moments)
    stretches = {moment.pk: (moment.video_id, *widened(moment, padding)) for moment in moments}
    Clip.objects.bulk_create(
        [
            Clip(
                video=moment.video,
                audience=audience,
                start=stretches[moment.pk][1],
                end=stretches[moment.pk][2],
                sound=sound,
                state=Clip.State.WAITING if moment.video.media else Clip.State.MISSING,
            )
            for moment in moments
        ],
        ignore_conflicts=True,
        batch_size=500,
    )
    videos = {moment.video_id for moment in moments}
    rows = Clip.objects.filter(video__in=videos, audience=audience, sound=sound)
    rows = rows.select_related("video__corpus")
    clips = {(clip.video_id, clip.start, clip.end): clip for clip in rows}
    return {moment: clips[stretch] for moment, stretch in stretches.items()}


def widened(moment: Moment, padding: float) -> Stretch:
    """Return the start and the end of the moment with the padding, within the video."""
    if not padding:
        return moment.start, moment.end
    return max(0.0, moment.start - padding), max(moment.end, min(moment.video.duration, moment.end + padding))


def cutter() -> Cutter:
    """Return a cutter with the limits of the settings."""
    return Cutter(seconds=settings.CUTTING_SECONDS, memory=settings.CUTTING_MEMORY)


def make(clip: Clip, cutter: Cutter, sign: Callable[[], None] = lambda: None) -> None:
    """Cut a clip if it is not there yet. A fault of its film is stored with the clip, and does not stop other clips.

    `sign` is called every few seconds while the clip is cut. Another process may have cut the clip meanwhile: a clip
    that is ready stays as it is. Raises FilmAway if this machine does not have the film. Raises Unavailable if anything
    else that is not the film's fault prevents the clip now.
    """
    clip.refresh_from_db(fields=OUTCOME)
    if not clip.is_to_come:
        return
    try:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / CLIP
            cut_aside(clip.video, (clip.start, clip.end), file, cutter, clip.sound, sign)
            stored = store(f"{FOLDER}/{clip.token}.mp4", file)
    except Unavailable:
        raise
    except CorpusError as fault:
        not_ready = Clip.objects.filter(pk=clip.pk).exclude(state=Clip.State.READY)
        not_ready.update(state=Clip.State.FAILED, error=str(fault))
    else:
        ready = {"state": Clip.State.READY, "error": "", "file": stored.name}
        Clip.objects.filter(pk=clip.pk).update(**ready, size=stored.size, sha256=stored.sha256)
    clip.refresh_from_db(fields=OUTCOME)


def cut_aside(
    video: Video,
    stretch: Stretch,
    to: Path,
    cutter: Cutter,
    sound: bool = False,
    sign: Callable[[], None] = lambda: None,
) -> None:
    """Cut a stretch of a video into a file that nobody stores. Parameters and errors: see `make` and `Cutter.cut`."""
    with _source(video, sign) as source:
        cutter.cut(source, *stretch, to, video.corpus.frame_rate, sound, sign)


@contextmanager
def _source(video: Video, sign: Callable[[], None]) -> Iterator[Path]:
    """Give the film or the folder of frames, which this machine has or fetches."""
    place, folder = video.media, video.corpus.media_folder
    if not place:
        raise CorpusError(f"{video.name}: the corpus has no media of it any more")
    with film_at(folder, place, sign) as source:
        if not os.access(source, os.R_OK):
            here = f"{folder} on {socket.gethostname()}"
            _warn_once(here)
            raise FilmAway(f"{video.name}: its media are not in {here}")
        yield source


@cache
def _warn_once(folder: str) -> None:
    log.warning("films are missing in %s; jobs that need them are left to other machines", folder)
