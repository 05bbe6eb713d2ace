"""What the lead's pages show of a campaign, in a fixed number of queries however large it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Q, QuerySet

from base.text import storable
from campaigns.models import Campaign
from corpus.models import Clip
from jobs.keys import keys_of
from jobs.models import Job
from judging.models import Batch, Kind, Query, Review
from judging.pool.clips import CUT_ANEW, CUT_CLIP, CUT_CLIPS
from judging.pool.ranking import RANK
from judging.pool.study import STUDY
from judging.review.recommending import Recommendation, recommendations
from judging.review.reopening import REOPEN
from judging.work.eligibility import without_annotators
from lead.desk.needs import stuck_batches
from releases.freezing import FREEZE
from releases.models import Release
from releases.training.sets import MAKE_TRAINING_SET
from reports.summaries import COUNT

JOBS_LOOKED_AT = 1000
JOBS_SHOWN = 4  # of each kind of state


def _has(batches: QuerySet[Batch]) -> Q:
    """Queries with such a batch; of these there are few at a time."""
    return Q(pk__in=batches.values("query"))


OPEN = Batch.objects.filter(state=Batch.State.OPEN)
IN_POOL = Q(withdrawn__isnull=True)
# Each filter's words, and which of the pool's queries it shows.
FILTERS: dict[str, tuple[str, Q]] = {
    "": ("All queries", IN_POOL),
    "review": ("To review", IN_POOL & _has(Batch.objects.to_review())),
    "work": ("In work", IN_POOL & _has(OPEN.filter(taken__gt=0))),
    "contested": ("In round two", IN_POOL & _has(OPEN.filter(round=2))),
    "stuck": ("Stuck in round two", IN_POOL & _has(stuck_batches())),
    "waiting": ("Nobody left to judge", IN_POOL & _has(without_annotators())),
    "closed": ("Closed", IN_POOL & Q(closed=True)),
    "withdrawn": ("Withdrawn", Q(withdrawn__isnull=False)),
}
RARE = ("stuck", "waiting")
SORTS = {"": ("as imported", "pk"), "-": ("newest first", "-pk"), "text": ("by text", "text")}


@dataclass(frozen=True)
class Table:
    """Which queries of a campaign the desk lists, and how."""

    show: str = ""
    words: str = ""
    sort: str = ""

    @classmethod
    def asked(cls, asked: Mapping[str, str]) -> Table:
        """What an address asks for; what is not known is as if it were not there."""
        show, sort, words = (asked.get(name, "") for name in ("show", "sort", "q"))
        return cls(
            show if show in FILTERS else "",
            words.strip()[:200] if storable(words) else "",
            sort if sort in SORTS else "",
        )

    def queries(self, campaign: Campaign) -> QuerySet[Query]:
        rows = campaign.queries.filter(FILTERS[self.show][1], kind=Kind.POOL)
        if self.words:
            rows = rows.filter(Q(text__icontains=self.words) | Q(query_id=self.words))
        return rows.order_by(SORTS[self.sort][1], "pk")

    def address(self, **changes: str | int) -> str:
        """The present choice with some changes, as an address."""
        chosen = {"show": self.show, "q": self.words, "sort": self.sort} | changes
        return "?" + urlencode({name: value for name, value in chosen.items() if value})


def filters(campaign: Campaign, table: Table) -> list[tuple[str, str, int, bool]]:
    """Each filter's address, words and number of queries, and whether it is chosen. Rare ones only where some are."""
    numbers = {f"n_{key}": Count("pk", filter=which) for key, (_, which) in FILTERS.items()}
    found = campaign.queries.filter(kind=Kind.POOL).aggregate(**numbers)
    return [
        (table.address(show=key), words, found[f"n_{key}"], key == table.show)
        for key, (words, _) in FILTERS.items()
        if found[f"n_{key}"] or key not in RARE
    ]


ADVICE = {Review.Verdict.SECOND: "second batch", Review.Verdict.CLOSE: "close"}


@dataclass(frozen=True)
class BatchRow:
    """A batch as a small square in the table, and what its end looks like."""

    batch: Batch
    look: str
    words: str
    to_review: bool
    recommendation: Recommendation | None  # once all is settled

    @property
    def advice(self) -> str:
        """The recommendation in a word or two."""
        verdict = self.recommendation.verdict if self.recommendation else None
        return ADVICE[Review.Verdict(verdict)] if verdict else "by hand"

    @property
    def acceptable(self) -> bool:
        """Whether there is a recommendation to follow."""
        return bool(self.to_review and self.recommendation and self.recommendation.verdict)


