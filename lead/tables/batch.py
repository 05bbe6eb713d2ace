"""What the lead reads of a batch: each candidate with who said what, when and how long it took."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Prefetch, QuerySet
from django.utils.formats import date_format
from django.utils.timezone import localtime

from campaigns.models import Membership
from campaigns.models.campaign import LAST
from judging.models import Adjudication, Batch, Candidate, Flag, Judgement, Kind, Review
from judging.models.states import WITHOUT_CONSENSUS


@dataclass(frozen=True)
class Said:
    """One annotator's grade of one candidate; struck out once the candidate was reopened."""

    judgement: Judgement
    who: str

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
        parts += [moment_of(revisions[-1].at)] if revisions else []
        return ", ".join(parts)

    @property
    def why_struck(self) -> str:
        record = self.judgement.reopening
        return f"Reopened {moment_of(record.at)}: {record.reason}" if record else ""


@dataclass(frozen=True)
class Complaint:
    """A flag, with who put it up."""

    flag: Flag
    who: str

    @property
    def words(self) -> str:
        comment = f": “{self.flag.comment}”" if self.flag.comment else ""
        return f"{self.who}, {moment_of(self.flag.at)}{comment}"


@dataclass(frozen=True)
class Row:
    candidate: Candidate
    said: list[Said]
    flags: list[Complaint]
    adjudication: Adjudication | None
    last: bool  # among those that tell whether there is more to find

    @property
    def needs_a_word(self) -> bool:
        return self.candidate.outcome in WITHOUT_CONSENSUS


@dataclass(frozen=True)
class Number:
    """The editions of one number of a query, of which the newest stands for all, and the query's other numbers."""

    editions: list[Batch]  # oldest first
    others: list[Batch]

    @classmethod
    def of(cls, batch: Batch) -> Number:
        batches = list(batch.query.batches.order_by("number", "edition"))
        newest = {each.number: each for each in batches}
        own = newest.pop(batch.number)
        return cls([each for each in batches if each.number == own.number], list(newest.values()))

    @property
    def batch(self) -> Batch:
        return self.editions[-1]

    @property
    def at_work(self) -> Batch | None:
        return next((each for each in self.editions if not each.is_done), None)

    @property
    def is_to_review(self) -> bool:
        """As `to_review` has it in the database."""
        batch = self.batch
        wanted = batch.state == Batch.State.SETTLED and batch.kind == Kind.POOL
        return wanted and not batch.query.withdrawn and self.at_work is None

    @property
    def reviews(self) -> QuerySet[Review]:
        """All that was said of the editions, also what holds no longer."""
        rows = Review.objects.filter(batch__in=self.editions)
        return rows.select_related("lead__user", "undone_by__user").order_by("pk")


def rows_of(number: Number, reader: Membership) -> list[Row]:
    """The candidates of the number by rank, whatever edition they are in."""
    candidates = list(
        Candidate.objects.filter(batch__in=number.editions)
        .order_by("rank")
        .select_related("moment__video", "clip", "batch")
        .prefetch_related(
            Prefetch(
                "judgements", Judgement.objects.select_related("annotator__user", "assignment", "reopening")
            ),
            "judgements__revisions",
            Prefetch("flags", Flag.objects.select_related("assignment__annotator__user").order_by("pk")),
            Prefetch("adjudications", Adjudication.objects.in_force().select_related("lead__user")),
        )
    )
    last = {candidate.pk for candidate in candidates[-LAST:]}
    return [_row(candidate, reader, candidate.pk in last) for candidate in candidates]


def _row(candidate: Candidate, reader: Membership, last: bool) -> Row:
    judgements = [each for each in candidate.judgements.all() if each.seat or each.reopening_id]
    judgements.sort(key=lambda each: (each.seat is not None, each.seat or 0, each.pk))
    said = [Said(each, named(each.annotator, reader)) for each in judgements]
    flags = [Complaint(each, named(each.assignment.annotator, reader)) for each in candidate.flags.all()]
    return Row(candidate, said, flags, next(iter(candidate.adjudications.all()), None), last)


def named(annotator: Membership, reader: Membership) -> str:
    """A worker's number; for the lead with the name."""
    number = f"worker {annotator.worker}"
    return f"{number} ({annotator.user.get_username()})" if reader.may_review else number


def moment_of(at: datetime) -> str:
    return date_format(localtime(at), "j M Y, H:i")
