"""The sets of features of a corpus: files that somebody put into FEATURES_ROOT, and what is computed from its films."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings

from base.confinement import Confined
from base.errors import BadValue
from base.text import abbreviated
from corpus.errors import SYSTEMS, CorpusError, FilmAway
from corpus.films import film_at
from corpus.models import Corpus, Video
from jobs.errors import JobPostponed
from jobs.parts import share
from jobs.registry import Report, kind
from systems.data import Rows, Videos
from systems.errors import FULL, SystemsError
from systems.errors import Unavailable as OutOfRoom
from systems.examples import read_objects
from systems.features.reader import STRICT, FeatureSet, read_videos, readable_folder
from systems.features.sources import HDF5, ROWS, TORCH, Reader

DESCRIPTOR = "descriptor"  # of the films themselves, computed here
VISION = "vision"  # the same by the vision model of the settings
COMPUTED = "computed"  # the folder of what is computed
WAY = 2  # in which a vision model's vectors of pictures become those of clips; it changes when that does
KINDS = (*HDF5, ".npz", *TORCH)
JOIN = "+"  # between the names of sets whose features are joined
LEAST_SPREAD = 0.05  # of a descriptor’s numbers, which are from 0 to 1
SUBTITLES, OBJECTS = ".subtitles", ".objects.jsonl"  # what stands after a set's name

SECONDS, MEMORY = 300.0, 4096  # the limits of reading a part, of which MEMORY are MiB

Say = Callable[[int, int, str], None]


class FeatureProcess(Confined):
    """Reads a feature file, some videos at a time. The process reads no files but those beside it, or in its folder."""

    module = Reader.__module__
    packages = (SYSTEMS,)
    doing = "reading"
    largest = 2**33
    kinds = {kind.__name__: kind for kind in (SystemsError, OutOfRoom)}
    stopped = OutOfRoom


class ConfinedReader(Reader):
    """Does what `Reader` does in a confined process. `sign` is called every few seconds meanwhile."""

    def __init__(self, path: Path, process: FeatureProcess, sign: Callable[[], None] = lambda: None) -> None:
        self.path, self.process, self.sign, self.readable = path, process, sign, readable_folder(path)

    def contents(self) -> tuple[int, list[str]]:
        count, some = self._call("contents")
        return count, some

    def shapes(self, names: Sequence[str]) -> list[tuple[int, int, int] | None]:
        return [shape and tuple(shape) for shape in self._call("shapes", names)]

    def rows(self, shapes: Sequence[tuple[str, Sequence[int]]], type_: str) -> Rows:
        self._call("rows", shapes, type_)
        with self.process.written(ROWS) as rows:
            return np.fromfile(rows, type_).reshape(-1, shapes[0][1][1])

    def _call(self, *order: Any) -> Any:
        return self.process.ask(self.path, self.readable, order, self.sign)


@contextmanager
def open_confined(path: Path, sign: Callable[[], None] = lambda: None) -> Iterator[Reader]:
    """Open a feature file or a folder in a confined process, which may read nothing else."""
    with FeatureProcess(SECONDS, MEMORY) as process:
        yield ConfinedReader(path, process, sign)


def sets_of(corpus: Corpus) -> list[str]:
    """Return the names of the corpus's sets of features: that which is computed, then those of files."""
    folder = _folder(corpus)
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    names = [each.stem if each.is_file() else each.name for each in found if each.is_dir() or each.suffix in KINDS]
    from_films = [DESCRIPTOR, VISION] if settings.VISION_MODEL else [DESCRIPTOR]
    return list(dict.fromkeys([*from_films, *(name for name in names if not name.endswith(SUBTITLES))]))


def must_be_a_set(corpus: Corpus, name: str) -> None:
    """Refuse a name that no set of features of the corpus has, nor several sets of files with `+` between them, behind
    each of which the length of its clips may stand, as in `c3d@100clips`.
    """
    known = sets_of(corpus)
    right = f"one of {', '.join(known)}, or several of files with {JOIN} between them"
    fault = BadValue("features", abbreviated(name), f"{right}; other sets are files in {_folder(corpus)}")
    try:
        sets = _sets(name, known)
    except SystemsError:
        raise fault from None
    names = [str(each.path) for each in sets]
    alone = name in known  # only then it may be a set that is computed
    if not set(names) <= set(known) or len(set(names)) < len(names) or (not alone and {*names} & {DESCRIPTOR, VISION}):
        raise fault


def _sets(name: str, known: list[str]) -> list[FeatureSet]:
    """Return the sets that a name means. Raises SystemsError if the length of the clips of one is missing."""
    names = [name] if name in known else name.split(JOIN)
    return [FeatureSet(Path(each)) if each in known else FeatureSet.of(each) for each in names]


