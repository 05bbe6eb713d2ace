"""The annotator's loop: claim, grade or flag, ask, submit; own work and practice. It tells no more than pages do."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers

from api.fields import Choice, Key, Number, Text, Truth, Whole
from api.operations import JUDGE, OR_NOTHING, annotated, changes, fresh, reads
from api.resource import CAMPAIGN, ClipAddress, Resource
from api.serializers import Body, ModelAnswer, QueryParameters, inline
from base.forms import LARGEST_KEY
from base.sites import site_address
from campaigns import access
from campaigns.models import Membership, Message
from corpus.clip_files import clip_file
from judging import access as judging_access
from judging.consensus import GRADES
from judging.models import Assignment, Flag, Practice, Question, Revision
from judging.models.assignment import taken_from_you
from judging.models.judgement import DOUBTFUL, LONGEST_QUESTION
from judging.quality.exam import exam_state
from judging.work import claiming, grading, practising, submitting
from judging.work.grading import LARGEST, LONGEST, LONGEST_COMMENT
from judging.work.places import assignment_data, limit_reached
from releases.models import Release
from reports import own_work


class Place(serializers.Serializer):
    position = serializers.IntegerField(help_text="from 1, in the annotator's own order")
    clip = serializers.CharField(allow_null=True, help_text="its address; null if there is none")
    grade = serializers.IntegerField(allow_null=True, help_text="the annotator's own")
    doubt = serializers.BooleanField(help_text=DOUBTFUL)
    flag = serializers.ChoiceField(Flag.Reason.choices, allow_null=True)
    comment = serializers.CharField(help_text="of the flag")
    query = serializers.CharField(required=False, help_text="where it changes within the batch")
    note = serializers.CharField(required=False, help_text="why the clip came back, in an exam")


class AssignmentSerializer(ModelAnswer):
    presses = serializers.IntegerField(help_text="the number of the last press that is stored")
    query = serializers.CharField()
    places = Place(many=True)

    class Meta:
        model = Assignment
        fields = ["token", "fence"]
        help_texts = {
            "token": "names the assignment in addresses",
            "fence": "goes with all that is sent; it rises when a lease is taken up again",
        }


class Fenced(Body):
    fence = Whole(min_value=1, max_value=LARGEST, help_text="the number that came with the assignment")


class BatchSubmitted(Fenced):
    list_seconds = Number(
        required=False, allow_null=True, min_value=0, max_value=LONGEST, help_text="of active work in the list of clips"
    )


class Press(Fenced):
    key = Key(help_text="new for each press; one that arrives twice is stored once")
    press = Whole(required=False, allow_null=True, min_value=0, max_value=LARGEST, help_text="higher for each press")
    seconds = Number(required=False, allow_null=True, min_value=0, max_value=LONGEST, help_text="of active work")


class GradeGiven(Press):
    grade = Whole(min_value=min(GRADES), max_value=max(GRADES))
    input = Choice(choices=Revision.Input.choices, required=False, help_text="how it was given")
    doubt = Truth(required=False, help_text=f"{DOUBTFUL}; false if it is left out")


class FlagGiven(Press):
    reason = Choice(choices=Flag.Reason.choices)
    comment = Text(required=False, max_length=LONGEST_COMMENT, allow_blank=True)


class FlagTakenBack(QueryParameters):
    fence = serializers.IntegerField(min_value=1, max_value=LARGEST)
    key = serializers.UUIDField(format="hex_verbose")
    press = serializers.IntegerField(required=False, min_value=0, max_value=LARGEST)


class Stored(serializers.Serializer):
    position = serializers.IntegerField()
    grade = serializers.IntegerField(allow_null=True)
    doubt = serializers.BooleanField(help_text=DOUBTFUL)
    flag = serializers.ChoiceField(Flag.Reason.choices, allow_null=True)
    overtaken = serializers.IntegerField(required=False, help_text="the last press, if that is newer than this one")


class QuestionGiven(Body):
    text = Text(max_length=LONGEST_QUESTION)
    key = Key(help_text="new for each question; one that arrives twice is stored once")


class QuestionAtPlace(QuestionGiven):
    about = Choice(choices=list(grading.AT_A_PLACE), help_text="the clip at the position, or its query")


class OwnQuestion(ModelAnswer):
    query = serializers.CharField(
        source="query.text",
        allow_null=True,
        default=None,
        help_text="that it is about, or whose clip; null if it is about neither",
    )
    letter = serializers.IntegerField(source="letter_id", allow_null=True, help_text="the message that it answers")
    answer = serializers.IntegerField(source="answer_id", allow_null=True, help_text="the message that answers it")
    about = serializers.ChoiceField(Question.About.choices)

    class Meta:
        model = Question
        fields = ["id", "at", "text"]


class PlacedQuestion(serializers.Serializer):
    position = serializers.IntegerField(allow_null=True, help_text="of the clip; null if it is about the query")
    about = serializers.ChoiceField(Question.About.choices)
    text = serializers.CharField()
    answer = serializers.CharField(allow_null=True)
    letter = serializers.IntegerField(allow_null=True, help_text="the message with the answer")
    read = serializers.BooleanField(help_text="whether the answer is read")
    waits = serializers.BooleanField(help_text="whether no lead has answered it or put it aside")


class News(serializers.Serializer):
    work = serializers.BooleanField(help_text="there is some, and this answer alone says so")
    waits = serializers.BooleanField(help_text="the annotator goes on waiting")


def _data_of(assignment: Assignment) -> dict[str, Any]:
    """Return the assignment as the workplace gets it, with its query, and with the API's addresses of clips."""
    data = assignment_data(assignment, "api-place")
    places = [{"position": position} | place for position, place in enumerate(data["places"], 1)]
    return data | {"places": places, "query": assignment.batch.query.text}


