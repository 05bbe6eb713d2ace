"""CSV and TSV: lines, rows by the names of their columns, qrels, raw ratings, and the side file of moment ids."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from . import HIGHEST_GRADE
from .arrays import Ints, data_frame
from .columns import MOMENT, MOMENT_ID, QUERY, VIDEO, Columns, Rows, first_of
from .errors import MeasureError, Place, show
from .files import ReleaseFiles, is_release, read_part, read_text, source_name, text_of
from .moment_ids import parse_moment_id
from .tables import Qrels, Table

SEPARATORS = "\t;"  # beside the comma, where the first line has none
SIDE_COLUMNS = ["moment_id", "video", "start", "end"]

WITH_DECIMALS = {"start", "end", "score", *MOMENT.fields}

Times = dict[str, tuple[str, float, float]]
COLUMNS = ("pair_id", "worker", "relevance")
ROUNDS = {"1": 1, "2": 2}
RATINGS_OF_RELEASE, OLD_RATINGS = "ratings.csv", "discarded.csv"


class CsvLine(NamedTuple):
    """The cells of a record, with the number of the line where it begins; or what is wrong with it."""

    number: int
    cells: list[str]
    wrong: str = ""


class CsvLines:
    """The header and the records of a CSV, a TSV, or a CSV with semicolons. Blank lines are passed over. Raises
    MeasureError if there is no header, or a column stands twice in it.

    is_exact: whether the names of columns keep their capitals, and cells the white space before a quote.
    """

    def __init__(self, lines: Iterable[str], source: str, is_exact: bool = True) -> None:
        rest = iter(lines)
        first = next(rest, "").removeprefix("\ufeff")
        if "\r" in first.rstrip("\r\n"):
            raise MeasureError(f"{source}: line 1: lines end with a carriage return alone; a CSV needs LF or CR LF")
        self.separator = next((mark for mark in SEPARATORS if mark in first and "," not in first), ",")
        self._lines = rest
        self._form: Any = {"delimiter": self.separator, "skipinitialspace": not is_exact and self.separator != "\t"}
        try:
            names = [name.strip() for name in next(csv.reader([first], **self._form), [])]
        except csv.Error as problem:
            raise MeasureError(f"{source}: line 1: is no CSV: {problem}") from None
        self.header = names if is_exact else [name.lower() for name in names]
        if not any(self.header):
            raise MeasureError(f"{source}: line 1: has no names of columns; a CSV needs them in its first line")
        if twice := [name for name, times in Counter(self.header).items() if name and times > 1]:
            raise MeasureError(f"{source}: line 1: column {twice[0]!r} stands twice; each needs a name of its own")

    def __iter__(self) -> Iterator[CsvLine]:
        rows, width = csv.reader(self._lines, strict=True, **self._form), len(self.header)
        while True:
            number = rows.line_num + 2
            try:
                cells = next(rows)
            except StopIteration:
                return
            except csv.Error as problem:
                yield CsvLine(number, [], f"is no CSV: {problem}")
                continue
            if len(cells) == width:
                yield CsvLine(number, cells)
            elif cells:
                yield CsvLine(number, cells, f"has {len(cells)} columns; it needs {width}: {', '.join(self.header)}")


def csv_rows(text: str, source: str, needed: Sequence[str] = ()) -> Iterator[tuple[Place, dict[str, str]]]:
    """Rows of a CSV (or TSV, or with semicolons) by the names in its first line, in lower case; blank lines are passed
    over. Cells have no white space at their ends. Where commas do not separate, numbers may have decimal commas.

    Raises MeasureError if the first line lacks a needed column. If a line has not as many fields as the first, or is no
    CSV; it names the line.
    """
    table = CsvLines(io.StringIO(text, newline=""), source, is_exact=False)
    if lacking := [name for name in needed if name not in table.header]:
        raise MeasureError(f"{source}: line 1: column {lacking[0]} is missing; it needs {', '.join(needed)}")
    with_decimals = WITH_DECIMALS.intersection(table.header) if table.separator != "," else ()
    for number, row, wrong in table:
        place = Place(source, f"line {number}")
        if wrong:
            raise place.fail(wrong)
        cells = dict(zip(table.header, map(str.strip, row), strict=True))
        for name in with_decimals:
            cells[name] = cells[name].replace(",", ".")
        yield place, cells


def csv_qrels(text: str, source: str) -> Columns:
    """Qrels with the columns query_id, video_name, start, end (seconds) and relevance, or with a moment_id for
    video and times. They may have the other names of `columns`; beside an id, a column query holds the wording.
    """
    rows = Rows(source, MOMENT)
    for place, row in csv_rows(text, source):
        id = first_of(row, QUERY)
        query = place.query(place.need(row, id))
        grade = place.number(place.need(row, *MOMENT.fields), MOMENT.value)
        rows.tell(query, None if id == "query" else row.get("query"))
        rows.add(place, query, *_moment(place, row), grade)
    return rows.columns()


def _moment(place: Place, row: dict[str, str]) -> tuple[str, float, float]:
    moment = first_of(row, MOMENT_ID)
    if moment in row and "start" not in row:
        return parse_moment_id(row[moment], str(place))
    start, end = (place.seconds(place.need(row, name), name) for name in ("start", "end"))
    return place.need(row, *VIDEO), start, end


def read_side_file(path: str | Path) -> Times:
    """Video, start and end (seconds) of every moment id, from a CSV or TSV with those four columns."""
    times: Times = {}
    for place, row in csv_rows(read_text(path), str(path)):
        if sorted(row) != sorted(SIDE_COLUMNS):
            raise MeasureError(f"{path}: line 1: columns are {', '.join(row)}; they must be {', '.join(SIDE_COLUMNS)}")
        if row["moment_id"] in times:
            raise place.fail(f"moment {row['moment_id']!r} stands twice")
        start, end = (place.seconds(row[name], name) for name in ("start", "end"))
        times[row["moment_id"]] = (row["video"], start, end)
    return times


def side_file(table: Table) -> str:
    """Exact times of every moment id, as CSV: moment_id, video, start, end (seconds)."""
    ids = table.moments if isinstance(table, Qrels) else table.stamps
    rows = dict.fromkeys(zip(ids, table.videos, table.start.tolist(), table.end.tolist(), strict=True))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(SIDE_COLUMNS)
    seen: dict[str, tuple[str, float, float]] = {}
    for moment, video, start, end in rows:
        if seen.setdefault(moment, (video, start, end)) != (video, start, end):
            raise MeasureError(
                f"moment id {moment!r} stands for two spans that differ by less than a millisecond; "
                "TREC ids cannot tell them apart"
            )
        writer.writerow([moment, video, repr(start), repr(end)])
    return out.getvalue()


class Rating(NamedTuple):
    """One line of a file of ratings."""

    pair: str
    worker: str
    grade: int
    round: int | None = None  # 1 or 2; None if the file does not say it
    batch: str | None = None  # None if the file does not say it


class _Numbered(NamedTuple):
    candidate: Ints
    annotator: Ints
    grade: Ints


class Ratings(_Numbered):
    """One rating a row: int64 numbers of candidate and annotator, and the grade; each of shape (ratings,).

    pairs, workers: what the numbers stand for, where ratings were read from a file.
    """

    pairs: tuple[str, ...] = ()
    workers: tuple[str, ...] = ()

    @classmethod
    def of(cls, ratings: Iterable[Rating]) -> Self:
        """Number pairs and workers from 0, in the order in which they come."""
        pairs: dict[str, int] = {}
        workers: dict[str, int] = {}
        rows = [
            (pairs.setdefault(pair, len(pairs)), workers.setdefault(worker, len(workers)), grade)
            for pair, worker, grade, *_ in ratings
        ]
        found = cls(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)
        found.pairs, found.workers = tuple(pairs), tuple(workers)
        return found

    def to_frame(self) -> Any:
        """A pandas data frame with the columns pair_id, worker and relevance, and a row for each rating.

        Raises
        ------
        MeasureError
            Where pandas is not installed.
        """
        columns = {"pair_id": (self.candidate, self.pairs), "worker": (self.annotator, self.workers)}
        named = {
            name: [names[number] for number in numbers.tolist()] if names else numbers
            for name, (numbers, names) in columns.items()
        }
        return data_frame(named | {"relevance": self.grade})


def read_ratings(path: str | PathLike[str], highest: int = HIGHEST_GRADE) -> Ratings:
    """Ratings of pairs by annotators, from a CSV with the columns pair_id, worker and relevance.

    Parameters
    ----------
    path : path
        The file; gzip is unpacked; ``-`` is standard input. Also a release, as its zip, its folder or a
        `LoadedRelease`.
    highest : int, default 4
        The highest grade of the scale.

    Returns
    -------
    Ratings

    Raises
    ------
    MeasureError
        Naming the file, the line and the field of the first mistake.

    See Also
    --------
    alpha : How far the annotators agree.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "ratings.csv")
    ...     _ = path.write_text("pair_id,worker,relevance\\n7,ada,3\\n7,ben,4\\n")
    ...     read_ratings(path).grade.tolist()
    [3, 4]
    """
    return Ratings.of(rating for _, rating in rating_rows(path, highest))


def as_ratings(source: Any) -> Ratings:
    """Ratings from ratings, or from a file or a release as in `read_ratings`."""
    return source if isinstance(source, Ratings) else read_ratings(source)


def rating_rows(path: str | PathLike[str], highest: int = HIGHEST_GRADE) -> Iterator[tuple[Place, Rating]]:
    """Ratings with their places, in the order of a CSV with the columns pair_id, worker and relevance.

    Pairs and workers are texts that are not blank; a relevance is an integer from 0 to `highest`. A column round, if
    there is one, holds 1 or 2, and a column batch names the pairs that were judged together. The columns are found by
    their names; further columns and blank lines are passed over. Raises MeasureError if the file cannot be read, a
    column is missing, there are no ratings, or one is wrong; it names the line and the field.
    """
    source = source_name(path)
    grades = {str(grade): grade for grade in range(highest + 1)}
    place = None
    for place, row in _rows_of_ratings(path):
        grade = grades.get(row["relevance"].removesuffix(".0"))
        if grade is None:
            raise _wrong(place, row, "relevance", f"an integer from 0 to {highest}")
        for name in COLUMNS[:2]:
            if not row[name].strip():
                raise _wrong(place, row, name, "an id")
        if row.get("round", "1") not in ROUNDS:
            raise _wrong(place, row, "round", "1 or 2")
        round = ROUNDS.get(row.get("round", ""))
        yield place, Rating(row["pair_id"], row["worker"], grade, round, row.get("batch"))
    if place is None:
        raise MeasureError(f"{source}: holds no ratings; expected lines of {','.join(COLUMNS)}")


def _rows_of_ratings(path: str | PathLike[str]) -> Iterator[tuple[Place, dict[str, str]]]:
    """The rows of a file of ratings; those of a release of version 0.2 or earlier are in two files."""
    release = ReleaseFiles(Path(path)) if is_release(path) else None
    for name in (RATINGS_OF_RELEASE, OLD_RATINGS) if release and OLD_RATINGS in release else (RATINGS_OF_RELEASE,):
        source, data = read_part(release or path, name)
        yield from csv_rows(text_of(data, source), source, COLUMNS)


def _wrong(place: Place, row: dict[str, str], name: str, right: str) -> MeasureError:
    return place.fail(f"field {name}: {show(row[name])}; expected {right}")
