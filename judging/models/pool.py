"""Queries, their candidates, and the batches in which annotators judge the candidates."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models import Exists, F, OuterRef, Q

from base.transactions import locked
from campaigns.models.campaign import Campaign
from campaigns.models.membership import LONGEST_GROUP, Membership
from corpus.models import Clip, Moment
from judging import order
from judging.consensus import ANNOTATORS, RULE, outcome_after
from judging.models.states import (
    CLAIMED,
    WITH_CONSENSUS,
    WITH_GRADE,
    BatchState,
    CandidateOutcome,
    Kind,
    Priority,
    WithdrawnFor,
)

if TYPE_CHECKING:
    from judging.models.assignment import Assignment

OF_QUERY = ("kind", "place", "priority", "group")  # columns of a batch


class QueryQuerySet(models.QuerySet["Query"]):
    def pool(self) -> QueryQuerySet:
        """Return the queries whose candidates can reach the qrels."""
        return self.filter(kind=Kind.POOL, withdrawn__isnull=True)

    def ranked_population(self) -> QueryQuerySet:
        """Return the queries of which those that are judged are a sample.

        One that was withdrawn for what the query is was never among them. One that was withdrawn for what judging it
        showed stays, because leaving it out would change what the others stand for.
        """
        return self.filter(Q(withdrawn=None) | Q(withdrawn_for=WithdrawnFor.JUDGED), kind=Kind.POOL)

    def held_back(self) -> QueryQuerySet:
        """Return the queries of the split that their campaign holds back, withdrawn ones included."""
        return self.exclude(split="").filter(split=F("campaign__held_back"))

    def strata(self) -> dict[tuple[str, str], int]:
        """Return the priority of each stratum: of each combination of a split and a stratum."""
        rows = self.filter(kind=Kind.POOL).order_by().values_list("split", "stratum", "priority").distinct()
        return {(split, stratum): priority for split, stratum, priority in rows}

    def all_reviewed(self) -> QueryQuerySet:
        """Return the queries with batches of which each is reviewed."""
        batches = Batch.objects.filter(query=OuterRef("pk"))
        return self.filter(Exists(batches), ~Exists(batches.unreviewed()))

    def finished(self) -> QueryQuerySet:
        """Return the queries of which every batch is judged and reviewed, so that the lead has closed them."""
        return self.filter(closed=True)

    def lock_with_batches(self) -> None:
        """Lock the queries until the transaction ends; their batches first, as claiming and submitting do."""
        keys = set(self.values_list("pk", flat=True))
        list(locked(Batch.objects.filter(query__in=keys)).order_by("pk"))
        list(locked(Query.objects.filter(pk__in=keys)).order_by("pk"))


class Place(models.FloatField):  # type: ignore[type-arg]  # the stubs' parameters are not there at run time
    """The place in the campaign's order. It is drawn when the query is stored, in whichever way, unless it is there."""

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        query = model_instance
        assert isinstance(query, Query)
        if query.place is None and query.kind in CLAIMED:
            query.place = order.place(query.campaign.order_seed, query.query_id)
        return super().pre_save(query, add)

    def deconstruct(self) -> Any:
        name, _, *rest = super().deconstruct()
        return name, "django.db.models.FloatField", *rest  # which is all that a migration has to know


