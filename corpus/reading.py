"""Reading files that people send, in a confined process that a hostile file cannot leave: runs, qrels and predicted
grades as tables; moments, queries and ratings row by row.

The process writes plain arrays and JSON, and no pickles. This process checks what it finds there before it uses it.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self, TypeVar, cast

import numpy as np
from django.conf import settings

from base.confinement import FROM_OUTSIDE, Confined
from base.errors import ReeljudgeError
from corpus.errors import SYSTEMS, CorpusError, Problem, Reason, Unavailable
from corpus.importers.formats import rows_of_file
from corpus.importers.interface import Source
from corpus.importers.rows import MomentRow, durations_of_file
from metrics import MeasureError, MeasureWarning
from metrics.formats.checks import Known
from metrics.formats.errors import Faults
from metrics.formats.files import UNPACK, numbered_lines
from metrics.formats.predicted import read_predicted
from metrics.formats.qrels import read_qrels
from metrics.formats.runs import check_run_file
from metrics.formats.tables import Qrels, Run, Table
from systems.errors import FULL

FAULTS = (MeasureError, CorpusError, ReeljudgeError)
ROWS, LONGEST_ROW = "rows", 2**23  # the file of the rows that are read, and the bytes of one
WORDS = "words"  # the file of what is text in a table; its arrays are in files of their own
MOST_WORDS = 2**28  # bytes
SHARED = {"offsets": "<i8", "video": "<i8", "start": "<f8", "end": "<f8"}
OWN: dict[type[Table], dict[str, str]] = {Run: {"scores": "<f8"}, Qrels: {"grades": "<i8"}}
Made = TypeVar("Made", bound=Table)
Heartbeat = Callable[[], None]


class CheckedRun(NamedTuple):
    """A run in which nothing is wrong, or None; what is wrong with it; and what is unusual about it."""

    run: Run | None
    faults: Faults
    notes: list[str]


class FileReader(Confined):
    """Reads sent files in a process that may read their folder only; `called` names each path in messages."""

    module = __name__
    packages = ("corpus", "jobs", "judging", SYSTEMS, MeasureError.__module__.partition(".")[0])
    doing = "reading"
    stopped = Unavailable
    stopping = FROM_OUTSIDE - {"SIGKILL"}  # by which a system ends what takes too much memory
    expected = "; expected a file that needs less"
    variables = (UNPACK,)
    is_light = True
    called: Mapping[Path, str]

    @classmethod
    def for_files(cls, called: Mapping[Path, str]) -> Self:
        """Return a reader with the limits of the settings, whose process starts at once where it is entered."""
        reader = cls(seconds=settings.READING_SECONDS, memory=settings.READING_MEMORY)
        reader.called = called
        return reader

    def __enter__(self) -> Self:
        super().__enter__()
        self.start(next(iter(self.called)).resolve().parent)
        return self

    def order(self, kind: str, file: Path, sign: Heartbeat, options: Mapping[str, Any]) -> Any:
        try:
            return self.ask(file, file.resolve().parent, {"kind": kind, **options}, sign, self.called[file])
        except tuple(self.kinds.values()) as fault:
            raise type(fault)(self.named(str(fault))) from fault

    def named(self, found: Any) -> Any:
        """Return a message, or a list of them, in which each file has the name that its owner gave it."""
        if isinstance(found, list):
            return [self.named(each) for each in found]
        for path, name in self.called.items() if isinstance(found, str) else ():
            found = found.replace(str(path.parent.resolve() / path.name), name)
        return found


class TableReader(FileReader):
    """Reads a file as a table."""

    largest = 2**30
    kinds = {kind.__name__: kind for kind in (MeasureError, Unavailable)}

    def run(self, file: Path, known: Known, sign: Heartbeat = lambda: None, **options: Any) -> CheckedRun:
        """Read and check a run as `check_run_file` does, with its options."""
        options |= {"queries": list(known.queries), "durations": dict(known.durations)}
        found = self.order("run", file, sign, options)
        messages, count, doubts, notes = (self.named(found[key]) for key in ("faults", "count", "doubts", "notes"))
        return CheckedRun(self._table(Run, file) if found["is_whole"] else None, Faults(messages, count, doubts), notes)

    def qrels(self, file: Path, sign: Heartbeat = lambda: None) -> Qrels:
        """Read qrels as `read_qrels` does. Raises MeasureError for the first row that makes no sense."""
        self.order("qrels", file, sign, {})
        return self._table(Qrels, file)

    def grades(self, file: Path, sign: Heartbeat = lambda: None) -> Run:
        """Read predicted grades as `read_predicted` does."""
        self.order("grades", file, sign, {})
        return self._table(Run, file)

    def _table(self, kind: type[Made], file: Path) -> Made:
        """Return the table that the process has written. Raises MeasureError if its parts do not fit together."""
        try:
            with self.written(WORDS) as content:
                words = json.loads(content.read(MOST_WORDS))
            arrays: dict[str, Any] = {}
            for name, type_ in (SHARED | OWN[kind]).items():
                with self.written(name) as content:
                    arrays[name] = np.fromfile(content, type_)
            more: dict[str, Any] = {"existence": words["existence"]} if issubclass(kind, Run) else {}
            more |= {"queries": tuple(words["queries"]), "names": tuple(words["names"]), "texts": words["texts"]}
            table = kind(**arrays, **more)
            _must_fit_together(table, arrays)
        except (OSError, ValueError, LookupError, TypeError) as fault:
            wrong = f"{self.called[file]}: {self.doing} was broken off ({fault}){self.expected}"
            raise MeasureError(wrong) from fault
        return table


def _must_fit_together(table: Table, arrays: Mapping[str, Any]) -> None:
    """Raise ValueError if the columns of a table do not have the same rows, or point to what is not there."""
    offsets, rows = table.offsets, len(table.video)
    are_rows = all(len(values) == rows for name, values in arrays.items() if name != "offsets")
    ends = len(offsets) == len(table.queries) + 1 and offsets[0] == 0 and offsets[-1] == rows
    if not (are_rows and ends and (np.diff(offsets) >= 0).all()):
        raise ValueError("its rows are not those of its queries")
    if rows and not (table.video.min() >= 0 and table.video.max() < len(table.names)):
        raise ValueError("its rows are of unknown videos")
    if not all(np.isfinite(values).all() for values in arrays.values()):
        raise ValueError("its values are not finite")
    if not all(isinstance(word, str) for word in (*table.queries, *table.names, *table.texts, *table.texts.values())):
        raise ValueError("its names are not texts")


class RowReader(FileReader):
    """Reads a file row by row. Disks must have room for all rows of a file, which are read once all are there."""

    largest = 2**34
    kinds = {kind.__name__: kind for kind in (CorpusError, Unavailable, ReeljudgeError)}

    def rows(
        self, function: Callable[..., Any], file: Path, sign: Heartbeat, options: Mapping[str, Any]
    ) -> Iterator[Any]:
        """Yield what a function of a module without models yields for a file, or the one value that it returns."""
        name = [function.__module__, function.__name__]
        fault = self.order("rows", file, sign, {"function": name, "options": options})
        try:
            with self.written(ROWS) as content:
                for _, line in numbered_lines(cast(BinaryIO, content), self.called[file], LONGEST_ROW):
                    yield json.loads(line)
        except (OSError, ValueError) as wrong:
            words = f"{self.called[file]}: {self.doing} was broken off ({wrong}){self.expected}"
            raise next(iter(self.kinds.values()))(words) from wrong
        if fault:
            raise self.kinds[fault[0]](self.named(fault[1]))


def rows_in(function: Callable[..., Any], file: Path, sign: Heartbeat = lambda: None, **options: Any) -> Iterator[Any]:
    """Yield what a function yields for a file in a confined process. It is of a module that needs no models.

    Raises CorpusError or ReeljudgeError as the function does, after the rows before; and CorpusError if reading exceeds
    the limits.
    """
    with RowReader.for_files({file: str(file)}) as reader:
        yield from reader.rows(function, file, sign, options)


def value_in(function: Callable[..., Any], file: Path, **options: Any) -> Any:
    """Return what a function returns for a file in a confined process. Errors: see `rows_in`."""
    (value,) = rows_in(function, file, **options)
    return value


def moments_in(file: Path, source: Source, sign: Heartbeat = lambda: None) -> Iterator[MomentRow | Problem]:
    """Yield the rows of one of a source's files as its importer reads them, or what is wrong. Errors: `rows_in`."""
    options = {"format": source.format, "kind": source.kind, "columns": dict(source.columns)}
    for values in rows_in(rows_of_file, file, sign, **options):
        if len(values) == len(Problem._fields) - 1:
            yield Problem(file, values[0], values[1], Reason(values[2]))
        else:
            yield _row(file, *values)


