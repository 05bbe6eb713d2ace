"""The people of a campaign, for its leads: members, invitations, messages, hours."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Body, Choice, Query, Shape, Text, Truth, Whole, WholeChoice
from api.problems import faults_of, unfit
from api.resource import Resource, empty
from base.errors import Unfit
from campaigns.models import Invitation, Membership, Message, Token
from judging import doors
from judging.work import leaving
from lead.invitations_form import LIFETIMES, LONGEST_NAME, MOST, InvitationsForm
from lead.views.messages import LONGEST, annotators
from lead.views.people import VERBS, invite_all, must_send_mails
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
        apply, _ = VERBS[verb]
        reason = self.said.get("reason", "").strip()
        apply(person, lead, reason)
        if verb == "pause" and self.said.get("hand_over"):
            leaving.hand_over(person, lead, reason)
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


class InvitationShape(Shape):
    id = serializers.IntegerField(source="pk")
    role = serializers.ChoiceField(Membership.Role.choices)
    address = serializers.CharField(help_text="where its mail goes; empty for a link")
    expires = serializers.DateTimeField()
    sent = serializers.DateTimeField(allow_null=True)
    opened = serializers.DateTimeField(allow_null=True)


class InvitationWithLink(InvitationShape):
    link = serializers.CharField(help_text="told this once: only its hash is kept")
    example = {
        "id": 4,
        "role": "annotator",
        "address": "",
        "expires": "2026-01-12T09:00:00Z",
        "sent": None,
        "opened": None,
        "link": "https://judge.example.org/invitations/7bR0",
    }


class NewInvitation(Body):
    role = Choice(choices=Membership.Role.choices)
    hours = Whole(min_value=1, max_value=720, help_text="for which it is open")
    example = {"role": "annotator", "hours": 168}


class InvitedPerson(Body):
    address = Text(max_length=254)
    name = Text(required=False, max_length=LONGEST_NAME, allow_blank=True)


class Invited(Body):
    people = serializers.ListField(child=InvitedPerson(), min_length=1, max_length=MOST)
    role = Choice(choices=Membership.Role.choices)
    hours = WholeChoice(list(LIFETIMES))
    language = Choice(choices=settings.LANGUAGES, required=False, help_text="of the mail")
    example = {
        "people": [{"address": "ada@example.org", "name": "Ada Lovelace"}, {"address": "ben@example.org"}],
        "role": "annotator",
        "hours": 168,
    }


class HowMany(Shape):
    number = serializers.IntegerField()
    example = {"number": 2}


class Invitations(Resource):
    @operation("The invitations that are open", scope=READ, answer=InvitationShape, pages=True)
    def get(self, request: Request, name: str) -> Response:
        return self.page(doors.lead(request, name).campaign.invitations.open(), InvitationShape, "-pk")

    @operation(
        "Make a link by which one person joins",
        scope=LEAD,
        body=NewInvitation,
        answer=InvitationWithLink,
        status=201,
        makes=True,
    )
    def post(self, request: Request, name: str) -> Response:
        lead, said = doors.lead(request, name), self.said
        made, secret = lead.campaign.invite(said["role"], lead, timedelta(hours=said["hours"]))
        made = Invitation.objects.get(pk=made.pk)
        link = request.build_absolute_uri(reverse("invitation", args=[secret]))
        return Response(InvitationShape(made).data | {"link": link}, 201)


class InvitationsByMail(Resource):
    @operation(
        "Invite people by mail: all of a list, or nobody",
        scope=LEAD,
        body=Invited,
        answer=HowMany,
        status=202,
        makes=True,
    )
    def post(self, request: Request, name: str) -> Response:
        lead = doors.lead(request, name)
        must_send_mails()
        lines = [f"{each['address']}, {each.get('name', '')}" for each in self.said["people"]]
        said = {"language": settings.LANGUAGE_CODE} | self.said | {"people": "\n".join(lines)}
        form = InvitationsForm(lead.campaign, said)
        if not form.is_valid():
            raise Unfit(faults_of(form))
        return Response({"number": invite_all(request._request, lead, form)}, 202)


class OneInvitation(Resource):
    @operation("Withdraw an invitation, so that nobody can use it", scope=LEAD, status=204)
    def delete(self, request: Request, name: str, pk: int) -> Response:
        get_object_or_404(doors.lead(request, name).campaign.invitations, pk=pk).withdraw()
        return empty()


class MessageShape(Shape):
    id = serializers.IntegerField(source="pk")
    to = serializers.IntegerField(source="to.worker")
    text = serializers.CharField()
    at = serializers.DateTimeField()
    read = serializers.DateTimeField(allow_null=True)


class NewMessage(Body):
    text = Text(max_length=LONGEST)
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
        chosen = annotators(lead.campaign)
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
    hours = serializers.FloatField(source="worked.hours")
    rate = serializers.FloatField(allow_null=True)
    pay = serializers.FloatField(allow_null=True)


class HoursShape(Shape):
    currency = serializers.CharField()
    lines = HoursLine(many=True, help_text="for each member and hourly rate")


class Hours(Resource):
    @operation("Hours and pay in a period", scope=READ, answer=HoursShape, query=HoursAsked)
    def get(self, request: Request, name: str) -> Response:
        lead = doors.lead(request, name)
        with unfit():
            period = Period.asked(self.asked)
        lines: list[PayRow] = pay_of(lead.campaign, period, Rates.of(lead.campaign))
        return Response(HoursShape({"currency": lead.campaign.currency, "lines": lines}).data)