def videos_of(
    corpus: Corpus, name: str, clip_seconds: float, say: Say, fit: str = STRICT, unit: bool = False
) -> Videos:
    """Return the videos of a corpus with a set of features, which is computed first if it comes from the films.

    fit, unit: how features from files are read; see `systems.features.reader.read_videos`.
    Raises SystemsError naming the video whose features are missing or do not fit. Raises JobError naming one whose film
    cannot be read, and JobPostponed if no machine has a film, or a store does not answer.
    """
    rows = Video.objects.filter(corpus=corpus).order_by("name")
    durations = dict(rows.values_list("name", "duration"))
    if not durations:
        raise SystemsError(f"corpus {corpus}: has no videos; import some")
    sign = partial(say, 0, 1, "reading features")
    open_file = partial(open_confined, sign=sign)
    if name in (DESCRIPTOR, VISION):
        computed = _computed(corpus, name, clip_seconds, say)
        videos = read_videos(durations, clip_seconds, computed, sign=sign, open_file=open_file)
        return replace(videos, clips=_standardised(videos.clips)) if name == DESCRIPTOR else videos
    sign()
    sets = _sets(name, sets_of(corpus))
    clips = [each._replace(path=_clips_of(corpus, str(each.path))) for each in sets]
    found = ((each, _file(corpus, f"{each.path}{SUBTITLES}")) for each in sets)
    subtitles = next((each._replace(path=file) for each, file in found if file), None)
    named = (_folder(corpus) / f"{each.path}{OBJECTS}" for each in sets)
    objects = next((file for file in named if file.exists()), None)
    files = [each.path for each in (*clips, subtitles) if each]
    for file in filter(None, (*files, objects)):  # no link, by which others' files would be read
        if not file.resolve().is_relative_to(_folder(corpus).resolve()):
            raise SystemsError(f"{file.name}: a link that leads out of {_folder(corpus)}; expected the file itself")
    videos = read_videos(durations, clip_seconds, clips, subtitles, sign=sign, fit=fit, unit=unit, open_file=open_file)
    return replace(videos, objects=read_objects(objects, videos)) if objects else videos


def _clips_of(corpus: Corpus, name: str) -> Path:
    file = _file(corpus, name)
    if file is None:
        raise SystemsError(f"{_folder(corpus) / name}: there are no such features on {socket.gethostname()}")
    return file


def _standardised(clips: Rows) -> Rows:
    """Return features with mean 0 and deviation 1 over the corpus, because the parts of a descriptor differ in size.
    Where the deviation is below `LEAST_SPREAD`, it is taken to be that, so that mere noise does not grow large.
    """
    spread = np.maximum(clips.std(0, dtype=np.float64), LEAST_SPREAD)
    return np.asarray((clips - clips.mean(0, dtype=np.float64)) / spread, np.float32)


def _folder(corpus: Corpus) -> Path:
    """Return the folder of the files of features of a corpus, whose name can be any text."""
    root = Path(settings.FEATURES_ROOT)
    folder = root / corpus.name
    return folder if folder.resolve().parent == root.resolve() else root / COMPUTED / "nowhere"


def _file(corpus: Corpus, name: str) -> Path | None:
    """Return the file or the folder of a set's clips or subtitles."""
    folder = _folder(corpus)
    files = (folder / f"{name}{kind}" for kind in ("", *KINDS))
    return next((file for file in files if file.is_dir() or (file.is_file() and file.suffix in KINDS)), None)


def _computed(corpus: Corpus, name: str, clip_seconds: float, say: Say) -> Path:
    """Compute the features of each film that has none yet, and return the folder with all of them."""
    folder = _folder_of_computed(corpus, name, clip_seconds)
    rows = list(Video.objects.filter(corpus=corpus).order_by("name"))
    if lacking := [each.name for each in rows if not each.media]:
        raise SystemsError(
            f"video {lacking[0]!r}: the corpus has no film of it ({len(lacking):,} of {len(rows):,} lack one); "
            f"expected films, or features in {_folder(corpus)}"
        )
    say(0, 1, "looking for videos without features")
    without = [row.pk for row in rows if not (folder / f"{row.name}.npy").exists()]
    parts = [{"name": name, "clip_seconds": clip_seconds, "video": video} for video in without]
    share(compute_features, corpus, parts, say, "computing features")
    return folder


def _folder_of_computed(corpus: Corpus, name: str, clip_seconds: float) -> Path:
    model = _model(name)
    made_by = f"{name}-{hashlib.sha256(f'{WAY} {model}'.encode()).hexdigest()[:8]}" if model else name
    return Path(settings.FEATURES_ROOT) / COMPUTED / f"{corpus.pk}-{made_by}-{clip_seconds:g}s"


def _model(name: str) -> str:
    return str(settings.VISION_MODEL) if name == VISION else ""


@contextmanager
def full_disks_pass(*others: type[Exception]) -> Iterator[None]:
    """Postpone the job if a disk is full, as these errors say too: there may be room later."""
    full: tuple[type[Exception], ...] = (OutOfRoom, *others)
    try:
        yield
    except full as fault:
        raise JobPostponed(str(fault)) from fault
    except SystemsError as fault:
        if getattr(fault.__cause__, "errno", None) in FULL:
            raise JobPostponed(str(fault)) from fault
        raise


@kind("compute-features", "Compute features", of=Corpus, is_part=True, refusals=(SystemsError, CorpusError))
@full_disks_pass()
def compute_features(corpus: Corpus, report: Report, name: str, clip_seconds: float, video: int) -> None:
    """Store the features of one film in the folder that all machines share, unless they are there."""
    from systems.features.media import compute, extractor

    row, folder = corpus.videos.get(pk=video), _folder_of_computed(corpus, name, clip_seconds)
    sign = partial(report, 0, 1)
    with film_at(corpus.media_folder, row.media, sign) as film:
        if not os.access(film, os.R_OK):
            raise FilmAway(f"{row.name}: its film is not in {corpus.media_folder} on {socket.gethostname()}")
        made_by = replace(extractor(clip_seconds, _model(name), corpus.frame_rate or 0.0), sign=sign)
        compute({row.name: (film, row.duration)}, made_by, folder)
