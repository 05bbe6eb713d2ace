"""Invitations of a campaign, for its leads: by a link or by mail."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.describing import operation
from api.fields import Body, Choice, Shape, Text, Whole, WholeChoice
from api.problems import faults_of
from api.resource import Resource, empty
from base.errors import Unfit
from campaigns.accounts import mails
from campaigns.invitations import (
    LIFETIMES,
    LONGEST_NAME,
    MOST,
    MOST_HOURS,
    InvitationsForm,
    invite_all,
    must_send_mails,
)
from campaigns.models import Invitation, Membership, Token
from judging import doors

READ, LEAD = Token.Scope.READ, Token.Scope.LEAD


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
    hours = Whole(min_value=1, max_value=MOST_HOURS, help_text="for which it is open")
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


class MailAgain(Resource):
    @operation(
        "Send the mail of an open invitation once more, with the same link",
        scope=LEAD,
        answer=InvitationShape,
        status=202,
    )
    def post(self, request: Request, name: str, pk: int) -> Response:
        open_ones = doors.lead(request, name).campaign.invitations.open().exclude(address="")
        invitation = get_object_or_404(open_ones, pk=pk)
        must_send_mails()
        mails.ask_for(mails.INVITATION, invitation.pk, request._request, invitation.language)
        return Response(InvitationShape(invitation).data, 202)
