"""The qualification exam: drawing it from the pool, sitting it, marking it, and how far an annotator has come.

TVR-Ranking, appendix B.2: ten random queries with ten candidates each. The truth of a pair is the median of all first
grades, unless the lead has set another one.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from django.db.models import BooleanField, Exists, ExpressionWrapper, F, OuterRef, Q, Subquery
from django.db.models.functions import Now
from django.utils.translation import gettext, gettext_noop, ngettext

from base.errors import BadValue, WrongState
from base.transactions import all_or_nothing, locked
from campaigns.models import Campaign, Event, LogEntry, Membership, log
from judging.models import Assignment, Batch, Candidate, Flag, Judgement, Kind, Query, Revision, Sitting
from judging.models.judgement import JudgementQuerySet
from judging.models.pool import CandidateQuerySet
from judging.models.sitting import exam_batches
from judging.pool.clips import prepare

QUERIES, DEPTH = 10, 10
MOST_QUERIES = 100
USED = "used in the exam"
LONGEST_REASON = 400  # characters
QUORUM = 3  # examinees; with fewer, a median says too little to mark by
Truths = dict[int, float]  # by the candidate's key; a median can end in a half


@all_or_nothing
def set_exam(
    campaign: Campaign,
    seed: int,
    queries: int = QUERIES,
    depth: int = DEPTH,
    keep_in_pool: bool = False,
    by: Membership | None = None,
) -> None:
    """Draw queries that nobody has begun to judge, and copy their best candidates into an exam.

    Examinees learn about the exam's pairs, so the drawn queries are withdrawn from the pool, except with
    `keep_in_pool`. Raise BadValue if the numbers are out of range, or there are too few queries, and WrongState if the
    campaign has an exam already.
    """
    locked(Campaign.objects.filter(pk=campaign.pk)).get()
    if campaign.queries.filter(kind=Kind.EXAM).exists():
        raise WrongState("This campaign has an exam already, and it cannot be changed.")
    if not 1 <= depth <= campaign.depth:
        raise BadValue("depth", str(depth), f"1 to {campaign.depth} candidates of each query")
    if not 1 <= queries <= MOST_QUERIES:
        raise BadValue("queries", str(queries), f"1 to {MOST_QUERIES}")
    fresh = _fresh(campaign)
    if not fresh:
        raise WrongState(
            "An exam is made of queries that nobody has begun to judge, and this campaign has none left. Add queries to"
            " it (the command create_campaign), or let annotators work without an exam (Settings)."
        )
    if len(fresh) < queries:
        raise BadValue("queries", str(queries), f"at most {len(fresh)}: the judging of all others has begun")
    drawn = random.Random(seed).sample(fresh, queries)
    for query in drawn:
        _copy(query, depth)
    if not keep_in_pool:
        used = Query.objects.filter(pk__in=[query.pk for query in drawn])
        used.update(withdrawn=Now(), withdrawn_for=Query.For.QUERY, withdrawn_why=USED)
    Campaign.objects.filter(pk=campaign.pk).update(exam=True)
    stay = "they stay in the pool" if keep_in_pool else "they are withdrawn from the pool"
    log(by, LogEntry.Kind.EXAM, "the exam", "none", f"{queries} queries with {depth} pairs each; {stay}")


def _fresh(campaign: Campaign) -> list[Query]:
    """Return the pool's queries that nobody has begun to judge, and lock their batches."""
    begun = Assignment.objects.filter(batch__query=OuterRef("query"))
    batches = Batch.objects.in_pool(campaign).unfinished().filter(number=1, edition=1, query__closed=False)
    free = locked(batches.exclude(Exists(begun)), skip_locked=True)
    return [batch.query for batch in free.select_related("query").order_by("query")]


def _copy(source: Query, depth: int) -> None:
    """Copy the query and its best candidates into a batch of the exam, and ask for its clips."""
    query = Query.objects.create(
        campaign=source.campaign, kind=Kind.EXAM, query_id=f"exam:{source.pk}", text=source.text
    )
    batch = Batch.of(query, 1)
    batch.save()
    best = source.candidates.filter(rank__lte=depth).values("moment_id", "rank", "similarity")
    Candidate.objects.bulk_create(Candidate(query=query, batch=batch, **each) for each in best)
    prepare(batch)


