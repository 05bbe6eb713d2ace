"""One query of some runs: its judged moments, what each rank predicts, matches and counts, and the time lines of its
videos, on which each run has a lane.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from campaigns.models import Campaign
from corpus.models import Clip, Moment, Video
from judging.models import Candidate, Kind
from metrics import Measure, Qrels, moment_id
from metrics import Run as Predictions
from metrics.formats.tables import Table
from metrics.measures.explain import Explained, explain
from metrics.measures.matching import temporal_iou
from runs.explain.queries import ExplanationOptions, values_of
from runs.models import Run
from runs.tables import read_table

RANKS = 20  # squares of each run
OVERLAP = 0.5  # IoU from which a prediction counts as judged, where the measure has no threshold
LANE = 18  # pixels
DIGIT = 1.4  # percent of a lane that a digit takes


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
    is_judged: bool = False  # whether it overlaps a judged moment as far as a match needs, taken or not
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

    @property
    def look(self) -> str:
        """The grade of what it matches, or whether the moment is judged at all."""
        return f"g{self.match.grade}" if self.match else "unmatched" if self.is_judged else "unjudged"

    @property
    def words(self) -> str:
        """What it is, for its square and its span."""
        unmatched = "no match" if self.is_judged else "no match: nobody judged it"
        match = f"matches a moment of grade {self.match.grade}, IoU {self.iou:.2f}" if self.match else unmatched
        return f"Rank {self.number}: {self.times} of {self.video}, {match}"


@dataclass
class Side:
    """A run on the query, and its values by convention."""

    run: Run
    ranks: list[Rank]
    values: dict[str, float]
    ideals: list[float] | None  # DCG of the ideal ranking at each rank
    value: float | None  # under the convention that explains

    @property
    def ideal(self) -> float | None:
        return self.ideals[-1] if self.ideals else None

    @property
    def dcg(self) -> float:
        return sum(rank.counts or 0.0 for rank in self.ranks)

    @property
    def squares(self) -> list[Rank]:
        return self.ranks[:RANKS]

    @property
    def has_clips(self) -> bool:
        return any(rank.clip or (rank.match and rank.match.clip) for rank in self.ranks)


@dataclass
class Case:
    """A query with its judged moments, and each run on it."""

    query: str
    text: str
    moments: list[Judged]
    sides: list[Side]
    durations: dict[str, float]

    @property
    def deepest(self) -> int:
        """The last rank that has a square."""
        return max((len(side.squares) for side in self.sides), default=0)

    @property
    def relevant(self) -> list[Judged]:
        return [moment for moment in self.moments if moment.grade]

    @property
    def sentences(self) -> Iterator[str]:
        """What each run finds of the relevant moments, and down to which rank."""
        videos = {moment.video for moment in self.relevant}
        of = f"{len(self.relevant)} relevant moment{'s' * (len(self.relevant) != 1)}"
        for side in self.sides:
            hits = [rank.number for rank in side.ranks if rank.match and rank.match.grade]
            listed = list(dict.fromkeys(rank.video for rank in side.ranks))
            if hits:
                yield f"{side.run} finds {len(hits)} of {of} by rank {hits[-1]}."
            elif not listed:
                yield f"{side.run} has no prediction for this query."
            elif videos.isdisjoint(listed):
                names = ", ".join(listed[:3]) + (f" and {len(listed) - 3} more videos" if len(listed) > 3 else "")
                yield f"{side.run} finds none of {of}: it lists only {names}, where nothing is relevant."
            else:
                yield f"{side.run} finds none of {of}."

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
        ideals = None if found.ideals is None else found.ideals.tolist()
        ranks, value = _ranks(found, moments, run, options.measure), own.get(options.convention.name)
        sides.append(Side(run, ranks, own, ideals, None if value is None or np.isnan(value) else value))
    case = Case(query, qrels.texts.get(query, ""), list(moments.values()), sides, {})
    _find_clips(case, options.run.campaign)
    return case


def _seconds(time: float) -> str:
    return f"{time:.2f}".rstrip("0").rstrip(".")


def _times(table: Table, row: int) -> tuple[str, float, float]:
    return table.names[int(table.video[row])], float(table.start[row]), float(table.end[row])


def _ranks(found: Explained, moments: dict[int, Judged], run: Run, measure: Measure) -> list[Rank]:
    ranks = []
    least = measure.thresholds[0] if measure.thresholds else OVERLAP
    for n, (row, match) in enumerate(zip(found.prediction.tolist(), found.moment.tolist(), strict=True)):
        rank = Rank(
            *_times(found.predicted, row),
            run=run.number,
            number=n + 1,
            score=float(found.predicted.scores[row]),
            iou=float(found.iou[n]),
            match=moments.get(match),
            is_judged=_highest_iou(found, row) >= least,
        )
        if found.gain is not None and found.discount is not None:
            rank.gain, rank.discount = float(found.gain[n]), float(found.discount[n])
        ranks.append(rank)
    return ranks


def _highest_iou(found: Explained, row: int) -> float:
    """Return the IoU of a prediction with the judged moment that it overlaps most, whether or not that takes part."""
    video, start, end = _times(found.predicted, row)
    judged = found.judged
    if video not in judged.names:
        return 0.0
    same = judged.video == judged.names.index(video)
    overlaps = temporal_iou(judged.start[same], judged.end[same], np.array(start), np.array(end))
    return float(overlaps.max(initial=0.0))


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


@dataclass(frozen=True)
class Span:
    """A moment or a prediction on a lane; places are percent of the video."""

    x: float
    width: float
    row: int  # from 0; spans that would touch each other lie below each other
    number: int  # the grade or the rank
    look: str
    words: str
    address: str

    @property
    def end(self) -> float:
        return self.x + self.width

    @property
    def y(self) -> int:
        return self.row * LANE


@dataclass
class VideoLane:
    """What is judged of a video, or what a run predicts in it."""

    title: str
    spans: list[Span]

    @property
    def height(self) -> int:
        return LANE * (1 + max((span.row for span in self.spans), default=0))


@dataclass
class TimeLine:
    """A video with a lane of its judged moments, and one for each run."""

    video: str
    duration: float
    lanes: list[VideoLane]
    is_relevant: bool  # whether a moment of it is


def time_lines(case: Case) -> list[TimeLine]:
    """Return the time lines of a case, the videos with something relevant first."""
    relevant = {moment.video for moment in case.relevant}
    drawn: list[tuple[str, Sequence[Stretch]]] = [("Judged", case.drawn)]
    drawn += [(side.run.name, side.ranks) for side in case.sides]
    videos = dict.fromkeys(each.video for _, stretches in drawn for each in stretches)
    lines = []
    for video in sorted(videos, key=lambda name: name not in relevant):
        own = [(title, [each for each in stretches if each.video == video]) for title, stretches in drawn]
        longest = max(each.end for _, stretches in own for each in stretches)
        duration = case.durations.get(video, longest) or 1.0
        lanes = [VideoLane(title, _spans(stretches, duration)) for title, stretches in own]
        lines.append(TimeLine(video, duration, lanes, video in relevant))
    return lines


def _spans(stretches: Sequence[Stretch], duration: float) -> list[Span]:
    spans, ends = list[Span](), list[float]()
    for each in sorted(stretches, key=lambda stretch: stretch.start):
        x = 100 * min(each.start / duration, 1)
        width = max(0.4, 100 * (min(each.end, duration) - each.start) / duration)
        row = next((n for n, end in enumerate(ends) if end <= x), len(ends))
        span = Span(x, width, row, *_attributes(each))
        ends[row : row + 1] = [span.end + DIGIT * (1 + len(str(span.number)))]
        spans.append(span)
    return spans


def _attributes(each: Stretch) -> tuple[int, str, str, str]:
    """Its number, its look, what it is in words, and what it leads to."""
    if isinstance(each, Rank):
        return each.number, each.look, each.words, each.address
    grade = each.grade if isinstance(each, Judged) else 0
    return grade, f"g{grade}", f"Grade {grade}: {each.times} of {each.video}", ""
