"""The exam and the attention checks: pairs with their truth, examinees and their results, and decisions on them."""

from __future__ import annotations

from typing import Any

from django.db.models import Count
from rest_framework import serializers
from rest_framework.request import Request

from api.fields import Choice, Text, Truth, Whole
from api.operations import TAGGED, UNFIT, VERSIONED, Answer, Rows, annotated, changes, makes, reads
from api.resource import CAMPAIGN, ClipAddress, Resource, must_match, tag_of
from api.serializers import Body, ModelAnswer, Page, PageParameters
from base.errors import NotFound, Unfit
from base.transactions import all_or_nothing, locked
from campaigns import access
from campaigns.models import Campaign, Membership
from judging import access as judging_access
from judging.consensus import GRADES
from judging.models import Batch, Flag, Judgement, Sitting
from judging.models.sitting import exam_batches
from judging.quality import check_results
from judging.quality.exam import (
    DEPTH,
    LONGEST_REASON,
    MOST_QUERIES,
    QUERIES,
    QUORUM,
    VERDICTS,
    set_exam,
    set_truth,
    unexplained,
)
from judging.quality.examples import LONGEST_WHY
from reports import own_work
from reports.campaign_summaries import PEOPLE, current_summary
from reports.tables.examinees import check_rows, examination, overview, pairs_in

LARGEST = 2**31 - 1


class KappasSerializer(serializers.Serializer):
    """Cohen's kappa with the truth; null where it is not defined, or nothing is known yet."""

    plain = serializers.FloatField(allow_null=True)
    quadratic = serializers.FloatField(allow_null=True)


class RoundSerializer(ModelAnswer):
    class Meta:
        model = Sitting
        fields = ["round", "result", "began", "ended", "pairs", "missed"]
        help_texts = {"pairs": "judged in this round"}


class ExamineeSerializer(serializers.Serializer):
    worker = serializers.IntegerField(source="member.worker")
    state = serializers.CharField(help_text="how far the person has come, in words")
    qualified = serializers.DateTimeField(source="member.qualified", allow_null=True)
    rounds = RoundSerializer(source="sittings", many=True)
    first = KappasSerializer(help_text="of the first grades")
    last = KappasSerializer(help_text="of the last grades")


class ExamSerializer(serializers.Serializer):
    batches = serializers.IntegerField(help_text="0 if there is no exam")
    pairs = serializers.IntegerField()
    unexplained = serializers.IntegerField(help_text="pairs for which no lead has given a reason yet")
    quorum = serializers.IntegerField(help_text="examinees that a median needs to be the truth")
    missed = serializers.FloatField(allow_null=True, help_text="per cent of the first grades")
    first = KappasSerializer(help_text="mean over the examinees")
    last = KappasSerializer(help_text="mean over the examinees")
    examinees = ExamineeSerializer(many=True)


class NewExam(Body):
    queries = Whole(required=False, min_value=1, max_value=MOST_QUERIES, help_text=f"else {QUERIES}")
    depth = Whole(required=False, min_value=1, max_value=LARGEST, help_text=f"candidates of each; else {DEPTH}")
    seed = Whole(required=False, min_value=0, max_value=LARGEST, help_text="of the draw")
    keep_in_pool = Truth(required=False, help_text="do not withdraw the drawn queries from the pool")


class ExamBatchSerializer(ModelAnswer):
    query = serializers.CharField(source="query.text")
    pairs = serializers.IntegerField(source="n_pairs")

    class Meta:
        model = Batch
        fields = ["id", "state"]


class ExamPairSerializer(serializers.Serializer):
    rank = serializers.IntegerField(source="candidate.rank")
    query = serializers.CharField(source="candidate.query.text")
    truth = serializers.FloatField(allow_null=True, help_text="in force: the lead's, or the median")
    own = serializers.IntegerField(source="candidate.truth", allow_null=True, help_text="the lead's")
    why = serializers.CharField(source="candidate.why", help_text="the lead's explanation")
    grades = serializers.ListField(child=serializers.IntegerField(), help_text="first ones, ascending")
    missed = serializers.IntegerField()
    flags = serializers.IntegerField()
    clip = ClipAddress(source="candidate.clip", read_only=True)


class ExamPairsSerializer(serializers.Serializer):
    pairs = ExamPairSerializer(many=True, help_text="by rank")


class TruthGiven(Body):
    rank = Whole(min_value=1, max_value=LARGEST)
    grade = Whole(allow_null=True, min_value=min(GRADES), max_value=max(GRADES), help_text="null: the median")
    why = Text(required=False, max_length=LONGEST_WHY, allow_blank=True, help_text="shown to who missed it")


