"""Generating campaigns of any size from a seed, for trials. They keep every rule of a real campaign.

Most batches are judged and reviewed. The newest wait for a review, are being judged, or are open. Grades follow a
hidden truth that depends on the similarity, and each annotator has a bias.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Self

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from base.transactions import many_rows_are_new, store
from campaigns.models import Campaign, Membership
from corpus.models import Corpus, Moment, Video
from judging.models import Assignment, Batch, Candidate, Judgement, Query, Review, Revision
from judging.order import place
from judging.summaries import summarize

MOMENTS_OF_A_VIDEO = 5
REVIEWED, TO_REVIEW, IN_WORK = 0.94, 0.02, 0.02  # shares of the queries; the rest is open
# Of grades about the truth: 29 % of pairs are contested, and 5,000 queries have 500,000 judgements.
SPREAD = 1.15
QUERIES_AT_A_TIME = 100
DAYS = 90
VERBS = ("walks", "sits down", "opens a door", "waves", "reads", "laughs", "turns around", "picks up a cup")


@dataclass
class Cast:
    """The annotators with their biases, the lead, and the source of randomness."""

    leanings: dict[Membership, float]
    lead: Membership
    chance: random.Random
    queries: int  # of the whole campaign

    @classmethod
    def of(cls, campaign: Campaign, annotators: int, queries: int, chance: random.Random) -> Self:
        """Make the campaign's annotators and its lead."""
        for number in range(annotators + 1):
            user, _ = User.objects.get_or_create(username=f"{campaign.name}-{number or 'lead'}")
            campaign.add_member(user, Membership.Role.ANNOTATOR if number else Membership.Role.LEAD)
        members = campaign.memberships.annotators().order_by("worker")
        lead = campaign.memberships.get(role=Membership.Role.LEAD)
        return cls({member: chance.uniform(-0.5, 0.5) for member in members}, lead, chance, queries)

    def lateness(self, query: Query) -> float:
        """Return how late in the campaign the query comes, from 0 to 1: its place in the order."""
        return float(query.place or 0)

    def grade(self, member: Membership, candidate: Candidate) -> float:
        """Return the grade that a member sees: the truth that the similarity suggests, with the member's bias."""
        return self.chance.gauss(4.4 * (candidate.similarity or 0.0) + self.leanings[member], SPREAD)


@dataclass
class Made:
    """New rows of some queries, which are stored table by table."""

    assignments: list[Assignment] = field(default_factory=list)
    judgements: list[Judgement] = field(default_factory=list)
    revisions: list[Revision] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)
    grades: dict[int, list[int]] = field(default_factory=dict)  # by the identity of the candidate's object

    def store(self) -> None:
        for judgement in self.judgements:  # of stored candidates
            judgement.assignment.places.append(judgement.candidate.pk)
        for rows in (self.assignments, self.judgements, self.revisions, self.reviews):
            store(rows)


def generate(name: str, queries: int, annotators: int, seed: int) -> Iterator[int]:
    """Make a campaign. Yield the number of queries made so far."""
    chance = random.Random(seed)
    corpus = Corpus.objects.create(name=name, format="generated")
    campaign = Campaign.objects.create(
        name=name,
        title=f"Generated, {queries:,} queries",
        corpus=corpus,
        order_seed=seed,
        hourly_rate=14,
        currency="SGD",
    )
    cast, moments = Cast.of(campaign, annotators, queries, chance), _moments(corpus, queries)
    for start in range(0, queries, QUERIES_AT_A_TIME):
        numbers = range(start, min(start + QUERIES_AT_A_TIME, queries))
        with transaction.atomic():
            queries_of_numbers = [_query(campaign, number, cast) for number in numbers]
            store_queries(queries_of_numbers, lambda query: list(_candidates(query, moments, chance)), cast)
        yield numbers.stop
    many_rows_are_new()