def _assignment(resource: Resource, token: str, **_: Any) -> Assignment:
    return judging_access.assignment(resource.request, token)


class Claim(Resource, at=f"{CAMPAIGN}/claim", name="claim"):
    @changes(AssignmentSerializer, OR_NOTHING, scope=JUDGE)
    def post(self) -> Any:
        """Get a batch, or the one in hand: 204 if there is nothing to judge."""
        assignment = claiming.claim(self.through(access.annotator))
        return _data_of(assignment) if assignment else None


class LoadAhead(Resource, at=f"{CAMPAIGN}/claim/ahead", name="load-ahead"):
    @changes(AssignmentSerializer(many=True), scope=JUDGE)
    def post(self) -> Any:
        """The batch in hand and up to three more, for work without a network. Each stays as long as all may take."""
        return [_data_of(each) for each in claiming.load_ahead(self.through(access.annotator))]


class Waiting(Resource, at=f"{CAMPAIGN}/waiting", name="waiting"):
    @changes(scope=JUDGE)
    def put(self) -> None:
        """Be told once, by a mail or by the open page, as soon as there is work."""
        claiming.wait_for_work(self.through(access.annotator), site_address(self.request._request))

    @changes(News, scope=JUDGE)
    def post(self) -> Any:
        """Whether there is work for an annotator who waits for it; who learns it waits no more."""
        return claiming.news(self.through(access.annotator))

    @changes(scope=JUDGE)
    def delete(self) -> None:
        """Wait no more."""
        self.through(access.annotator).stop_waiting()


class OneAssignment(Resource, at="assignments/<slug:token>", name="assignment"):
    @reads(AssignmentSerializer, scope=JUDGE)
    def get(self, token: str) -> Any:
        """The batch in hand, with what was said of it so far."""
        assignment = judging_access.assignment(self.request, token)
        if not Assignment.objects.held().filter(pk=assignment.pk).exists():
            raise taken_from_you()
        return _data_of(assignment)


class ClipOfPlace(Resource, at="assignments/<slug:token>/clips/<slug:key>", name="place"):
    @reads(("video/mp4",), scope=JUDGE)
    def get(self, token: str, key: str) -> Any:
        """The clip of one place of the batch in hand; ranges are answered."""
        clip, full = judging_access.clip_of_place(self.request, token, key)
        return clip_file(self.request._request, clip, key, full)