@all_or_nothing
def set_truth(batch: Batch, truth: dict[int, tuple[int | None, str]], by: Membership | None = None) -> None:
    """Store the lead's truths and explanations, by rank, and mark the sittings that waited for them.

    Results that were given before do not change.
    """
    candidates = list(batch.candidates.filter(rank__in=truth))
    for candidate in candidates:
        what, after = f"rank {candidate.rank} of “{batch.query}”", truth[candidate.rank]
        if (candidate.truth, candidate.why) != after:
            log(by, LogEntry.Kind.TRUTH, what, _truth_in_words(candidate.truth, candidate.why), _truth_in_words(*after))
        candidate.truth, candidate.why = after
    Candidate.objects.bulk_update(candidates, ["truth", "why"])
    mark_waiting(batch.query.campaign)


def _truth_in_words(truth: int | None, why: str) -> str:
    return f"{'none' if truth is None else truth}{f': {why}' if why else ''}"


def unexplained(campaign: Campaign) -> CandidateQuerySet:
    """Return the pairs of the exam for which the lead has not written or chosen a reason, in the order of the pages."""
    return Candidate.objects.filter(batch__in=exam_batches(campaign), why="").order_by("query", "rank")


def reason_for(pair: Candidate) -> str:
    """Return why the pair came back, as an examinee reads it: the lead's words, a ready reason, or the general one."""
    return gettext(pair.why or AGAIN) if pair.why in ("", *READY_REASONS) else pair.why


def pairs_that_came_back(members: Iterable[Membership]) -> JudgementQuerySet:
    """Return the members' judgements of the pairs of the exam that were missed in the last round that is marked."""
    of_exam = {"candidate__batch__kind": Kind.EXAM, "candidate__query__withdrawn": None}
    return Judgement.objects.filter(annotator__in=members, **of_exam, returned__isnull=False)


# What a lead can choose in place of words of their own. Like the general reason, each says that a grade was wrong and
# where to look, but not whether it was too high or too low.
READY_REASONS = (
    gettext_noop("Look at what is done. Is it the very action of the query, or one that only looks like it?"),
    gettext_noop("Look at who does it, and to whom. Are the people and their parts those of the query?"),
    gettext_noop("Look at the things and the place. Are they those that the query names?"),
    gettext_noop("Look at the whole length of the clip. How much of the action is in it, and how much else?"),
    gettext_noop("Look at how much can be seen. Is the action in plain sight, or hidden, small or at the edge?"),
)
AGAIN = gettext_noop(
    "This clip came back, because your grade is too far from the right one. Watch it again with the guideline open. "
    "Does the action match the query? Is all of it in the picture? Is all of it in the clip, and little else?"
)


class ExamGrades(NamedTuple):
    """One examinee's first and last grade of one pair."""

    judgement: int  # this and the next two are primary keys
    annotator: int
    candidate: int
    first: int
    last: int
    back: bool  # whether the pair was returned, to be judged again


def next_batch(member: Membership) -> Assignment | None:
    """Give the member the next batch of the exam, in a first sitting if they have none, or return None.

    The caller holds the member's lock.
    """
    sitting = Sitting.objects.filter(member=member, result=Sitting.Result.OPEN).first()
    if not sitting and not member.sittings.exists() and exam_batches(member.campaign).exists():
        sitting = Sitting.next_of(member)
        sitting.save()
    batch = sitting.remaining_batches().filter(state=Batch.State.OPEN).first() if sitting else None
    return batch.lend_to(member, sitting.round) if sitting and batch else None


def has_batch(member: Membership) -> bool:
    """Return whether `next_batch` would give the member a batch."""
    sitting = Sitting.objects.filter(member=member, result=Sitting.Result.OPEN).first()
    if not sitting and not member.sittings.exists():
        sitting = Sitting.next_of(member)
    return sitting is not None and sitting.remaining_batches().filter(state=Batch.State.OPEN).exists()


def finish_round(member: Membership) -> None:
    """End the member's round if its last batch is submitted, and mark all sittings that can be marked now."""
    sitting = Sitting.objects.filter(member=member, result=Sitting.Result.OPEN).first()
    if sitting and not sitting.remaining_batches().exists():
        Sitting.objects.filter(pk=sitting.pk).update(ended=Now())
        mark_waiting(member.campaign)


