"""What is judged: queries, batches, candidates, and pools that are enlarged by what runs found."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers

from api.fields import Body, Choice, Number, Page, Query, Shape, Text, Whole, filters_of, shape
from api.operations import ONCE, UNFIT, Rows, With, changes, fresh, reads, starts
from api.resource import CAMPAIGN, ClipAddress, Resource
from campaigns.models import Membership
from judging import access as judging_access
from judging.models import Batch, Kind, ReusedGrade, Review
from judging.models import Query as PoolQuery
from judging.models.states import WithdrawnFor
from judging.pool.opening import open_all_without_clips, open_without_clips
from judging.review.decisions import bring_back, withdraw
from judging.review.frontier import REACH, Frontier, frontier, reach
from judging.review.reviewing import InLine, Recommendation, place_in_line, recommendations, waiting_in_order
from releases.models import Release
from reports.frontier import WHY, Held, held_rows, holding
from reports.tables.batch import CandidateRow, Editions, GradeRow, candidate_rows
from reports.tables.batches import ALL, BATCHES, batches_of
from reports.tables.queries import QUERIES, QueryRow, queries_of, query_rows
from runs.access import enlargement as enlargement_of
from runs.measures import NDCG
from runs.models import Enlargement, Near
from runs.pools.comparing import HEADLINE, ComparedRow, comparison, found_moments
from runs.pools.enlarging import (
    DEEPEST,
    MOST_MOMENTS,
    PoolPlan,
    ask_to_open,
    ask_to_propose,
    open_further_batches,
    propose_moments,
)

MOST = 2**31 - 1
MOST_HELD = 100  # queries that hold the frontier back


class BatchShape(Shape):
    of = Batch, "id number edition state round taken query=query_id"
    helps = {
        "edition": "editions after the first hold reopened candidates",
        "taken": "places of this round that are taken, of 2",
        "query": "the id of its query's resource",
    }


class Advice(Shape):
    """What the grades of a batch's last candidates suggest."""

    of = Recommendation, "mean reason"
    helps = {"mean": "of the last five candidates"}
    verdict = serializers.ChoiceField(Review.Verdict.choices, allow_null=True, help_text="null: decide by hand")
    possible = serializers.ListField(child=serializers.ChoiceField(Review.Verdict.choices))


class QueryShape(Shape):
    of = (
        QueryRow,
        "id=query.pk query_id=query.query_id text=query.text split=query.split closed=query.closed "
        "withdrawn=query.withdrawn pairs=query.pairs settled=query.settled contested=query.contested "
        "discarded=query.discarded flagged=query.flagged mean=query.last_mean similarity=query.similarity "
        "changed=query.changed",
    )
    helps = {
        "query_id": "the id in runs and qrels",
        "pairs": "its candidates in batches",
        "contested": "those that went to round two",
        "mean": "of the final grades among the last five of its last batch with grades",
        "similarity": "of rank 1",
        "changed": "when somebody last submitted a batch of it",
    }
    withdrawn_for = serializers.CharField(
        source="query.withdrawn_for", help_text="query or judged; empty if it is not withdrawn"
    )
    batches = BatchShape(many=True, help_text="of each number the edition in work, or the newest")


class Grade(Shape):
    of = (GradeRow, "worker=judgement.annotator.as_worker.worker name grade=judgement.grade round counts seconds")
    name = serializers.CharField(required=False, help_text="for leads")
    counts = serializers.BooleanField(help_text="false once the candidate was reopened")


class ReusedShape(Shape):
    """Where a reused grade is from."""

    of = (
        ReusedGrade,
        "campaign=source.query.campaign.name query=source.query.query_id rank=source.rank start=source.moment.start "
        "end=source.moment.end overlap",
    )
    helps = {"query": "its id there", "rank": "there", "start": "seconds", "end": "seconds"}
    grades = serializers.ListField(child=serializers.IntegerField(), help_text="of the judgements that it rests on")


