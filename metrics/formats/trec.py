"""TREC qrels and runs: moments are ids (see `moment_ids`), with a side file for times finer than milliseconds.

A file of millions of lines is read a block at a time, in columns; a block that holds anything unusual goes through
the careful functions, which take it or name what is wrong.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from .arrays import Floats, Ints, order_ties
from .columns import Columns, Numbers
from .csv_tables import Times
from .errors import Faults, MeasureError, Place, show
from .moment_ids import SHAPE, as_word, from_word, parse_moment_id
from .tables import Qrels, Run

Tokens = Sequence[bytes]
QRELS_LINE = "query 0 moment_id grade"
RUN_LINE = "query Q0 moment_id rank score tag"
BLOCK = 1 << 21  # bytes
SPACE = np.isin(np.arange(256), list(b" \t\n\r\x0b\x0c"))
WHITE, DIGITS = re.compile(rb"\s"), b"0123456789"
REPEATED = re.compile(rb"[#~](\d{1,9})$")
NEWLINE = b"\n"
LONGEST_TIME = 15  # digits of milliseconds


def trec_qrels(data: bytes, source: str, times: Times | None = None) -> Columns:
    """Columns of lines ``query 0 moment_id grade``. A grade below 0 counts as 0, as trec_eval counts it."""
    lines = Lines(data, source, QRELS_LINE, times)
    for block in lines.blocks():
        lines.add(block, lines.grades(block))
    columns = lines.columns().with_grades_from_zero()
    columns.times = times or {}
    return columns


def trec_run(data: bytes, source: str, times: Times | None = None, faults: Faults | None = None) -> tuple[Columns, str]:
    """Columns of lines ``query Q0 moment_id rank score tag``, and the tag of the last.

    Ordered as trec_eval orders: by score, highest first; ties by id, descending; the rank column is not
    looked at. With `faults`, lines that cannot be read are added to them and left out; without, the first is an error.
    """
    if faults is not None:
        data = _readable_lines(data, source, faults)
    lines = Lines(data, source, RUN_LINE, times)
    tag = b"run"
    for block in lines.blocks():
        lines.add(block, lines.scores(block))
        tag = block.tokens[-1]
    return lines.columns(by_score=True), from_word(tag.decode())


def _readable_lines(data: bytes, source: str, faults: Faults) -> bytes:
    """The lines of a run that can be read, and empty ones in place of the others, which are added to the faults."""
    lines = data.split(NEWLINE)
    for number, line in enumerate(lines, 1):
        place, fields = Place(source, f"line {number}"), line.split()
        try:
            if fields and len(fields) != len(RUN_LINE.split()):
                raise place.fail(f"has {len(fields)} fields; it must be: {RUN_LINE}")
            if fields:
                parse_moment_id(fields[2].decode(), str(place))
                place.number(fields[4].decode(), "score")
        except MeasureError as fault:
            faults.add(fault)
            lines[number - 1] = b""
    return NEWLINE.join(lines)


@dataclass(frozen=True)
class Block:
    """Some lines: their fields one after the other, and where in the file each line has its moment."""

    tokens: Tokens
    width: int
    first: Ints

    def column(self, number: int) -> Tokens:
        return self.tokens[number :: self.width]


@dataclass
class Lines:
    """The lines of a TREC file on their way to columns, a list of one array a block for each column."""

    data: bytes
    source: str
    shape: str
    times: Times | None
    queries: Numbers = field(default_factory=Numbers)
    videos: Numbers = field(default_factory=Numbers)
    moments: Numbers = field(default_factory=Numbers)
    parts: list[tuple[Ints, Ints, Floats, Floats, Ints, Floats, Ints]] = field(default_factory=list)

    def blocks(self) -> Iterator[Block]:
        """The file in blocks of whole lines; a line with another number of fields is an error."""
        width = len(self.shape.split())
        at = 0
        while at < len(self.data):
            end = self.data.find(b"\n", at + BLOCK) + 1 or len(self.data)
            chunk = self.data[at:end]
            tokens = chunk.split()
            begins = self._begins(chunk, at)
            if tokens:
                yield Block(tokens, width, at + begins[2::width])
            at = end

    def _begins(self, chunk: bytes, at: int) -> Ints:
        """Where the fields of a chunk begin; a line that is not blank with another number of fields is an error."""
        width = len(self.shape.split())
        letters = np.frombuffer(chunk, dtype=np.uint8)
        space = SPACE[letters]
        begins = np.flatnonzero(~space & np.append(True, space[:-1]))
        ends = np.flatnonzero(letters == ord("\n"))
        fields = np.diff(np.searchsorted(begins, ends), prepend=0, append=begins.size)
        wrong = np.flatnonzero((fields != width) & (fields != 0))
        if wrong.size:
            line = self.data.count(b"\n", 0, at) + int(wrong[0]) + 1
            raise MeasureError(f"{self.source}: line {line}: has {fields[wrong[0]]} fields; it must be: {self.shape}")
        return begins

    def add(self, block: Block, value: Floats) -> None:
        """Add the columns of a block."""
        ids = block.column(2)
        plain = self._plain_moments(ids) if self.times is None else None
        video, start, end, copy = plain or self._moments(ids, block)
        self.parts.append((self.queries.of(block.column(0)), video, start, end, copy, value, block.first))

    def _plain_moments(self, ids: Tokens) -> tuple[Ints, Floats, Floats, Ints] | None:
        """Video, start and end of ids that are plain video@startms-endms, and 0; None where one is not."""
        parts = b"@".join(ids).split(b"@")
        videos, spans = parts[::2], b"\n".join(parts[1::2]) + b"\n"
        numbers = spans.replace(b"-", b"\n").split()
        plain = spans.translate(None, DIGITS) == b"-\n" * len(ids) and len(numbers) == 2 * len(ids)
        if not plain or b"" in videos or max(map(len, numbers)) > LONGEST_TIME:
            return None
        video = self.videos.of(videos)
        times = np.array(list(map(int, numbers)), dtype=np.int64).reshape(-1, 2) / 1000
        return video, times[:, 0], times[:, 1], np.zeros(len(ids), dtype=np.int64)

    def _moments(self, ids: Tokens, block: Block) -> tuple[Ints, Floats, Floats, Ints]:
        """The same of any ids, one by one; the last is the number behind the times, as in ``#2``, or one for each id
        of a side file.
        """
        found = []
        for at, moment in zip(block.first, ids, strict=True):
            text = moment.decode()
            if self.times is not None:
                if text not in self.times:
                    raise self.place(at).fail(f"moment {text!r} is not in the side file")
                video, start, end = self.times[text]
                found.append((as_word(video).encode(), start, end, self.moments[moment]))
                continue
            where = "" if SHAPE.fullmatch(text) else str(self.place(at))  # finding the line takes long
            _, start, end = parse_moment_id(text, where)
            again = REPEATED.search(moment)
            found.append((moment.rpartition(b"@")[0], start, end, int(again[1]) if again else 0))
        video_of_row, start_of_row, end_of_row, copy = zip(*found, strict=True)
        return (
            self.videos.of(video_of_row),
            np.array(start_of_row),
            np.array(end_of_row),
            np.array(copy, dtype=np.int64),
        )

    def grades(self, block: Block) -> Floats:
        """The grades of a block of qrels."""
        written = block.column(3)
        grades = dict.fromkeys(written, 0.0)
        for text in grades:
            if not re.fullmatch(rb"-?\d{1,9}(\.\d*)?", text):
                place = self.place(block.first[written.index(text)])
                raise place.fail(f"grade is {show(text.decode())}; it must be an integer from 0 up")
            grades[text] = float(text)
        return np.array(list(map(grades.__getitem__, written)), dtype=np.float64)

    def scores(self, block: Block) -> Floats:
        """The scores of a block of a run."""
        written = block.column(4)
        try:
            return np.array(list(map(float, written)), dtype=np.float64)
        except ValueError:
            pairs = zip(written, block.first, strict=True)
            return np.array([self.place(at).number(text.decode(), "score") for text, at in pairs])

    def columns(self, by_score: bool = False) -> Columns:
        """All blocks together."""
        if not self.parts:
            raise MeasureError(f"{self.source}: is empty")
        group, video, start, end, copy, value, first = map(np.concatenate, zip(*self.parts, strict=True))
        self.parts.clear()
        if by_score:
            order = self._by_score(group, value, first)
            columns = (group, video, start, end, copy, value, first)
            group, video, start, end, copy, value, first = (column[order] for column in columns)
        names = Numbers()
        recoded = names.of([from_word(word.decode()) for word in self.videos])
        return Columns(
            source=self.source,
            where=lambda row: self.place(first[row]).spot,
            queries=tuple(from_word(query.decode()) for query in self.queries),
            group=group,
            names=tuple(names),
            video=recoded[video],
            start=start,
            end=end,
            value=value,
            copy=copy,
            ids=None if self.times is None or by_score else lambda: [*map(self.id, first.tolist())],
        )

    def _by_score(self, group: Ints, value: Floats, first: Ints) -> Ints:
        """The order by query and falling score, in float32 as trec_eval reads scores; ties by id, descending."""
        with np.errstate(over="ignore"):
            single = value.astype(np.float32)
        order = np.lexsort((-single, group)).astype(np.int64)
        return order_ties(order, single, group, lambda row: self.id(int(first[row])))

    def id(self, at: int) -> str:
        """The id that begins at that byte of the file."""
        found = WHITE.search(self.data, at)
        return self.data[at : found.start() if found else len(self.data)].decode()

    def place(self, at: int) -> Place:
        """The line in which a byte of the file stands."""
        return Place(self.source, f"line {self.data.count(NEWLINE, 0, int(at)) + 1}")


def run_as_trec(run: Run) -> str:
    """TREC lines; times finer than a millisecond need the side file.

    Scores are kept where they fall strictly, in float32 as trec_eval reads them; a query whose scores do not
    has its ranks for scores, so that its order survives. A query without predictions has no line.
    """
    lines = []
    for query, here in run.slices():
        scores = falling(run.scores[here])
        for rank, (stamp, score) in enumerate(zip(run.stamps[here], scores.tolist(), strict=True), 1):
            lines.append(f"{as_word(query)} Q0 {stamp} {rank} {score!r} {as_word(run.name)}")
    return "\n".join(lines) + "\n"


def falling(scores: Floats) -> Floats:
    """The scores where they fall strictly, and ranks in place of them where they do not."""
    return scores if falls(scores) else np.arange(scores.size, 0, -1, dtype=np.float64)


def falls(scores: Floats) -> bool:
    """Whether scores fall strictly from rank to rank, even in float32."""
    with np.errstate(over="ignore"):
        single = scores.astype(np.float32)
    return bool(np.isfinite(single).all() and (single[1:] < single[:-1]).all())


def qrels_as_trec(qrels: Qrels) -> str:
    """TREC lines; times finer than a millisecond need the side file. A query without moments has no line."""
    rows = zip(qrels.query_of_row().tolist(), qrels.moments, qrels.grades.tolist(), strict=True)
    return "".join(f"{as_word(qrels.queries[query])} 0 {moment} {grade}\n" for query, moment, grade in rows)