@all_or_nothing
def mark_waiting(campaign: Campaign) -> None:
    """Mark every submitted sitting whose pairs all have a truth."""
    # The lock makes two processes mark one after the other, so that the second sees the first examinee's grades.
    locked(Campaign.objects.filter(pk=campaign.pk)).get()
    grades = exam_grades(campaign)
    known = truths(campaign, grades)
    waiting = Sitting.objects.waiting().filter(member__campaign=campaign, member__qualified__isnull=True)
    for sitting in waiting.select_related("member__campaign"):
        _mark(sitting, known, grades)


@all_or_nothing
def repeat(member: Membership, lead: Membership, reason: str) -> Sitting:
    """Give a member who failed the exam another round, and return it. If it is open already, return that.

    Raise WrongState if the member has not failed, failed without a missed pair, or has work all the same.
    """
    member = locked(Membership.objects.filter(pk=member.pk)).get()
    last = Sitting.objects.filter(member=member).select_related("member").last()
    if last and last.result == Sitting.Result.OPEN:
        return last
    if not last or not last.may_be_repeated:
        raise WrongState("Another round is for annotators who failed the exam by missed pairs, and have no work yet.")
    reason = f"another round of the exam: {reason}"
    member.events.create(kind=Event.Kind.RESUMED, by=lead, reason=reason)
    log(lead, LogEntry.Kind.WAIVER, member, "failed the exam", reason)
    sitting = Sitting.next_of(member, last.round)
    sitting.save()
    return sitting


def _mark(sitting: Sitting, known: Truths, grades: list[ExamGrades]) -> None:
    """Compare the sitting's grades with the truths, if all of them are known."""
    judged = [grade for grade in grades if grade.annotator == sitting.member_id and (sitting.round == 1 or grade.back)]
    if any(each.candidate not in known for each in judged):
        return
    campaign = sitting.member.campaign
    missed = [each.judgement for each in judged if not campaign.tolerates(each.last, known[each.candidate])]
    sitting.pairs, sitting.missed = len(judged), len(missed)
    Judgement.objects.filter(pk__in=[each.judgement for each in judged]).update(returned=None)
    Judgement.objects.filter(pk__in=missed).update(returned=Now())
    _conclude(sitting)


def _conclude(sitting: Sitting) -> None:
    """Store the result: passed, returned with the missed pairs, or failed."""
    member = sitting.member
    if not sitting.missed and not _flagged_too_much(sitting):
        sitting.result = Sitting.Result.PASSED
        Membership.objects.filter(pk=member.pk, qualified__isnull=True).update(qualified=Now())
        member.events.create(kind=Event.Kind.QUALIFIED, reason=f"passed the exam in round {sitting.round}")
    elif sitting.missed and sitting.round < member.campaign.exam_rounds:
        sitting.result = Sitting.Result.RETURNED
    else:
        sitting.result = Sitting.Result.FAILED
        flagged = "" if sitting.missed else "; most pairs were flagged"
        missed = f"{sitting.missed} of {sitting.pairs} pairs missed in round {sitting.round}"
        member.events.create(kind=Event.Kind.FAILED, reason=missed + flagged)
    sitting.save(update_fields=["pairs", "missed", "result"])
    if sitting.result == Sitting.Result.RETURNED:
        Sitting.next_of(member, sitting.round).save()


def _flagged_too_much(sitting: Sitting) -> bool:
    """Return whether more than half of the pairs were flagged in round one, where a flag excuses a pair."""
    pairs = Candidate.objects.filter(batch__in=exam_batches(sitting.member.campaign)).count()
    return sitting.round == 1 and 2 * sitting.pairs < pairs


