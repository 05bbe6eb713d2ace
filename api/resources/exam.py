"""The exam as leads and researchers see it: its pairs with their truth, its examinees, and decisions on them."""

from __future__ import annotations

from typing import Any

from django.db.models import Count
from rest_framework import serializers
from rest_framework.request import Request

from api.fields import Body, Choice, Page, Shape, Text, Truth, Whole
from api.operations import TAGGED, VERSIONED, Answer, Representation, changes, makes, reads, tagged
from api.problems import unfit
from api.resource import CAMPAIGN, ClipAddress, Resource, must_match, tag_of
from base.errors import Unfit
from base.transactions import all_or_nothing, locked
from campaigns.models import Membership
from judging import doors
from judging.consensus import GRADES
from judging.models import Batch, Flag, Sitting
from judging.models.sitting import exam_batches
from judging.quality.exam import (
    DEPTH,
    LONGEST_REASON,
    MOST_QUERIES,
    QUERIES,
    QUORUM,
    VERDICTS,
    exam_grades,
    set_exam,
    set_truth,
    truths,
)
from judging.quality.examples import LONGEST_WHY
from reports.tables.examinees import Kappas, examinee, overview, pairs_of, pairs_of_one

LARGEST = 2**31 - 1


class KappasShape(Shape):
    """Cohen's kappa with the truth; null where it is not defined, or nothing is known yet."""

    of = Kappas, "plain quadratic"


class RoundShape(Shape):
    of = Sitting, "round result began ended pairs missed"
    helps = {"pairs": "judged in this round"}


class ExamineeShape(Shape):
    worker = serializers.IntegerField(source="member.worker")
    state = serializers.CharField(help_text="how far the person has come, in words")
    qualified = serializers.DateTimeField(source="member.qualified", allow_null=True)
    rounds = RoundShape(source="sittings", many=True)
    first = KappasShape(help_text="of the first grades")
    last = KappasShape(help_text="of the last grades")


class ExamShape(Shape):
    batches = serializers.IntegerField(help_text="0 if there is no exam")
    pairs = serializers.IntegerField()
    quorum = serializers.IntegerField(help_text="examinees that a median needs to be the truth")
    missed = serializers.FloatField(allow_null=True, help_text="per cent of the first grades")
    first = KappasShape(help_text="mean over the examinees")
    last = KappasShape(help_text="mean over the examinees")
    examinees = ExamineeShape(many=True)


class NewExam(Body):
    queries = Whole(required=False, min_value=1, max_value=MOST_QUERIES, help_text=f"else {QUERIES}")
    depth = Whole(required=False, min_value=1, max_value=LARGEST, help_text=f"candidates of each; else {DEPTH}")
    seed = Whole(required=False, min_value=0, max_value=LARGEST, help_text="of the draw")
    keep_in_pool = Truth(required=False, help_text="do not withdraw the drawn queries from the pool")


class ExamBatchShape(Shape):
    of = Batch, "id state"
    query = serializers.CharField(source="query.text")
    pairs = serializers.IntegerField(source="n_pairs")


class ExamPairShape(Shape):
    rank = serializers.IntegerField(source="candidate.rank")
    query = serializers.CharField(source="candidate.query.text")
    clip = ClipAddress(source="candidate.clip", read_only=True)
    truth = serializers.FloatField(allow_null=True, help_text="in force: the lead's, or the median")
    own = serializers.IntegerField(source="candidate.truth", allow_null=True, help_text="the lead's")
    why = serializers.CharField(source="candidate.why", help_text="the lead's explanation")
    grades = serializers.ListField(child=serializers.IntegerField(), help_text="first ones, ascending")
    missed = serializers.IntegerField()
    flags = serializers.IntegerField()


class ExamPairsShape(Shape):
    pairs = ExamPairShape(many=True, help_text="by rank")


class TruthGiven(Body):
    rank = Whole(min_value=1, max_value=LARGEST)
    grade = Whole(allow_null=True, min_value=min(GRADES), max_value=max(GRADES), help_text="null: the median")
    why = Text(required=False, max_length=LONGEST_WHY, allow_blank=True, help_text="shown to who missed it")


class Truths(Body):
    truths = serializers.ListField(child=TruthGiven(), min_length=1, max_length=1000)


class OwnPairShape(Shape):
    rank = serializers.IntegerField(source="pair.candidate.rank")
    query = serializers.CharField(source="pair.candidate.query.text")
    truth = serializers.FloatField(source="pair.truth", allow_null=True)
    missed = serializers.BooleanField()
    first = serializers.IntegerField(source="grades.first", allow_null=True, default=None)
    last = serializers.IntegerField(source="grades.last", allow_null=True, default=None)
    flag = serializers.ChoiceField(Flag.Reason.choices, source="flag.reason", allow_null=True, default=None)


