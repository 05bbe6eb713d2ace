"""Reading files that people send, in a confined process that a hostile file cannot leave: runs, qrels, grades.

The process writes plain arrays and JSON, and no pickles. This process checks what it finds there before it uses it.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from django.conf import settings

from corpus.errors import Unavailable
from metrics import MeasureError, MeasureWarning
from metrics.formats.checks import Known
from metrics.formats.errors import Faults
from metrics.formats.files import UNPACK
from metrics.formats.predicted import read_predicted
from metrics.formats.qrels import read_qrels
from metrics.formats.runs import check_run_file
from metrics.formats.tables import Qrels, Run, Table
from systems.features.confinement import FROM_OUTSIDE, Confined

FAULTS = (MeasureError,)
WORDS = "words"  # the file of what is text in a table; its arrays are in files of their own
MOST_WORDS = 2**28  # bytes
SHARED = {"offsets": "<i8", "video": "<i8", "start": "<f8", "end": "<f8"}
OWN: dict[type[Table], dict[str, str]] = {Run: {"scores": "<f8"}, Qrels: {"grades": "<i8"}}
Made = TypeVar("Made", bound=Table)
Sign = Callable[[], None]


class CheckedRun(NamedTuple):
    """A run in which nothing is wrong, or None; what is wrong with it; and what is unusual about it."""

    run: Run | None
    faults: Faults
    notes: list[str]


class TableReader(Confined):
    """Reads a file as a table, in a process that may read the file's folder only.

    called: what messages call each file, by its path.
    """

    module = __name__
    packages = ("base", "corpus", "jobs", MeasureError.__module__.partition(".")[0])
    doing = "reading"
    largest = 2**30
    kinds = {kind.__name__: kind for kind in (MeasureError, Unavailable)}
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
        self.start(next(iter(self.called)).parent.resolve())
        return self

    def run(self, file: Path, known: Known, sign: Sign = lambda: None, **options: Any) -> CheckedRun:
        """Read and check a run as `check_run_file` does, with its options."""
        options |= {"queries": list(known.queries), "durations": dict(known.durations)}
        found = self._ask("run", file, sign, options)
        messages, count, doubts, notes = (self._named(found[key]) for key in ("faults", "count", "doubts", "notes"))
        return CheckedRun(self._table(Run, file) if found["is_whole"] else None, Faults(messages, count, doubts), notes)

    def qrels(self, file: Path, sign: Sign = lambda: None) -> Qrels:
        """Read qrels as `read_qrels` does. Raises MeasureError for the first row that makes no sense."""
        self._ask("qrels", file, sign, {})
        return self._table(Qrels, file)

    def grades(self, file: Path, sign: Sign = lambda: None) -> Run:
        """Read predicted grades as `read_predicted` does."""
        self._ask("grades", file, sign, {})
        return self._table(Run, file)

    def _ask(self, kind: str, file: Path, sign: Sign, options: Mapping[str, Any]) -> Any:
        try:
            return self.ask(file, file.parent.resolve(), {"kind": kind, **options}, sign, self.called[file])
        except MeasureError as fault:
            raise MeasureError(self._named(str(fault))) from fault

    def _named(self, found: Any) -> Any:
        """Return a message, or a list of them, in which each file has the name that its owner gave it."""
        if isinstance(found, list):
            return [self._named(each) for each in found]
        for path, name in self.called.items() if isinstance(found, str) else ():
            found = found.replace(str(path.parent.resolve() / path.name), name)
        return found

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


def work(source: Path, order: dict[str, Any], writable: Path) -> dict[str, Any]:
    """Read a file as `TableReader` orders, write its table, and return what is to be said of it."""
    with warnings.catch_warnings(record=True) as unusual:
        warnings.simplefilter("always", MeasureWarning)
        table, faults = READERS[order.pop("kind")](source, **order)
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
