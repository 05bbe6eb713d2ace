"""Worked examples: which pairs may become one, which may be shown, and the five levels with theirs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from base.errors import WrongState
from base.transactions import all_or_nothing, locked
from campaigns.guideline_text import LEVELS
from campaigns.models import Campaign, Membership
from corpus.clips import clips_of
from corpus.models import Moment
from judging.models import Candidate, Example
from judging.pool.clips import prepare_clip

# Nobody will be asked about these any more. Pairs of exams and checks never get there.
DONE = (Candidate.Outcome.SETTLED, Candidate.Outcome.ADJUDICATED, Candidate.Outcome.DISCARDED)

PAIR = ("query__campaign", "query__text", "moment__video", "moment__start", "moment__end")


@dataclass(frozen=True)
class Level:
    grade: int
    name: str
    meaning: str
    examples: list[Example]


def levels(campaign: Campaign) -> list[Level]:
    """The five grades from the best down, each with the campaign's own examples."""
    examples = list(shown(campaign.examples.all()).select_related("clip"))
    return [
        Level(grade, str(name), str(meaning), [example for example in examples if example.grade == grade])
        for grade, (name, meaning) in sorted(LEVELS.items(), reverse=True)
    ]


def shown(examples: QuerySet[Example]) -> QuerySet[Example]:
    """Those that may be shown: an example whose pair is to be judged (again) is hidden for as long."""
    fields = ("moment__video", "moment__start", "moment__end")
    pair = dict(zip(PAIR, map(OuterRef, ("campaign", "query", *fields)), strict=True))
    return examples.filter(~Exists(_to_judge(pair)))


def teachable(campaign: Campaign, words: str = "") -> QuerySet[Candidate]:
    """The candidates that may become examples; those whose query holds the words."""
    rows = Candidate.objects.in_pool(campaign).filter(outcome__in=DONE, query__text__icontains=words)
    return rows.select_related("query", "clip", "moment__video").order_by("query", "-grade", "rank")


@all_or_nothing
def add_example(lead: Membership, candidate: Candidate, grade: int, why: str) -> Example:
    """Make a judged pair an example; again, with other words, replaces what was said."""
    pair = locked(Candidate.objects.in_campaign(lead.campaign).filter(pk=candidate.pk))
    candidate = pair.select_related("query", "moment__video").get()
    return _add(lead, candidate.query.text, candidate.moment, grade, why)


@all_or_nothing
def add_own_example(lead: Membership, query: str, moment: Moment, grade: int, why: str) -> Example:
    """Make a pair of the lead's own an example: a query that she wrote, and a moment."""
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
    said = {"grade": grade, "why": why, "by": lead}
    example, _ = lead.campaign.examples.update_or_create(query=query, moment=moment, defaults=said)
    show(example)
    return example


def show(example: Example) -> None:
    """Have its clip ready, as the campaign's batches show theirs."""
    campaign = example.campaign
    example.clip = clips_of([example.moment], campaign.padding, campaign.sound)[example.moment_id]
    example.save(update_fields=["clip"])
    prepare_clip(example.clip)


def _to_judge(pair: dict[str, Any]) -> QuerySet[Candidate]:
    """The campaign's candidates that are that pair, by any moment of the same stretch, and not done."""
    rows = Candidate.objects.filter(**pair, query__withdrawn__isnull=True)
    return rows.exclude(outcome__in=DONE)
