"""The audit: checks the invariants of a campaign on its rows. Each check yields a line for each fault it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

from django.db import connection, models
from django.db.models import Count, Exists, F, Max, OuterRef, Q, Subquery

from base.text import wording
from base.transactions import snapshot
from campaigns.models import Applicant, Campaign
from corpus.models import ClipState
from judging import order
from judging.consensus import ANNOTATORS, RULE, Outcome, Reuse, Status, outcome_after
from judging.models import (
    Adjudication,
    Assignment,
    Batch,
    Candidate,
    Flag,
    Judgement,
    Kind,
    Query,
    ReusedGrade,
    Review,
    Revision,
)
from judging.models.states import CLAIMED, AssignmentState, CandidateOutcome
from judging.pool.clips import cut_clips
from judging.pool.opening import REUSED
from judging.pool.queries import stratum_name
from judging.pool.selection import caption_id
from judging.review.decisions import ADJUDICATED
from judging.review.frontier import frontier
from judging.summaries import QUERIES_AT_A_TIME, summaries

Findings = Iterator[str]


def audit(campaign: Campaign) -> dict[str, list[str]]:
    """Check every invariant, and return the faults of each. The lists are empty if nothing is broken.

    In a campaign of imported ratings only the outcomes are checked, because its judgements were made elsewhere.
    """
    invariants = INVARIANTS_OF_IMPORTED if campaign.imported else INVARIANTS
    # People may judge meanwhile. Checks that compare rows need all of them in one state.
    with nullcontext() if connection.in_atomic_block else snapshot():
        return {says: list(check(campaign)) for says, check in invariants.items()}


def nothing_lost(campaign: Campaign) -> Findings:
    yield from _places(campaign)
    submitted = Assignment.objects.submitted().filter(batch__campaign=campaign)
    for assignment in submitted.exclude(batch__kind=Kind.EXAM):
        if missing := assignment.unanswered():
            yield f"assignment {assignment.pk} was submitted, but positions {missing} have neither grade nor flag"
    yield from _exam_lost(submitted.filter(batch__kind=Kind.EXAM))
    judgements = _judgements(campaign).annotate(last=Max("revisions__number"))
    for judgement in judgements.filter(last__isnull=True):
        yield f"judgement {judgement.pk} has no revision"
    revisions = _revisions(campaign).order_by("judgement", "press", "number")
    # Of each judgement the last press remains.
    newest = {pk: (grade, doubt) for pk, grade, doubt in revisions.values_list("judgement", "grade", "is_doubtful")}
    for judgement in judgements.filter(last__isnull=False):
        grade, doubt = newest[judgement.pk]
        if grade != judgement.grade:
            yield f"judgement {judgement.pk} says {judgement.grade}, its last revision {grade}"
        if doubt != judgement.is_doubtful:
            yield f"judgement {judgement.pk} has another doubt than its last revision"


def _places(campaign: Campaign) -> Findings:
    """Check that the places of each assignment are candidates of its query. A later edition may have them by now.

    Places of other queries are right if the annotator has an assignment of that query, which was joined to this one.
    """
    of_query: dict[int, Any] = dict(Candidate.objects.in_campaign(campaign).values_list("pk", "query"))
    of_query |= _queries_of_copies(campaign)
    assignments = Assignment.objects.filter(batch__campaign=campaign)
    joined = set(assignments.filter(round=2).values_list("annotator", "batch__query"))
    columns = assignments.values_list("pk", "annotator", "batch__query", "places")
    for pk, annotator, query, places in columns.order_by("pk").iterator(chunk_size=2000):
        others = [of_query.get(candidate) for candidate in places if of_query.get(candidate) != query]
        strange = sum((annotator, other) not in joined for other in others)
        if strange or not places:
            yield f"assignment {pk} has {len(places)} places, of which {strange} are not of its query"


def _queries_of_copies(campaign: Campaign) -> dict[int, Any]:
    """Return the query of each copy's original. Before 0.2.0 copies had batches, and stood for themselves."""
    copies = Candidate.objects.in_campaign(campaign).filter(query__kind=Kind.CHECK, batch=None)
    # That of a distractor stands in the id of its query.
    known = copies.values_list("pk", "repeats__query", "query__query_id")
    return {pk: query or int(named.removeprefix("check:")) for pk, query, named in known}