class Truths(Body):
    truths = serializers.ListField(child=TruthGiven(), min_length=1, max_length=1000)


class OwnPairSerializer(serializers.Serializer):
    rank = serializers.IntegerField(source="pair.candidate.rank")
    query = serializers.CharField(source="pair.candidate.query.text")
    truth = serializers.FloatField(source="pair.truth", allow_null=True)
    missed = serializers.BooleanField()
    first = serializers.IntegerField(source="grades.first", allow_null=True, default=None)
    last = serializers.IntegerField(source="grades.last", allow_null=True, default=None)
    flag = serializers.ChoiceField(Flag.Reason.choices, source="flag.reason", allow_null=True, default=None)


class ExamineeDetail(ExamineeSerializer):
    pairs = OwnPairSerializer(many=True, help_text="as the person graded or flagged them")
    may_repeat = serializers.BooleanField(help_text="whether another round can be given")


class Decision(Body):
    verdict = Choice(choices=list(VERDICTS), help_text="work in spite of the exam, or another round of it")
    reason = Text(max_length=LONGEST_REASON, help_text="kept on record")


class OneExam(Resource, at=f"{CAMPAIGN}/exam", name="exam"):
    @reads(ExamSerializer)
    def get(self) -> Any:
        """The exam with its examinees."""
        return _exam(self.member.campaign)

    @makes(ExamSerializer, UNFIT, body=NewExam)
    def post(self) -> Any:
        """Make the exam of queries that nobody has begun to judge; it opens when its clips are cut."""
        campaign = self.lead.campaign
        set_exam(campaign, **{"seed": campaign.order_seed} | self.data, by=self.lead)
        return _exam(campaign)


def _exam(campaign: Campaign) -> Any:
    exam, to_explain = overview(campaign), unexplained(campaign).count()
    numbers = {"batches": exam_batches(campaign).count(), "pairs": len(exam.pairs), "unexplained": to_explain}
    return annotated(exam, **numbers, quorum=QUORUM)


class ExamBatches(Resource, at=f"{CAMPAIGN}/exam/batches", name="exam-batches"):
    @reads(Page(ExamBatchSerializer))
    def get(self) -> Any:
        """The batches of the exam."""
        batches = exam_batches(self.member.campaign)
        return batches.select_related("query").annotate(n_pairs=Count("candidates"))


class OneExamBatch(Resource, at=f"{CAMPAIGN}/exam/batches/<int:pk>", name="exam-batch"):
    @reads(ExamPairsSerializer, TAGGED)
    def get(self, pk: int) -> Any:
        """The pairs of a batch of the exam."""
        return _pairs(judging_access.exam_batch(self.member, pk))

    @changes(ExamPairsSerializer, VERSIONED, body=Truths)
    def patch(self, pk: int) -> Any:
        """Set the truth of pairs; results that were given stay as they are."""
        batch = judging_access.exam_batch(self.lead, pk)
        _set(self.request, batch, self.data["truths"], self.lead)
        return _pairs(batch)


@all_or_nothing
def _set(request: Request, batch: Batch, rows: list[dict[str, Any]], lead: Membership) -> None:
    locked(Batch.objects.filter(pk=batch.pk)).get()
    must_match(request, _tag(batch))
    known = set(batch.candidates.values_list("rank", flat=True))
    if strange := sorted({each["rank"] for each in rows} - known):
        raise Unfit({"truths": [f"rank {strange[0]}; expected one of {', '.join(map(str, sorted(known)))}"]})
    set_truth(batch, {each["rank"]: (each["grade"], each.get("why", "").strip()) for each in rows}, lead)


def _tag(batch: Batch) -> str:
    return tag_of("truths", *batch.candidates.order_by("rank").values_list("rank", "truth", "why"))


def _pairs(batch: Batch) -> Answer:
    return Answer.tagged({"pairs": pairs_in(batch)}, _tag(batch))


class OneExaminee(Resource, at=f"{CAMPAIGN}/exam/people/<int:worker>", name="examinee"):
    @reads(ExamineeDetail)
    def get(self, worker: int) -> Any:
        """An examinee, with each pair of the exam."""
        return _examinee(access.annotator_of(self.member, worker))


class DecideOnExaminee(Resource, at=f"{CAMPAIGN}/exam/people/<int:worker>/verdict", name="exam-verdict"):
    @changes(ExamineeDetail, body=Decision)
    def post(self, worker: int) -> Any:
        """Let somebody work in spite of the exam, or give another round of it."""
        VERDICTS[self.data["verdict"]](access.annotator_of(self.lead, worker), self.lead, self.data["reason"])
        return _examinee(access.annotator_of(self.lead, worker))