class ExamineeDetail(ExamineeShape):
    pairs = OwnPairShape(many=True, help_text="as the person graded or flagged them")
    may_repeat = serializers.BooleanField(help_text="whether another round can be given")


class Decision(Body):
    verdict = Choice(choices=list(VERDICTS), help_text="work in spite of the exam, or another round of it")
    reason = Text(max_length=LONGEST_REASON, help_text="kept on record")


class OneExam(Resource, at=f"{CAMPAIGN}/exam", name="exam"):
    @reads(ExamShape)
    def get(self, request: Request, name: str) -> Any:
        """The exam with its examinees."""
        return _exam(doors.membership(request, name))

    @makes(ExamShape, body=NewExam)
    def post(self, request: Request, name: str) -> Any:
        """Make the exam of queries that nobody has begun to judge; it opens when its clips are cut."""
        lead = doors.lead(request, name)
        with unfit():
            set_exam(lead.campaign, **{"seed": lead.campaign.order_seed} | self.data)
        return _exam(lead)


def _exam(member: Membership) -> dict[str, Any]:
    exam = overview(member.campaign)
    numbers = {"batches": exam_batches(member.campaign).count(), "pairs": len(exam.pairs), "quorum": QUORUM}
    means = {"missed": exam.missed, "first": exam.first, "last": exam.last}
    return numbers | means | {"examinees": exam.examinees}


class ExamBatches(Resource, at=f"{CAMPAIGN}/exam/batches", name="exam-batches"):
    @reads(Page(ExamBatchShape))
    def get(self, request: Request, name: str) -> Any:
        """The batches of the exam."""
        batches = exam_batches(doors.membership(request, name).campaign)
        return batches.select_related("query").annotate(n_pairs=Count("candidates"))


class OneExamBatch(Resource, at=f"{CAMPAIGN}/exam/batches/<int:pk>", name="exam-batch"):
    @reads(ExamPairsShape, TAGGED)
    def get(self, request: Request, name: str, pk: int) -> Any:
        """The pairs of a batch of the exam."""
        return _pairs(doors.exam_batch(doors.membership(request, name), pk))

    @changes(ExamPairsShape, VERSIONED, body=Truths)
    def patch(self, request: Request, name: str, pk: int) -> Any:
        """Set the truth of pairs; results that were given stay as they are."""
        batch = doors.exam_batch(doors.lead(request, name), pk)
        _set(request, batch, self.data["truths"])
        return _pairs(batch)


@all_or_nothing
def _set(request: Request, batch: Batch, rows: list[dict[str, Any]]) -> None:
    locked(Batch.objects.filter(pk=batch.pk)).get()
    must_match(request, _tag(batch))
    known = set(batch.candidates.values_list("rank", flat=True))
    if strange := sorted({each["rank"] for each in rows} - known):
        raise Unfit({"truths": [f"rank {strange[0]}; expected one of {', '.join(map(str, sorted(known)))}"]})
    set_truth(batch, {each["rank"]: (each["grade"], each.get("why", "").strip()) for each in rows})


def _tag(batch: Batch) -> str:
    return tag_of("truths", *batch.candidates.order_by("rank").values_list("rank", "truth", "why"))


def _pairs(batch: Batch) -> Answer:
    campaign = batch.query.campaign
    grades = exam_grades(campaign)
    pairs = pairs_of(campaign, truths(campaign, grades), grades)
    own = [pair for pair in pairs if pair.candidate.batch_id == batch.pk]
    return tagged({"pairs": own}, _tag(batch))


class OneExaminee(Resource, at=f"{CAMPAIGN}/exam/people/<int:worker>", name="examinee"):
    @reads(ExamineeDetail)
    def get(self, request: Request, name: str, worker: int) -> Any:
        """An examinee, with each pair of the exam."""
        return _examinee(doors.annotator_of(doors.membership(request, name), worker))


class DecideOnExaminee(Resource, at=f"{CAMPAIGN}/exam/people/<int:worker>/verdict", name="exam-verdict"):
    @changes(ExamineeDetail, body=Decision)
    def post(self, request: Request, name: str, worker: int) -> Any:
        """Let somebody work in spite of the exam, or give another round of it."""
        lead = doors.lead(request, name)
        VERDICTS[self.data["verdict"]](doors.annotator_of(lead, worker), lead, self.data["reason"])
        return _examinee(doors.annotator_of(lead, worker))


def _examinee(member: Membership) -> Representation:
    person = examinee(member)
    pairs = OwnPairShape(pairs_of_one(member), many=True).data
    last = person.sittings[-1] if person.sittings else None
    about = {"pairs": pairs, "may_repeat": bool(last and last.may_be_repeated)}
    return Representation(ExamineeShape(person).data | about)