def hidden_places(campaign: Campaign) -> Findings:
    of_checks = Candidate.objects.in_campaign(campaign).filter(query__kind=Kind.CHECK)
    copies = dict(of_checks.values_list("pk", "repeats"))
    assignments = Assignment.objects.filter(batch__campaign=campaign).values_list("pk", "places", "hidden")
    for pk, places, hidden in assignments.order_by("pk").iterator(chunk_size=2000):
        found = [candidate for candidate in places if candidate in copies]
        if len(found) != hidden:
            yield f"assignment {pk} counts {hidden} hidden places; {len(found)} of them hold checks"
        if len(set(places)) < len(places):
            yield f"assignment {pk} has a candidate in two places"
    copied = of_checks.filter(repeats__isnull=False).exclude(moment=F("repeats__moment"))
    for pk, moment, original in copied.values_list("pk", "moment", "repeats"):
        yield f"candidate {pk} is a copy of candidate {original}, but shows moment {moment}"
    for judgement in _judgements(campaign).filter(candidate__query__kind=Kind.CHECK, seat__isnull=False):
        yield f"judgement {judgement.pk} counts, but it is of a check"


def came_by_links(campaign: Campaign) -> Findings:
    members = set(campaign.memberships.values_list("user", flat=True))
    for pk, user in campaign.invitations.filter(used_by__isnull=False).values_list("pk", "used_by"):
        if user not in members:
            yield f"invitation {pk} was used by user {user}, who is no member"
    applicants = Applicant.objects.filter(invitation__campaign=campaign)
    for pk, user in applicants.filter(approved=True).values_list("pk", "user"):
        if user not in members:
            yield f"applicant {pk} was approved, but user {user} is no member"
    held = applicants.holding_a_place().order_by().values_list("invitation", "invitation__places")
    for pk, places, n in held.annotate(n=Count("pk")).filter(n__gt=F("invitation__places")):
        yield f"invitation {pk} has {places} places, and {n} people hold one"


def _exam_lost(submitted: models.QuerySet[Assignment]) -> Findings:
    """Check assignments of exams. Later rounds hold returned pairs only, but all were answered in round one."""
    for assignment in submitted:
        answered = Q(judgements__assignment=assignment) | Q(flags__in=assignment.flags.all())
        if missing := assignment.batch.candidates.exclude(pk__in=Candidate.objects.filter(answered)).count():
            yield f"assignment {assignment.pk} was submitted, but {missing} pairs have neither grade nor flag"


def two_a_round(campaign: Campaign) -> Findings:
    with_slot = Q(slot__isnull=False)  # exams and checks take no slot
    not_lapsed = Assignment.objects.not_lapsed().filter(with_slot, batch__campaign=campaign)
    rounds = not_lapsed.values_list("batch", "round").annotate(n=Count("pk")).filter(n__gt=ANNOTATORS)
    for pk, number, n in rounds:
        yield f"batch {pk} has {n} assignments in round {number}"
    here = Q(assignments__round=F("round"), assignments__slot__isnull=False)
    here &= ~Q(assignments__state=AssignmentState.LAPSED)
    wrong = (
        Batch.objects.in_campaign(campaign).annotate(held=Count("assignments", filter=here)).exclude(taken=F("held"))
    )
    for pk, taken, held in wrong.values_list("pk", "taken", "held"):
        yield f"batch {pk} counts {taken} slots as taken; {held} are"
    counted = _judgements(campaign).filter(seat__isnull=False)
    many = counted.order_by().values_list("candidate").annotate(n=Count("pk")).filter(n__gt=2 * ANNOTATORS)
    for pk, n in many:
        yield f"candidate {pk} has {n} counted judgements"
    for judgement in counted.select_related("assignment"):
        if judgement.seat != judgement.assignment.seat:
            yield f"judgement {judgement.pk} has seat {judgement.seat}, but its assignment has another"
    for judgement in counted.filter(reopening__isnull=False):
        yield f"judgement {judgement.pk} counts, although its candidate was reopened"