class CandidateShape(Shape):
    of = (
        CandidateRow,
        "id=candidate.pk rank=candidate.rank similarity=candidate.similarity video=candidate.moment.video.name "
        "start=candidate.moment.start end=candidate.moment.end caption=candidate.moment.caption clip "
        "outcome=candidate.outcome grade=candidate.grade",
    )
    helps = {"similarity": "null of a moment that a run found", "start": "seconds", "end": "seconds"}
    helps |= {"grade": "the final one"}
    clip = ClipAddress(source="candidate.clip")
    grades = Grade(many=True)
    flags = serializers.ListField(child=serializers.IntegerField(), help_text="ids of flags")
    reused = ReusedShape(source="reuse", allow_null=True, help_text="null: its grade is not reused")


class InLineShape(Shape):
    """Where a batch stands among those to review, in the order of `batches/to-review`."""

    of = InLine, "number of before after"
    helps = {
        "number": "from 1; null if the batch does not wait",
        "of": "how many wait",
        "before": "the id of the one before; before the first comes the last",
        "after": "the id of the one after; after the last comes the first",
    }


class BatchDetail(BatchShape):
    of = Batch, "text=query.text"
    in_line = InLineShape()
    candidates = CandidateShape(many=True)


def _candidate(row: CandidateRow, reader: Membership) -> With:
    grades = [With(each, counts=not each.struck, **_named(each, reader)) for each in row.grades]
    return With(row, grades=grades, flags=[each.flag.pk for each in row.flags])


def _named(grade: GradeRow, reader: Membership) -> dict[str, str]:
    return {"name": grade.judgement.annotator.as_worker.user.get_username()} if reader.may_review else {}


class Queries(Resource, at=f"{CAMPAIGN}/queries", name="queries"):
    @reads(Page(QueryShape), query=filters_of(QUERIES))
    def get(self) -> Any:
        """The queries of the pool."""
        choices = QUERIES.choices(self.request.query_params)
        state = choices.filters.get("show", "")
        return Rows(*choices.ordered(choices.chosen(queries_of(self.member.campaign, state))), _with_batches)


def _with_batches(queries: list[PoolQuery]) -> list[With]:
    return [With(row, batches=[each.batch for each in row.batches]) for row in query_rows(queries)]


class OneQuery(Resource, at=f"{CAMPAIGN}/queries/<int:pk>", name="query"):
    @reads(QueryShape)
    def get(self, pk: int) -> Any:
        """A query of the pool."""
        return _with_batches([judging_access.pool_query(self.member, pk)])[0]


class Reason(Body):
    reason = Text(max_length=500, help_text="kept on record")


class NewWithdrawal(Reason):
    withdrawn_for = Choice(
        choices=WithdrawnFor.choices,
        required=False,
        help_text="by default what judging it showed, if a pair of it is judged, and else what the query is",
    )


class Withdrawal(Resource, at=f"{CAMPAIGN}/queries/<int:pk>/withdrawal", name="withdrawal"):
    @changes(body=NewWithdrawal)
    def put(self, pk: int) -> Any:
        """Withdraw a query: nobody judges it any more, and no export has it."""
        withdraw(
            judging_access.pool_query(self.lead, pk), self.data["reason"], self.data.get("withdrawn_for"), self.lead
        )

    @changes()
    def delete(self, pk: int) -> Any:
        """Bring a withdrawn query back."""
        bring_back(judging_access.pool_query(self.lead, pk), self.lead)


class HeldShape(Shape):
    """A query that is not finished."""

    of = Held, "id=query.pk query_id=query.query_id text=query.text needs=why.needs"
    helps = {"needs": "what finishing it needs"}
    why = serializers.ChoiceField([(each.code, each.words) for each in WHY], source="why.code")
    batch = serializers.IntegerField(allow_null=True, help_text="the id of the batch that is meant, if any")


class FrontierShape(Shape):
    """How far the queries are finished, in the random order in which they are judged."""

    of = Frontier, "queries sample beyond holding left_out random=is_random"
    helps = {
        "queries": "all of them, of which the sample is drawn",
        "sample": "those up to the frontier: all are finished",
        "beyond": "those that are finished beyond it",
        "holding": "those that are not finished, before one that is",
        "left_out": "those up to the frontier that were withdrawn for what judging them showed",
    }
    random = serializers.BooleanField(source="is_random", help_text="whether the sample is random")
    reach = serializers.IntegerField(allow_null=True, help_text=REACH)
    held = HeldShape(many=True, help_text="the first 100 queries that hold the frontier back, in their order")