def durations_in(file: Path) -> dict[str, float]:
    """Return the seconds of each video that a file tells, as `read_durations` does. Errors: see `rows_in`."""
    return dict(rows_in(durations_of_file, file))


def _row(file: Path, *values: Any) -> MomentRow:
    row = MomentRow(*values)
    texts = (row.where, row.video, row.description, row.caption or "")
    if not all(isinstance(text, str) for text in texts):
        raise CorpusError(f"{file}: reading was broken off; expected texts")
    return row._replace(start=float(row.start), end=float(row.end))


def work(source: Path, order: dict[str, Any], writable: Path) -> Any:
    """Read a file as a `TableReader` or a `RowReader` orders, write what is in it, and return what is wrong with it."""
    kind = order.pop("kind")
    return _write_rows(source, writable, **order) if kind == "rows" else _tabulate(kind, source, writable, order)


def _write_rows(source: Path, writable: Path, function: list[str], options: dict[str, Any]) -> list[str] | None:
    """Write each row as a line. Return the kind and the message of an error that ends them, or None."""
    module, name = function
    with (writable / ROWS).open("w") as out:
        try:
            found = getattr(import_module(module), name)(source, **options)
            for row in found if isinstance(found, Iterator) else [found]:
                out.write(json.dumps(row) + "\n")
        except OSError as fault:
            kind = Unavailable if fault.errno in FULL else CorpusError
            return [kind.__name__, f"{source}: cannot be read ({fault.strerror})"]
        except FAULTS as fault:
            return [(ReeljudgeError if isinstance(fault, ReeljudgeError) else CorpusError).__name__, str(fault)]
    return None


