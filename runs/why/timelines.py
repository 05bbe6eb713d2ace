"""Laying out the time lines of a query: judged moments, predictions, and the matches between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from runs.why.cases import Case, Judged, Rank, Side, Stretch

WIDTH, GAP, MARGIN = 1136, 136, 28  # of the drawing, between its columns, and for the last numbers
HEAD, NAME, LANE, BAR, SPACE = 36, 22, 18, 12, 12  # heights
LEAST, DIGIT = 3.0, 9.0  # widths of a span and of a digit of its number


@dataclass(eq=False)
class Span:
    """A moment or a prediction on the line of its video."""

    x: float
    y: float
    width: float
    number: int  # the grade or the rank
    look: str
    words: str
    address: str

    @property
    def middle(self) -> float:
        return self.y + BAR / 2

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def beside(self) -> float:
        """Where its number stands."""
        return self.right + 3

    @property
    def end(self) -> float:
        """Where its number ends."""
        return self.beside + DIGIT * len(str(self.number)) + 4


@dataclass
class Line:
    """The line of a video."""

    video: str
    duration: float
    y: float
    height: float
    spans: list[Span]

    @property
    def text_y(self) -> float:
        return self.y + NAME - 8

    @property
    def track_y(self) -> float:
        return self.y + NAME - 3


@dataclass
class Column:
    """The lines of the judged moments, or of a run's predictions."""

    title: str
    x: float
    width: float
    lines: list[Line] = field(default_factory=list)
    span_of: dict[int, Span] = field(default_factory=dict)

    @property
    def right(self) -> float:
        return self.x + self.width

    def add(self, video: str, duration: float, found: Sequence[Stretch]) -> None:
        """Add the line of a video below the others. Spans that would touch each other lie below each other."""
        last = self.lines[-1] if self.lines else None
        y = last.y + last.height + SPACE if last else HEAD
        ends, spans = list[float](), []
        for each in sorted(found, key=lambda stretch: stretch.start):
            x = self.x + self.width * min(each.start / duration, 1)
            width = max(LEAST, self.width * (min(each.end, duration) - each.start) / duration)
            span = Span(min(x, self.right - width), 0, width, *_attributes(each))
            lane = next((n for n, end in enumerate(ends) if end <= span.x), len(ends))
            ends[lane : lane + 1] = [span.end]
            span.y = y + NAME + lane * LANE
            self.span_of[id(each)] = span
            spans.append(span)
        self.lines.append(Line(video, duration, y, NAME + len(ends) * LANE, spans))


@dataclass
class Drawing:
    columns: list[Column]
    joins: list[tuple[str, str, str]]  # path, look, words

    width = WIDTH

    @property
    def height(self) -> float:
        lines = [column.lines[-1] for column in self.columns if column.lines]
        return max((line.y + line.height for line in lines), default=HEAD) + SPACE


def drawing_of(case: Case) -> Drawing:
    """Lay out a case: the judged moments left of the run's predictions, or between those of two runs."""
    titles = [side.run.name for side in case.sides]
    titles.insert(len(titles) - 1, "Judged moments")
    wide = (WIDTH - MARGIN - GAP * (len(titles) - 1)) / len(titles)
    columns = [Column(title, n * (wide + GAP), wide) for n, title in enumerate(titles)]
    truth = columns[len(case.sides) - 1]
    _add_all(truth, _in_order(case), case)
    own = [column for column in columns if column is not truth]
    for column, side in zip(own, case.sides, strict=True):
        _add_all(column, side.ranks, case)
    joins = [join for column, side in zip(own, case.sides, strict=True) for join in _joins(side, column, truth)]
    return Drawing(columns, joins)


def _in_order(case: Case) -> list[Judged]:
    """The moments: those first that the first ranks match, so that few joins cross; then by grade."""
    found = {id(rank.match): rank.number for side in reversed(case.sides) for rank in side.ranks}
    return sorted(case.drawn, key=lambda moment: (found.get(id(moment), 10**6), -moment.grade))


def _add_all(column: Column, found: Iterable[Stretch], case: Case) -> None:
    by_video: dict[str, list[Stretch]] = defaultdict(list)
    for each in found:
        by_video[each.video].append(each)
    matched = {id(rank.match) for side in case.sides for rank in side.ranks}
    for video, stretches in by_video.items():
        longest = max(each.end for each in stretches)
        column.add(video, case.durations.get(video, longest) or 1.0, stretches)
    for video_line in column.lines:
        for each in by_video[video_line.video]:
            if isinstance(each, Judged) and id(each) not in matched:
                column.span_of[id(each)].look += " missed"


def _attributes(each: Stretch) -> tuple[int, str, str, str]:
    """Its number, its look, what it is in words, and what it leads to."""
    times = f"{each.times} of {each.video}"
    if isinstance(each, Rank):
        match = f"matches a moment of grade {each.match.grade}, IoU {each.iou:.2f}" if each.match else "no match"
        look = f"g{each.match.grade}" if each.match else "unmatched"
        return each.number, look, f"Rank {each.number}: {times}, {match}", each.address
    grade = each.grade if isinstance(each, Judged) else 0
    return grade, f"g{grade}", f"Grade {grade}: {times}", ""


def _joins(side: Side, column: Column, truth: Column) -> Iterator[tuple[str, str, str]]:
    """A curve from each prediction to the moment that it matches."""
    for rank in side.ranks:
        if rank.match is None:
            continue
        here, there = column.span_of[id(rank)], truth.span_of[id(rank.match)]
        left, right = (here, there) if column.x < truth.x else (there, here)
        bend = (left.end + right.x) / 2
        path = f"M{left.end:.1f} {left.middle:.1f}C{bend:.1f} {left.middle:.1f} {bend:.1f} {right.middle:.1f} "
        yield f"{path}{right.x:.1f} {right.middle:.1f}", f"g{rank.match.grade}", here.words