class Judgement(Resource, at="assignments/<slug:token>/judgements/<int:position>", name="judgement"):
    @changes(Stored, body=GradeGiven, scope=JUDGE, door=_assignment)
    def put(self, token: str, position: int) -> Any:
        """Grade the clip at a position."""
        revision = grading.judge(judging_access.writer(self.request, token), position, **self.data)
        stored = {"position": position, "grade": revision.grade, "doubt": revision.is_doubtful, "flag": None}
        return stored | grading.overtaken_by(revision)


class OneFlag(Resource, at="assignments/<slug:token>/flags/<int:position>", name="flag"):
    @changes(Stored, body=FlagGiven, scope=JUDGE, door=_assignment)
    def put(self, token: str, position: int) -> Any:
        """Flag the clip at a position, in place of a grade."""
        data = self.data | {"comment": self.data.get("comment", "").strip()}
        flag = grading.flag(judging_access.assignment(self.request, token), position, **data)
        return {"position": position, "grade": None, "doubt": False, "flag": flag.reason} | grading.overtaken_by(flag)

    @changes(query=FlagTakenBack, scope=JUDGE, door=_assignment)
    def delete(self, token: str, position: int) -> Any:
        """Take a flag back, so that an earlier grade counts again."""
        grading.unflag(judging_access.assignment(self.request, token), position, **self.params)


class AssignmentQuestions(Resource, at="assignments/<slug:token>/questions", name="own-questions"):
    @reads(inline("PlacedQuestions", questions=PlacedQuestion(many=True)), scope=JUDGE)
    def get(self, token: str) -> Any:
        """What was asked in this assignment, and the answers."""
        return {"questions": own_work.questions_in(judging_access.assignment(self.request, token))}


class QuestionAt(Resource, at="assignments/<slug:token>/questions/<int:position>", name="ask-at"):
    @changes(OwnQuestion, body=QuestionAtPlace, scope=JUDGE, status=201, door=_assignment)
    def post(self, token: str, position: int) -> Any:
        """Ask the leads about the clip at a position, or about its query; no grade is needed or changed."""
        return fresh(grading.ask_at(judging_access.assignment(self.request, token), position, **self.data))


class Resume(Resource, at="assignments/<slug:token>/resume", name="resume"):
    @changes(inline("Fence", fence=serializers.IntegerField()), scope=JUDGE)
    def post(self, token: str) -> Any:
        """Go on after the lease has run out, under a new fence."""
        return claiming.resume(judging_access.assignment(self.request, token))


class Submit(Resource, at="assignments/<slug:token>/submit", name="submit"):
    @changes(body=BatchSubmitted, scope=JUDGE, door=_assignment)
    def post(self, token: str) -> Any:
        """Submit the batch, so that its judgements count."""
        submitting.submit(judging_access.assignment(self.request, token), **self.data)


class Letter(ModelAnswer):
    text = serializers.CharField(source="words")

    class Meta:
        model = Message
        fields = ["id", "at", "read"]


class OwnQuestionGiven(QuestionGiven):
    letter = Whole(required=False, min_value=1, max_value=LARGEST_KEY, help_text="the message that it answers")


class OwnDay(serializers.Serializer):
    day = serializers.DateField(allow_null=True, help_text="null for the sum")
    hours = serializers.FloatField(source="worked.hours")
    judgements = serializers.IntegerField(source="worked.judgements")
    batches = serializers.IntegerField(source="worked.batches")
    earned = serializers.CharField(help_text="with its currency; empty without a rate")


class OwnContribution(serializers.Serializer):
    release = serializers.IntegerField(help_text="its version")
    judgements = serializers.IntegerField(help_text="the annotator's own behind its final grades")


class OwnWork(serializers.Serializer):
    days = OwnDay(many=True, help_text="of the last two weeks, newest first")
    total = OwnDay()
    agreement = serializers.CharField(help_text="with the final grades, in words")
    direction = serializers.CharField(help_text="which way the grades lean, in words; empty while little is settled")
    contributions = OwnContribution(many=True, help_text="to releases, the newest first")
    exam = serializers.CharField(help_text="how far the exam is, in words; empty if none stands before work")
    limit = serializers.CharField(help_text="which limit leaves no room for a batch, in words; empty while none does")
    messages = Letter(many=True)
    questions = OwnQuestion(many=True, help_text="to the leads, the oldest first")


