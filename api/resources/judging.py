"""The annotator's loop: claim, grade or flag each place, submit. An answer tells no more than the pages do."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Body, Choice, Key, Number, Query, Shape, Text, Whole
from api.resource import Resource, empty
from campaigns.models import Token
from judging import doors
from judging.consensus import GRADES
from judging.models import Assignment, Flag, Revision
from judging.models.assignment import taken_from_you
from judging.quality.exam_state import exam_state
from judging.work import claiming, grading, submitting
from judging.work.assignment_data import assignment_data
from reports import own_work

READ, JUDGE = Token.Scope.READ, Token.Scope.JUDGE


class Place(Shape):
    position = serializers.IntegerField(help_text="from 1, in the annotator's own order")
    clip = serializers.CharField(allow_null=True, help_text="its address; null if there is none")
    grade = serializers.IntegerField(allow_null=True, help_text="the annotator's own")
    flag = serializers.ChoiceField(Flag.Reason.choices, allow_null=True)
    comment = serializers.CharField(help_text="of the flag")
    note = serializers.CharField(required=False, help_text="why the clip came back, in an exam")


class AssignmentShape(Shape):
    token = serializers.CharField(help_text="names the assignment in addresses")
    fence = serializers.IntegerField(
        help_text="goes with all that is sent; it rises when a lease is taken up again"
    )
    presses = serializers.IntegerField(help_text="the number of the last press that is stored")
    query = serializers.CharField()
    places = Place(many=True)
    example = {
        "token": "Yk3v",
        "fence": 1,
        "presses": 0,
        "query": "Somebody opens a door.",
        "places": [{"position": 1, "clip": "/api/v1/clips/hKd0", "grade": None, "flag": None, "comment": ""}],
    }


class Fenced(Body):
    fence = Whole(
        min_value=1, max_value=grading.LARGEST, help_text="the number that came with the assignment"
    )
    example: dict[str, Any] = {"fence": 1}


class Press(Fenced):
    key = Key(help_text="new for each press; one that arrives twice is stored once")
    press = Whole(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=grading.LARGEST,
        help_text="higher for each press",
    )
    seconds = Number(
        required=False, allow_null=True, min_value=0, max_value=grading.LONGEST, help_text="of active work"
    )


class GradeGiven(Press):
    grade = Whole(min_value=min(GRADES), max_value=max(GRADES))
    input = Choice(choices=Revision.Input.choices, required=False, help_text="how it was given")
    example = {
        "grade": 3,
        "fence": 1,
        "key": "6f1e6d3c-3e6b-4a57-9d4c-8d2f4b1f2a10",
        "press": 1,
        "seconds": 4.2,
    }


class FlagGiven(Press):
    reason = Choice(choices=Flag.Reason.choices)
    comment = Text(required=False, max_length=grading.LONGEST_COMMENT, allow_blank=True)
    example = {"reason": "clip", "fence": 1, "key": "6f1e6d3c-3e6b-4a57-9d4c-8d2f4b1f2a11", "press": 2}


class FlagTakenBack(Query):
    fence = serializers.IntegerField(min_value=1, max_value=grading.LARGEST)
    key = serializers.UUIDField(format="hex_verbose")
    press = serializers.IntegerField(required=False, min_value=0, max_value=grading.LARGEST)


class Stored(Shape):
    position = serializers.IntegerField()
    grade = serializers.IntegerField(allow_null=True)
    flag = serializers.ChoiceField(Flag.Reason.choices, allow_null=True)
    overtaken = serializers.IntegerField(
        required=False, help_text="the last press, if this one was said before what is stored already"
    )
    example = {"position": 1, "grade": 3, "flag": None}


class Fence(Shape):
    fence = serializers.IntegerField()
    example = {"fence": 2}


class Letter(Shape):
    id = serializers.IntegerField(source="pk")
    text = serializers.CharField(source="words")
    at = serializers.DateTimeField()
    read = serializers.DateTimeField(allow_null=True)


class OwnDay(Shape):
    day = serializers.DateField(allow_null=True, help_text="null for the sum")
    hours = serializers.FloatField(source="worked.hours")
    judgements = serializers.IntegerField(source="worked.judgements")
    batches = serializers.IntegerField(source="worked.batches")
    earned = serializers.CharField(help_text="with its currency; empty without a rate")


class OwnWork(Shape):
    days = OwnDay(many=True, help_text="of the last two weeks, newest first")
    total = OwnDay()
    agreement = serializers.CharField(help_text="with the final grades, in words")
    exam = serializers.CharField(help_text="how far the exam is, in words; empty if none stands before work")
    messages = Letter(many=True)


def told(assignment: Assignment) -> dict[str, Any]:
    """The assignment as the workplace gets it, with its query, and with the API's addresses of clips."""
    data = assignment_data(assignment, "api-clip")
    for position, place in enumerate(data["places"], 1):
        place["position"] = position
    shown: dict[str, Any] = AssignmentShape(data | {"query": assignment.batch.query.text}).data
    return shown


