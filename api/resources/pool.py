"""What is judged: queries, batches and candidates, and how far queries are finished in their order."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.fields import Choice, Text, Whole
from api.operations import Rows, annotated, changes, reads
from api.resource import CAMPAIGN, ClipAddress, Resource
from api.serializers import Body, ModelAnswer, Page, filters_of, inline
from base.forms import LARGEST_KEY
from campaigns.models import Membership
from judging import access as judging_access
from judging.models import Batch, Candidate, Kind, Query, ReusedGrade, Review
from judging.models.judgement import DOUBTFUL
from judging.models.states import WithdrawnFor
from judging.pool.opening import open_without_clips
from judging.review.decisions import bring_back, withdraw
from judging.review.frontier import REACH, frontier, reach
from judging.review.reviewing import place_in_line, recommendations, waiting_in_order
from reports.steering import WHY, held_rows, holding
from reports.tables.batch import CandidateRow, Editions, GradeRow, candidate_rows
from reports.tables.batches import ALL, BATCHES, batches_of
from reports.tables.queries import QUERIES, queries_of, query_rows

MOST_HELD = 100  # queries that hold the frontier back


class BatchSerializer(ModelAnswer):
    query = serializers.IntegerField(source="query_id", help_text="the id of its query's resource")

    class Meta:
        model = Batch
        fields = ["id", "number", "edition", "state", "round", "taken"]
        help_texts = {
            "edition": "editions after the first hold reopened candidates",
            "taken": "places of this round that are taken, of 2",
        }


class Advice(serializers.Serializer):
    """What the grades of a batch's last candidates suggest."""

    mean = serializers.FloatField(allow_null=True, help_text="of the last five candidates")
    reason = serializers.CharField()
    verdict = serializers.ChoiceField(Review.Verdict.choices, allow_null=True, help_text="null: decide by hand")
    possible = serializers.ListField(child=serializers.ChoiceField(Review.Verdict.choices))


class QuerySerializer(serializers.Serializer):
    id = serializers.IntegerField(source="query.pk")
    query_id = serializers.CharField(source="query.query_id", help_text="the id in runs and qrels")
    text = serializers.CharField(source="query.text")
    split = serializers.CharField(source="query.split")
    closed = serializers.BooleanField(source="query.closed")
    withdrawn = serializers.DateTimeField(source="query.withdrawn", allow_null=True)
    pairs = serializers.IntegerField(source="query.pairs", help_text="its candidates in batches")
    settled = serializers.IntegerField(source="query.settled")
    contested = serializers.IntegerField(source="query.contested", help_text="those that went to round two")
    discarded = serializers.IntegerField(source="query.discarded")
    flagged = serializers.IntegerField(source="query.flagged")
    mean = serializers.FloatField(
        source="query.last_mean",
        allow_null=True,
        help_text="of the final grades among the last five of its last batch with grades",
    )
    similarity = serializers.FloatField(source="query.similarity", allow_null=True, help_text="of rank 1")
    changed = serializers.DateTimeField(source="query.changed", allow_null=True, help_text="last submission of a batch")
    withdrawn_for = serializers.CharField(source="query.withdrawn_for", help_text="query, judged, or empty")
    batches = BatchSerializer(many=True, help_text="of each number the edition in work, or the newest")


class Grade(serializers.Serializer):
    worker = serializers.IntegerField(source="judgement.annotator.as_worker.worker")
    grade = serializers.IntegerField(source="judgement.grade")
    round = serializers.IntegerField()
    seconds = serializers.FloatField(allow_null=True)
    name = serializers.CharField(required=False, help_text="for leads")
    counts = serializers.BooleanField(help_text="false once the candidate was reopened")
    doubt = serializers.BooleanField(source="judgement.is_doubtful", help_text=DOUBTFUL)


class ReusedSerializer(ModelAnswer):
    """Where a reused grade is from."""

    campaign = serializers.CharField(source="source.query.campaign.name")
    query = serializers.CharField(source="source.query.query_id", help_text="its id there")
    rank = serializers.IntegerField(source="source.rank", help_text="there")
    start = serializers.FloatField(source="source.moment.start", help_text="seconds")
    end = serializers.FloatField(source="source.moment.end", help_text="seconds")
    grades = serializers.ListField(child=serializers.IntegerField(), help_text="of the judgements that it rests on")

    class Meta:
        model = ReusedGrade
        fields = ["overlap"]


class CandidateSerializer(serializers.Serializer):
    id = serializers.IntegerField(source="candidate.pk")
    rank = serializers.IntegerField(source="candidate.rank")
    similarity = serializers.FloatField(
        source="candidate.similarity", allow_null=True, help_text="null of a moment that a run found"
    )
    video = serializers.CharField(source="candidate.moment.video.name")
    start = serializers.FloatField(source="candidate.moment.start", help_text="seconds")
    end = serializers.FloatField(source="candidate.moment.end", help_text="seconds")
    caption = serializers.CharField(source="candidate.moment.caption")
    outcome = serializers.ChoiceField(Candidate.Outcome.choices, source="candidate.outcome")
    grade = serializers.IntegerField(source="candidate.grade", allow_null=True, help_text="the final one")
    clip = ClipAddress(source="candidate.clip")
    grades = Grade(many=True)
    flags = serializers.ListField(child=serializers.IntegerField(), help_text="ids of flags")
    reused = ReusedSerializer(source="reuse", allow_null=True, help_text="null: its grade is not reused")


