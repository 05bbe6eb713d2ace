"""The table of a batch: each candidate with who graded it, when, and how long it took; and its chart, as TVR-Ranking's
Figure 6 draws one query.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Prefetch, Q, QuerySet
from django.utils.formats import date_format
from django.utils.timezone import localtime

from campaigns.models import Membership
from campaigns.models.campaign import LAST
from corpus.models import Clip
from jobs.models import Job
from judging.models import Adjudication, Batch, Candidate, Flag, Judgement, Kind, Review
from judging.pool.clips import cut_clips
from judging.review.reviewing import Recommendation

STEP, BAR, HEIGHT = 20, 12, 128  # of the drawing, in pixels
TOP_GRADE = 4


@dataclass(frozen=True)
class GradeRow:
    """One annotator's grade of one candidate; struck out once the candidate was reopened."""

    judgement: Judgement
    who: str
    for_lead: bool = True  # who may know why all work of a person was reopened

    @property
    def struck(self) -> bool:
        return self.judgement.reopening_id is not None

    @property
    def seconds(self) -> float | None:
        spent = [each.seconds for each in self.judgement.revisions.all() if each.seconds is not None]
        return sum(spent) if spent else None

    @property
    def words(self) -> str:
        """Who, how long and when."""
        revisions = list(self.judgement.revisions.all())
        parts = [self.who, *(["round two"] if self.judgement.assignment.round == 2 else [])]
        parts += [f"{self.seconds:.1f} s"] if self.seconds is not None else []
        parts += [time_of(revisions[-1].at)] if revisions else []
        return ", ".join(parts)

    @property
    def why_struck(self) -> str:
        record = self.judgement.reopening
        if not record:
            return ""
        why = record.reason if self.for_lead or not record.annotator_id else record.what
        return f"Reopened {time_of(record.at)}: {why}"


@dataclass(frozen=True)
class FlagRow:
    """A flag, with the annotator who raised it."""

    flag: Flag
    who: str

    @property
    def words(self) -> str:
        comment = f": “{self.flag.comment}”" if self.flag.comment else ""
        return f"{self.who}, {time_of(self.flag.at)}{comment}"


@dataclass(frozen=True)
class CandidateRow:
    candidate: Candidate
    grades: list[GradeRow]
    flags: list[FlagRow]
    adjudication: Adjudication | None
    last: bool  # among those that tell whether there is more to find

    @property
    def clip_label(self) -> str:
        return f"Clip of rank {self.candidate.rank}"

    @property
    def may_be_graded(self) -> bool:
        """Whether the candidate needs the lead's own grade, or has it."""
        return self.candidate.needs_the_lead or self.adjudication is not None


@dataclass(frozen=True)
class VerdictButton:
    """A button by which the lead decides on a batch."""

    verdict: str
    words: str
    key: str
    keys: str  # all that press it
    recommended: bool


VERDICTS = {Review.Verdict.SECOND: ("Second batch", "b"), Review.Verdict.CLOSE: ("Close the query", "c")}


def verdict_buttons(recommendation: Recommendation) -> list[VerdictButton]:
    """The verdicts that are possible; `y` accepts the recommendation, `n` refuses it."""
    buttons = []
    for verdict, (words, key) in VERDICTS.items():
        recommended = verdict == recommendation.verdict
        more = " y" if recommended else " n" if verdict == recommendation.other else ""
        if verdict in recommendation.possible:
            buttons.append(VerdictButton(verdict, words, key, f"{key}{more}", recommended))
    return buttons


@dataclass(frozen=True)
class Editions:
    """All editions of one batch, of which the newest stands for all, and the query's other batches."""

    all: list[Batch]  # oldest first
    others: list[Batch]

    @classmethod
    def of(cls, batch: Batch) -> Editions:
        batches = list(batch.query.batches.order_by("number", "edition"))
        newest = {each.number: each for each in batches}
        own = newest.pop(batch.number)
        return cls([each for each in batches if each.number == own.number], list(newest.values()))

    @property
    def batch(self) -> Batch:
        return self.all[-1]

    @property
    def at_work(self) -> Batch | None:
        return next((each for each in self.all if not each.is_done), None)

    @property
    def is_to_review(self) -> bool:
        """As `to_review` has it in the database."""
        batch = self.batch
        wanted = batch.state == Batch.State.SETTLED and batch.kind == Kind.POOL
        return wanted and not batch.query.withdrawn and self.at_work is None

    def reviews_and(self, others: Q) -> QuerySet[Review]:
        """Return the reviews of all its editions, also those that were undone, and others by a condition."""
        rows = Review.objects.filter(Q(batch__in=self.all) | others).with_begun()
        return rows.select_related("lead__user", "undone_by__user", "batch__query").order_by("pk")