class PracticeSerializer(ModelAnswer):
    query = serializers.CharField()
    clip = ClipAddress(read_only=True)
    right = serializers.ListField(
        child=serializers.IntegerField(), allow_null=True, help_text="the right grade, or the two between which it lies"
    )
    agrees = serializers.BooleanField(allow_null=True, help_text="whether the grade is right or close enough")
    reason = serializers.CharField(help_text="for the right grade; empty until it is answered")

    class Meta:
        model = Practice
        fields = ["id", "grade", "seconds"]
        help_texts = {"grade": "the annotator’s own; null until it is answered", "seconds": "those that count as work"}


class PracticeAnswer(Body):
    grade = Whole(min_value=min(GRADES), max_value=max(GRADES))
    seconds = Number(required=False, allow_null=True, min_value=0, max_value=LONGEST, help_text="of active work")


def _practised(practice: Practice) -> Any:
    """Return what is practised; the right grade comes with it once it is answered."""
    known = practising.known_of(practice)
    feedback: dict[str, Any] = {"right": None, "agrees": None, "reason": ""}
    if practice.grade is not None:
        agrees = practice.annotator.campaign.tolerates(practice.grade, known.truth)
        feedback = {"right": known.right, "agrees": agrees, "reason": known.why}
    return annotated(practice, query=known.query, clip=known.clip, **feedback)


def _own(resource: Resource) -> Membership:
    return resource.through(access.own)


def _practice(resource: Resource, pk: int) -> Practice:
    return judging_access.practice(resource.request, resource.kwargs["name"], pk)


class Mine(Resource, at=f"{CAMPAIGN}/mine", name="mine"):
    @reads(OwnWork)
    def get(self) -> Any:
        """The annotator's own hours, earnings, agreement and messages."""
        member = self.through(access.own)
        return own_work.fortnight(member) | {
            "agreement": own_work.agreement(member),
            "direction": own_work.direction(member),
            "contributions": Release.objects.contributions_of(member),
            "exam": state.words if (state := exam_state(member)) else "",
            "limit": limit_reached(member),
            "messages": member.messages.unread_first(),
            "questions": member.questions.select_related("query", "candidate"),
        }


class OwnQuestions(Resource, at=f"{CAMPAIGN}/mine/questions", name="mine-questions"):
    @changes(OwnQuestion, body=OwnQuestionGiven, scope=JUDGE, status=201, door=_own)
    def post(self) -> Any:
        """Ask the leads about nothing in particular, or answer a message of theirs."""
        member = self.through(access.own)
        letter = judging_access.letter(member, self.data.get("letter"))
        return fresh(grading.ask(member, self.data["text"], self.data["key"], letter=letter))


class NextPractice(Resource, at=f"{CAMPAIGN}/practice", name="practice"):
    @changes(PracticeSerializer, OR_NOTHING, scope=JUDGE)
    def post(self) -> Any:
        """Get a clip whose right grade is known, to practise: 204 if there is none."""
        given = practising.begin(self.through(access.learner))
        return _practised(given) if given else None


class OnePractice(Resource, at=f"{CAMPAIGN}/practice/<int:pk>", name="practised"):
    @reads(PracticeSerializer, scope=JUDGE)
    def get(self, pk: int) -> Any:
        """A clip of practice, with the right grade once it is answered."""
        return _practised(judging_access.practice(self.request, self.kwargs["name"], pk))

    @changes(PracticeSerializer, body=PracticeAnswer, scope=JUDGE, door=_practice)
    def put(self, pk: int) -> Any:
        """Answer a clip of practice; the first answer holds."""
        given = judging_access.practice(self.request, self.kwargs["name"], pk)
        return _practised(practising.answer(given, self.data["grade"], self.data.get("seconds")))


class ReadMessage(Resource, at=f"{CAMPAIGN}/messages/<int:pk>/read", name="message-read"):
    @changes(scope=JUDGE)
    def put(self, pk: int) -> Any:
        """Note that a message was read."""
        get_object_or_404(self.through(access.own).messages.all(), pk=pk).mark_read()