def _moments(corpus: Corpus, queries: int) -> list[Moment]:
    """Make more moments than a query has candidates."""
    videos = [Video(corpus=corpus, name=f"film {n:05}", duration=60) for n in range(max(20, queries // 2))]
    store(videos)
    moments = [
        Moment(video=video, start=10 * n, end=10 * n + 4.5, description=f"moment {n}", caption=f"moment {n}")
        for video in videos
        for n in range(MOMENTS_OF_A_VIDEO)
    ]
    store(moments)
    return moments


def _query(campaign: Campaign, number: int, cast: Cast) -> Query:
    """Make a query, which is closed if it comes early in the campaign's order."""
    text = f"A person {cast.chance.choice(VERBS)} and {cast.chance.choice(VERBS)}, number {number}."
    split = "test" if number % 6 else "val"
    query = Query(campaign=campaign, query_id=str(number), text=text, split=split)
    query.place = place(campaign.order_seed, query.query_id)
    query.closed = cast.lateness(query) <= REVIEWED
    return query


def store_queries(queries: list[Query], pool: Callable[[Query], list[Candidate]], cast: Cast) -> None:
    """Store queries with their candidates, two batches of each, and what the annotators said of them."""
    store(queries)
    size, made = queries[0].campaign.batch_size, Made()
    batches, candidates = list[Batch](), list[Candidate]()
    for query in queries:
        own = pool(query)
        for number in (1, 2):
            batch = Batch.of(query, number)
            _judge(batch, own[size * (number - 1) : size * number], cast, made)
            batches.append(batch)
        candidates += own
    store(batches)
    store(candidates)
    made.store()
    summarize(query.pk for query in queries)


def _candidates(query: Query, moments: list[Moment], chance: random.Random) -> Iterator[Candidate]:
    for rank, moment in enumerate(chance.sample(moments, query.campaign.depth), 1):
        similarity = round(max(0.0, 1 - rank / 50 - chance.random() / 50), 4)
        yield Candidate(query=query, moment=moment, rank=rank, similarity=similarity)


def _judge(batch: Batch, candidates: list[Candidate], cast: Cast, made: Made) -> None:
    """Judge the batch by up to four annotators, as far as its query's place in the campaign demands."""
    share = cast.lateness(batch.query)
    for candidate in candidates:
        candidate.batch = batch
    batch.state = Batch.State.OPEN
    if share > REVIEWED + TO_REVIEW + IN_WORK:
        return
    batch.begun = True
    began = timezone.now() - timedelta(days=DAYS * (1 - share), minutes=cast.chance.randrange(600))
    four = cast.chance.sample(list(cast.leanings), 4)
    _round(batch, candidates, four[:2], began, cast, made)
    contested = [each for each in candidates if each.outcome == Candidate.Outcome.CONTESTED]
    if contested:
        batch.round, batch.taken = 2, 0
        if share > REVIEWED + TO_REVIEW:
            return
        _round(batch, contested, four[2:], began + timedelta(hours=5), cast, made)
    batch.state = Batch.State.SETTLED if share > REVIEWED else Batch.State.REVIEWED
    if batch.state == Batch.State.REVIEWED:
        verdict = Review.Verdict.SECOND if batch.number == 1 else Review.Verdict.CLOSE
        made.reviews.append(Review(batch=batch, lead=cast.lead, verdict=verdict))


def _round(
    batch: Batch, candidates: list[Candidate], two: list[Membership], began: datetime, cast: Cast, made: Made
) -> None:
    """Let both annotators of a round judge the candidates, and settle them."""
    batch.taken = len(two)
    for slot, member in enumerate(two, 1):
        ended = began + timedelta(seconds=20 * len(candidates) + cast.chance.randrange(7200))
        assignment = add_assignment(batch, member, began, ended, made, round=batch.round, slot=slot)
        for number, candidate in enumerate(candidates, 1):
            grade = nearest_grade(cast.grade(member, candidate))
            made.grades.setdefault(id(candidate), []).append(grade)
            add_judgement(assignment, candidate, grade, began + timedelta(seconds=20 * number), cast.chance, made)
    for candidate in candidates:
        candidate.settle(batch.round, made.grades[id(candidate)])


def nearest_grade(value: float) -> int:
    return min(4, max(0, round(value)))


def add_assignment(
    batch: Batch, member: Membership, began: datetime, ended: datetime, made: Made, **fields: int
) -> Assignment:
    """Make an assignment that is submitted."""
    times = {"lease": ended, "claimed": began, "submitted": ended}
    made.assignments.append(
        Assignment(batch=batch, annotator=member, state=Assignment.State.SUBMITTED, **times, **fields)
    )
    return made.assignments[-1]


def add_judgement(
    assignment: Assignment, candidate: Candidate, grade: int, at: datetime, chance: random.Random, made: Made
) -> None:
    """Make a judgement and its only revision."""
    member = assignment.annotator
    judgement = Judgement(assignment=assignment, candidate=candidate, annotator=member, grade=grade)
    judgement.seat = None if candidate.repeats_id else assignment.seat
    made.judgements.append(judgement)
    key = uuid.uuid4()  # not from the seed, because two campaigns can have the same seed
    seconds = round(chance.lognormvariate(2.8, 0.5), 1)  # half of them under 16.4
    made.revisions.append(Revision(judgement=judgement, number=1, grade=grade, key=key, seconds=seconds, at=at))