def nobody_twice(campaign: Campaign) -> Findings:
    pairs = _judgements(campaign).order_by().values("candidate", "annotator__user").annotate(n=Count("pk"))
    for row in pairs.filter(n__gt=1):
        yield f"candidate {row['candidate']} was judged {row['n']} times by one person"
    for judgement in _judgements(campaign).exclude(annotator=F("assignment__annotator")):
        yield f"judgement {judgement.pk} is not by the annotator of its assignment"
    for judgement in _judgements(campaign).filter(_elsewhere()):
        yield f"judgement {judgement.pk} is of a candidate that its assignment does not hold"
    stayed = _judgements(campaign).filter(reopening__isnull=False, candidate__batch=F("assignment__batch"))
    for judgement in stayed.exclude(assignment__state=AssignmentState.LAPSED):
        yield f"judgement {judgement.pk} was reopened, but nobody else can judge its candidate"


def _elsewhere() -> Q:
    """Select judgements whose candidate is in another batch than their assignment.

    An uncounted judgement whose candidate is in a later edition of the same batch is right.
    """
    other = ~Q(candidate__batch=F("assignment__batch"))
    same = Q(
        candidate__batch__query=F("assignment__batch__query"),
        candidate__batch__number=F("assignment__batch__number"),
        candidate__batch__edition__gt=F("assignment__batch__edition"),
    )
    copy = Q(candidate__query__kind=Kind.CHECK, candidate__batch=None)
    return other & ~((same | copy) & Q(seat__isnull=True))


def nothing_stale(campaign: Campaign) -> Findings:
    late = _revisions(campaign).filter(at__gt=F("judgement__assignment__submitted"))
    for revision in late:
        yield f"revision {revision.pk} was written after its assignment was submitted"
    counted = _judgements(campaign).filter(seat__isnull=False)
    for judgement in counted.exclude(assignment__state=AssignmentState.SUBMITTED):
        yield f"judgement {judgement.pk} counts, but its assignment is not submitted"


def no_starvation(campaign: Campaign) -> Findings:
    batches = Batch.objects.filter(query__campaign=campaign)
    for batch in batches.exclude(campaign=campaign, kind=F("query__kind")):
        yield f"batch {batch.pk} is noted under another campaign or kind than its query"
    live = Count("assignments", filter=Q(assignments__state=AssignmentState.LIVE))
    full = batches.filter(state=Batch.State.OPEN, taken=ANNOTATORS)
    for batch in full.annotate(live=live).filter(live=0):
        yield f"batch {batch.pk} is open and full, but nobody holds it"
    # A job that failed is known to the lead, who tries again or opens the batch without its clips. So are films that
    # are missing.
    known = set(cut_clips.jobs().not_done().values_list("row", flat=True))
    if not campaign.opens_without_films:
        missing = batches.filter(candidates__clip__state=ClipState.MISSING)
        known |= set(missing.values_list("pk", flat=True))
    for batch in batches.filter(state=Batch.State.PREPARING):
        if batch.pk not in known:
            yield f"batch {batch.pk} waits for clips that no job is cutting"


def append_only(campaign: Campaign) -> Findings:
    numbers = _judgements(campaign).annotate(n=Count("revisions"), last=Max("revisions__number"))
    for judgement in numbers.exclude(n=F("last")):
        yield f"judgement {judgement.pk} has {judgement.n} revisions, numbered up to {judgement.last}"


def same_consensus(campaign: Campaign) -> Findings:
    candidates = Candidate.objects.in_campaign(campaign).filter(batch__isnull=False)
    candidates = candidates.select_related("query__campaign", "batch").prefetch_related("judgements")
    apart = (CandidateOutcome.ADJUDICATED, CandidateOutcome.REUSED)  # other checks compare these
    for candidate in candidates.exclude(outcome__in=apart).iterator(chunk_size=2000):
        if wrong := _compare(candidate, _recomputed(candidate)):
            yield wrong
        if candidate.rule not in ("", RULE):
            yield f"candidate {candidate.pk} was settled by rule {candidate.rule}, not {RULE}"


def _compare(candidate: Candidate, right: Outcome) -> str | None:
    """Return a fault if the stored outcome and grade are not the right ones."""
    stored = (candidate.outcome, candidate.grade)
    if stored == (right.status, right.grade):
        return None
    return f"candidate {candidate.pk} is stored as {stored}; its judgements say {(right.status.value, right.grade)}"


