"""The exam as leads and researchers see it: its pairs with their truth, its examinees, and decisions on them."""

from __future__ import annotations

from typing import Any

from django.db.models import Count
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Body, Choice, Shape, Text, Truth, Whole
from api.problems import unfit
from api.resource import Resource, must_match, tag_of
from api.resources.quality.examples import clip_address
from base.errors import Unfit
from base.transactions import all_or_nothing, locked
from campaigns.models import Membership, Token
from judging import doors
from judging.consensus import GRADES
from judging.models import Batch, Flag, Sitting
from judging.models.sitting import exam_batches
from judging.quality.exam import DEPTH, MOST_QUERIES, QUERIES, set_exam, set_truth
from judging.quality.examples import LONGEST_WHY
from judging.quality.sittings import LONGEST_REASON, QUORUM, VERDICTS, exam_grades, truths
from reports.tables.examinees import Examinee, OwnPair, Pair, examinee, overview, pairs_of, pairs_of_one

READ, LEAD = Token.Scope.READ, Token.Scope.LEAD
LARGEST = 2**31 - 1


class KappasShape(Shape):
    """Cohen's kappa with the truth; null where it is not defined, or nothing is known yet."""

    plain = serializers.FloatField(allow_null=True)
    quadratic = serializers.FloatField(allow_null=True)


class RoundShape(Shape):
    round = serializers.IntegerField()
    result = serializers.ChoiceField(Sitting.Result.choices)
    began = serializers.DateTimeField()
    ended = serializers.DateTimeField(allow_null=True)
    pairs = serializers.IntegerField(help_text="judged in this round")
    missed = serializers.IntegerField()


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
    example = {
        "batches": 10,
        "pairs": 100,
        "quorum": 3,
        "missed": 12.5,
        "first": {"plain": 0.41, "quadratic": 0.8},
        "last": {"plain": 0.52, "quadratic": 0.88},
        "examinees": [],
    }


class NewExam(Body):
    queries = Whole(required=False, min_value=1, max_value=MOST_QUERIES, help_text=f"else {QUERIES}")
    depth = Whole(
        required=False, min_value=1, max_value=LARGEST, help_text=f"candidates of each; else {DEPTH}"
    )
    seed = Whole(required=False, min_value=0, max_value=LARGEST, help_text="of the draw")
    keep_in_pool = Truth(required=False, help_text="do not withdraw the drawn queries from the pool")
    example = {"queries": 10, "depth": 10, "seed": 1}


class ExamBatchShape(Shape):
    id = serializers.IntegerField(source="pk")
    query = serializers.CharField(source="query.text")
    state = serializers.ChoiceField(Batch.State.choices)
    pairs = serializers.IntegerField(source="n_pairs")
    example = {"id": 12, "query": "Somebody opens a door.", "state": "open", "pairs": 10}


class ExamPairShape(Shape):
    rank = serializers.IntegerField(source="candidate.rank")
    query = serializers.CharField(source="candidate.query.text")
    clip = serializers.SerializerMethodField(help_text="its address, once it is cut")
    truth = serializers.FloatField(allow_null=True, help_text="in force: the lead's, or the median")
    own = serializers.IntegerField(source="candidate.truth", allow_null=True, help_text="the lead's")
    why = serializers.CharField(source="candidate.why", help_text="the lead's explanation")
    grades = serializers.ListField(child=serializers.IntegerField(), help_text="first ones, ascending")
    missed = serializers.IntegerField()
    flags = serializers.IntegerField()

    def get_clip(self, pair: Pair) -> str | None:
        return clip_address(pair.candidate.clip)


class ExamPairsShape(Shape):
    pairs = ExamPairShape(many=True, help_text="by rank")
    example = {
        "pairs": [
            {
                "rank": 1,
                "query": "Somebody opens a door.",
                "clip": None,
                "truth": 3.5,
                "own": None,
                "why": "",
                "grades": [3, 4],
                "missed": 0,
                "flags": 0,
            }
        ]
    }


class TruthGiven(Body):
    rank = Whole(min_value=1, max_value=LARGEST)
    grade = Whole(allow_null=True, min_value=min(GRADES), max_value=max(GRADES), help_text="null: the median")
    why = Text(required=False, max_length=LONGEST_WHY, allow_blank=True, help_text="shown to who missed it")


class Truths(Body):
    truths = serializers.ListField(child=TruthGiven(), min_length=1, max_length=1000)
    example = {"truths": [{"rank": 1, "grade": 4, "why": "The door is opened within the clip."}]}