def _examinee(member: Membership) -> Any:
    person, pairs = examination(member)
    return annotated(person, pairs=pairs)


class CheckedSerializer(serializers.Serializer):
    worker = serializers.IntegerField(source="annotator.worker")
    pairs = serializers.IntegerField(source="checked.pairs", default=0, help_text="check pairs in all")
    missed = serializers.IntegerField(source="checked.missed", default=0)
    recent = serializers.IntegerField(source="recent.recent", help_text="the newest, which decide")
    recent_missed = serializers.IntegerField(source="recent.recent_missed")
    warned = serializers.DateTimeField(source="recent.warned", allow_null=True)
    paused = serializers.DateTimeField(source="recent.paused", allow_null=True)
    judgements = serializers.IntegerField(source="speed.judgements", default=0, help_text="of thirty days")
    fast = serializers.IntegerField(
        source="speed.fast", default=0, help_text=f"of these, under {check_results.FAST:g} seconds"
    )
    median = serializers.FloatField(source="speed.median", allow_null=True, default=None, help_text="seconds")


class ChecksSerializer(serializers.Serializer):
    made = serializers.DateTimeField(allow_null=True, help_text="when the numbers in all were counted")
    counting = serializers.BooleanField()
    window = serializers.IntegerField(help_text="of the newest check pairs, which decide")
    enough = serializers.IntegerField(help_text="check pairs before anything follows")
    annotators = CheckedSerializer(many=True)


class CheckPairSerializer(ModelAnswer):
    query = serializers.CharField(source="candidate.query.text")
    source = serializers.CharField(required=False, help_text="`gold`, `repeat` or `distractor`; without `show=speed`")
    expected = serializers.FloatField(required=False, allow_null=True, help_text="without `show=speed`")
    missed = serializers.BooleanField(required=False, allow_null=True, help_text="without `show=speed`")
    seconds = serializers.FloatField(source="spent", allow_null=True, help_text="before the first grade")

    class Meta:
        model = Judgement
        fields = ["id", "grade"]


class PairsParameters(PageParameters):
    show = serializers.ChoiceField(list(check_results.SELECTIONS), required=False, help_text="else all")


class Checks(Resource, at=f"{CAMPAIGN}/checks", name="checks"):
    @reads(ChecksSerializer)
    def get(self) -> Any:
        """Where each annotator stands by the attention checks."""
        campaign = self.lead.campaign
        summary = current_summary(campaign, PEOPLE)
        rules = {"window": check_results.WINDOW, "enough": check_results.ENOUGH}
        return annotated(summary, annotators=check_rows(campaign, summary), **rules)


class CheckPairs(Resource, at=f"{CAMPAIGN}/checks/<int:worker>/pairs", name="check-pairs"):
    @reads(Page(CheckPairSerializer), query=PairsParameters)
    def get(self, worker: int) -> Any:
        """The judgements behind a number of the checks."""
        annotator = access.annotator_of(self.lead, worker)
        which = self.params.get("show", "all")
        rows = check_results.pairs_behind(annotator, which)
        if which == "newest":  # a slice, which a page cannot divide further
            keys = [each.pk for each in rows]
            rows = check_results.pairs_behind(annotator, "all").filter(pk__in=keys)
        return Rows(rows, ("spent", "pk") if which == "speed" else ("-pk",))


class CameBackSerializer(serializers.Serializer):
    query = serializers.CharField()
    grade = serializers.IntegerField(help_text="the annotator’s own, at the end of the round")
    reason = serializers.CharField(help_text="says where to look")
    clip = ClipAddress(read_only=True)


class ExamResultSerializer(serializers.Serializer):
    round = serializers.IntegerField(source="sitting.round")
    result = serializers.ChoiceField(Sitting.Result.choices, source="sitting.result")
    pairs = serializers.IntegerField(source="sitting.pairs", help_text="judged in the round")
    missed = serializers.IntegerField(source="sitting.missed")
    goes_on = serializers.BooleanField(help_text="whether these pairs are judged once more")
    came_back = CameBackSerializer(many=True)


class OwnExam(Resource, at=f"{CAMPAIGN}/mine/exam", name="mine-exam"):
    @reads(ExamResultSerializer)
    def get(self) -> Any:
        """How the annotator's last round of the exam ended, and what came back."""
        if (result := own_work.exam_result(self.through(access.learner))) is None:
            raise NotFound("No round of the exam is marked yet.")
        return result