class Query(models.Model):
    """A sentence that describes what a searcher looks for."""

    For = WithdrawnFor

    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="queries")
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.POOL)
    query_id = models.CharField(max_length=100, help_text="the id in runs and qrels")
    text = models.TextField()
    split = models.CharField(max_length=20, blank=True)
    aliases = models.JSONField(default=list, help_text="ids of other queries with the same text")
    place = Place(null=True, help_text="in the random order in which queries are judged; null if annotators claim none")
    stratum = models.CharField(max_length=200, blank=True, help_text="the part of the captions that it was drawn from")
    priority = models.PositiveSmallIntegerField(
        choices=Priority.choices, default=Priority.USUAL, help_text="one for all queries of its split and stratum"
    )
    group = models.CharField(
        max_length=LONGEST_GROUP, blank=True, help_text="whose annotators judge it in round one; empty: everybody"
    )
    closed = models.BooleanField(default=False)
    withdrawn = models.DateTimeField(null=True, help_text="when a lead took it out of the campaign")
    withdrawn_for = models.CharField(max_length=10, choices=WithdrawnFor.choices, blank=True)
    withdrawn_why = models.CharField(max_length=500, blank=True)
    # Of its candidates in batches, kept by `summarize` for lists that sort and filter by them.
    pairs = models.PositiveSmallIntegerField(default=0, help_text="candidates in batches")
    settled = models.PositiveSmallIntegerField(default=0)
    contested = models.PositiveSmallIntegerField(default=0, help_text="those that went to round two")
    discarded = models.PositiveSmallIntegerField(default=0)
    flagged = models.PositiveSmallIntegerField(default=0)
    last_mean = models.FloatField(null=True, help_text="of the last five of its last batch with grades")
    ranked = models.PositiveIntegerField(default=0, help_text="the last rank of its ranking")
    similarity = models.FloatField(null=True, help_text="of rank 1")
    changed = models.DateTimeField(null=True, help_text="when somebody last submitted a batch of it")

    objects = QueryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "queries"
        constraints = [
            models.UniqueConstraint(fields=["campaign", "kind", "query_id"], name="one_query_per_id"),
            models.UniqueConstraint(
                fields=["campaign", "text"], condition=Q(kind=Kind.POOL), name="identical_queries_are_one"
            ),
            models.CheckConstraint(
                condition=Q(kind__in=CLAIMED, place__isnull=False, place__gte=0, place__lte=1)
                | (~Q(kind__in=CLAIMED) & Q(place__isnull=True)),
                name="claimed_queries_have_a_place",
            ),
            models.CheckConstraint(
                condition=Q(withdrawn__isnull=True, withdrawn_for="")
                | Q(withdrawn__isnull=False, withdrawn_for__in=WithdrawnFor.values),
                name="withdrawn_for_something",
            ),
        ]
        indexes = [models.Index(fields=["campaign", "kind", "place"], name="queries_in_order")]

    def __str__(self) -> str:
        return self.text

    @property
    def _checks(self) -> dict[str, Any]:
        return {"campaign_id": self.campaign_id, "kind": Kind.CHECK, "query_id": f"check:{self.pk}"}

    def of_checks(self) -> Query:
        """Return the query of this text that holds what is hidden in its batches, made if there is none."""
        return Query.objects.get_or_create(**self._checks, defaults={"text": self.text, "split": self.split})[0]

    @property
    def distractors(self) -> CandidateQuerySet:
        """The moments far from the query that hidden places can show; see `judging.pool.distractors`."""
        return Candidate.objects.filter(query__in=Query.objects.filter(**self._checks), repeats=None)


class CandidateQuerySet(models.QuerySet["Candidate"]):
    def in_campaign(self, campaign: Campaign) -> CandidateQuerySet:
        return self.filter(query__campaign=campaign)

    def in_pool(self, campaign: Campaign) -> CandidateQuerySet:
        """Return the candidates in batches that can reach the qrels."""
        pool = self.in_campaign(campaign).filter(query__kind=Kind.POOL, query__withdrawn__isnull=True)
        return pool.filter(batch__isnull=False)

    def settled(self) -> CandidateQuerySet:
        """Return the candidates that the qrels hold: those with a consensus, of this campaign or a reused one."""
        return self.filter(outcome__in=WITH_CONSENSUS)

    def reused(self) -> CandidateQuerySet:
        return self.filter(outcome=Candidate.Outcome.REUSED)

    def judged_in(self, round: int) -> CandidateQuerySet:
        """Return the candidates of a batch that annotators judge in round one, or in a later one."""
        return self.exclude(outcome=Candidate.Outcome.REUSED) if round == 1 else self.escalated()

    def ranked(self) -> CandidateQuerySet:
        """Return the candidates that the ranking by similarity found. The others were found by runs."""
        return self.filter(similarity__isnull=False)

    def escalated(self) -> CandidateQuerySet:
        return self.filter(escalated=True)


