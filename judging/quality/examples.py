"""Worked examples: making them, hiding those that are still to be judged, listing them by grade.

And what a new sentence of the guideline may change: the judged pairs that it concerns, and a sample judged again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, QuerySet

from base.errors import Unfit, WrongState
from base.transactions import all_or_nothing, locked
from campaigns.guideline_text import LEVELS
from campaigns.models import Campaign, LogEntry, Membership, log
from corpus.models import Moment
from judging.models import Candidate, Example, Kind, Query
from judging.models.pool import CandidateQuerySet
from judging.models.states import WITH_GRADE
from judging.order import lot
from judging.pool.clips import clips_of_moments, prepare_clip
from retrieval.search.searching import Answer, search

LONGEST_WHY = 1000  # characters of an explanation
# Nobody judges a candidate with one of these outcomes any more. Pairs of exams and checks never have one.
DONE = (*WITH_GRADE, Candidate.Outcome.DISCARDED)
PAIR = ("query__campaign", "query__text", "moment__video", "moment__start", "moment__end")
MOST_MOMENTS_NAMED = 8
NEAR = 0.005  # seconds: times are typed with two decimals


@dataclass(frozen=True)
class Level:
    """One of the five grades: its name, what it means, and the examples that show it."""

    grade: int
    name: str
    meaning: str
    examples: list[Example]


def levels(campaign: Campaign) -> list[Level]:
    """Return the five grades, the best first, each with the campaign's visible examples."""
    examples = list(visible_examples(campaign.examples.all()).select_related("clip"))
    return [
        Level(grade, str(name), str(meaning), [example for example in examples if example.grade == grade])
        for grade, (name, meaning) in sorted(LEVELS.items(), reverse=True)
    ]


def visible_examples(examples: QuerySet[Example]) -> QuerySet[Example]:
    """Exclude the examples whose pair is still to be judged, or is judged again, or whose query is held back."""
    fields = ("moment__video", "moment__start", "moment__end")
    pair = dict(zip(PAIR, map(OuterRef, ("campaign", "query", *fields)), strict=True))
    held = Query.objects.held_back().filter(campaign=OuterRef("campaign"), text=OuterRef("query"))
    return examples.filter(~Exists(_to_judge(pair)), ~Exists(held))


def hidden_examples(examples: QuerySet[Example]) -> set[int]:
    """Return the primary keys of those that annotators do not see."""
    seen = visible_examples(examples).values("pk")
    return set(examples.exclude(pk__in=seen).values_list("pk", flat=True))


def teachable(campaign: Campaign, words: str = "") -> QuerySet[Candidate]:
    """Return the candidates that can become examples and whose query contains `words`."""
    done = Candidate.objects.in_pool(campaign).filter(outcome__in=DONE, query__text__icontains=words)
    done = done.exclude(query__in=campaign.queries.held_back())
    return done.select_related("query", "clip", "moment__video").order_by("query", "-grade", "rank")


def is_teachable(candidate: Candidate) -> bool:
    """Return whether `teachable` returns the candidate, of which the batch and the query are read already."""
    batch = candidate.batch
    if batch is None or batch.kind != Kind.POOL or batch.query.withdrawn is not None:
        return False
    held = batch.query.campaign.held_back
    return candidate.outcome in DONE and not (held and batch.query.split == held)


@all_or_nothing
def add_example(lead: Membership, candidate: Candidate, grade: int, why: str) -> Example:
    """Make a judged pair an example, or replace the grade and the reason of the example that it is.

    Raise WrongState if the pair is still to be judged, or its query is held back.
    """
    pair = locked(Candidate.objects.in_campaign(lead.campaign).filter(pk=candidate.pk))
    candidate = pair.select_related("query", "moment__video").get()
    return _add(lead, candidate.query.text, candidate.moment, grade, why)


@all_or_nothing
def add_own_example(lead: Membership, query: str, moment: Moment, grade: int, why: str) -> Example:
    """Make an example of a query that the lead wrote and a moment. For errors see `add_example`."""
    query = " ".join(query.split())
    known = lead.campaign.queries.filter(text__iexact=query).first()
    return _add(lead, known.text if known else query, moment, grade, why)


def find_moment(campaign: Campaign, video: str, start: float, end: float) -> Moment:
    """Return the moment of the campaign's corpus at these times, in seconds. Raise Unfit if there is none."""
    moments = Moment.objects.filter(video__corpus=campaign.corpus, video__name=video)
    near = {f"{field}__range": (time - NEAR, time + NEAR) for field, time in (("start", start), ("end", end))}
    if found := moments.filter(**near).order_by("pk").first():
        return found
    there = moments.order_by("start", "end").values_list("start", "end").distinct()[:MOST_MOMENTS_NAMED]
    if not there:
        raise Unfit({"video": ["No video of this corpus has that name."]})
    named = ", ".join(f"{start:g}-{end:g}" for start, end in there)
    raise Unfit({"start": [f"No moment has these times. This video has moments at {named} s, among others."]})