class FrontierNow(Resource, at=f"{CAMPAIGN}/frontier", name="frontier"):
    @reads(FrontierShape)
    def get(self) -> Any:
        """How far the queries are finished in their order, and what holds that back."""
        campaign = self.member.campaign
        found = frontier(campaign)
        held = holding(campaign, found).select_related("campaign")[:MOST_HELD]
        return With(found, reach=reach(campaign), held=held_rows(held))


class BatchListed(BatchShape):
    of = Batch, "pairs settled contested discarded flagged mean=last_mean group"
    helps = {
        "pairs": "its candidates",
        "contested": "those that went to round two",
        "mean": "of the final grades among the last five",
        "group": "whose annotators judge it in round one; empty: everybody",
    }


class Batches(Resource, at=f"{CAMPAIGN}/batches", name="batches"):
    @reads(Page(BatchListed), query=filters_of(BATCHES))
    def get(self) -> Any:
        """The batches of the pool."""
        choices = BATCHES.choices(self.request.query_params)
        rows = batches_of(self.member.campaign, choices.filters.get("show", ALL))
        return Rows(*choices.ordered(choices.chosen(rows)))


class BatchesToReview(Resource, at=f"{CAMPAIGN}/batches/to-review", name="to-review"):
    @reads(Page(shape("BatchToReview", BatchShape, recommendation=Advice())))
    def get(self) -> Any:
        """The batches that wait for a review, with what is recommended."""
        waiting = waiting_in_order(self.member.campaign)
        return Rows(waiting.select_related("query__campaign"), show=_with_recommendations)


def _with_recommendations(batches: list[Batch]) -> list[With]:
    advice = recommendations(batches)
    return [With(each, recommendation=advice[each.pk]) for each in batches]


class OneBatch(Resource, at=f"{CAMPAIGN}/batches/<int:pk>", name="batch"):
    @reads(BatchDetail)
    def get(self, pk: int) -> Any:
        """A batch, with its candidates by rank and who graded them."""
        batch = judging_access.batch(self.member, pk)
        editions = Editions.of(batch)
        rows = candidate_rows(editions, self.member) if batch.kind == Kind.POOL else []
        in_line = place_in_line(editions.batch)
        return With(batch, in_line=in_line, candidates=[_candidate(row, self.member) for row in rows])


class OpenBatch(Resource, at=f"{CAMPAIGN}/batches/<int:pk>/open", name="batch-open"):
    @changes(BatchShape)
    def post(self, pk: int) -> Any:
        """Open a batch without the clips that cannot be cut."""
        batch = judging_access.batch(self.lead, pk)
        open_without_clips(self.lead, batch)
        return fresh(batch)


class OpenBatches(Resource, at=f"{CAMPAIGN}/batches/open", name="batches-open"):
    @changes(shape("HowManyOpened", number=serializers.IntegerField(help_text="of batches that are open now")))
    def post(self) -> Any:
        """Open all batches that wait because clips of them cannot be cut."""
        return {"number": open_all_without_clips(self.lead)}


class EnlargementShape(Shape):
    of = Enlargement, "number at depth iou taken near opened release=release.version"
    helps = {
        "depth": "how many ranks of each run are looked at",
        "iou": "from which a prediction matches a judged moment",
        "taken": "how many of the first are judged",
    }
    runs = serializers.ListField(child=serializers.IntegerField())
    moments = serializers.SerializerMethodField(help_text="how many were found; null until then")

    def get_moments(self, enlargement: Enlargement) -> int | None:
        return None if enlargement.found is None else len(enlargement.moments)


class FinderShape(Shape):
    run = serializers.IntegerField(allow_null=True, help_text="its number; null of a private run")
    rank = serializers.IntegerField()


class FoundShape(Shape):
    """A moment that runs found."""

    query = serializers.CharField()
    video = serializers.CharField()
    start = serializers.FloatField(help_text="seconds")
    end = serializers.FloatField(help_text="seconds")
    influence = serializers.FloatField(help_text="how much it could change the order of the runs")
    found_by = FinderShape(many=True)
    overlap = serializers.FloatField(
        allow_null=True, help_text="IoU with the judged moment that it may be; null if there is none"
    )
    batch = serializers.IntegerField(allow_null=True, help_text="the batch in which it is judged")