class Candidate(models.Model):
    """A query–moment pair: one of the moments that may answer the query."""

    Outcome = CandidateOutcome

    query = models.ForeignKey(  # the indexes of two constraints begin with it
        Query, models.CASCADE, related_name="candidates", db_index=False
    )
    moment = models.ForeignKey(Moment, models.PROTECT, related_name="candidates")
    batch = models.ForeignKey("Batch", models.SET_NULL, null=True, related_name="candidates")
    clip = models.ForeignKey(Clip, models.SET_NULL, null=True, related_name="candidates")
    rank = models.PositiveIntegerField()
    similarity = models.FloatField(null=True, help_text="null of a moment that a run found")
    outcome = models.CharField(max_length=20, choices=Outcome.choices, default=Outcome.OPEN)
    escalated = models.BooleanField(default=False, help_text="whether round one left it contested")
    grade = models.PositiveSmallIntegerField(null=True, help_text="the final grade, once there is one")
    rule = models.CharField(max_length=40, blank=True, help_text="the version of the consensus that made the outcome")
    truth = models.PositiveSmallIntegerField(null=True, help_text="the right grade, in exams and in gold")
    why = models.TextField(blank=True, help_text="explains the truth to annotators who missed it")
    imported_as = models.TextField(blank=True, help_text="the pair's id in the imported ratings")
    repeats = models.ForeignKey(
        "self", models.PROTECT, null=True, related_name="+", help_text="the pair of which this is a copy, in a check"
    )

    objects = CandidateQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["query", "rank"], name="one_candidate_per_rank"),
            models.UniqueConstraint(fields=["query", "moment"], name="one_candidate_per_moment"),
            models.CheckConstraint(condition=Q(rank__gte=1), name="ranks_start_at_one"),
            models.CheckConstraint(
                condition=Q(outcome__in=WITH_GRADE, grade__isnull=False, grade__lte=4)
                | (~Q(outcome__in=WITH_GRADE) & Q(grade__isnull=True)),
                name="final_grade_exactly_when_settled",
            ),
            models.CheckConstraint(condition=Q(truth__isnull=True) | Q(truth__lte=4), name="truth_from_0_to_4"),
        ]

    def __str__(self) -> str:
        return f"{self.query_id}-{self.rank}"

    @property
    def is_hidden(self) -> bool:
        """Whether it stands in a hidden place: a copy of a pair, or a distractor. Neither belongs to a batch."""
        return self.batch_id is None

    @property
    def needs_the_lead(self) -> bool:
        """Whether no consensus can give it a grade any more, so that only the lead can."""
        return self.outcome in (Candidate.Outcome.DISCARDED, Candidate.Outcome.FLAGGED)

    @property
    def is_open(self) -> bool:
        return self.outcome == Candidate.Outcome.OPEN

    @property
    def is_contested(self) -> bool:
        return self.outcome == Candidate.Outcome.CONTESTED

    @property
    def is_flagged(self) -> bool:
        return self.outcome == Candidate.Outcome.FLAGGED

    def counted_grades(self, rounds: int) -> list[int]:
        """Return the grades that count, of the first round or of both rounds."""
        last = ANNOTATORS * rounds
        return [judgement.grade for judgement in self.judgements.all() if judgement.seat and judgement.seat <= last]

    def settle(self, rounds: int, grades: list[int], *, final: bool = False) -> None:
        """Set the outcome of `outcome_after`. No other function does this. The caller saves the candidate."""
        outcome = outcome_after(rounds, grades, self.query.campaign.tolerance, final=final)
        self.outcome, self.grade = Candidate.Outcome(outcome.status), outcome.grade
        self.escalated = self.escalated or self.outcome == Candidate.Outcome.CONTESTED
        self.rule = RULE


class BatchQuerySet(models.QuerySet["Batch"]):
    def in_campaign(self, campaign: Campaign) -> BatchQuerySet:
        return self.filter(campaign=campaign)

    def in_pool(self, campaign: Campaign) -> BatchQuerySet:
        return self.in_campaign(campaign).filter(kind=Kind.POOL, query__withdrawn__isnull=True)

    def unfinished(self) -> BatchQuerySet:
        return self.filter(state__in=[Batch.State.PREPARING, Batch.State.OPEN])

    def with_work(self) -> BatchQuerySet:
        """Return the batches on which an annotator or, where all grades are reused, a lead has worked."""
        return self.filter(Q(assignments__isnull=False) | Q(reviews__isnull=False) | Q(edition__gt=1))

    def unreviewed(self) -> BatchQuerySet:
        return self.exclude(state__in=[Batch.State.REVIEWED, Batch.State.REPLACED])

    def to_review(self) -> BatchQuerySet:
        """Return the batches that a lead can review.

        All editions of the batch are settled. The newest edition stands for all of them.
        """
        same = Batch.objects.filter(query=OuterRef("query"), number=OuterRef("number"))
        settled = self.filter(state=Batch.State.SETTLED, kind=Kind.POOL, query__withdrawn__isnull=True)
        newest = settled.exclude(Exists(same.filter(edition__gt=OuterRef("edition"))))
        return newest.exclude(Exists(same.unfinished()))


