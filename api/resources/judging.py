"""The annotator's loop: claim, grade or flag each place, submit. An answer tells no more than the pages do."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers

from api.fields import Body, Choice, Key, Number, Query, Shape, Text, Whole, shape
from api.operations import JUDGE, OR_NOTHING, changes, reads
from api.resource import CAMPAIGN, Resource
from campaigns.models import Message
from corpus.clip_files import padded_clip_file
from judging import access
from judging.consensus import GRADES
from judging.models import Assignment, Flag, Revision
from judging.models.assignment import taken_from_you
from judging.quality.exam import exam_state
from judging.work import claiming, grading, submitting
from judging.work.grading import LARGEST, LONGEST, LONGEST_COMMENT
from judging.work.places import assignment_data, clip_at
from reports import own_work


class Place(Shape):
    position = serializers.IntegerField(help_text="from 1, in the annotator's own order")
    clip = serializers.CharField(allow_null=True, help_text="its address; null if there is none")
    grade = serializers.IntegerField(allow_null=True, help_text="the annotator's own")
    flag = serializers.ChoiceField(Flag.Reason.choices, allow_null=True)
    comment = serializers.CharField(help_text="of the flag")
    query = serializers.CharField(required=False, help_text="where it changes within the batch")
    note = serializers.CharField(required=False, help_text="why the clip came back, in an exam")


class AssignmentShape(Shape):
    of = Assignment, "token fence"
    helps = {
        "token": "names the assignment in addresses",
        "fence": "goes with all that is sent; it rises when a lease is taken up again",
    }
    presses = serializers.IntegerField(help_text="the number of the last press that is stored")
    query = serializers.CharField()
    places = Place(many=True)


class Fenced(Body):
    fence = Whole(min_value=1, max_value=LARGEST, help_text="the number that came with the assignment")


class Press(Fenced):
    key = Key(help_text="new for each press; one that arrives twice is stored once")
    press = Whole(required=False, allow_null=True, min_value=0, max_value=LARGEST, help_text="higher for each press")
    seconds = Number(required=False, allow_null=True, min_value=0, max_value=LONGEST, help_text="of active work")


class GradeGiven(Press):
    grade = Whole(min_value=min(GRADES), max_value=max(GRADES))
    input = Choice(choices=Revision.Input.choices, required=False, help_text="how it was given")


class FlagGiven(Press):
    reason = Choice(choices=Flag.Reason.choices)
    comment = Text(required=False, max_length=LONGEST_COMMENT, allow_blank=True)


class FlagTakenBack(Query):
    fence = serializers.IntegerField(min_value=1, max_value=LARGEST)
    key = serializers.UUIDField(format="hex_verbose")
    press = serializers.IntegerField(required=False, min_value=0, max_value=LARGEST)


class Stored(Shape):
    position = serializers.IntegerField()
    grade = serializers.IntegerField(allow_null=True)
    flag = serializers.ChoiceField(Flag.Reason.choices, allow_null=True)
    overtaken = serializers.IntegerField(
        required=False, help_text="the last press, if this one was said before what is stored already"
    )


class Letter(Shape):
    of = Message, "id at read text=words"


class News(Shape):
    work = serializers.BooleanField(help_text="there is some, and this answer alone says so")
    waits = serializers.BooleanField(help_text="the annotator goes on waiting")


class OwnDay(Shape):
    of = own_work.WorkRow, "day hours=worked.hours judgements=worked.judgements batches=worked.batches earned"
    helps = {"day": "null for the sum", "earned": "with its currency; empty without a rate"}


class OwnWork(Shape):
    days = OwnDay(many=True, help_text="of the last two weeks, newest first")
    total = OwnDay()
    agreement = serializers.CharField(help_text="with the final grades, in words")
    exam = serializers.CharField(help_text="how far the exam is, in words; empty if none stands before work")
    messages = Letter(many=True)


def _data_of(assignment: Assignment) -> dict[str, Any]:
    """Return the assignment as the workplace gets it, with its query, and with the API's addresses of clips."""
    data = assignment_data(assignment, "api-place")
    places = [{"position": position} | place for position, place in enumerate(data["places"], 1)]
    return data | {"places": places, "query": assignment.batch.query.text}