class OneEnlargementShape(EnlargementShape):
    found = FoundShape(many=True, source="found_moments", help_text="the most decisive first")


class NewEnlargement(Body):
    runs = serializers.ListField(child=Whole(min_value=1, max_value=MOST), max_length=1000)
    depth = Whole(min_value=1, max_value=DEEPEST, required=False)
    iou = Number(min_value=0, max_value=1, required=False, help_text="0.3, 0.5 or 0.7")


class Opening(Body):
    taken = Whole(min_value=0, max_value=MOST, help_text="how many are judged, from the top")
    near = Choice(choices=Near.choices, required=False, help_text="what becomes of those near to judged ones")


class Enlargements(Resource, at=f"{CAMPAIGN}/enlargements", name="enlargements"):
    @reads(Page(EnlargementShape))
    def get(self) -> Any:
        """The enlargements of the pool."""
        return Rows(self.participant.campaign.enlargements.select_related("release"), ("-number",))

    @starts(EnlargementShape, ONCE, UNFIT, body=NewEnlargement)
    def post(self) -> Any:
        """Ask which unjudged moments would decide between runs."""
        made = ask_to_propose(self.lead, PoolPlan(**self.data))
        return self.under_way(propose_moments.jobs(made).get(), made)


class OneEnlargement(Resource, at=f"{CAMPAIGN}/enlargements/<int:number>", name="enlargement"):
    @reads(OneEnlargementShape)
    def get(self, number: int) -> Any:
        """An enlargement, with the moments that were found."""
        enlargement = enlargement_of(self.participant, number)
        return With(enlargement, found_moments=_found(enlargement, self.participant))


def _found(enlargement: Enlargement, member: Membership) -> list[dict[str, Any]]:
    return [
        {
            **each.moment,
            "found_by": [{"run": run.number if run else None, "rank": rank} for run, rank in each.sources],
            "overlap": each.moment["near"]["iou"] if each.moment["near"] else None,
            "batch": each.candidate.batch_id if each.candidate else None,
        }
        for each in found_moments(enlargement, member, MOST_MOMENTS)
    ]


class EnlargementOpening(Resource, at=f"{CAMPAIGN}/enlargements/<int:number>/opening", name="enlargement-opening"):
    @starts(EnlargementShape, UNFIT, body=Opening)
    def put(self, number: int) -> Any:
        """Have the first moments judged, in further batches."""
        near = self.data.get("near", Near.LEAVE)
        opened = ask_to_open(enlargement_of(self.lead, number), self.lead, self.data["taken"], near)
        return self.under_way(open_further_batches.jobs(opened).first(), opened)


class PoolsAsked(Query):
    release = serializers.IntegerField(
        required=False, min_value=1, max_value=MOST, help_text="else the newest with two pools"
    )
    measure = serializers.ChoiceField(NDCG, required=False)


class PoolRow(Shape):
    of = ComparedRow, "first whole without reused place_first place_whole run=run.number name=run.name"
    helps = {
        "first": "the score with the first pool",
        "whole": "with the enlarged pool",
        "without": "without what only its system found",
        "reused": "with the grades of near moments too",
    }


class PoolsShape(Shape):
    release = serializers.IntegerField()
    measure = serializers.CharField()
    convention = serializers.CharField()
    tau = serializers.FloatField(allow_null=True, help_text="Kendall's τ-b of the two orders")
    runs = PoolRow(many=True)


class Pools(Resource, at=f"{CAMPAIGN}/pools", name="pools"):
    @reads(PoolsShape, query=PoolsAsked)
    def get(self) -> Any:
        """The runs with the first and with the enlarged pool."""
        releases = Release.objects.filter(campaign=self.participant.campaign, pool_scores__isnull=False).distinct()
        if "release" in self.params:
            releases = releases.filter(version=self.params["release"])
        release = get_object_or_404(releases.order_by("-version")[:1])
        measure = self.params.get("measure", HEADLINE)
        found = comparison(self.participant, release, measure)
        about = {"release": release.version, "measure": measure, "convention": "paper"}
        return about | {"tau": found.tau if found else None, "runs": found.rows if found else []}