class Batch(models.Model):
    """Up to twenty candidates of one query that are judged together.

    Two annotators judge all of them in round one. Two others judge the contested ones in round two. The first two
    batches of a query hold the best ranks. Further batches hold moments that runs found; only a lead opens them.
    """

    State = BatchState

    query = models.ForeignKey(  # the index of a constraint begins with it
        Query, models.CASCADE, related_name="batches", db_index=False
    )
    number = models.PositiveSmallIntegerField()
    edition = models.PositiveSmallIntegerField(default=1, help_text="editions after the first hold reopened candidates")
    # These five are the query's. They are here for the index in which a claim finds its batch.
    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.POOL, help_text="the kind of its query")
    priority = models.PositiveSmallIntegerField(default=Priority.USUAL, help_text="of its query")
    group = models.CharField(max_length=LONGEST_GROUP, blank=True, help_text="of its query")
    place = models.FloatField(null=True, help_text="of its query")
    begun = models.BooleanField(
        default=False, help_text="whether it was handed out, or follows a batch of its query that was"
    )
    further = models.BooleanField(default=False, help_text="whether it holds moments that runs found, instead of ranks")
    state = models.CharField(max_length=10, choices=State.choices, default=State.PREPARING)
    round = models.PositiveSmallIntegerField(default=1)
    taken = models.PositiveSmallIntegerField(default=0, help_text="slots of this round that are held or submitted")
    free = models.GeneratedField(
        expression=models.ExpressionWrapper(
            Q(state=BatchState.OPEN, taken__lt=ANNOTATORS, kind__in=CLAIMED), models.BooleanField()
        ),
        output_field=models.BooleanField(),
        db_persist=True,
        help_text="whether a slot is free",
    )
    # Of the candidates of all its editions, kept by `summarize` as those of the query are.
    pairs = models.PositiveSmallIntegerField(default=0, help_text="candidates")
    settled = models.PositiveSmallIntegerField(default=0)
    contested = models.PositiveSmallIntegerField(default=0, help_text="those that went to round two")
    discarded = models.PositiveSmallIntegerField(default=0)
    flagged = models.PositiveSmallIntegerField(default=0)
    last_mean = models.FloatField(null=True, help_text="of the final grades among the last five")

    objects = BatchQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "batches"
        constraints = [
            models.UniqueConstraint(fields=["query", "number", "edition"], name="one_batch_per_number"),
            models.CheckConstraint(
                condition=Q(number__in=[1, 2]) | ~Q(kind=Kind.POOL) | Q(further=True),
                name="never_a_third_batch_of_ranks",
            ),
            models.CheckConstraint(
                condition=Q(further=False) | Q(kind=Kind.POOL, number__gt=2),
                name="further_batches_follow_those_of_ranks",
            ),
            models.CheckConstraint(condition=Q(round__in=[1, 2]), name="never_a_third_round"),
            models.CheckConstraint(condition=Q(taken__lte=ANNOTATORS), name="two_hands_in_a_round"),
            models.CheckConstraint(
                condition=Q(kind__in=CLAIMED, place__isnull=False) | (~Q(kind__in=CLAIMED) & Q(place__isnull=True)),
                name="claimed_batches_have_a_place",
            ),
            models.CheckConstraint(condition=Q(begun=True) | Q(taken=0, round=1), name="what_is_taken_has_begun"),
        ]
        indexes = [
            models.Index(fields=["campaign", "state", "kind"], name="batches_by_state"),
            # In the order in which annotators get them.
            models.Index(fields=["campaign", "free", "priority", "-begun", "place", "id"], name="batches_in_order"),
        ]

    def __str__(self) -> str:
        return f"batch {self.number} of “{self.query.text}”"

    @classmethod
    def of(cls, query: Query, number: int, **more: Any) -> Batch:
        """Return a new batch of the query, which the caller stores."""
        return cls(query=query, number=number, **cls.taken_from(query), **more)

    @staticmethod
    def taken_from(query: Query) -> dict[str, Any]:
        """Return the fields that each batch takes from its query."""
        return {"campaign_id": query.campaign_id} | {name: getattr(query, name) for name in OF_QUERY}

    @property
    def is_done(self) -> bool:
        """Whether nobody judges it any more."""
        return self.state not in (Batch.State.PREPARING, Batch.State.OPEN)

    @property
    def in_round(self) -> CandidateQuerySet:
        """The candidates that are judged in the present round."""
        return Candidate.objects.filter(batch=self).judged_in(self.round)

    def open(self) -> bool:
        """Let annotators claim the batch, if its clips were being cut. Return whether this call has opened it."""
        preparing = Batch.objects.filter(pk=self.pk, state=Batch.State.PREPARING)
        return bool(preparing.update(state=Batch.State.OPEN))

    def in_order(
        self, annotator: Membership, pairs: list[Candidate], hidden: Sequence[Candidate] = ()
    ) -> list[Candidate]:
        """Return pairs and what is hidden in the annotator's own order, which tells neither ranks nor what is hidden.

        A copy and its pair stand at least a third of all places apart, counted in a circle, so that every place is as
        likely for the one as for the other.
        """
        of = f"{annotator.campaign.order_seed}:{annotator.pk}:{self.pk}"
        drawn = sorted([*pairs, *hidden], key=lambda pair: hashlib.sha256(f"{of}:{pair.pk}".encode()).digest())
        copies = {copy.repeats_id: copy for copy in hidden if copy.repeats_id}
        free, placed, chance = list(range(len(drawn))), dict[int, Candidate](), Random(of)
        for pair in [pair for pair in drawn if pair.pk in copies]:
            at = chance.choice(free)
            free.remove(at)
            apart = [
                other for other in free if 3 * min((other - at) % len(drawn), (at - other) % len(drawn)) >= len(drawn)
            ]
            other = chance.choice(apart or free)
            free.remove(other)
            placed |= {at: pair, other: copies[pair.pk]}
        alone = [pair for pair in drawn if pair not in placed.values()]
        return [pair for _, pair in sorted([*placed.items(), *zip(free, alone, strict=True)], key=lambda each: each[0])]

    def hand_to(self, annotator: Membership, places: list[Candidate] | None = None, **more: Any) -> Assignment:
        """Give the annotator a free slot. The caller holds the batch's lock.

        The places are the pairs of the round in the annotator's order, unless the caller says more. For what else there
        may be, see `AssignmentQuerySet.lease_out`.
        """
        places = places or self.in_order(annotator, list(self.in_round.select_related("moment", "clip", "query")))
        assignment = self.assignments.lease_out(self, annotator, self.round, places, takes_slot=True, **more)
        self.taken += 1
        self.begun = True
        self.save(update_fields=["taken", "begun"])
        return assignment

    def lend_to(self, annotator: Membership, round: int = 1) -> Assignment:
        """Give the annotator a batch of the exam, which takes no slot and whose judgements do not count.

        Rounds after the first hold the pairs of an exam that the annotator has to judge again.
        """
        pairs = Candidate.objects.filter(batch=self).select_related("moment", "clip", "query")
        if round > 1:
            of_annotator = {"judgements__assignment__batch": self, "judgements__assignment__annotator": annotator}
            pairs = pairs.filter(**of_annotator, judgements__returned__isnull=False)
        places = self.in_order(annotator, list(pairs))
        return self.assignments.lease_out(self, annotator, round, places, takes_slot=False)

    def free_slot(self) -> None:
        """Note that one slot of this round is free again. The caller holds the batch's lock."""
        self.taken -= 1
        self.save(update_fields=["taken"])

    def conclude(self) -> bool:
        """Settle the round's candidates if both annotators have submitted. The caller holds the batch's lock.

        Return whether they have.
        """
        submitted = self.assignments.submitted().filter(round=self.round).count()
        if submitted < ANNOTATORS:
            return False
        candidates = list(self.in_round.select_related("query__campaign").prefetch_related("judgements"))
        for candidate in candidates:
            candidate.settle(self.round, candidate.counted_grades(self.round))
        Candidate.objects.bulk_update(candidates, ["outcome", "grade", "escalated", "rule"])
        if any(candidate.outcome == Candidate.Outcome.CONTESTED for candidate in candidates):
            self.round, self.taken = 2, 0
        else:
            self.state = Batch.State.SETTLED
        self.save(update_fields=["round", "taken", "state"])
        return True

    @property
    def editions(self) -> BatchQuerySet:
        """All batches with its query and number, itself included. Each reopening adds one."""
        return Batch.objects.filter(query=self.query_id, number=self.number)

    @property
    def newest_edition(self) -> Batch:
        return self.editions.select_related("query__campaign").latest("edition")

    @property
    def candidates_of_editions(self) -> CandidateQuerySet:
        """The candidates of all its editions."""
        return Candidate.objects.filter(batch__in=self.editions)
