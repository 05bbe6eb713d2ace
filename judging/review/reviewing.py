"""Reviewing settled batches: the verdict that the grades recommend, that of a lead or of the campaign's policy, and
undoing it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count, Max, Min, Q, QuerySet

from base.database import compiled
from base.dates import start_of_day
from base.errors import WrongState
from base.transactions import all_or_nothing, locked
from campaigns.events import Happened, tell
from campaigns.models import Campaign, LogEntry, Membership, log
from jobs.registry import each_hour
from judging.models import Batch, Candidate, Flag, Query, Review
from judging.models.pool import BatchQuerySet
from judging.pool import opening
from judging.pool.opening import REUSED
from judging.summaries import Part, summarize

SECOND, CLOSE = Review.Verdict.SECOND, Review.Verdict.CLOSE
WORDS = {SECOND: "Open the second batch", CLOSE: "Close the query"}


@all_or_nothing
def review(batch: Batch, lead: Membership | None, verdict: str, reason: str = "") -> Review:
    """Give a verdict on a settled batch: open the second batch, or close the query.

    Without a lead, the verdict is the policy's. The same verdict again returns the same review. Raise WrongState if the
    batch is not settled, a part of it is judged again, or the verdict is impossible.
    """
    batch = locked(Batch.objects.filter(pk=batch.pk)).select_related("query__campaign").get()
    if (earlier := review_in_force(batch)) and earlier.verdict == verdict:
        return earlier
    if batch.state != Batch.State.SETTLED:
        raise WrongState(f"This batch is {batch.state}, not settled; it cannot be reviewed.")
    if not Batch.objects.to_review().filter(pk=batch.pk).exists():
        raise WrongState("A part of this batch is being judged again, or its query is withdrawn.")
    if verdict == SECOND:
        if batch.number != 1 or batch.query.campaign.batches < 2:
            raise WrongState("A query has at most two batches; this was the last one. Close the query instead.")
        opening.open_batch(batch.query, 2)
    elif batch.query.batches.filter(number__gt=batch.number, further=False).exists():
        raise WrongState("The second batch is there already; close the query from that one.")
    made = Review.objects.create(batch=batch, lead=lead, verdict=verdict, reason=reason)
    log(lead, LogEntry.Kind.REVIEW, batch, after=f"{made}: {reason}" if reason else made)
    batch.editions.filter(state=Batch.State.SETTLED).update(state=Batch.State.REVIEWED)
    if note_closed(batch.query):
        query = batch.query
        tell(query.campaign_id, Happened.QUERY_CLOSED, query=query.pk, query_id=query.query_id)
    if lead:
        lead.campaign.touch()
    return made


def review_in_force(batch: Batch) -> Review | None:
    """Return the batch's review that is not undone."""
    return batch.reviews.in_force().first()


def waiting_in_order(campaign: Campaign) -> BatchQuerySet:
    """Return the batches to review in the one order in which the pages and the API go through them."""
    return Batch.objects.in_campaign(campaign).to_review().order_by("pk")


@dataclass(frozen=True)
class InLine:
    """Where a batch stands among those to review; before the first comes the last, and after the last the first."""

    number: int | None  # from 1; None if the batch does not wait
    of: int
    before: int | None  # primary keys
    after: int | None


def place_in_line(batch: Batch) -> InLine:
    row = _line(batch.campaign_id, batch.pk)
    if row is None:  # nothing waits
        return InLine(None, 0, None, None)
    _, of, itself, ahead, before, after, first, last = row
    return InLine(ahead + 1 if itself else None, of, before or last, after or first)


def _line_of(campaign: int, batch: int) -> QuerySet[Any, Any]:
    earlier, later = Q(pk__lt=batch), Q(pk__gt=batch)
    waiting = Batch.objects.filter(campaign=campaign).to_review().order_by()
    return waiting.values_list("campaign").annotate(
        Count("pk"),
        itself=Count("pk", filter=Q(pk=batch)),
        ahead=Count("pk", filter=earlier),
        before=Max("pk", filter=earlier),
        after=Min("pk", filter=later),
        first=Min("pk", filter=earlier | later),
        last=Max("pk", filter=earlier | later),
    )


_line = compiled(_line_of, keys=2)