class Claim(Resource):
    @operation(
        "Get a batch, or the one in hand: 204 if there is nothing to judge",
        scope=JUDGE,
        answer=AssignmentShape,
        or_nothing=True,
    )
    def post(self, request: Request, name: str) -> Response:
        assignment = claiming.claim(doors.annotator(request, name))
        return Response(told(assignment)) if assignment else empty()


class OneAssignment(Resource):
    @operation("The batch in hand, with what was said of it so far", scope=JUDGE, answer=AssignmentShape)
    def get(self, request: Request, token: str) -> Response:
        assignment = doors.assignment(request, token)
        if not Assignment.objects.held().filter(pk=assignment.pk).exists():
            raise taken_from_you()
        return Response(told(assignment))


class Judgement(Resource):
    @operation("Grade the clip at a position", scope=JUDGE, body=GradeGiven, answer=Stored)
    def put(self, request: Request, token: str, position: int) -> Response:
        said = self.said
        revision = grading.judge(
            doors.writer(request, token), position, said["grade"], input=said.get("input", ""), **_press(said)
        )
        stored = {"position": position, "grade": revision.grade, "flag": None}
        return Response(stored | grading.overtaken_by(revision))


class OneFlag(Resource):
    @operation("Flag the clip at a position, in place of a grade", scope=JUDGE, body=FlagGiven, answer=Stored)
    def put(self, request: Request, token: str, position: int) -> Response:
        said, assignment = self.said, doors.assignment(request, token)
        comment = said.get("comment", "").strip()
        flag = grading.flag(assignment, position, said["reason"], comment, **_press(said))
        return Response(
            {"position": position, "grade": None, "flag": flag.reason} | grading.overtaken_by(flag)
        )

    @operation(
        "Take a flag back, so that an earlier grade counts again",
        scope=JUDGE,
        query=FlagTakenBack,
        status=204,
    )
    def delete(self, request: Request, token: str, position: int) -> Response:
        asked = self.asked
        grading.unflag(
            doors.assignment(request, token),
            position,
            fence=asked["fence"],
            key=asked["key"],
            press=asked.get("press"),
        )
        return empty()


def _press(said: dict[str, Any]) -> dict[str, Any]:
    fields = {"fence": said["fence"], "key": said["key"]}
    return fields | {"press": said.get("press"), "seconds": said.get("seconds")}


class Resume(Resource):
    @operation("Go on after the lease has run out, under a new fence", scope=JUDGE, answer=Fence)
    def post(self, request: Request, token: str) -> Response:
        return Response({"fence": claiming.resume(doors.assignment(request, token)).fence})


class Submit(Resource):
    @operation("Submit the batch, so that its judgements count", scope=JUDGE, body=Fenced, status=204)
    def post(self, request: Request, token: str) -> Response:
        submitting.submit(doors.assignment(request, token), self.said["fence"])
        return empty()


class Mine(Resource):
    @operation("The annotator's own hours, earnings, agreement and messages", scope=READ, answer=OwnWork)
    def get(self, request: Request, name: str) -> Response:
        member = doors.own(request, name)
        found = own_work.fortnight(member) | {
            "agreement": own_work.agreement(member),
            "exam": state.words if (state := exam_state(member)) else "",
            "messages": member.messages.unread_first(),
        }
        return Response(OwnWork(found).data)


class ReadMessage(Resource):
    @operation("Note that a message was read", scope=JUDGE, status=204)
    def put(self, request: Request, name: str, pk: int) -> Response:
        get_object_or_404(doors.own(request, name).messages.all(), pk=pk).mark_read()
        return empty()