@dataclass(frozen=True)
class QueryRow:
    query: Query
    batches: list[BatchRow]


def query_rows(queries: list[Query]) -> list[QueryRow]:
    """One row for each query, with its batches; of each number the edition that is in work, or the newest."""
    batches = Batch.objects.filter(query__in=queries).select_related("query__campaign")
    newest: dict[tuple[int, int], Batch] = {}
    for batch in batches.order_by("query", "number", "edition"):
        other = newest.get((batch.query_id, batch.number))
        if other is None or other.is_done:
            newest[batch.query_id, batch.number] = batch
    found = recommendations(batch for batch in newest.values() if batch.is_done)
    by_query: dict[int, list[BatchRow]] = {}
    for batch in newest.values():
        look, words = appearance(batch)
        row = BatchRow(batch, look, words, batch.state == Batch.State.SETTLED, found.get(batch.pk))
        by_query.setdefault(batch.query_id, []).append(row)
    return [QueryRow(query, by_query.get(query.pk, [])) for query in queries]


STATES = {
    Batch.State.PREPARING: "its clips are not all there yet",
    Batch.State.SETTLED: "settled, to review",
    Batch.State.REVIEWED: "reviewed",
    Batch.State.REPLACED: "reopened, in a later edition",
}


def appearance(batch: Batch) -> tuple[str, str]:
    """A batch's state as a class name and as words."""
    if batch.state != Batch.State.OPEN:
        return batch.state, STATES[Batch.State(batch.state)]
    if batch.round == 2:
        return "contested", f"round two, {batch.taken} of 2 places taken"
    return ("work", f"in work, {batch.taken} of 2 places taken") if batch.taken else ("open", "open")


def unfinished_jobs(campaign: Campaign) -> QuerySet[Job]:
    """The campaign's jobs that are waited for: of its own, of clips to come for batches and examples, of releases,
    of training sets, and of somebody's work that is reopened.
    """
    own = Q(kind__in=[RANK, CUT_ANEW, COUNT, STUDY], key=campaign.job_key)
    preparing = Batch.objects.in_campaign(campaign).filter(state=Batch.State.PREPARING)
    unwritten = campaign.releases.filter(state=Release.State.MAKING)
    of_annotators = campaign.reopenings.filter(annotator__isnull=False)
    of_examples = Clip.objects.filter(pk__in=campaign.examples.values("clip"))
    clips, example_clips, releases, reopenings = (
        Q(kind=kind, key__in=keys_of(rows))
        for kind, rows in (
            (CUT_CLIPS, preparing),
            (CUT_CLIP, of_examples),
            (FREEZE, unwritten),
            (REOPEN, of_annotators),
        )
    )
    training_sets = Q(kind=MAKE_TRAINING_SET, key__in=keys_of(campaign.training_sets.all()))
    found = Job.objects.filter(own | clips | example_clips | releases | reopenings | training_sets)
    return found.exclude(state=Job.State.DONE)


def batches_without_clips(campaign: Campaign) -> QuerySet[Batch]:
    """The batches that wait for the lead's word, because clips of them cannot be cut."""
    preparing = Batch.objects.in_campaign(campaign).filter(state=Batch.State.PREPARING)
    failed = Job.objects.filter(kind=CUT_CLIPS, state=Job.State.FAILED, key__in=keys_of(preparing))
    keys = [key.rpartition(" ")[2] for key in failed.values_list("key", flat=True)]
    return preparing.filter(pk__in=keys).order_by("pk")


def jobs_of(campaign: Campaign) -> dict[str, Any]:
    """The campaign's long work: how much is under way, what of it runs, what is delayed, and what failed."""
    found = list(unfinished_jobs(campaign).order_by("pk")[:JOBS_LOOKED_AT])
    failed = [job for job in found if job.has_failed]
    delayed = [job for job in found if job.is_delayed]
    return {
        "unfinished": len(found) - len(failed),
        "waiting": sum(not (job.has_failed or job.is_running or job.is_delayed) for job in found),
        "running": [job for job in found if job.is_running][:JOBS_SHOWN],
        "delayed": [(job, batch_of(job)) for job in delayed[:JOBS_SHOWN]],
        "more_delayed": len(delayed[JOBS_SHOWN:]),
        "failed": [(job, batch_of(job)) for job in failed[:JOBS_SHOWN]],
        "n_failed": len(failed),
        "n_without_clips": sum(1 for job in failed if batch_of(job)),
    }


def batch_of(job: Job) -> str:
    """The primary key of the batch whose clips the job cuts, or nothing."""
    return job.key.rpartition(" ")[2] if job.kind == CUT_CLIPS else ""
