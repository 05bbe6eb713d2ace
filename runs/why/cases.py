"""One query of one run or of two: its judged moments, and what each rank predicts, matches and counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from campaigns.models import Campaign
from corpus.models import Clip, Moment, Video
from judging.models import Candidate, Kind
from metrics import Qrels, moment_id
from metrics import Run as Predictions
from metrics.formats.tables import Table
from metrics.measures.explain import Explained, explain
from runs.models import Run
from runs.tables import read_table
from runs.why.choices import Choices
from runs.why.differences import values_of


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
    def unseen(self) -> int:
        """How many moments that can be matched are neither relevant nor matched."""
        return len(self.moments) - len(self.drawn)

    @property
    def drawn(self) -> list[Judged]:
        """The moments that are relevant or matched."""
        matched = {id(rank.match) for side in self.sides for rank in side.ranks}
        return [moment for moment in self.moments if moment.grade or id(moment) in matched]


def case_of(choices: Choices, query: str) -> Case | None:
    """Return the case of a query, or None if the release does not judge it."""
    queries = [name for name, *_ in choices.yardstick.queries]
    if query not in queries:
        return None
    qrels, values = read_table(Qrels, choices.yardstick.table), values_of(choices)
    moments: dict[int, Judged] = {}
    place, sides = queries.index(query), list[Side]()
    for run in choices.runs:
        predictions = read_table(Predictions, run.table, name=run.name)
        found = explain(choices.measure, qrels, predictions, query, choices.convention)
        for row in found.taking_part.tolist():
            moments.setdefault(row, Judged(*_times(found.judged, row), int(found.judged.grades[row])))
        own = {name: float(column[place]) for (key, name), column in values.items() if key == run.pk}
        sides.append(Side(run, _ranks(found, moments, run), own, found.ideal))
    case = Case(query, qrels.texts.get(query, ""), list(moments.values()), sides, {})
    _find_clips(case, choices.run.campaign)
    return case


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
    clips = {keys[each.moment_id]: each.clip for each in candidates.filter(clip__state=Clip.State.READY)}
    for rank in predicted:
        rank.clip = clips.get(rank.key)


def _candidates(campaign: Campaign) -> Any:
    return Candidate.objects.in_campaign(campaign).select_related("moment__video", "clip")
