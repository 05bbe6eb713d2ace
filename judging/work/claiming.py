"""Claiming a batch, and resuming an assignment after its lease has run out; telling of new work; who may judge a batch.

Nobody judges a candidate twice. Round two goes to people who did not open the batch in round one, because whoever did
would know the round. If nobody else is left, those who said nothing about it may return; for others the campaign
decides, and then asks for their grades again.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from typing import Any

from django.conf import settings
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Greatest, Now
from django.db.models.lookups import Exact
from django.utils import translation
from django.utils.translation import gettext

from base.database import prepared
from base.errors import Stale, WrongState
from base.transactions import all_or_nothing, locked
from campaigns import mails
from campaigns.models import Campaign, Membership
from jobs.errors import JobNotYet
from jobs.queue import Lane
from jobs.registry import Report, kind
from judging.consensus import ANNOTATORS
from judging.models import Assignment, Batch, Candidate, Flag, Judgement, Kind
from judging.models.assignment import AHEAD
from judging.models.pool import BatchQuerySet, CandidateQuerySet
from judging.models.states import AssignmentState
from judging.pool.clips import hurry
from judging.quality import checks, exam
from judging.work.places import limit_reached, spent

Parts = dict[Batch, list[Candidate]]  # batches that are handed out together, each with the pairs of its round
NOBODY = Q(pk__in=[])
ANNOTATOR, CAMPAIGN, GROUP = -1, -2, "\0"  # stand-ins, which no row has
STUCK_AFTER = timedelta(days=1)  # that a contested batch finds nobody, or an exam is not marked


@all_or_nothing
def claim(annotator: Membership) -> Assignment | None:
    """Give the annotator the batch that they hold, or a free one. Return None if there is nothing to judge.

    Raise WrongState if the member is no active annotator.
    """
    # One claim at a time for each person: two tabs get the same batch.
    annotator = locked(Membership.objects.filter(pk=annotator.pk)).select_related("campaign").get()
    if not annotator.may_judge:
        raise WrongState(gettext("Your membership of this campaign is not that of an active annotator."))
    found = _held_by(annotator) or _new_for(annotator)
    if found and annotator.waits:
        annotator.stop_waiting()
    return found


def load_ahead(annotator: Membership) -> list[Assignment]:
    """Return the batch in hand and up to `AHEAD` more, in the order in which they are judged, for an evening offline.

    Each lease lasts for as long as all of them, one after the other. An exam has nothing after it. Raise WrongState if
    the member is no active annotator.
    """
    if claim(annotator):  # each batch in its own transaction, so that nobody waits for a batch while holding another
        all(_loaded(annotator, turn) for turn in range(1, AHEAD + 1))
    return list(annotator.assignments.in_turn().select_related("annotator__user", "batch__query"))


@all_or_nothing
def _loaded(annotator: Membership, turn: int) -> bool:
    annotator = locked(Membership.objects.filter(pk=annotator.pk)).select_related("campaign").get()
    held = annotator.assignments.in_turn()
    if annotator.must_pass_exam or not (held.filter(turn=turn).exists() or _new_for(annotator, turn)):
        return False
    _follow(annotator)
    return True


def _follow(annotator: Membership) -> None:
    """Let the leases of all that the annotator holds last for as long as those of all, one after the other."""
    held = annotator.assignments.in_turn()
    lasts = timedelta(seconds=settings.ASSIGNMENT_LEASE * held.count())
    held.held().update(lease=Greatest("lease", Now() + lasts))


def _new_for(annotator: Membership, turn: int = 0) -> Assignment | None:
    if annotator.must_pass_exam:
        return exam.next_batch(annotator)
    if annotator.campaign.week_quota is not None:  # which all claims share
        locked(Campaign.objects.filter(pk=annotator.campaign_id)).get()
    if limit_reached(annotator):
        return None
    if batch := _free_batch_for(annotator, turn):
        return batch
    hurry(annotator.campaign)
    return None


def wait_for_work(annotator: Membership, site: str) -> None:
    """Have the annotator told once, as soon as there is work: by mail, or else by their open page, which asks.

    `site` is the address of this site, to which the mail leads.
    """
    annotator.wait_for_work()
    if mails.address_of(annotator.user):
        tell_of_work.ask(annotator, site=site, language=translation.get_language())


@kind(
    "tell-of-work",
    "Tell you of new work",
    lane=Lane.QUICK,
    of=Membership,
    person="user",
    subject="{0.campaign}",
    page=("work",),
)
def tell_of_work(annotator: Membership, report: Report, site: str, language: str) -> None:
    """Mail the annotator that there is work, unless they have learnt it meanwhile, stopped waiting, or left."""
    address = mails.address_of(annotator.user)
    if not annotator.waits or annotator.has_left or not address:
        return
    if not _came_free_for(annotator):
        raise JobNotYet("there is none yet")
    with translation.override(language):
        mails.send(address, *mails.new_work(annotator, site))
    annotator.stop_waiting()


def news(annotator: Membership) -> dict[str, bool]:
    """Return whether there is work for an annotator who waits for it, which only one of several calls learns.

    `waits` says whether the annotator goes on waiting.
    """
    waits = bool(annotator.waits)
    if not waits or not _came_free_for(annotator):
        return {"work": False, "waits": waits}
    return {"work": annotator.stop_waiting(), "waits": False}


def _came_free_for(annotator: Membership) -> bool:
    """Return whether there is work for the annotator, also after batches of others whose lease has run out are free."""
    for expired in Assignment.objects.expired().alone().filter(annotator__campaign=annotator.campaign_id):
        expired.lapse()
    return has_work(annotator)


def has_work(annotator: Membership) -> bool:
    """Return whether the annotator would get a batch now."""
    if not annotator.may_judge:
        return False
    if annotator.assignments.live().exists():
        return True
    if annotator.must_pass_exam:
        return exam.has_batch(annotator)
    return not limit_reached(annotator) and any(free.exists() for free in claimable_by(annotator))


def _held_by(annotator: Membership) -> Assignment | None:
    """Return the assignment in hand, or the first that was loaded ahead. End those that others let expire."""
    in_hands = Q(annotator=annotator) | Q(annotator__campaign=annotator.campaign_id, lease__lte=Now())
    live = list(Assignment.objects.in_turn().filter(in_hands))
    own = [each for each in live if each.annotator_id == annotator.pk]
    if held := next(filter(None, (each.take_up() for each in own)), None):
        if len(own) > 1 or held.turn:
            Assignment.objects.filter(pk=held.pk).update(turn=0)
            _follow(annotator)
        return held
    for expired in live:
        expired.lapse()
    return None


def _free_batch_for(annotator: Membership, turn: int) -> Assignment | None:
    while batch := _free_batch(annotator):
        # The lock protects the batch's row only. Its query may have been withdrawn while this process waited. What the
        # annotator did cannot have changed, because the annotator's row is locked too.
        if pairs := _still_free(batch):
            return _hand(annotator, {batch: pairs} | _contested_too(annotator, batch, pairs), turn)
    return None


def _still_free(batch: Batch) -> list[Candidate]:
    """Return the pairs of the round, or none if nobody may claim the batch any more."""
    pairs = batch.in_round.filter(batch__in=with_free_slot().filter(pk=batch.pk))
    return list(pairs.select_related("clip", "moment", "query"))


def _hand(annotator: Membership, parts: Parts, turn: int) -> Assignment:
    """Give the annotator batches, mostly one, in the places of the first, with what is hidden among them."""
    hidden = checks.hidden(annotator, parts)
    places = {batch: batch.in_order(annotator, pairs, hidden[batch]) for batch, pairs in parts.items()}
    first, *others = parts
    handed = first.hand_to(annotator, [pair for batch in parts for pair in places[batch]], turn=turn)
    for batch in others:
        batch.hand_to(annotator, parts[batch], joined_to=handed)
    return handed


def _contested_too(annotator: Membership, batch: Batch, pairs: list[Candidate]) -> Parts:
    """Return other batches in round two, each of another query, whose pairs fit into one batch beside these."""
    campaign, parts = annotator.campaign, Parts()
    room = campaign.batch_size - len(pairs)
    if not campaign.mixes_queries or batch.round == 1:
        return parts
    for free in claimable_by(annotator):
        # Each has a contested pair at least.
        for other in locked(free.filter(round=2).exclude(query=batch.query_id), skip_locked=True)[:room]:
            pairs, known = _still_free(other), {part.query_id for part in parts}
            if pairs and len(pairs) <= room and other.query_id not in known:
                parts[other], room = pairs, room - len(pairs)
    return parts


def _free_batch(annotator: Membership) -> Batch | None:
    """Return the first batch that the annotator may judge, locked."""
    # Batches that others are claiming are skipped, so that nobody waits. If no other is free, wait for one of them.
    campaign = annotator.campaign
    values = {ANNOTATOR: annotator.pk, CAMPAIGN: campaign.pk, GROUP: annotator.group}
    for skip_locked in (True, False):
        for statement, stand_ins in _first_free(campaign.may_return, campaign.has_groups, skip_locked):
            with prepared():
                found = list(Batch.objects.raw(statement, [values.get(each, each) for each in stand_ins]))
            if found:
                return found[0]
    return None


@cache
def _first_free(may_return: bool, has_groups: bool, skip_locked: bool) -> list[tuple[str, tuple[Any, ...]]]:
    """Return the statements that find the first batch of each part of `claimable_by`, with stand-ins for its values.

    They are written once: Django takes longer to write them than the database to run them.
    """
    campaign = Campaign(pk=CAMPAIGN, may_return=may_return, has_groups=has_groups)
    annotator = Membership(pk=ANNOTATOR, campaign=campaign, group=GROUP)
    return [locked(free, skip_locked=skip_locked)[:1].query.sql_with_params() for free in claimable_by(annotator)]


@all_or_nothing
def resume(assignment: Assignment) -> Assignment:
    """Give a lapsed assignment back to its annotator, under a new fence.

    Raise Stale if the batch's slots are taken, the assignment was submitted, or the query is withdrawn, and WrongState
    if the annotator holds another batch.
    """
    annotator = locked(Membership.objects.filter(pk=assignment.annotator_id)).get()
    batch = locked(Batch.objects.filter(pk=assignment.batch_id)).get()
    assignment.refresh_from_db()
    if assignment.state == Assignment.State.LIVE and (held := assignment.take_up()):
        return held
    if batch.query.withdrawn:
        raise Stale(gettext("This query is no longer judged. What you saved is kept on record."))
    needs_slot = assignment.slot is not None
    free = batch.state == Batch.State.OPEN and batch.round == assignment.round and batch.taken < ANNOTATORS
    if assignment.is_done or (needs_slot and not free) or not annotator.may_judge:
        raise Stale(
            gettext("This batch has gone to others meanwhile, or is submitted. What you saved is kept on record.")
        )
    if annotator.assignments.in_turn().filter(turn=0).exists():
        raise WrongState(gettext("You have another batch in your hands. Submit that one first."))
    if not needs_slot:
        return batch.lend_to(annotator, assignment.round)
    resumed = batch.hand_to(annotator, assignment.candidates_in_order(), resumes=True)
    for joined in assignment.joined.filter(state=Assignment.State.LAPSED).order_by("batch"):
        _join_again(joined, resumed, annotator)
    return resumed


def _join_again(joined: Assignment, resumed: Assignment, annotator: Membership) -> None:
    """Give back what was joined to a resumed assignment, unless it has gone to others: its places only fill then."""
    batch = locked(with_free_slot().filter(pk=joined.batch_id, round=joined.round)).first()
    if batch:
        batch.hand_to(annotator, joined.candidates_in_order(), joined_to=resumed, resumes=True)


def claimable_by(annotator: Membership) -> Iterator[BatchQuerySet]:
    """Yield the batches with a free slot that the annotator may judge, in two parts.

    First come batches of queries that are new to the annotator, because a second batch of a query, coming after the
    first, tells that its ranks are lower. In each part, queries that have begun come before others, and both in the
    order that was drawn, so that what is finished is a random sample of the queries as soon as possible. Before that
    comes the priority that a lead gave to a stratum. An index has the campaign's batches in this order, so that the
    first of a part is found without reading the others.

    Round one of a batch may be a group's. Round two is for everybody who is new to it, but for others than the group
    only once nobody of the group is.
    """
    shut_out, others = _began_earlier(annotator, OuterRef("pk"), OuterRef("round")), _new_to_it(annotator)
    opened = Q(
        Exists(Assignment.objects.filter(annotator=annotator, batch=OuterRef("pk"), round__lt=OuterRef("round")))
    )
    shut_out = opened & others if annotator.campaign.may_return else shut_out | (opened & others)
    free = with_free_slot().in_campaign(annotator.campaign).order_by("priority", "-begun", "place", "pk")
    if annotator.campaign.has_groups:  # else the statement is a shorter one
        of_others = Q(round=2) & ~Q(Exists(_able_annotators().filter(group=OuterRef("group"))))
        free = free.filter(Q(group__in=sorted({"", annotator.group})) | of_others)
    # One condition after the other: of a disjunction PostgreSQL would read all that the annotator ever did.
    free = free.exclude(_worked_on(annotator, OuterRef("pk")))
    # The edition stands outside the subquery, so that PostgreSQL does not look for all later editions first.
    known_candidates = _judged_in_earlier_edition(annotator, Candidate.objects.filter(batch=OuterRef("pk")))
    free = free.exclude(Q(edition__gt=1) & Q(known_candidates))
    of_query = Batch.objects.filter(query=OuterRef("query"), assignments__annotator=annotator)
    known = Exists(of_query.exclude(pk=OuterRef("pk")))
    yield free.exclude(shut_out).exclude(known)
    yield free.exclude(shut_out).filter(known)


def without_annotators() -> BatchQuerySet:
    """Return the batches with a free slot that no annotator of their campaign may judge."""
    # Round one of a first edition is new to everybody, so that only a group or limits leave nobody.
    known, done = Q(round__gt=1) | Q(edition__gt=1), spent().filter(campaign=OuterRef("campaign"))
    looked_at = with_free_slot().filter(known | ~Q(group="") | Exists(done))
    return looked_at.exclude(Exists(_able_annotators(may_return=Q(campaign__may_return=True))))


def stuck_batches() -> BatchQuerySet:
    """Return the batches in round two with a free place, of which nobody has submitted anything for a day."""
    lately = Assignment.objects.filter(batch=OuterRef("pk"), submitted__gt=Now() - STUCK_AFTER)
    free = Batch.objects.filter(state=Batch.State.OPEN, round=2, taken__lt=2, query__withdrawn=None)
    return free.filter(~Exists(lately), kind=Kind.POOL)


def with_free_slot() -> BatchQuerySet:
    """Return the batches that somebody could judge now."""
    # Of `free=True` Django makes a bare column, which is no comparison for an index of SQLite.
    return Batch.objects.filter(free__in=[True], query__withdrawn__isnull=True)


def _able_annotators(may_return: Q = NOBODY) -> QuerySet[Membership]:
    """Return, for a subquery of batches, the annotators who may get work at present and the batch with it.

    They are new to it, or may return to it although they began it in round one.
    """
    batch, round = OuterRef(OuterRef("pk")), OuterRef(OuterRef("round"))
    free_to_all = Q(Exact(OuterRef("round"), 2)) | Q(Exact(OuterRef("group"), Value("")))
    able = Membership.objects.able().filter(campaign=OuterRef("campaign")).exclude(pk__in=spent().values("pk"))
    able = able.filter(Q(group=OuterRef("group")) | free_to_all)
    return able.filter(~_knows(OuterRef("pk"), batch), ~_began_earlier(OuterRef("pk"), batch, round) | may_return)


def _new_to_it(annotator: Membership) -> Q:
    """Whether an able annotator other than this one has not opened a batch, in any round."""
    opened = Assignment.objects.filter(annotator=OuterRef("pk"), batch=OuterRef(OuterRef("pk")))
    return Q(Exists(_able_annotators().exclude(pk=annotator.pk).exclude(Exists(opened))))


def _knows(annotator: Membership | OuterRef, batch: OuterRef) -> Q:
    """Whether the annotator holds or has submitted the batch, or spoke of its candidates in an earlier edition."""
    of_later_edition = Candidate.objects.filter(batch=batch, batch__edition__gt=1)
    return Q(_worked_on(annotator, batch)) | Q(_judged_in_earlier_edition(annotator, of_later_edition))


def _worked_on(annotator: Membership | OuterRef, batch: OuterRef) -> Exists:
    """Whether the annotator holds or has submitted the batch."""
    reopened = Judgement.objects.filter(assignment=OuterRef("pk"), reopening__isnull=False)
    done = ~Q(state=AssignmentState.LAPSED) | Q(submitted__isnull=False) | Exists(reopened)
    return Exists(Assignment.objects.filter(done, annotator=annotator, batch=batch))


def _judged_in_earlier_edition(annotator: Membership | OuterRef, candidates: CandidateQuerySet) -> Exists:
    """Whether the annotator spoke of one of the candidates in an earlier edition of their batch."""
    # From each candidate to the annotator's judgement of it: the other way round the database would read all that the
    # annotator ever judged, for each batch.
    annotator = OuterRef(annotator) if isinstance(annotator, OuterRef) else annotator
    elsewhere = ~Q(assignment__batch=F("candidate__batch"))
    judged = Judgement.objects.filter(elsewhere, candidate=OuterRef("pk"), annotator=annotator)
    flagged = Flag.objects.filter(elsewhere, candidate=OuterRef("pk"), assignment__annotator=annotator)
    return Exists(candidates.filter(Exists(judged) | Exists(flagged)))


def _began_earlier(annotator: Membership | OuterRef, batch: OuterRef, round: OuterRef) -> Q:
    """Whether the annotator graded or flagged a candidate in an earlier round of the batch."""
    graded = Judgement.objects.filter(assignment=OuterRef("pk"))
    flagged = Flag.recorded.filter(assignment=OuterRef("pk"))
    earlier = Assignment.objects.filter(annotator=annotator, batch=batch, round__lt=round)
    return Q(Exists(earlier.filter(Exists(graded) | Exists(flagged))))
