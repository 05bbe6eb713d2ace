"""Worked examples: making them, hiding those that are still to be judged, and listing them by grade."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from base.errors import WrongState
from base.transactions import all_or_nothing, locked
from campaigns.guideline_text import LEVELS
from campaigns.models import Campaign, Membership
from corpus.models import Moment
from judging.models import Candidate, Example
from judging.pool.clips import clips_of_moments, prepare_clip

LONGEST_WHY = 1000  # characters of an explanation

# Nobody judges a candidate with one of these outcomes any more. Pairs of exams and checks never have one.
DONE = (Candidate.Outcome.SETTLED, Candidate.Outcome.ADJUDICATED, Candidate.Outcome.DISCARDED)

PAIR = ("query__campaign", "query__text", "moment__video", "moment__start", "moment__end")


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
    """Exclude the examples whose pair is still to be judged, or is judged again."""
    fields = ("moment__video", "moment__start", "moment__end")
    pair = dict(zip(PAIR, map(OuterRef, ("campaign", "query", *fields)), strict=True))
    return examples.filter(~Exists(_to_judge(pair)))


def hidden_examples(examples: QuerySet[Example]) -> set[int]:
    """Return the primary keys of those that annotators do not see."""
    seen = visible_examples(examples).values("pk")
    return set(examples.exclude(pk__in=seen).values_list("pk", flat=True))


def teachable(campaign: Campaign, words: str = "") -> QuerySet[Candidate]:
    """Return the candidates that can become examples and whose query contains `words`."""
    done = Candidate.objects.in_pool(campaign).filter(outcome__in=DONE, query__text__icontains=words)
    return done.select_related("query", "clip", "moment__video").order_by("query", "-grade", "rank")


@all_or_nothing
def add_example(lead: Membership, candidate: Candidate, grade: int, why: str) -> Example:
    """Make a judged pair an example, or replace the grade and the reason of the example that it is.

    Raises
    ------
    WrongState
        If the pair is still to be judged.
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


def _add(lead: Membership, query: str, moment: Moment, grade: int, why: str) -> Example:
    values = (lead.campaign, query, moment.video, moment.start, moment.end)
    if _to_judge(dict(zip(PAIR, values, strict=True))).exists():
        raise WrongState(
            f"“{query}” beside this moment is still to be judged, so its grade must not be given away. "
            "Wait until the pair is settled, or take another one."
        )
    fields = {"grade": grade, "why": why, "by": lead}
    example, _ = lead.campaign.examples.update_or_create(query=query, moment=moment, defaults=fields)
    attach_clip(example)
    return example


def attach_clip(example: Example) -> None:
    """Link the example to a clip with the campaign's padding and sound, and ask for that clip."""
    example.clip = clips_of_moments([example.moment], example.campaign)[example.moment_id]
    example.save(update_fields=["clip"])
    prepare_clip(example.clip)


def _to_judge(pair: dict[str, Any]) -> QuerySet[Candidate]:
    """Return the candidates that are this pair and still to be judged, for any moment of the same times."""
    candidates = Candidate.objects.filter(**pair, query__withdrawn__isnull=True)
    return candidates.exclude(outcome__in=DONE)