class InLineSerializer(serializers.Serializer):
    """Where a batch stands among those to review, in the order of `batches/to-review`."""

    number = serializers.IntegerField(allow_null=True, help_text="from 1; null if the batch does not wait")
    of = serializers.IntegerField(help_text="how many wait")
    before = serializers.IntegerField(allow_null=True, help_text="the id before it; before the first: the last")
    after = serializers.IntegerField(allow_null=True, help_text="the id after it; after the last: the first")


class BatchDetail(BatchSerializer):
    text = serializers.CharField(source="query.text")
    in_line = InLineSerializer()
    candidates = CandidateSerializer(many=True, source="candidate_rows")


def _candidate(row: CandidateRow, reader: Membership) -> Any:
    grades = [annotated(each, counts=not each.struck, **_named(each, reader)) for each in row.grades]
    return annotated(row, grades=grades, flags=[each.flag.pk for each in row.flags])


def _named(grade: GradeRow, reader: Membership) -> dict[str, str]:
    return {"name": grade.judgement.annotator.as_worker.user.get_username()} if reader.may_review else {}


class Queries(Resource, at=f"{CAMPAIGN}/queries", name="queries"):
    @reads(Page(QuerySerializer), query=filters_of(QUERIES))
    def get(self) -> Any:
        """The queries of the pool."""
        choices = QUERIES.choices(self.request.query_params)
        state = choices.filters.get("show", "")
        return Rows(*choices.ordered(choices.chosen(queries_of(self.member.campaign, state))), _with_batches)


def _with_batches(queries: list[Query]) -> list[Any]:
    return [annotated(row, batches=[each.batch for each in row.batches]) for row in query_rows(queries)]


class OneQuery(Resource, at=f"{CAMPAIGN}/queries/<int:pk>", name="query"):
    @reads(QuerySerializer)
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


class HeldSerializer(serializers.Serializer):
    """A query that is not finished."""

    id = serializers.IntegerField(source="query.pk")
    query_id = serializers.CharField(source="query.query_id")
    text = serializers.CharField(source="query.text")
    needs = serializers.CharField(source="why.needs", help_text="what finishing it needs")
    why = serializers.ChoiceField([(each.code, each.words) for each in WHY], source="why.code")
    batch = serializers.IntegerField(allow_null=True, help_text="the id of the batch that is meant, if any")


class FrontierSerializer(serializers.Serializer):
    """How far the queries are finished, in the random order in which they are judged."""

    queries = serializers.IntegerField(help_text="all of them, of which the sample is drawn")
    sample = serializers.IntegerField(help_text="those up to the frontier: all are finished")
    beyond = serializers.IntegerField(help_text="those that are finished beyond it")
    holding = serializers.IntegerField(help_text="those that are not finished, before one that is")
    left_out = serializers.IntegerField(help_text="those up to the frontier that were withdrawn after judging")
    random = serializers.BooleanField(source="is_random", help_text="whether the sample is random")
    reach = serializers.IntegerField(allow_null=True, help_text=REACH)
    held = HeldSerializer(many=True, help_text="the first 100 queries that hold the frontier back, in their order")


class FrontierNow(Resource, at=f"{CAMPAIGN}/frontier", name="frontier"):
    @reads(FrontierSerializer)
    def get(self) -> Any:
        """How far the queries are finished in their order, and what holds that back."""
        campaign = self.member.campaign
        found = frontier(campaign)
        held = holding(campaign, found).select_related("campaign")[:MOST_HELD]
        return annotated(found, reach=reach(campaign), held=held_rows(held))


class BatchListed(BatchSerializer):
    mean = serializers.FloatField(source="last_mean", allow_null=True, help_text="of the last five final grades")

    class Meta(BatchSerializer.Meta):
        fields = [*BatchSerializer.Meta.fields, "pairs", "settled", "contested", "discarded", "flagged", "group"]
        help_texts = BatchSerializer.Meta.help_texts | {
            "pairs": "its candidates",
            "contested": "those that went to round two",
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
    @reads(Page(inline("BatchToReview", BatchSerializer, recommendation=Advice())))
    def get(self) -> Any:
        """The batches that wait for a review, with what is recommended."""
        waiting = waiting_in_order(self.member.campaign)
        return Rows(waiting.select_related("query__campaign"), show=_with_recommendations)


def _with_recommendations(batches: list[Batch]) -> list[Any]:
    advice = recommendations(batches)
    return [annotated(each, recommendation=advice[each.pk]) for each in batches]


class OneBatch(Resource, at=f"{CAMPAIGN}/batches/<int:pk>", name="batch"):
    @reads(BatchDetail)
    def get(self, pk: int) -> Any:
        """A batch, with its candidates by rank and who graded them."""
        batch = judging_access.batch(self.member, pk)
        editions = Editions.of(batch)
        rows = candidate_rows(editions, self.member) if batch.kind == Kind.POOL else []
        in_line = place_in_line(editions.batch)
        return annotated(batch, in_line=in_line, candidate_rows=[_candidate(row, self.member) for row in rows])


class BatchesToOpen(Body):
    batch = Whole(required=False, min_value=1, max_value=LARGEST_KEY, help_text="its id; without it, all that wait")


class OpenBatches(Resource, at=f"{CAMPAIGN}/batches/open", name="batches-open"):
    @changes(
        inline("HowManyOpened", number=serializers.IntegerField(help_text="of batches that are open now")),
        body=BatchesToOpen,
    )
    def post(self) -> Any:
        """Open a batch, or all batches, that wait because clips of them cannot be cut."""
        batch = judging_access.batch(self.lead, self.data["batch"]) if "batch" in self.data else None
        return {"number": open_without_clips(self.lead, batch)}