def _recomputed(candidate: Candidate) -> Outcome:
    """Return the outcome and the grade that the counted judgements of the complete rounds lead to."""
    batch = candidate.batch
    assert batch is not None
    done = batch.state in (Batch.State.SETTLED, Batch.State.REVIEWED)
    rounds = batch.round if done else batch.round - 1
    if not rounds:
        return Outcome(Status.OPEN)
    rounds = rounds if candidate.escalated else 1
    return outcome_after(rounds, candidate.counted_grades(rounds), candidate.query.campaign.tolerance)


def same_imported_consensus(campaign: Campaign) -> Findings:
    candidates = Candidate.objects.in_pool(campaign).exclude(outcome=CandidateOutcome.ADJUDICATED)
    for candidate in candidates.prefetch_related("judgements").iterator(chunk_size=2000):
        if wrong := _compare(candidate, outcome_after(2, candidate.counted_grades(2), campaign.tolerance, final=True)):
            yield wrong


def kept_numbers(campaign: Campaign) -> Findings:
    """Check the numbers that queries and batches keep of their candidates."""
    claimed = campaign.queries.filter(kind__in=CLAIMED)
    keys = list(claimed.order_by("pk").values_list("pk", flat=True))
    for first in range(0, len(keys), QUERIES_AT_A_TIME):
        some = keys[first : first + QUERIES_AT_A_TIME]
        of_queries, of_batches = summaries(some)
        for query in Query.objects.filter(pk__in=some):
            if wrong := [name for name, number in of_queries[query.pk].items() if getattr(query, name) != number]:
                yield f"query {query.pk} keeps another number than its candidates make: {', '.join(wrong)}"
        for batch in Batch.objects.filter(query__in=some):
            right = of_batches[batch.query_id, batch.number]
            if wrong := [name for name, number in right.items() if getattr(batch, name) != number]:
                yield f"batch {batch.pk} keeps another number than its candidates make: {', '.join(wrong)}"


def leads_word(campaign: Campaign) -> Findings:
    yield from _reviews(campaign)
    yield from _editions(campaign)
    yield from _adjudications(campaign)
    live = Assignment.objects.live().filter(batch__campaign=campaign)
    for assignment in live.filter(batch__query__withdrawn__isnull=False):
        yield f"assignment {assignment.pk} is live, but its query is withdrawn"


def _reviews(campaign: Campaign) -> Findings:
    reviews = Review.objects.in_force().filter(batch__campaign=campaign)
    for review in reviews.exclude(batch__state=Batch.State.REVIEWED):
        yield f"review {review.pk} holds, but its batch is {review.batch.state}"
    parts = {(review.batch.query_id, review.batch.number) for review in reviews.select_related("batch")}
    for batch in Batch.objects.in_campaign(campaign).filter(state=Batch.State.REVIEWED):
        if (batch.query_id, batch.number) not in parts:
            yield f"batch {batch.pk} is reviewed, but no review of it holds"
    reviewed = campaign.queries.all_reviewed().values("pk")
    for query in campaign.queries.filter(Q(closed=True) ^ Q(pk__in=reviewed)):
        yield f"query {query.pk} is {'closed' if query.closed else 'not closed'}, against its reviews"


def _editions(campaign: Campaign) -> Findings:
    batches = Batch.objects.in_campaign(campaign).annotate(n=Count("candidates"))
    replaced = Q(state=Batch.State.REPLACED)
    wrong = batches.filter(replaced & Q(n__gt=0) | ~replaced & Q(n=0))
    for pk, state, n in wrong.values_list("pk", "state", "n"):
        yield f"batch {pk} is {state}, and holds {n} candidates"
    later = Batch.objects.filter(query=OuterRef("query"), number=OuterRef("number")).unfinished()
    for batch in batches.filter(Exists(later), state=Batch.State.REVIEWED):
        yield f"batch {batch.pk} is reviewed, but another edition of it is not settled"