def reviewed_today(lead: Membership) -> int:
    """Return how many reviews of the lead are from today and in force."""
    return Review.objects.in_force().filter(lead=lead, at__gte=start_of_day()).count()


def last_review(lead: Membership) -> tuple[Review | None, bool]:
    """Return the last review of the lead that can be undone, and whether a newer one cannot be undone any more."""
    rows = Review.objects.in_force().filter(lead=lead).with_begun().order_by("-pk")
    given = rows.select_related("batch__query__campaign")
    newest = given.first()
    if newest is None or not newest.is_begun:
        return newest, False
    return given.filter(is_begun=False).first(), True


def note_closed(query: Query) -> bool:
    """Set and return whether the query is closed: it is while each of its batches is reviewed, as the caller set it."""
    locked(Query.objects.filter(pk=query.pk)).get()
    closed = Query.objects.filter(pk=query.pk).all_reviewed().exists()
    Query.objects.filter(pk=query.pk).update(closed=closed)
    return closed


@all_or_nothing
def undo(review: Review, lead: Membership) -> None:
    """Undo a review, so that the batch is to be reviewed again. Undoing it twice is harmless.

    Raise WrongState if the review opened a second batch that somebody has begun, or a lead has reviewed.
    """
    query = review.batch.query
    Query.objects.filter(pk=query.pk).lock_with_batches()
    review.refresh_from_db()
    if review.undone:
        return
    if review.verdict == SECOND:
        seconds = query.batches.filter(number=2)
        if seconds.with_work().exists():
            raise WrongState(
                "Somebody has begun the second batch, or reviewed it, so opening it can no longer be undone. What is "
                "judged there stays."
            )
        seconds.delete()  # its candidates are then in no batch, as before
        summarize([query.pk])
    Review.objects.filter(pk=review.pk).undo(lead)
    log(lead, LogEntry.Kind.REVIEW_UNDONE, review.batch, review)
    review.batch.editions.filter(state=Batch.State.REVIEWED).update(state=Batch.State.SETTLED)
    note_closed(query)
    lead.campaign.touch()


def follow_policy(batch: Batch) -> None:
    """Review a batch that has just settled, if the campaign's policy says so. The caller holds the batch's lock."""
    if batch.state != Batch.State.SETTLED:
        return
    campaign = batch.query.campaign
    if campaign.auto_second_from is None and campaign.auto_close_below is None:
        return
    # Two editions can settle at the same time. The process that gets this lock last sees that both are settled.
    locked(Query.objects.filter(pk=batch.query_id)).get()
    settled = Batch.objects.to_review().filter(pk__in=batch.editions)
    newest = locked(settled, skip_locked=True).select_related("query__campaign").first()
    if newest is None or _stays_by_hand(newest):
        return
    recommended = recommendation(newest)
    if newest.further:
        review(newest, None, CLOSE, f"policy: {recommended.reason}")
        return
    if automatic := _automatic(campaign, recommended.mean):
        verdict, comparison = automatic
        if verdict in recommended.possible:
            review(newest, None, verdict, f"policy: last five mean {comparison}")


@each_hour
def follow_policies_on_reused() -> None:
    """Review the batches that settled without anybody's submission, because all their grades are reused."""
    with_policy = ~Q(query__campaign__auto_second_from=None, query__campaign__auto_close_below=None)
    unjudged = Batch.objects.to_review().filter(with_policy, assignments=None, candidates__outcome=REUSED).distinct()
    for key in unjudged.order_by("pk").values_list("pk", flat=True):
        with transaction.atomic():
            batches = Batch.objects.select_related("query__campaign")
            follow_policy(locked(batches.filter(pk=key)).get())


def _stays_by_hand(batch: Batch) -> bool:
    """Return whether only a lead may review the batch: a candidate is flagged, or a policy's review was undone."""
    undone = Review.objects.filter(batch__in=batch.editions, lead=None, undone__isnull=False)
    return undone.exists() or batch.candidates_of_editions.filter(outcome=Candidate.Outcome.FLAGGED).exists()


