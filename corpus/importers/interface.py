"""What an importer is: the name of a format, how its files are read and what is known of its times; and its report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from corpus.errors import BadLines, CorpusError, Problem, Reason, Unusable
from corpus.importers.rows import MomentRow, json_object, lines, must_be_object, opened
from metrics import MeasureError
from metrics.formats.files import BOM
from metrics.formats.json_reader import Entry, json_entries

if TYPE_CHECKING:  # confined processes read files, and have no models
    from corpus.films import MediaFolder

HOW_TO_GIVE_DURATIONS = (
    "give them in a file (--durations: JSON from video to seconds, or a CSV with the columns video and duration), "
    "or give the films (--media), which tell their lengths"
)
HOW_TO_LEAVE_OUT = "Moments that cannot be used can be left out, and are counted then (--leave-out-unusable)."
BEGINNING = 65_536  # bytes by which a file is recognised
OVERHANG = 1.0  # seconds; a moment that ends at most so much after its video is cut off there


@dataclass
class Report:
    """What was found in the files of a source, beside what the corpus holds already.

    A moment is *changed* if the corpus has another description for the same times of the same video, and that other one
    is not in the files; or if the files give it another caption. It is *gone* if it is stored and nothing in the files
    is at its times.
    """

    rows: int = 0  # described moments that are right
    videos: int = 0  # of these moments
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    gone: int = 0
    repeated: int = 0  # moments that are in the files again, word for word
    clipped: int = 0  # moments that were cut off at the end of their videos
    left_out: Counter[Reason] = field(default_factory=Counter)  # how many cannot be used, and why
    first: list[MomentRow] = field(default_factory=list)  # the first moments, to be looked at
    problems: list[Problem] = field(default_factory=list)  # the first of them
    wrong: int = 0  # how many problems there are
    in_lines: int = 0  # how many of them are of one line or entry, and not of a whole file
    # Of the videos, in seconds, also of those stored before.
    lengths: MutableMapping[str, float] = field(default_factory=dict)
    without_duration: int = 0  # videos of which nothing tells the length
    # What an import did; a preview does nothing.
    videos_added: int = 0
    moments_added: int = 0
    replaced: int = 0  # changed moments that took the place of stored ones
    with_media: int = 0  # videos of the corpus
    faulty: Callable[[Problem], None] = lambda problem: None  # is called with each of the problems

    @property
    def is_fine(self) -> bool:
        return not self.wrong and self.rows > 0

    @property
    def hints(self) -> list[str]:
        """What helps against the problems, beside what each of them says."""
        hints = []
        if self.without_duration > 1:  # of one video, its line says as much
            hints.append(f"{self.without_duration:,} videos have no duration; {HOW_TO_GIVE_DURATIONS}.")
        if self.rows and self.in_lines:
            hints.append(HOW_TO_LEAVE_OUT)
        return hints

    def add_problem(self, problem: Problem) -> None:
        self.wrong += 1
        self.in_lines += bool(problem.where)
        self.faulty(problem)
        if len(self.problems) < BadLines.MOST_PROBLEMS:
            self.problems.append(problem)


class Choice(NamedTuple):
    """What a person chose beside the file: descriptions of one kind, and the columns of fields by their names."""

    kind: str = ""
    columns: Mapping[str, str] = {}


Value = TypeVar("Value")
Reader = Callable[[Path, Choice], Iterator[MomentRow | Problem]]


@dataclass(frozen=True)
class Importer:
    """The reader of one format. `corpus.importers.formats` names all of them."""

    name: str
    title: str
    read: Reader
    # Whether its files tell the longest that a video can be; a file of durations or the media know better.
    bounds_durations: bool = False
    # Seconds by which its moments may outlast their videos; they are cut off there.
    overhang: float = OVERHANG
    leaves_out: frozenset[Reason] = frozenset()  # why moments of its published files are always left out, and counted
    kinds: tuple[str, ...] = ()  # of descriptions, the default first
    takes_columns: bool = False
    times: tuple[str, str, str] = ("times", "start", "end")  # how messages name both times, and each of them

    def exact_length(self, source: Source, row: MomentRow) -> float | None:
        """Return the length of the row's video if a file of durations or the row tells it exactly."""
        return (source.durations or {}).get(row.video, None if self.bounds_durations else row.duration)


@dataclass(frozen=True)
class Source:
    """What to import: a file or several of one format, and where durations and media are.

    With `leaves_out_unusable`, moments that cannot be used are left out and counted by their reasons, and moments are
    cut off at the end of their videos however late they end. `columns` names for a field (video, start, end,
    description, duration, caption) the column of a CSV, or the key of a JSONL, that holds it. `kind` chooses
    descriptions where a format has several kinds; "all" chooses all of them.
    """

    file: Path
    format: str
    kind: str = ""
    durations: Mapping[str, float] | None = None
    media: MediaFolder | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    further: tuple[Path, ...] = ()
    leaves_out_unusable: bool = False

    @property
    def files(self) -> tuple[Path, ...]:
        return self.file, *self.further


def each_line(file: Path, rows: Callable[[str, bytes], Iterable[MomentRow | Problem]]) -> Iterator[MomentRow | Problem]:
    """Yield what `rows` makes of each line and its place, or what is wrong with the line."""
    return _each(file, ((f"line {number}", line) for number, line in lines(file)), rows)


def each_object(
    file: Path, rows: Callable[[str, dict[str, Any]], Iterable[MomentRow | Problem]]
) -> Iterator[MomentRow | Problem]:
    """Yield what `rows` makes of the JSON object in each line, or in each entry of one list, or what is wrong there."""
    if is_list(file):
        return each_entry(file, lambda where, entry: rows(where, must_be_object(entry.value)))
    return each_line(file, lambda where, line: rows(where, json_object(line)))


def is_list(file: Path) -> bool:
    """Return whether a file is one JSON list, and not a JSON object in each line."""
    with opened(file) as content:
        return content.read(BEGINNING).removeprefix(BOM).lstrip().startswith(b"[")


def each_entry(
    file: Path, rows: Callable[[str, Entry], Iterable[MomentRow | Problem]]
) -> Iterator[MomentRow | Problem]:
    """Yield what `rows` makes of each entry of a JSON document, or what is wrong with the entry."""
    with opened(file) as document:
        yield from _each(file, ((where(entry), entry) for entry in json_entries(document, str(file))), rows)


def _each(
    file: Path, parts: Iterable[tuple[str, Value]], rows: Callable[[str, Value], Iterable[MomentRow | Problem]]
) -> Iterator[MomentRow | Problem]:
    for where, part in parts:
        try:
            yield from rows(where, part)
        except (CorpusError, MeasureError) as fault:
            yield problem(file, where, fault)


def where(entry: Entry) -> str:
    """Return how messages name an entry of a JSON document."""
    return f"line {entry.line}, entry {entry.number}" if entry.key is None else f"video {entry.key!r}"


def problem(file: Path, where: str, fault: Exception) -> Problem:
    """Return the problem that an error tells, without repeating the file and the place."""
    text = str(fault).removeprefix(f"{file}: ")
    reason = fault.reason if isinstance(fault, Unusable) else Reason.UNREADABLE
    if text.startswith(where):
        inner, _, message = text.partition(": ")
        return Problem(file, inner, message, reason)
    return Problem(file, where, text, reason)