class OwnPairShape(ExamPairShape):
    rank = serializers.IntegerField(source="pair.candidate.rank")
    query = serializers.CharField(source="pair.candidate.query.text")
    truth = serializers.FloatField(source="pair.truth", allow_null=True)
    own = why = grades = flags = clip = None
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
    example = {"verdict": "repeat", "reason": "the network broke"}


class OneExam(Resource):
    @operation("The exam with its examinees", scope=READ, answer=ExamShape)
    def get(self, request: Request, name: str) -> Response:
        return Response(_exam(doors.membership(request, name)))

    @operation(
        "Make the exam of queries that nobody has begun to judge; it opens when its clips are cut",
        scope=LEAD,
        body=NewExam,
        answer=ExamShape,
        status=201,
        makes=True,
    )
    def post(self, request: Request, name: str) -> Response:
        lead, said = doors.lead(request, name), self.said
        seed, keep = said.get("seed", lead.campaign.order_seed), said.get("keep_in_pool", False)
        with unfit():
            set_exam(lead.campaign, seed, said.get("queries", QUERIES), said.get("depth", DEPTH), keep)
        return Response(_exam(lead), 201)


def _exam(member: Membership) -> Any:
    found = overview(member.campaign)
    numbers = {"batches": exam_batches(member.campaign).count(), "pairs": len(found.pairs), "quorum": QUORUM}
    means = {"missed": found.missed, "first": found.first._asdict(), "last": found.last._asdict()}
    return ExamShape(numbers | means | {"examinees": found.examinees}).data


class ExamBatches(Resource):
    @operation("The batches of the exam", scope=READ, answer=ExamBatchShape, pages=True)
    def get(self, request: Request, name: str) -> Response:
        batches = exam_batches(doors.membership(request, name).campaign)
        rows = batches.select_related("query").annotate(n_pairs=Count("candidates"))
        return self.page(rows, ExamBatchShape)


class OneExamBatch(Resource):
    @operation("The pairs of a batch of the exam", scope=READ, answer=ExamPairsShape, tagged=True)
    def get(self, request: Request, name: str, pk: int) -> Response:
        return _pairs(doors.exam_batch(doors.membership(request, name), pk))

    @operation(
        "Set the truth of pairs; results that were given stay as they are",
        scope=LEAD,
        body=Truths,
        answer=ExamPairsShape,
        versioned=True,
        tagged=True,
    )
    def patch(self, request: Request, name: str, pk: int) -> Response:
        batch = doors.exam_batch(doors.lead(request, name), pk)
        _set(request, batch, self.said["truths"])
        return _pairs(batch)


@all_or_nothing
def _set(request: Request, batch: Batch, said: list[dict[str, Any]]) -> None:
    locked(Batch.objects.filter(pk=batch.pk)).get()
    must_match(request, _tag(batch))
    known = set(batch.candidates.values_list("rank", flat=True))
    if strange := sorted({each["rank"] for each in said} - known):
        raise Unfit({"truths": [f"rank {strange[0]}; expected one of {', '.join(map(str, sorted(known)))}"]})
    set_truth(batch, {each["rank"]: (each["grade"], each.get("why", "").strip()) for each in said})


def _tag(batch: Batch) -> str:
    return tag_of("truths", *batch.candidates.order_by("rank").values_list("rank", "truth", "why"))


def _pairs(batch: Batch) -> Response:
    campaign = batch.query.campaign
    grades = exam_grades(campaign)
    pairs = pairs_of(campaign, truths(campaign, grades), grades)
    own = [pair for pair in pairs if pair.candidate.batch_id == batch.pk]
    return Response(ExamPairsShape({"pairs": own}).data, headers={"ETag": _tag(batch)})


class OneExaminee(Resource):
    @operation("An examinee, with each pair of the exam", scope=READ, answer=ExamineeDetail)
    def get(self, request: Request, name: str, worker: int) -> Response:
        return Response(_examinee(doors.annotator_of(doors.membership(request, name), worker)))


class DecideOnExaminee(Resource):
    @operation(
        "Let somebody work in spite of the exam, or give another round of it",
        scope=LEAD,
        body=Decision,
        answer=ExamineeDetail,
    )
    def post(self, request: Request, name: str, worker: int) -> Response:
        lead = doors.lead(request, name)
        person = doors.annotator_of(lead, worker)
        VERDICTS[self.said["verdict"]](person, lead, self.said["reason"])
        return Response(_examinee(doors.annotator_of(lead, worker)))


def _examinee(member: Membership) -> Any:
    person: Examinee = examinee(member)
    pairs: list[OwnPair] = pairs_of_one(member)
    last = person.sittings[-1] if person.sittings else None
    shown = ExamineeShape(person).data
    repeats = bool(last and last.may_be_repeated)
    return shown | {"pairs": OwnPairShape(pairs, many=True).data, "may_repeat": repeats}
