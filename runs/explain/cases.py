"""One query of some runs: its judged moments, what each rank predicts, matches and counts, and the time lines on which
these are drawn.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from campaigns.models import Campaign
from corpus.models import Clip, Moment, Video
from judging.models import Candidate, Kind
from metrics import Qrels, moment_id
from metrics import Run as Predictions
from metrics.formats.tables import Table
from metrics.measures.explain import Explained, explain
from runs.explain.queries import ExplanationOptions, values_of
from runs.models import Run
from runs.tables import read_table

WIDTH, GAP, MARGIN = 1136, 136, 28  # of the drawing, between its columns, and for the last numbers
NARROW = 40  # between columns that nothing joins
CLIPS = 10  # ranks whose clips stand beside each other
HEAD, NAME, LANE, BAR, SPACE = 36, 22, 18, 12, 12  # heights
LEAST, DIGIT = 3.0, 9.0  # widths of a span and of a digit of its number


@dataclass(eq=False)
class Stretch:
    """A part of a video, with the clip that shows it, if one is stored."""

    video: str
    start: float
    end: float
    clip: Clip | None = field(default=None, init=False)

    @property
    def key(self) -> str:
        return moment_id(self.video, self.start, self.end)

    @property
    def times(self) -> str:
        return f"{_seconds(self.start)}–{_seconds(self.end)} s"


@dataclass(eq=False)
class Judged(Stretch):
    """A judged moment that takes part, with the candidate that its judgements are of."""

    grade: int
    candidate: Candidate | None = field(default=None, init=False)


@dataclass(eq=False)
class Rank(Stretch):
    """What a run predicts at a rank."""

    run: int  # its number
    number: int
    score: float
    iou: float
    match: Judged | None
    gain: float | None = None
    discount: float | None = None

    @property
    def address(self) -> str:
        """The place of its row on the page."""
        return f"run-{self.run}-rank-{self.number}"

    @property
    def counts(self) -> float | None:
        """The gain over the discount."""
        return None if self.gain is None or self.discount is None else self.gain / self.discount


@dataclass
class Side:
    """A run on the query, and its values by convention."""

    run: Run
    ranks: list[Rank]
    values: dict[str, float]
    ideal: float | None

    @property
    def dcg(self) -> float:
        return sum(rank.counts or 0.0 for rank in self.ranks)


@dataclass
class Case:
    """A query with its judged moments, and each run on it."""

    query: str
    text: str
    moments: list[Judged]
    sides: list[Side]
    durations: dict[str, float]

    @property
    def beside(self) -> list[tuple[int, list[tuple[Rank | None, str]]]]:
        """The first ranks: the number of each, and what each run has there, with a mark where it differs.

        The mark is `alone` for a match that no other run has, and `missed` for a prediction without one at a rank where
        another run has one.
        """
        finders = Counter(key for side in self.sides for key in {id(rank.match) for rank in side.ranks if rank.match})
        deepest = max((len(side.ranks) for side in self.sides), default=0)
        rows = []
        for n in range(min(deepest, CLIPS)):
            ranks = [side.ranks[n] if n < len(side.ranks) else None for side in self.sides]
            rows.append((n + 1, [(rank, _mark(rank, ranks, finders)) for rank in ranks]))
        return rows

    @property
    def unseen(self) -> int:
        """How many moments that can be matched are neither relevant nor matched."""
        return len(self.moments) - len(self.drawn)

    @property
    def drawn(self) -> list[Judged]:
        """The moments that are relevant or matched."""
        matched = {id(rank.match) for side in self.sides for rank in side.ranks}
        return [moment for moment in self.moments if moment.grade or id(moment) in matched]


def case_of(options: ExplanationOptions, query: str) -> Case | None:
    """Return the case of a query, or None if the release does not judge it."""
    queries = [name for name, *_ in options.reference.queries]
    if query not in queries:
        return None
    qrels, values = read_table(Qrels, options.reference.table), values_of(options)
    moments: dict[int, Judged] = {}
    place, sides = queries.index(query), list[Side]()
    for run in options.runs:
        predictions = read_table(Predictions, run.table, name=run.name)
        found = explain(options.measure, qrels, predictions, query, options.convention)
        for row in found.taking_part.tolist():
            moments.setdefault(row, Judged(*_times(found.judged, row), int(found.judged.grades[row])))
        own = {name: float(column[place]) for (key, name), column in values.items() if key == run.pk}
        sides.append(Side(run, _ranks(found, moments, run), own, found.ideal))
    case = Case(query, qrels.texts.get(query, ""), list(moments.values()), sides, {})
    _find_clips(case, options.run.campaign)
    return case


def _mark(rank: Rank | None, ranks: list[Rank | None], finders: Counter[int]) -> str:
    if rank and rank.match:
        return "alone" if finders[id(rank.match)] == 1 else ""
    return "missed" if any(each and each.match for each in ranks) else ""


def _seconds(time: float) -> str:
    return f"{time:.2f}".rstrip("0").rstrip(".")


def _times(table: Table, row: int) -> tuple[str, float, float]:
    return table.names[int(table.video[row])], float(table.start[row]), float(table.end[row])


def _ranks(found: Explained, moments: dict[int, Judged], run: Run) -> list[Rank]:
    ranks = []
    for n, (row, match) in enumerate(zip(found.prediction.tolist(), found.moment.tolist(), strict=True)):
        rank = Rank(
            *_times(found.predicted, row),
            run=run.number,
            number=n + 1,
            score=float(found.predicted.scores[row]),
            iou=float(found.iou[n]),
            match=moments.get(match),
        )
        if found.gain is not None and found.discount is not None:
            rank.gain, rank.discount = float(found.gain[n]), float(found.discount[n])
        ranks.append(rank)
    return ranks


def _find_clips(case: Case, campaign: Campaign) -> None:
    """Find the candidates of the moments, the clips of everything, and how long the videos are."""
    predicted = [rank for side in case.sides for rank in side.ranks]
    own = _candidates(campaign).filter(query__kind=Kind.POOL, query__query_id=case.query)
    by_key = {str(each.moment): each for each in own}
    for moment in case.moments:
        moment.candidate = by_key.get(moment.key)
        moment.clip = moment.candidate.clip if moment.candidate else None
    names = {each.video for each in (*case.drawn, *predicted)}
    videos = {video.pk: video for video in Video.objects.filter(corpus=campaign.corpus_id, name__in=names)}
    case.durations = {video.name: video.duration for video in videos.values()}
    # A prediction has a clip if it is a moment that was judged in this campaign, also for another query.
    wanted = {rank.key for rank in predicted}
    moments = Moment.everything.filter(video__in=videos).only("video", "start", "end")
    keys = {each.pk: moment_id(videos[each.video_id].name, each.start, each.end) for each in moments}
    candidates = _candidates(campaign).filter(moment__in=[pk for pk, key in keys.items() if key in wanted])
    clips = {keys[candidate.moment_id]: candidate.clip for candidate in candidates.filter(clip__state=Clip.State.READY)}
    for rank in predicted:
        rank.clip = clips.get(rank.key)


def _candidates(campaign: Campaign) -> Any:
    return Candidate.objects.in_campaign(campaign).select_related("moment__video", "clip")


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
class VideoLine:
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
    lines: list[VideoLine] = field(default_factory=list)
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
        self.lines.append(VideoLine(video, duration, y, NAME + len(ends) * LANE, spans))


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
    """Lay out a case: the judged moments left of the runs' predictions, or between those of two runs.

    Nothing joins them with the predictions of more than two runs, because the curves would cross columns.
    """
    titles, are_joined = [side.run.name for side in case.sides], len(case.sides) < 3
    place, gap = (len(titles) - 1, GAP) if are_joined else (0, NARROW)
    titles.insert(place, "Judged moments")
    wide = (WIDTH - MARGIN - gap * (len(titles) - 1)) / len(titles)
    columns = [Column(title, n * (wide + gap), wide) for n, title in enumerate(titles)]
    truth = columns[place]
    _add_all(truth, _in_order(case), case)
    own = [column for column in columns if column is not truth]
    for column, side in zip(own, case.sides, strict=True):
        _add_all(column, side.ranks, case)
    joined = zip(own, case.sides, strict=True) if are_joined else ()
    return Drawing(columns, [join for column, side in joined for join in _joins(side, column, truth)])


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
        longest = max(stretch.end for stretch in stretches)
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