def _adjudications(campaign: Campaign) -> Findings:
    grade = Adjudication.objects.in_force().filter(candidate=OuterRef("pk")).values("grade")
    candidates = Candidate.objects.in_campaign(campaign).annotate(by_lead=Subquery(grade))
    differs = Q(by_lead__isnull=True) | ~Q(grade=F("by_lead")) | ~Q(rule=ADJUDICATED)
    wrong = candidates.filter(differs, outcome=CandidateOutcome.ADJUDICATED)
    wrong |= candidates.filter(by_lead__isnull=False).exclude(outcome=CandidateOutcome.ADJUDICATED)
    for pk, outcome, stored, by_lead in wrong.values_list("pk", "outcome", "grade", "by_lead"):
        yield f"candidate {pk} is {outcome} with {stored}; the lead's word is {by_lead}"
    candidates = candidates.select_related("query__campaign", "batch").prefetch_related("judgements")
    for candidate in candidates.filter(outcome=CandidateOutcome.ADJUDICATED, batch__isnull=False):
        if _recomputed(candidate).status == Status.SETTLED:
            yield f"candidate {candidate.pk} is adjudicated, but its annotators agree"


def reused_grades(campaign: Campaign) -> Findings:
    """Check that reused grades are what their source's judgements said, and that nobody has judged these pairs."""
    rows = ReusedGrade.objects.filter(candidate__query__campaign=campaign)
    candidates = Candidate.objects.in_campaign(campaign)
    for pk in candidates.reused().filter(reuse=None).values_list("pk", flat=True):
        yield f"candidate {pk} is said to have a reused grade, and has none"
    first = Q(candidate__batch=None) | Q(candidate__batch__edition=1)
    same = Q(candidate__outcome=CandidateOutcome.REUSED, candidate__grade=F("grade"), candidate__rule=REUSED)
    stored = ("candidate", "candidate__outcome", "candidate__grade")
    for pk, outcome, grade in rows.filter(first).exclude(same).values_list(*stored):
        yield f"candidate {pk} is {outcome} with {grade}, against the grade that it reuses"
    reopened = rows.exclude(first).filter(candidate__outcome=CandidateOutcome.REUSED)
    for pk in reopened.values_list("candidate", flat=True):
        yield f"candidate {pk} was reopened, and is still said to have a reused grade"
    judged, flagged = (each.filter(candidate=OuterRef("pk")) for each in (Judgement.objects, Flag.recorded))
    for pk in candidates.reused().filter(Exists(judged) | Exists(flagged)).values_list("pk", flat=True):
        yield f"candidate {pk} has a reused grade, and somebody judged or flagged it"
    own, source = Q(candidate__query__text=F("source__query__text")), Q(source__query__campaign=campaign.reuses_id)
    for pk in rows.exclude(own & source).values_list("pk", flat=True):
        yield f"reused grade {pk} is of another text, or of a campaign that is not reused"
    yield from _sources(campaign, rows)


def _sources(campaign: Campaign, rows: models.QuerySet[ReusedGrade]) -> Findings:
    """Compare reused grades with the judgements that were made. What was reopened there since holds on here."""
    rows = rows.select_related("candidate__moment", "source__moment").prefetch_related("source__judgements")
    for row in rows.iterator(chunk_size=2000):
        moment, other = row.candidate.moment, row.source.moment
        times = (moment.start, moment.end), (other.start, other.end)
        if moment.video_id != other.video_id:
            yield f"reused grade {row.pk} is of a moment in another video"
        reuse = Reuse(row.grade, row.grades, row.rule, row.overlap, *times)
        yield from (f"reused grade {row.pk}: {fault}" for fault in reuse.faults(campaign.tolerance))
        judgements = list(row.source.judgements.all())
        if any(judgement.reopening_id for judgement in judgements):
            continue
        if (row.source.counted_grades(2), row.source.grade) != (row.grades, row.grade):
            yield f"reused grade {row.pk} is not the consensus of candidate {row.source_id}, which nobody reopened"


def own_caption_first(campaign: Campaign) -> Findings:
    first = Candidate.objects.in_campaign(campaign).filter(rank=1, query__kind=Kind.POOL)
    for each in first.select_related("query", "moment") if campaign.selection else ():
        query, text = each.query, wording(each.query.text)
        was_drawn = caption_id(text) in (query.query_id, *query.aliases)
        if was_drawn and (wording(each.moment.caption), each.similarity) != (text, 1):
            yield f"query {query.query_id} has a first candidate of similarity {each.similarity:g}, not its own caption"