def _add(lead: Membership, query: str, moment: Moment, grade: int, why: str) -> Example:
    values = (lead.campaign, query, moment.video, moment.start, moment.end)
    if _to_judge(dict(zip(PAIR, values, strict=True))).exists():
        raise WrongState(
            f"“{query}” beside this moment is still to be judged, so its grade must not be given away. "
            "Wait until the pair is settled, or take another one."
        )
    if lead.campaign.queries.held_back().filter(text=query).exists():
        raise WrongState(
            f"“{query}” is of the split {lead.campaign.held_back}, which is held back. Take a query of another split."
        )
    fields = {"grade": grade, "why": why, "by": lead}
    before = lead.campaign.examples.filter(query=query, moment=moment).first()
    was = f"{before.grade}: {before.why}" if before else "none"
    log(lead, LogEntry.Kind.EXAMPLE, f"“{query}” beside {moment}", was, f"{grade}: {why}")
    example, _ = lead.campaign.examples.update_or_create(query=query, moment=moment, defaults=fields)
    attach_clip(example)
    return example


@all_or_nothing
def remove_example(lead: Membership, pk: int) -> bool:
    """Remove an example of the lead's campaign, and return whether there was one."""
    example = lead.campaign.examples.filter(pk=pk).first()
    if example is None:
        return False
    log(lead, LogEntry.Kind.EXAMPLE, f"“{example.query}”", f"{example.grade}: {example.why}", "removed")
    example.delete()
    return True


def attach_clip(example: Example) -> None:
    """Link the example to a clip with the campaign's padding and sound, and ask for that clip."""
    example.clip = clips_of_moments([example.moment], example.campaign)[example.moment_id]
    example.save(update_fields=["clip"])
    prepare_clip(example.clip)


def _to_judge(pair: dict[str, Any]) -> QuerySet[Candidate]:
    """Return the candidates that are this pair and still to be judged, for any moment of the same times."""
    candidates = Candidate.objects.filter(**pair, query__withdrawn__isnull=True)
    return candidates.exclude(outcome__in=DONE)


NEAREST = 200  # captions that are looked at
ABOVE = 0.4  # the least similarity of a caption that the sentence concerns, unless a lead chooses another
DRAWN = 20  # pairs that are judged again
SEED = 1


def concerned(lead: Membership, sentence: str, above: float) -> tuple[Answer, list[tuple[Candidate, float]]]:
    """Return what the search answered, and the judged pairs whose captions are so near to a sentence, nearest first."""
    answer = search(lead.campaign.corpus, sentence, NEAREST, lead.user_id)
    near = {_span(hit.moment): hit.similarity for hit in answer.hits if hit.similarity >= above}
    found = judged_pairs(lead.campaign).filter(moment__video__in={video for video, *_ in near})
    pairs = [(pair, near[_span(pair.moment)]) for pair in found if _span(pair.moment) in near]
    return answer, sorted(pairs, key=lambda each: (-each[1], each[0].pk))


def _span(moment: Moment) -> tuple[int, float, float]:
    """Return what two descriptions of one moment share."""
    return moment.video_id, moment.start, moment.end


def judged_pairs(campaign: Campaign) -> CandidateQuerySet:
    """Return the pairs that have a final grade."""
    return Candidate.objects.in_pool(campaign).filter(grade__isnull=False).select_related("query", "clip", "moment")


def drawn(pairs: list[tuple[Candidate, float]]) -> list[Candidate]:
    """Return the pairs to judge again, the same ones each time."""
    return sorted((pair for pair, _ in pairs), key=lambda pair: lot(SEED, str(pair.pk)))[:DRAWN]


class Regraded(NamedTuple):
    """How many pairs were judged again and changed, the 95 % interval of that share, and which grades became which."""

    pairs: int
    changed: int
    ends: tuple[float, float]
    moves: list[tuple[tuple[int, int], int]]

    @property
    def share(self) -> float:
        return self.changed / self.pairs


def regraded(campaign: Campaign, grades: Mapping[int, int]) -> Regraded | None:
    """Compare new grades, by the keys of pairs, with the final ones; None if there are none. Nothing is stored."""
    before = judged_pairs(campaign).filter(pk__in=list(grades)[:DRAWN]).values_list("pk", "grade")
    moves = Counter((was or 0, grades[pk]) for pk, was in before)
    if not moves:
        return None
    from scipy.stats import binomtest  # slow to import

    changed = sum(number for (was, now), number in moves.items() if was != now)
    ends = binomtest(changed, moves.total()).proportion_ci(method="wilson")
    return Regraded(moves.total(), changed, (float(ends.low), float(ends.high)), sorted(moves.items()))