def exam_grades(campaign: Campaign) -> list[ExamGrades]:
    """Return the grades of all examinees who have submitted round one, without the pairs that they flagged in it.

    The first grade of a pair is the last one before round one was submitted.
    """
    round_one = {"annotator__sittings__round": 1, "annotator__sittings__ended__isnull": False}
    judgements = Judgement.objects.filter(candidate__batch__in=exam_batches(campaign), **round_one)
    judgements = judgements.annotate(ended=F("annotator__sittings__ended"))
    flags = Flag.objects.filter(assignment=OuterRef("assignment"), candidate=OuterRef("candidate"))
    judgements = judgements.exclude(Exists(flags.filter(at__lte=OuterRef("ended"))))
    revisions = Revision.objects.filter(judgement=OuterRef("pk"), at__lte=OuterRef("ended"))
    first = Subquery(revisions.order_by("-press", "-number").values("grade")[:1])
    back = ExpressionWrapper(Q(returned__isnull=False), BooleanField())
    names = ("pk", "annotator_id", "candidate_id", "first", "grade", "back")
    return list(map(ExamGrades._make, judgements.annotate(first=first, back=back).order_by("pk").values_list(*names)))


def truths(campaign: Campaign, grades: list[ExamGrades]) -> Truths:
    """Return the truth of each pair that has one: the lead's grade, or the median of all first grades.

    There are medians only if at least `QUORUM` examinees have submitted round one.
    """
    graded = Candidate.objects.filter(batch__in=exam_batches(campaign), truth__isnull=False)
    known = {pk: float(truth or 0) for pk, truth in graded.values_list("pk", "truth")}
    submitted = Sitting.objects.filter(member__campaign=campaign, round=1, ended__isnull=False)
    if submitted.count() >= QUORUM:
        firsts = defaultdict(list)
        for grade in grades:
            firsts[grade.candidate].append(grade.first)
        known = {candidate: float(median(given)) for candidate, given in firsts.items()} | known
    return known


# What a lead decides on an examinee: work in spite of the exam, or another round of it.
VERDICTS: dict[str, Callable[[Membership, Membership, str], object]] = {"qualify": Membership.qualify, "repeat": repeat}


@dataclass(frozen=True)
class ExamState:
    words: str
    button: str = ""  # what can be pressed, if anything


def exam_state(member: Membership) -> ExamState | None:
    """Returns None where no exam stands between the annotator and work."""
    if not member.must_pass_exam:
        return None
    sitting = member.sittings.last()
    if sitting is None:
        return _not_begun(member)
    if sitting.result == Sitting.Result.FAILED:
        return ExamState(gettext("You have not passed the exam. Your lead will tell you more."))
    if sitting.is_waiting:
        return ExamState(gettext("You have submitted your exam. You get the result when the others have finished."))
    if sitting.round > 1:
        return _came_back(member)
    return ExamState(gettext("You are in the middle of the exam."), gettext("Continue the exam"))


def _not_begun(member: Membership) -> ExamState:
    clips = Candidate.objects.filter(batch__in=exam_batches(member.campaign)).count()
    if not clips:
        return ExamState(gettext("Before you get work there is an exam. It is not ready yet. Please come back later."))
    words = gettext(
        "Before you get work there is an exam: %(clips)s clips, judged like any others. A clip whose grade is far "
        "from the others' grades, or from your lead's, comes back to you with an explanation."
    )
    pay = gettext("The exam is paid.") if member.campaign.paid_exam else gettext("The exam is not paid.")
    return ExamState(f"{words % {'clips': clips}} {pay}", gettext("Begin the exam"))


def _came_back(member: Membership) -> ExamState:
    returned = pairs_that_came_back([member])
    pair = {"assignment": OuterRef("assignment"), "candidate": OuterRef("candidate")}
    answered = Q(pk__in=returned.not_returned()) | Exists(Flag.objects.filter(**pair, at__gt=OuterRef("returned")))
    back, left = returned.count(), returned.exclude(answered).count()
    if left == back:
        words = ngettext(
            "%(back)s clip of your exam came back with an explanation. Please judge it once more.",
            "%(back)s clips of your exam came back with explanations. Please judge them once more.",
            back,
        )
    elif left:
        words = gettext("Clips of your exam came back: %(left)s of %(back)s are still to judge once more.")
    else:
        words = gettext("You have judged all clips of your exam that came back. Submit them now.")
    return ExamState(words % {"back": back, "left": left}, gettext("Judge the clips that came back"))


def has_just_passed(member: Membership) -> bool:
    """Return whether the annotator passed the exam and has had no other work yet."""
    sitting = member.sittings.last()
    passed = sitting is not None and sitting.result == Sitting.Result.PASSED
    return passed and not member.assignments.exclude(batch__kind=Kind.EXAM).exists()