def drawn_order(campaign: Campaign) -> Findings:
    yield from _drawn_places(campaign)
    yield from _begun(campaign)
    yield from _frontier(campaign)


def _drawn_places(campaign: Campaign) -> Findings:
    queries = campaign.queries.filter(kind__in=CLAIMED)
    stored = {query: (stratum, place) for query, stratum, place in queries.values_list("query_id", "stratum", "place")}
    drawn = order.places(campaign.order_seed, {query: stratum for query, (stratum, _) in stored.items()})
    for query, (_, place) in stored.items():
        if place != drawn[query]:
            yield f"query {query} has place {place}; its seed draws {drawn[query]}"
    batches = Batch.objects.in_campaign(campaign).filter(kind__in=CLAIMED)
    for batch in batches.exclude(place=F("query__place")):
        yield f"batch {batch.pk} is noted under another place than its query"
    for batch in batches.exclude(priority=F("query__priority"), group=F("query__group")):
        yield f"batch {batch.pk} has another priority or group than its query"
    if campaign.has_groups != queries.exclude(group="").exists():
        yield f"the campaign is said to have {'some' if campaign.has_groups else 'no'} queries for groups"
    strata = queries.filter(kind=Kind.POOL).order_by().values_list("split", "stratum")
    for split, stratum, n in strata.annotate(n=Count("priority", distinct=True)).filter(n__gt=1):
        yield f"the queries of {stratum_name(split, stratum)} have {n} priorities"


def _begun(campaign: Campaign) -> Findings:
    batches = Batch.objects.in_campaign(campaign).filter(kind__in=CLAIMED)
    handed_out = Assignment.objects.filter(batch=OuterRef("pk"))
    for batch in batches.filter(Exists(handed_out), begun=False):
        yield f"batch {batch.pk} was handed out, and is not marked as begun"
    of_query = Assignment.objects.filter(batch__query=OuterRef("query"))
    for batch in batches.filter(~Exists(of_query), begun=True):
        yield f"batch {batch.pk} is marked as begun, and nobody ever had a batch of its query"


def _frontier(campaign: Campaign) -> Findings:
    """Follow the order to the first query that is not finished, by its batches alone."""
    reviewed = set(campaign.queries.all_reviewed().values_list("pk", flat=True))
    rows = campaign.queries.ranked_population().order_by("place").values_list("pk", "place", "withdrawn")
    first = next((place for pk, place, withdrawn in rows if not withdrawn and pk not in reviewed), None)
    if (stored := frontier(campaign).end) != first:
        yield f"the frontier is said to be at {stored}; the first query that is not finished has place {first}"


Invariants = dict[str, Callable[[Campaign], Findings]]  # what holds, and the check of it
ALWAYS: Invariants = {
    "Queries and batches keep the numbers that their candidates make": kept_numbers,
    "Queries have the places that were drawn, and the frontier is where it is said to be": drawn_order,
}
INVARIANTS: Invariants = {
    "No acknowledged judgement is lost": nothing_lost,
    "Two annotators a round, at most four judgements of a candidate": two_a_round,
    "Nobody judges a candidate twice": nobody_twice,
    "No stale lease has written": nothing_stale,
    "Every open batch can be claimed or is leased": no_starvation,
    "Judgements are append-only": append_only,
    "The same judgements give the same consensus": same_consensus,
    "The lead's word holds until it is undone, and is no consensus": leads_word,
    "Every drawn query has its own caption first, at similarity 1": own_caption_first,
    "Hidden places hold copies of pairs of the same query, or distractors, and never count": hidden_places,
    "Who came by a link is a member, and no link let more people wait than it has places": came_by_links,
    "Reused grades are what was judged then, and nobody judges their pairs again": reused_grades,
    **ALWAYS,
}
INVARIANTS_OF_IMPORTED: Invariants = {"The same judgements give the same consensus": same_imported_consensus, **ALWAYS}
# Apps above this one add theirs to both.


def _judgements(campaign: Campaign) -> models.QuerySet[Judgement]:
    return Judgement.objects.filter(candidate__query__campaign=campaign)


def _revisions(campaign: Campaign) -> models.QuerySet[Revision]:
    return Revision.objects.filter(judgement__candidate__query__campaign=campaign)