def _automatic(campaign: Campaign, mean: float | None) -> tuple[str, str] | None:
    """Return the policy's verdict on a mean and the comparison behind it, or None between the two thresholds."""
    second_from, close_below = campaign.auto_second_from, campaign.auto_close_below
    if mean is not None and second_from is not None and mean >= second_from:
        return SECOND, f"{format_mean(mean)} ≥ {format_mean(second_from)}"
    if mean is not None and close_below is not None and mean < close_below:
        return CLOSE, f"{format_mean(mean)} < {format_mean(close_below)}"
    return None


@dataclass(frozen=True)
class Recommendation:
    """The verdict that the grades suggest, with its reason."""

    mean: float | None  # of the final grades among the last five candidates
    verdict: str | None  # None if the lead has to decide by hand
    reason: str
    possible: tuple[str, ...]  # the verdicts that the lead can give

    @property
    def other(self) -> str | None:
        """The possible verdict that is not recommended, if there is one."""
        return next((each for each in self.possible if self.verdict and each != self.verdict), None)


def recommendation(batch: Batch) -> Recommendation:
    """Return the recommendation for a batch as it is now in the database."""
    return recommendations(Batch.objects.filter(pk=batch.pk).select_related("query__campaign"))[batch.pk]


def recommendations(batches: Iterable[Batch], with_second: set[Any] | None = None) -> dict[int, Recommendation]:
    """Return the recommendation for each batch and all its editions, by the batch's key, as the batches were read.

    The number of database queries does not depend on the number of batches. `with_second` are the queries that have a
    second batch, if the caller has read them.
    """
    batches = list(batches)
    queries = {batch.query_id for batch in batches}
    if with_second is None:
        seconds = Batch.objects.filter(query__in=queries, number=2) if batches else Batch.objects.none()
        with_second = set(seconds.values_list("query", flat=True))
    waiting = _waiting(queries) if any(batch.flagged for batch in batches) else {}
    found = {}
    for batch in batches:
        second_there = batch.query_id in with_second
        possible = _possible(batch, second_there)
        waits = waiting.get((batch.query_id, batch.number), 0)
        found[batch.pk] = _recommend(batch, batch.last_mean, possible, second_there, waits)
    return found


def _waiting(queries: set[int]) -> dict[Part, int]:
    """Return for each batch the number of flagged candidates with a flag that no lead has handled."""
    flagged = Candidate.Outcome.FLAGGED
    flags = Flag.objects.filter(candidate__query__in=queries, candidate__outcome=flagged, handled=None)
    parts = flags.order_by().values_list("candidate__query", "candidate__batch__number")
    return {(query, number): n for query, number, n in parts.annotate(Count("candidate", distinct=True))}


def _possible(batch: Batch, second_there: bool) -> tuple[str, ...]:
    campaign = batch.query.campaign
    if batch.number != 1 or campaign.batches < 2 or batch.query.ranked <= campaign.batch_size:
        return (CLOSE,)
    return (SECOND,) if second_there else (SECOND, CLOSE)


def _recommend(
    batch: Batch, mean: float | None, possible: tuple[str, ...], second_there: bool, waiting: int
) -> Recommendation:
    if waiting:
        return Recommendation(mean, None, f"Resolve {waiting} flag{'s' if waiting > 1 else ''} first.", possible)
    if batch.further:
        return Recommendation(mean, CLOSE, "Nothing is opened after what runs found. Close the query.", possible)
    if mean is None:
        return Recommendation(mean, None, "None of the last five has a final grade. Decide yourself.", possible)
    threshold = batch.query.campaign.second_from
    wanted = SECOND if mean >= threshold else CLOSE
    verdict = wanted if wanted in possible else possible[0]
    words = WORDS[Review.Verdict(verdict)]
    if verdict == SECOND and second_there:
        words = "Keep the second batch"
    elif verdict != wanted:
        words = f"{'A third batch is never opened' if batch.number > 1 else 'No more candidates are ranked'}. {words}"
    comparison = f"Last five average {format_mean(mean)} (threshold {format_mean(threshold)})"
    return Recommendation(mean, verdict, f"{comparison}. {words}.", possible)


def format_mean(value: float) -> str:
    """Return the value with one or two decimals.

    >>> format_mean(2.0), format_mean(2.75), format_mean(7 / 3)
    ('2.0', '2.75', '2.33')
    """
    text = f"{value:.2f}"
    return text.removesuffix("0")
