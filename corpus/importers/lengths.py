"""The lengths of videos: from a file beside the corpus, JSON of several shapes or a CSV, or from the films.

Films are read in the process that cuts clips, because a film can be hostile; it is told whether they fit.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from base.text import printable
from corpus.clips import cutter
from corpus.errors import CorpusError, Reason, Unavailable, Unusable
from corpus.films import MediaFolder, film_at
from corpus.importers.formats import importer_of
from corpus.importers.interface import Source
from corpus.importers.rows import Row, seconds
from metrics import MeasureError
from metrics.formats.annotations import DURATION, VIDEO
from metrics.formats.annotations import read_durations as durations_of_records
from metrics.formats.csv_tables import separator_of
from metrics.formats.files import BOM
from metrics.formats.json_files import looks_like_json_lines
from metrics.formats.json_reader import read_json
from systems.features.films import PICTURES

LIST_OF_OBJECTS = re.compile(rb"\s*\[\s*\{")
LARGEST_OF_DURATIONS = 64 * 2**20  # bytes
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
            for row in importer.read(file, source.choice):
                if isinstance(row, Row) and importer.exact_length(source, row) is None:
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


def read_durations(file: Path) -> dict[str, float]:
    """Return the seconds of each video that a file tells.

    JSON is an object from video to seconds, to a list that begins with them, or to an object with a field `duration`;
    it may be divided into splits. Objects in lines or in a list have a field for the video and one for the duration.
    A CSV has a column `video` or `id`, and a column `duration` or `length`. Raises CorpusError naming the file, and the
    video or the line that is wrong.
    """
    try:
        if file.stat().st_size > LARGEST_OF_DURATIONS:
            raise CorpusError(f"over {LARGEST_OF_DURATIONS:,} bytes; expected the seconds of each video")
        content = file.read_bytes()
        if looks_like_json_lines(content) or LIST_OF_OBJECTS.match(content.removeprefix(BOM)):
            return _of_records(file)
        pairs = _of_csv(content.decode("utf-8-sig")) if _is_csv(content) else _of_json(content)
        return dict(pairs)
    except OSError as fault:
        raise CorpusError(f"--durations {file}: cannot be read ({fault.strerror})") from fault
    except CorpusError as fault:
        raise CorpusError(f"--durations {file}: {fault}") from fault
    except (ValueError, csv.Error) as fault:
        raise CorpusError(f"--durations {file}: not JSON ({fault}), and no CSV") from fault


def _of_records(file: Path) -> dict[str, float]:
    try:
        return durations_of_records(file)
    except MeasureError as fault:
        raise CorpusError(str(fault).removeprefix(f"{file}: ")) from fault


def _is_csv(content: bytes) -> bool:
    first = content.removeprefix(b"\xef\xbb\xbf").lstrip()[:2000].partition(b"\n")[0].lower()
    return first[:1] not in (b"{", b"[") and any(name.encode() in first for name in DURATION)


def _of_json(content: bytes) -> Iterator[tuple[str, float]]:
    found = read_json(content, strict=False)
    if not isinstance(found, dict):
        raise CorpusError(f"a JSON {type(found).__name__}; expected an object by video")
    is_divided = all(isinstance(value, dict) and "duration" not in value for value in found.values())
    for level in found.values() if is_divided else [found]:
        for video, value in level.items():
            if isinstance(value, dict):
                value = value.get("duration")
            elif isinstance(value, list) and value:
                value = value[0]
            yield video, _positive(video, value)


def _of_csv(content: str) -> Iterator[tuple[str, float]]:
    lines = content.splitlines()
    rows = csv.reader(lines, delimiter=separator_of(lines[0]))
    header = [name.strip().lower() for name in next(rows)]
    places = [next((header.index(name) for name in names if name in header), None) for names in (VIDEO, DURATION)]
    video, length = places
    if video is None or length is None:
        raise CorpusError(
            f"line 1: there are the columns {printable(', '.join(header)[:300])}; "
            f"expected one of {', '.join(VIDEO)} and one of {', '.join(DURATION)}"
        )
    for row in rows:
        if not row:
            continue
        where = f"line {rows.line_num}: "
        if len(row) <= max(video, length):
            raise CorpusError(f"{where}has {len(row)} columns; expected {len(header)}")
        try:
            value: Any = float(row[length])
        except ValueError:
            value = row[length]
        yield row[video].strip(), _positive(row[video].strip(), value, where)


def _positive(video: str, value: Any, where: str = "") -> float:
    try:
        found = seconds(value, video)
    except CorpusError as fault:
        raise CorpusError(f"{where}{fault}") from fault
    if found <= 0:
        raise CorpusError(f"{where}field {printable(video)}: {found:g}; expected more than 0 seconds")
    return found