def _tabulate(kind: str, source: Path, writable: Path, options: dict[str, Any]) -> dict[str, Any]:
    with warnings.catch_warnings(record=True) as unusual:
        warnings.simplefilter("always", MeasureWarning)
        table, faults = READERS[kind](source, **options)
    if table:
        _write(table, writable)
    answer = {"faults": faults.messages, "count": faults.count, "doubts": faults.doubts, "is_whole": table is not None}
    return answer | {"notes": [str(each.message) for each in unusual]}


def _run(source: Path, queries: list[str], durations: dict[str, float], **options: Any) -> tuple[Run | None, Faults]:
    return check_run_file(source, Known(dict.fromkeys(queries), durations), **options)


READERS: dict[str, Callable[..., tuple[Table | None, Faults]]] = {
    "run": _run,
    "qrels": lambda source: (read_qrels(source).sound(False), Faults()),
    "grades": lambda source: (read_predicted(source), Faults()),
}


def _write(table: Table, writable: Path) -> None:
    words: dict[str, Any] = {"queries": table.queries, "names": table.names, "texts": dict(table.texts)}
    if isinstance(table, Run):
        words["existence"] = dict(table.existence)
    (writable / WORDS).write_text(json.dumps(words))
    for name, type_ in (SHARED | OWN[type(table)]).items():
        getattr(table, name).astype(type_).tofile(writable / name)