def candidate_rows(editions: Editions, reader: Membership) -> list[CandidateRow]:
    """The candidates of the batch by rank, whatever edition they are in."""
    candidates = list(
        Candidate.objects.filter(batch__in=editions.all)
        .order_by("rank")
        .select_related("moment__video", "clip", "batch")
        .prefetch_related(
            Prefetch(
                "judgements",
                Judgement.objects.select_related(
                    "annotator__user", "annotator__same_as__user", "assignment", "reopening"
                ),
            ),
            "judgements__revisions",
            Prefetch("flags", Flag.objects.select_related("assignment__annotator__user").order_by("pk")),
            Prefetch("adjudications", Adjudication.objects.in_force().select_related("lead__user")),
        )
    )
    last = {candidate.pk for candidate in candidates[-LAST:]}
    return [_row(candidate, reader, candidate.pk in last) for candidate in candidates]


def _row(candidate: Candidate, reader: Membership, last: bool) -> CandidateRow:
    judgements = [each for each in candidate.judgements.all() if each.seat or each.reopening_id]
    judgements.sort(key=lambda each: (each.seat is not None, each.seat or 0, each.pk))
    grades = [GradeRow(each, named(each.annotator.as_worker, reader), reader.may_review) for each in judgements]
    flags = [FlagRow(each, named(each.assignment.annotator, reader)) for each in candidate.flags.all()]
    return CandidateRow(candidate, grades, flags, next(iter(candidate.adjudications.all()), None), last)


def named(annotator: Membership, reader: Membership) -> str:
    """A worker's number; for the lead with the name."""
    number = f"worker {annotator.worker}"
    return f"{number} ({annotator.user.get_username()})" if reader.may_review else number


def time_of(at: datetime) -> str:
    return date_format(localtime(at), "j M Y, H:i")


@dataclass(frozen=True)
class ClipsToCome:
    batch: Batch
    candidates: list[Candidate]  # whose clips are not there
    of: int
    job: Job | None

    @classmethod
    def of_batch(cls, batch: Batch | None, rows: list[CandidateRow]) -> ClipsToCome | None:
        """What a batch waits for, or None if it has been opened. The rows are those of all its editions."""
        if batch is None or batch.state != Batch.State.PREPARING:
            return None
        candidates = [row.candidate for row in rows if row.candidate.batch_id == batch.pk]
        to_come = [each for each in candidates if each.clip and each.clip.is_to_come]
        job = cut_clips.jobs(batch).not_done().first()
        return cls(batch, to_come, len(candidates), job)

    @property
    def number(self) -> int:
        return len(self.candidates)

    @property
    def failed(self) -> list[Candidate]:
        """The candidates whose clips cannot be cut."""
        return [each for each in self.candidates if each.clip and each.clip.state == Clip.State.FAILED]


@dataclass(frozen=True)
class Bar:
    candidate: Candidate
    x: float
    y: float
    height: float
    last: bool

    @property
    def middle(self) -> float:
        return self.x + BAR / 2

    @property
    def right(self) -> float:
        return self.x + BAR

    @property
    def adjudicated(self) -> bool:
        return self.candidate.outcome == Candidate.Outcome.ADJUDICATED

    @property
    def what(self) -> str:
        grade = "" if self.candidate.grade is None else str(self.candidate.grade)
        return f"{grade} by the lead" if self.adjudicated else grade or self.candidate.outcome


@dataclass(frozen=True)
class Chart:
    bars: list[Bar]
    line: str
    width: int
    last_from: int
    last_width: int
    grid: list[tuple[int, float]]
    bar: int = BAR
    height: int = HEIGHT

    @property
    def outer_width(self) -> int:
        """With the numbers of the grades."""
        return self.width + 40

    @property
    def adjudicated(self) -> bool:
        return any(bar.adjudicated for bar in self.bars)


def grades_by_rank(candidates: list[Candidate]) -> Chart:
    """The drawing's coordinates for the candidates of a batch, in the order of their ranks."""
    bars = []
    for number, candidate in enumerate(candidates):
        height = HEIGHT * (candidate.grade or 0) / TOP_GRADE
        x = number * STEP + (STEP - BAR) / 2
        bars.append(Bar(candidate, x, HEIGHT - height, height, number >= len(candidates) - LAST))
    levels = [(bar, bar.candidate.similarity) for bar in bars]
    line = " ".join(f"{bar.middle:.1f},{_level(level):.1f}" for bar, level in levels if level is not None)
    grid = [(grade, HEIGHT * (1 - grade / TOP_GRADE)) for grade in range(TOP_GRADE + 1)]
    width, last_width = len(bars) * STEP, min(LAST, len(bars)) * STEP
    return Chart(bars, line, width, width - last_width, last_width, grid)


def _level(similarity: float) -> float:
    return HEIGHT * (1 - min(max(similarity, 0.0), 1.0))