class Claim(Resource, at=f"{CAMPAIGN}/claim", name="claim"):
    @changes(AssignmentShape, OR_NOTHING, scope=JUDGE)
    def post(self) -> Any:
        """Get a batch, or the one in hand: 204 if there is nothing to judge."""
        assignment = claiming.claim(self.through(access.annotator))
        return _data_of(assignment) if assignment else None


class Waiting(Resource, at=f"{CAMPAIGN}/waiting", name="waiting"):
    @changes(scope=JUDGE)
    def put(self) -> None:
        """Be told once, by a mail or by the open page, as soon as there is work."""
        claiming.wait_for_work(self.through(access.annotator), self.request._request)

    @changes(News, scope=JUDGE)
    def post(self) -> Any:
        """Whether there is work for an annotator who waits for it; who learns it waits no more."""
        return claiming.news(self.through(access.annotator))

    @changes(scope=JUDGE)
    def delete(self) -> None:
        """Wait no more."""
        self.through(access.annotator).stop_waiting()


class OneAssignment(Resource, at="assignments/<slug:token>", name="assignment"):
    @reads(AssignmentShape, scope=JUDGE)
    def get(self, token: str) -> Any:
        """The batch in hand, with what was said of it so far."""
        assignment = access.assignment(self.request, token)
        if not Assignment.objects.held().filter(pk=assignment.pk).exists():
            raise taken_from_you()
        return _data_of(assignment)


class ClipOfPlace(Resource, at="assignments/<slug:token>/clips/<slug:key>", name="place"):
    @reads(("video/mp4",), scope=JUDGE)
    def get(self, token: str, key: str) -> Any:
        """The clip of one place of the batch in hand; ranges are answered."""
        clip, full = clip_at(access.held(self.request, token), key)
        return padded_clip_file(self.request._request, clip, key, full)


class Judgement(Resource, at="assignments/<slug:token>/judgements/<int:position>", name="judgement"):
    @changes(Stored, body=GradeGiven, scope=JUDGE)
    def put(self, token: str, position: int) -> Any:
        """Grade the clip at a position."""
        revision = grading.judge(access.writer(self.request, token), position, **self.data)
        return {"position": position, "grade": revision.grade, "flag": None} | grading.overtaken_by(revision)


class OneFlag(Resource, at="assignments/<slug:token>/flags/<int:position>", name="flag"):
    @changes(Stored, body=FlagGiven, scope=JUDGE)
    def put(self, token: str, position: int) -> Any:
        """Flag the clip at a position, in place of a grade."""
        data = self.data | {"comment": self.data.get("comment", "").strip()}
        flag = grading.flag(access.assignment(self.request, token), position, **data)
        return {"position": position, "grade": None, "flag": flag.reason} | grading.overtaken_by(flag)

    @changes(query=FlagTakenBack, scope=JUDGE)
    def delete(self, token: str, position: int) -> Any:
        """Take a flag back, so that an earlier grade counts again."""
        grading.unflag(access.assignment(self.request, token), position, **self.params)


class Resume(Resource, at="assignments/<slug:token>/resume", name="resume"):
    @changes(shape("Fence", fence=serializers.IntegerField()), scope=JUDGE)
    def post(self, token: str) -> Any:
        """Go on after the lease has run out, under a new fence."""
        return claiming.resume(access.assignment(self.request, token))


class Submit(Resource, at="assignments/<slug:token>/submit", name="submit"):
    @changes(body=Fenced, scope=JUDGE)
    def post(self, token: str) -> Any:
        """Submit the batch, so that its judgements count."""
        submitting.submit(access.assignment(self.request, token), self.data["fence"])


class Mine(Resource, at=f"{CAMPAIGN}/mine", name="mine"):
    @reads(OwnWork)
    def get(self) -> Any:
        """The annotator's own hours, earnings, agreement and messages."""
        member = self.through(access.own)
        return own_work.fortnight(member) | {
            "agreement": own_work.agreement(member),
            "exam": state.words if (state := exam_state(member)) else "",
            "messages": member.messages.unread_first(),
        }


class ReadMessage(Resource, at=f"{CAMPAIGN}/messages/<int:pk>/read", name="message-read"):
    @changes(scope=JUDGE)
    def put(self, pk: int) -> Any:
        """Note that a message was read."""
        get_object_or_404(self.through(access.own).messages.all(), pk=pk).mark_read()
