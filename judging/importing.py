"""Importing finished ratings as a campaign: each pair becomes a candidate, each rating a judgement with a seat."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from base.errors import ReeljudgeError
from base.transactions import many_rows_are_new, store
from campaigns.models import Campaign, Membership
from campaigns.models.campaign import TOLERANCE
from corpus.models import Corpus, Moment, Video
from corpus.reading import rows_in
from judging.consensus import ANNOTATORS, Outcome, Status, consensus
from judging.files import Pair, Ratings, pairs_of_file, ratings_of_file
from judging.models import Assignment, Batch, Candidate, Judgement, Query
from judging.summaries import summarize

Rater = tuple[str, int]  # a worker, and how often the worker had rated the same pair before


def ratings_in(file: Path) -> Ratings:
    """Return the ratings of each pair, as `judging.files.read` does, in a confined process."""
    known, *given = rows_in(ratings_of_file, file)
    ratings = Ratings((pair, [(worker, grade) for worker, grade in own]) for pair, own in given)
    ratings.rounds_known = known
    return ratings


def pairs_in(file: Path) -> dict[str, Pair]:
    """Return the pairs by id, as `judging.files.read_pairs` does, in a confined process."""
    return {pair.pair_id: pair for pair in (Pair(*values) for values in rows_in(pairs_of_file, file))}


TWICE, TWICE_DIFFERING = "one worker twice", "one worker twice, with different grades"
NO_NEED, STOPPED = "escalated although all within one", "stopped while still contested"
ODD_NUMBER = "neither two nor four ratings"


@dataclass
class Settled:
    """The number of ratings and the outcome of each pair, and the pairs with each defect of the rating process."""

    pairs: dict[str, tuple[int, Outcome]] = field(default_factory=dict)
    defects: dict[str, list[str]] = field(
        default_factory=lambda: {name: [] for name in (TWICE, TWICE_DIFFERING, NO_NEED, STOPPED, ODD_NUMBER)}
    )

    @property
    def settled(self) -> int:
        return sum(outcome.status == Status.SETTLED for _, outcome in self.pairs.values())


def settle(ratings: Ratings) -> Settled:
    """Settle every pair that has two or four ratings, and list the defects.

    A pair is not settled if its rating stopped while it was contested, or after one or three ratings.
    """
    result = Settled()
    for pair, given in ratings.items():
        grades = [grade for _, grade in given]
        outcome = consensus(grades)
        result.pairs[pair] = (len(given), outcome)
        workers = {worker for worker, _ in given}
        has = {
            TWICE: len(workers) < len(given),
            TWICE_DIFFERING: len(workers) < len(set(given)),
            NO_NEED: len(given) == 4 and max(grades) - min(grades) <= TOLERANCE,
            STOPPED: outcome.status == Status.CONTESTED,
            ODD_NUMBER: outcome.status == Status.OPEN,
        }
        for defect in (name for name, is_so in has.items() if is_so):
            result.defects[defect].append(pair)
    return result


@transaction.atomic
def import_ratings(name: str, ratings: Ratings, pairs: dict[str, Pair], title: str = "") -> Campaign:
    """Store finished ratings as a campaign, all or nothing, and return it.

    A worker who rated a pair more than once gets a further membership for each repetition, because nobody judges a
    candidate twice. These memberships refer to the first one, and exports print the first one's number. Rated pairs
    without a final grade may be missing in the pair file, as in files of qrels; they are left out and counted. Raise
    ReeljudgeError if the campaign exists, a rated pair with a final grade is not among the pairs, or a query has more
    pairs than two batches hold.
    """
    rated = _rated(ratings, pairs)
    if Campaign.objects.filter(name=name).exists():
        raise ReeljudgeError(f"campaign {name}: is there already; ratings are imported into a new one")
    corpus, _ = Corpus.objects.get_or_create(name=name, defaults={"format": "ratings"})
    campaign = Campaign.objects.create(
        name=name,
        title=title,
        corpus=corpus,
        imported=timezone.now(),
        rounds_known=ratings.rounds_known,
        left_out=len(ratings) - len(rated),
    )
    candidates = _candidates(campaign, rated, ratings, _moments(corpus, rated))
    _judgements(campaign, candidates, ratings)
    many_rows_are_new()
    return campaign


def _rated(ratings: Ratings, pairs: dict[str, Pair]) -> list[Pair]:
    """Return the rated pairs that the pair file holds."""
    for pair in ratings:
        if pair not in pairs and consensus([grade for _, grade in ratings[pair]]).grade is not None:
            raise ReeljudgeError(f"pair {pair}: has ratings and a final grade, but is not in the pair file")
    if not any(pair in pairs for pair in ratings):
        raise ReeljudgeError("no rated pair is in the pair file; expected the same pair_id in both files")
    return [pairs[pair] for pair in ratings if pair in pairs]


def _moments(corpus: Corpus, pairs: list[Pair]) -> dict[tuple[str, float, float], Moment]:
    durations: dict[str, float] = {}
    for pair in pairs:
        durations[pair.video] = max(durations.get(pair.video, 0), pair.duration)
    store(Video(corpus=corpus, name=name, duration=length) for name, length in durations.items())
    videos = {video.name: video for video in corpus.videos.all()}
    captions = {(pair.video, pair.start, pair.end): pair.caption for pair in reversed(pairs)}
    moments = {
        key: Moment(video=videos[key[0]], start=key[1], end=key[2], description=caption, caption=caption)
        for key, caption in captions.items()
    }
    store(moments.values())
    return moments


def _candidates(
    campaign: Campaign, pairs: list[Pair], ratings: Ratings, moments: dict[Any, Moment]
) -> dict[str, Candidate]:
    """Store the candidates, ranked by similarity, in reviewed batches of closed queries, and return them by pair."""
    by_query: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        by_query[pair.query_id].append(pair)
    queries = {
        key: Query(campaign=campaign, query_id=key, text=own[0].query, split=own[0].split, closed=True)
        for key, own in by_query.items()
    }
    _check(campaign, queries, by_query)
    store(queries.values())
    candidates: dict[str, Candidate] = {}
    batches: list[Batch] = []
    for key, own in by_query.items():
        for rank, pair in enumerate(sorted(own, key=lambda pair: -pair.similarity), 1):
            if rank % campaign.batch_size == 1 or campaign.batch_size == 1:
                number = (rank - 1) // campaign.batch_size + 1
                batches.append(Batch.of(queries[key], number, state=Batch.State.REVIEWED, round=2, begun=True))
            candidate = Candidate(query=queries[key], batch=batches[-1], rank=rank, imported_as=pair.pair_id)
            candidate.moment = moments[pair.video, pair.start, pair.end]
            candidate.similarity = pair.similarity
            grades = [grade for _, grade in ratings[pair.pair_id]]
            candidate.escalated = len(grades) > ANNOTATORS
            candidate.settle(2, grades, final=True)
            candidates[pair.pair_id] = candidate
    store(batches)
    store(candidates.values())
    summarize(query.pk for query in queries.values())
    return candidates


def _check(campaign: Campaign, queries: dict[str, Query], by_query: dict[str, list[Pair]]) -> None:
    texts: dict[str, str] = {}
    for key, own in by_query.items():
        if len(own) > campaign.depth:
            raise ReeljudgeError(f"query {key}: has {len(own)} pairs; expected at most {campaign.depth}")
        if other := next((pair for pair in own if pair.query != own[0].query), None):
            raise ReeljudgeError(f"pair {other.pair_id}: query {key} has another text in pair {own[0].pair_id}")
        if len({(pair.video, pair.start, pair.end) for pair in own}) < len(own):
            raise ReeljudgeError(f"query {key}: has one moment in two pairs")
        if (first := texts.setdefault(queries[key].text, key)) != key:
            raise ReeljudgeError(f"query {key}: has the text of query {first}; expected one query for a text")


def _judgements(campaign: Campaign, candidates: dict[str, Candidate], ratings: Ratings) -> None:
    members = _members(campaign, ratings)
    assignments: dict[tuple[int, Rater], Assignment] = {}
    judgements = []
    now = timezone.now()
    for pair, candidate in candidates.items():
        for seat, (worker, grade) in enumerate(_raters(ratings[pair]), 1):
            assert candidate.batch_id is not None
            key = candidate.batch_id, worker
            if key not in assignments:
                done = {"state": Assignment.State.SUBMITTED, "lease": now, "round": 1}  # nobody knows when
                assignments[key] = Assignment(batch_id=candidate.batch_id, annotator=members[worker], slot=None, **done)
            judgements.append((assignments[key], candidate, members[worker], grade, seat))
    store(assignments.values())
    store(
        Judgement(assignment=assignment, candidate=candidate, annotator=member, grade=grade, seat=seat)
        for assignment, candidate, member, grade, seat in judgements
    )


def _raters(given: list[tuple[str, int]]) -> list[tuple[Rater, int]]:
    """Return each rating with its worker and how often that worker had rated the pair before."""
    before: dict[str, int] = defaultdict(int)
    raters = []
    for worker, grade in given:
        raters.append(((worker, before[worker]), grade))
        before[worker] += 1
    return raters


def _members(campaign: Campaign, ratings: Ratings) -> dict[Rater, Membership]:
    """Make a membership for each worker and for each repetition. Workers who are numbers keep them."""
    wanted = sorted({rater for given in ratings.values() for rater, _ in _raters(given)}, key=_by_repetition)
    first = [worker for worker, again in wanted if not again]
    numbers = first if all(map(_is_number, first)) else [str(number) for number in range(1, len(first) + 1)]
    number_of = {worker: int(number) for worker, number in zip(first, numbers, strict=True)}
    free = max(number_of.values()) + 1
    members: dict[Rater, Membership] = {}
    for place, (worker, again) in enumerate(wanted):
        user = User(username=f"{campaign.name}-{number_of[worker]}" + "-again" * again, is_active=False)
        user.set_unusable_password()
        user.save()
        members[worker, again] = Membership.objects.create(
            campaign=campaign,
            user=user,
            role=Membership.Role.ANNOTATOR,
            state=Membership.State.LEFT,
            worker=free + place if again else number_of[worker],
            same_as=members[worker, 0] if again else None,
        )
    return members


def _by_repetition(rater: Rater) -> tuple[int, int, str]:
    worker, again = rater
    return again, int(worker) if _is_number(worker) else 0, worker


def _is_number(worker: str) -> bool:
    return worker.isascii() and worker.isdecimal() and len(worker) < 9 and str(int(worker)) == worker
