"""Ranking: find for each query of a campaign the moments whose captions are most similar to it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from itertools import islice

from django.db import transaction

from base.errors import ReeljudgeError
from campaigns.models import Campaign
from corpus.errors import CorpusError
from corpus.models import Moment
from jobs.errors import JobPostponed
from jobs.registry import SELF, Report, kind
from judging.models import Candidate, Query
from judging.pool import opening
from judging.pool.queries import wording
from retrieval.embedding import embed, model_name
from retrieval.encoders import same_model
from retrieval.models import is_under_way
from retrieval.nearest import Nearest, nearest

QUERIES_AT_A_TIME = 50


@kind("rank-candidates", "Rank candidates", of=Campaign, owner=SELF, page=("campaign", "name"), refusals=(CorpusError,))
def rank_candidates(campaign: Campaign, report: Report) -> None:
    """Store candidates for every query that has none, and open its first batch. Running it again adds nothing."""
    queries = list(campaign.queries.filter(candidates__isnull=True).order_by("pk"))
    if not queries:
        return
    check_encoder(campaign)
    if is_under_way(campaign.corpus):
        raise JobPostponed(f"corpus {campaign.corpus} is being reworded, and candidates are ranked by its captions")
    moments = moments_of(campaign)
    depth = campaign.depth * max(Counter(map(str, moments)).values())
    found, own = compare(queries, moments, depth, report), own_moments(moments)
    Campaign.objects.filter(pk=campaign.pk).update(encoder=model_name())
    for start in range(0, len(queries), QUERIES_AT_A_TIME):
        report(start, len(queries), f"storing candidates: {start:,} of {len(queries):,} queries")
        with transaction.atomic():
            for number, query in enumerate(queries[start : start + QUERIES_AT_A_TIME], start):
                ranked = in_order(moments, found, number, own[wording(query.text)])
                _store(query, list(islice(ranked, campaign.depth)))
    report(len(queries), len(queries))


def check_encoder(campaign: Campaign) -> None:
    """Raise an error if another model than the one in the settings ranked the campaign's candidates."""
    if not same_model(campaign.encoder, model_name()) and Candidate.objects.in_campaign(campaign).exists():
        raise ReeljudgeError(
            f"ENCODER: names {model_name()}; expected {campaign.encoder}, which ranked this campaign so far"
        )


def moments_of(campaign: Campaign) -> list[Moment]:
    """Return the corpus's moments in the order of their ids, which is the order that breaks ties."""
    moments = list(Moment.objects.filter(video__corpus=campaign.corpus).select_related("video"))
    if not moments:
        raise ReeljudgeError(f"corpus {campaign.corpus} holds no moments; import it first")
    return sorted(moments, key=lambda moment: (str(moment), moment.description))


def compare(queries: list[Query], moments: list[Moment], depth: int, report: Report) -> Nearest:
    """The moments with the captions nearest to each query."""

    def saying(message: str) -> Callable[[int, int], None]:
        return lambda done, total: report(done, total, f"{message}: {done:,} of {total:,}")

    report(0, len(moments), "loading the model")
    captions = embed([moment.caption for moment in moments], saying("encoding captions"))
    texts = embed([query.text for query in queries], saying("encoding queries"))
    return nearest(texts.reshape(len(queries), -1), captions, depth, report=saying("comparing"))


def own_moments(moments: list[Moment]) -> defaultdict[str, list[Moment]]:
    """Return the moments with each caption, by its wording: those that a query of this text was made from."""
    own = defaultdict[str, list[Moment]](list)
    for moment in moments:
        own[wording(moment.caption)].append(moment)
    return own


def _store(query: Query, ranked: list[tuple[Moment, float]]) -> None:
    Candidate.objects.bulk_create(
        Candidate(query=query, moment=moment, rank=rank, similarity=similarity)
        for rank, (moment, similarity) in enumerate(ranked, 1)
    )
    opening.open_batch(query, 1)


def in_order(moments: list[Moment], found: Nearest, number: int, own: list[Moment]) -> Iterable[tuple[Moment, float]]:
    """What was found for a query, no moment id twice: two descriptions of one stretch of film show the same clip.

    A query's own moments come first, with similarity 1: rounding would put captions beside them that differ in case.
    """
    seen: dict[str, tuple[Moment, float]] = {}
    for moment in own:
        seen.setdefault(str(moment), (moment, 1.0))
    for index, similarity in zip(found.indices[number], found.similarities[number], strict=True):
        moment = moments[index]
        seen.setdefault(str(moment), (moment, float(similarity)))
    return seen.values()
