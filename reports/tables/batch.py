"""The table of a batch: each candidate with who graded it, when, and how long it took."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db.models import F, Max, Prefetch, QuerySet, Sum
from django.utils.timezone import localdate, localtime

from campaigns.models import Membership
from campaigns.models.campaign import LAST
from corpus.models import Clip
from jobs.models import Job
from judging.models import Adjudication, Batch, Candidate, Flag, Judgement, Kind, Reopening, ReusedGrade, Review
from judging.models.review import ReviewQuerySet
from judging.pool.clips import cut_clips
from judging.review.reviewing import Recommendation

# Seconds are those of all revisions, as far as they are known.
ABOUT_JUDGEMENTS = {"round": F("assignment__round"), "seconds": Sum("revisions__seconds"), "at": Max("revisions__at")}

REUSED = ReusedGrade.objects.select_related("source__query__campaign", "source__moment")
ADJUDICATED = Adjudication.objects.in_force().select_related("lead__user")


@dataclass(frozen=True)
class GradeRow:
    """One annotator's grade of one candidate; struck out once the candidate was reopened."""

    judgement: Judgement
    round: int
    who: str
    seconds: float | None  # of all its revisions; None if that is not known
    at: datetime | None  # when it was last revised
    for_lead: bool = True  # who may know why all work of a person was reopened

    @property
    def struck(self) -> bool:
        return self.judgement.reopening_id is not None

    @cached_property
    def words(self) -> str:
        """Who, how long and when."""
        parts = [self.who, *(["round two"] if self.round == 2 else [])]
        parts += ["between two grades"] if self.judgement.is_doubtful else []
        parts += [f"{self.seconds:.1f} s"] if self.seconds is not None else []
        parts += [time_of(self.at)] if self.at else []
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
    reuse: ReusedGrade | None = None  # if its grade is that of an earlier campaign

    @property
    def clip_label(self) -> str:
        return f"Clip of rank {self.candidate.rank}"

    @property
    def may_be_graded(self) -> bool:
        """Whether the candidate needs the lead's own grade, or has it."""
        return self.candidate.needs_the_lead or self.adjudication is not None


VERDICTS = {Review.Verdict.SECOND: ("Second batch", "b"), Review.Verdict.CLOSE: ("Close the query", "c")}


def verdict_buttons(recommendation: Recommendation) -> list[dict[str, Any]]:
    """Return the verdicts that are possible, with the keys that press their buttons: `y` accepts, `n` refuses."""
    buttons: list[dict[str, Any]] = []
    for verdict, (words, key) in VERDICTS.items():
        recommended = verdict == recommendation.verdict
        more = " y" if recommended else " n" if verdict == recommendation.other else ""
        if verdict in recommendation.possible:
            about = {"verdict": verdict, "words": words, "recommended": recommended}
            buttons.append(about | {"key": key, "keys": f"{key}{more}"})
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
    def with_second(self) -> set[int]:
        """The query, if it has a second batch."""
        return {each.query_id for each in (self.batch, *self.others) if each.number == 2}

    @property
    def at_work(self) -> Batch | None:
        return next((each for each in self.all if not each.is_done), None)

    @property
    def is_to_review(self) -> bool:
        """As `to_review` has it in the database."""
        batch = self.batch
        wanted = batch.state == Batch.State.SETTLED and batch.kind == Kind.POOL
        return wanted and not batch.query.withdrawn and self.at_work is None

    @property
    def reviews(self) -> ReviewQuerySet:
        """The reviews of all its editions, also those that were undone."""
        rows = Review.objects.filter(batch__in=self.all).with_begun()
        return rows.select_related("lead__user", "undone_by__user").order_by("pk")


def candidate_rows(editions: Editions, reader: Membership) -> list[CandidateRow]:
    """The candidates of the batch by rank, whatever edition they are in."""
    flags = Flag.objects.select_related("assignment__annotator__user").defer("assignment__places", "assignment__limits")
    candidates = list(
        Candidate.objects.filter(batch__in=editions.all)
        .order_by("rank")
        .select_related("moment__video", "clip")
        .prefetch_related(
            Prefetch("judgements", Judgement.objects.annotate(**ABOUT_JUDGEMENTS)),
            Prefetch("flags", flags.order_by("pk")),
        )
    )
    judgements: list[Any] = [judgement for candidate in candidates for judgement in candidate.judgements.all()]
    keys, reopened = (
        {getattr(judgement, name) for judgement in judgements} for name in ("annotator_id", "reopening_id")
    )
    people = Membership.objects.select_related("user", "same_as__user").in_bulk(keys)
    reopenings = Reopening.objects.in_bulk(reopened - {None}) if reopened - {None} else {}
    grades = defaultdict(list)
    for each in sorted(judgements, key=lambda each: (each.seat is not None, each.seat or 0, each.pk)):
        each.annotator = people[each.annotator_id]
        if each.reopening_id:
            each.reopening = reopenings[each.reopening_id]
        if each.seat or each.reopening_id:
            who = named(each.annotator.as_worker, reader)
            row = GradeRow(each, each.round, who, each.seconds, each.at, reader.may_review)
            grades[each.candidate_id].append(row)
    batches = {batch.pk: batch for batch in editions.all}
    for candidate in candidates:
        candidate.batch = batches[candidate.batch_id or 0]
    last = {candidate.pk for candidate in candidates[-LAST:]}
    reuses = _of_candidates(REUSED, candidates, Candidate.Outcome.REUSED)
    graded = _of_candidates(ADJUDICATED, candidates, Candidate.Outcome.ADJUDICATED)
    return [
        CandidateRow(
            each,
            grades[each.pk],
            [FlagRow(flag, named(flag.assignment.annotator, reader)) for flag in each.flags.all()],
            graded.get(each.pk),
            each.pk in last,
            reuses.get(each.pk),
        )
        for each in candidates
    ]


def _of_candidates(rows: QuerySet[Any], candidates: list[Candidate], outcome: str) -> dict[int, Any]:
    """Return the row of each of the candidates that have the outcome."""
    keys = [candidate.pk for candidate in candidates if candidate.outcome == outcome]
    return {row.candidate_id: row for row in rows.filter(candidate__in=keys)} if keys else {}


def named(annotator: Membership, reader: Membership) -> str:
    """A worker's number; for the lead with the name."""
    number, name = f"worker {annotator.worker}", name_for(annotator, reader)
    return f"{number} ({name})" if name else number


def name_for(annotator: Membership, reader: Membership) -> str:
    """Return the name of a worker if the reader may know it, and else nothing."""
    return annotator.user.get_username() if reader.may_review else ""


def time_of(at: datetime) -> str:
    """Return a time as "5 Nov, 14:03", with its year if that is another one.

    Django's function takes five times as long, and a batch has a hundred.
    """
    at = localtime(at)
    return f"{at.day} {at:%b, %H:%M}" if at.year == localdate().year else f"{at.day} {at:%b %Y, %H:%M}"


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
        to_come = [candidate for candidate in candidates if candidate.clip and candidate.clip.is_to_come]
        job = cut_clips.jobs(batch).not_done().first()
        return cls(batch, to_come, len(candidates), job)

    @property
    def number(self) -> int:
        return len(self.candidates)

    @property
    def failed(self) -> list[Candidate]:
        """The candidates whose clips cannot be cut."""
        return [
            candidate for candidate in self.candidates if candidate.clip and candidate.clip.state == Clip.State.FAILED
        ]
