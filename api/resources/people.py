"""The people of a campaign, for its leads: members, messages, hours."""

from __future__ import annotations

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Body, Choice, Query, Shape, Text, Truth, Whole
from api.problems import unfit
from api.resource import Resource, empty
from api.resources.invitations import HowMany
from campaigns.creating import let_create, let_create_no_longer, may_let_create
from campaigns.models import Membership, Message, Token
from campaigns.models.message import LONGEST_MESSAGE
from judging import doors
from judging.work import leaving
from judging.work.leaving import VERBS
from reports.pay.approval import approve
from reports.pay.periods import PayRow, Period, pay_of
from reports.pay.rates import Rates

READ, LEAD = Token.Scope.READ, Token.Scope.LEAD


class MemberShape(Shape):
    worker = serializers.IntegerField(help_text="stands for the person in all exports")
    name = serializers.CharField(source="user.username")
    role = serializers.ChoiceField(Membership.Role.choices)
    state = serializers.ChoiceField(Membership.State.choices)
    joined = serializers.DateTimeField()
    qualified = serializers.DateTimeField(allow_null=True, help_text="when the exam was passed or waived")
    example = {
        "worker": 2,
        "name": "ada",
        "role": "annotator",
        "state": "active",
        "joined": "2026-01-05T09:00:00Z",
        "qualified": None,
    }


class MemberChange(Body):
    verb = Choice(choices=list(VERBS))
    reason = Text(required=False, max_length=400, allow_blank=True, help_text="kept on record")
    hand_over = Truth(required=False, help_text="with the verb pause: take the batch in hand away, too")
    example = {"verb": "pause", "reason": "on holiday", "hand_over": True}


class NewRole(Body):
    role = Choice(choices=Membership.Role.choices)
    reason = Text(max_length=400, help_text="kept on record")
    example = {"role": "researcher", "reason": "has finished judging"}


class Members(Resource):
    @operation("The members of a campaign", scope=READ, answer=MemberShape, pages=True)
    def get(self, request: Request, name: str) -> Response:
        rows = doors.lead(request, name).campaign.memberships.filter(same_as=None)
        return self.page(rows.select_related("user"), MemberShape, "worker")


class OneMember(Resource):
    @operation("A member", scope=READ, answer=MemberShape)
    def get(self, request: Request, name: str, worker: int) -> Response:
        return Response(MemberShape(doors.person(doors.lead(request, name), worker)).data)


class ChangeMember(Resource):
    @operation("Pause or resume a member, and so on", scope=LEAD, body=MemberChange, answer=MemberShape)
    def post(self, request: Request, name: str, worker: int) -> Response:
        lead = doors.lead(request, name)
        person, verb = doors.person(lead, worker), self.said["verb"]
        reason = self.said.get("reason", "").strip()
        leaving.change_member(person, lead, verb, reason, self.said.get("hand_over", False))
        person.refresh_from_db()
        return Response(MemberShape(person).data)


class ChangeRole(Resource):
    @operation("Give a member another role", scope=LEAD, body=NewRole, answer=MemberShape)
    def put(self, request: Request, name: str, worker: int) -> Response:
        lead = doors.lead(request, name)
        person = doors.person(lead, worker)
        leaving.change_role(person, self.said["role"], lead, self.said["reason"])
        person.refresh_from_db()
        return Response(MemberShape(person).data)


class MayCreate(Body):
    may = Truth(help_text="whether the person may create campaigns")
    example = {"may": True}


class LetCreate(Resource):
    @operation(
        "Let a lead or a researcher create campaigns, or no longer", scope=LEAD, body=MayCreate, status=204
    )
    def put(self, request: Request, name: str, worker: int) -> Response:
        lead = doors.lead(request, name)
        person = doors.person(lead, worker)
        if not may_let_create(lead, person):
            raise Http404
        (let_create if self.said["may"] else let_create_no_longer)(person.user)
        return empty()


class MessageShape(Shape):
    id = serializers.IntegerField(source="pk")
    to = serializers.IntegerField(source="to.worker")
    text = serializers.CharField()
    at = serializers.DateTimeField()
    read = serializers.DateTimeField(allow_null=True)


class NewMessage(Body):
    text = Text(max_length=LONGEST_MESSAGE)
    to = Whole(
        required=False, min_value=1, max_value=10**9 - 1, help_text="a worker's number; without it, all"
    )
    example = {"text": "Please read the guideline again.", "to": 2}


class Messages(Resource):
    @operation("The messages to annotators, the newest first", scope=READ, answer=MessageShape, pages=True)
    def get(self, request: Request, name: str) -> Response:
        sent = Message.objects.filter(to__campaign=doors.lead(request, name).campaign)
        return self.page(sent.select_related("to"), MessageShape, "-pk")

    @operation(
        "Write to one annotator, or to all",
        scope=LEAD,
        body=NewMessage,
        answer=HowMany,
        status=201,
        makes=True,
    )
    def post(self, request: Request, name: str) -> Response:
        lead, said = doors.lead(request, name), self.said
        chosen = lead.campaign.memberships.reachable()
        if "to" in said:
            chosen = chosen.filter(pk=doors.annotator_of(lead, said["to"]).pk)
        return Response({"number": Message.objects.send(chosen, said["text"], by=lead)}, 201)


class HoursAsked(Query):
    locals()["from"] = serializers.DateField(
        required=False, help_text="the first day; else the present month's"
    )
    to = serializers.DateField(required=False, help_text="the last day")


class HoursLine(Shape):
    worker = serializers.IntegerField(source="member.worker")
    first = serializers.DateField(source="period.first")
    last = serializers.DateField(source="period.last")
    batches = serializers.IntegerField(source="worked.batches")
    judgements = serializers.IntegerField(source="worked.judgements")
    reported_hours = serializers.FloatField(source="worked.reported_hours", help_text="as browsers measured")
    hours = serializers.FloatField(source="worked.hours", help_text="those that count")
    rate = serializers.FloatField(allow_null=True)
    currency = serializers.CharField(allow_blank=True)
    pay = serializers.FloatField(allow_null=True)
    approved = serializers.DateTimeField(source="approved.at", allow_null=True, default=None)


class HoursShape(Shape):
    currency = serializers.CharField()
    lines = HoursLine(
        many=True, help_text="for each member and hourly rate, and for approved days and others"
    )


class PeriodBody(Body):
    locals()["from"] = Text(max_length=10, help_text="the first day")
    to = Text(max_length=10, help_text="the last day, which must be over")
    example = {"from": "2026-10-01", "to": "2026-10-31"}


class ApprovalShape(Shape):
    first = serializers.DateField()
    last = serializers.DateField()
    at = serializers.DateTimeField()
    by = serializers.IntegerField(source="by.worker", help_text="the lead’s worker number")


class Hours(Resource):
    @operation("Hours and pay in a period", scope=READ, answer=HoursShape, query=HoursAsked)
    def get(self, request: Request, name: str) -> Response:
        lead = doors.lead(request, name)
        with unfit():
            period = Period.asked(self.asked)
        lines: list[PayRow] = pay_of(lead.campaign, period, Rates.of(lead.campaign))
        return Response(HoursShape({"currency": lead.campaign.currency, "lines": lines}).data)

    @operation(
        "Approve the hours and the pay of a period, which then never change",
        scope=LEAD,
        body=PeriodBody,
        answer=ApprovalShape,
    )
    def post(self, request: Request, name: str) -> Response:
        lead = doors.lead(request, name)
        with unfit():
            period = Period.asked(self.said)
        return Response(ApprovalShape(approve(lead, period)).data)
