"""The people of a campaign, for its leads: members, invitations, messages, hours."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework import serializers

from api.fields import Body, Choice, Page, PageQuery, Query, Shape, Text, Truth, Whole, WholeChoice, shape
from api.operations import UNFIT, Rows, With, changes, fresh, makes, reads
from api.problems import checked
from api.resource import CAMPAIGN, ClipAddress, Resource
from campaigns import invitations
from campaigns.access import let_create, let_create_no_longer, may_let_create
from campaigns.accounts import mails
from campaigns.models import Invitation, Membership, Message
from campaigns.models.membership import LONGEST_MESSAGE
from judging import access
from judging.models import Question
from judging.review import decisions
from judging.review.decisions import answer, put_aside
from reports.hours import Rates
from reports.models import ApprovedPeriod
from reports.pay import PayRow, Period, approve, pay_of
from reports.tables.people import questions_with_pairs


class MemberShape(Shape):
    of = Membership, "worker role state joined qualified name=user.username"
    helps = {"worker": "stands for the person in all exports", "qualified": "when the exam was passed or waived"}


class MemberChange(Body):
    verb = Choice(choices=list(decisions.VERBS))
    reason = Text(required=False, max_length=400, allow_blank=True, help_text="kept on record")
    hand_over = Truth(required=False, help_text="with the verb pause: take the batch in hand away, too")


class NewRole(Body):
    role = Choice(choices=Membership.Role.choices)
    reason = Text(max_length=400, help_text="kept on record")


class Members(Resource, at=f"{CAMPAIGN}/members", name="members"):
    @reads(Page(MemberShape))
    def get(self) -> Any:
        """The members of a campaign."""
        rows = self.lead.campaign.memberships.filter(same_as=None)
        return Rows(rows.select_related("user"), ("worker",))


class OneMember(Resource, at=f"{CAMPAIGN}/members/<int:worker>", name="member"):
    @reads(MemberShape)
    def get(self, worker: int) -> Any:
        """A member."""
        return access.person(self.lead, worker)


class ChangeMember(Resource, at=f"{CAMPAIGN}/members/<int:worker>/changes", name="member-change"):
    @changes(MemberShape, body=MemberChange)
    def post(self, worker: int) -> Any:
        """Pause or resume a member, and so on."""
        person, reason = access.person(self.lead, worker), self.data.get("reason", "").strip()
        decisions.change_member(person, self.lead, self.data["verb"], reason, self.data.get("hand_over", False))
        return fresh(person)


class ChangeRole(Resource, at=f"{CAMPAIGN}/members/<int:worker>/role", name="member-role"):
    @changes(MemberShape, body=NewRole)
    def put(self, worker: int) -> Any:
        """Give a member another role."""
        person = access.person(self.lead, worker)
        decisions.change_role(person, by=self.lead, **self.data)
        return fresh(person)


class LetCreate(Resource, at=f"{CAMPAIGN}/members/<int:worker>/creates", name="member-creates"):
    @changes(body=shape("MayCreate", Body, may=Truth(help_text="whether the person may create campaigns")))
    def put(self, worker: int) -> Any:
        """Let a lead or a researcher create campaigns, or no longer."""
        person = access.person(self.lead, worker)
        if not may_let_create(self.lead, person):
            raise Http404
        (let_create if self.data["may"] else let_create_no_longer)(person.user)


class InvitationShape(Shape):
    of = Invitation, "id address expires sent opened"
    helps = {"address": "where its mail goes; empty for a link"}
    role = serializers.ChoiceField(Membership.Role.choices)


class InvitationWithLink(InvitationShape):
    link = serializers.CharField(help_text="told this once: only its hash is kept")


class NewInvitation(Body):
    role = Choice(choices=Membership.Role.choices)
    hours = Whole(min_value=1, max_value=invitations.MOST_HOURS, help_text="for which it is open")


class InvitedPerson(Body):
    address = Text(max_length=254)
    name = Text(required=False, max_length=invitations.LONGEST_NAME, allow_blank=True)


class Invited(Body):
    people = serializers.ListField(child=InvitedPerson(), min_length=1, max_length=invitations.MOST)
    role = Choice(choices=Membership.Role.choices)
    hours = WholeChoice(list(invitations.LIFETIMES))
    language = Choice(choices=settings.LANGUAGES, required=False, help_text="of the mail")


class HowMany(Shape):
    number = serializers.IntegerField()


class Invitations(Resource, at=f"{CAMPAIGN}/invitations", name="invitations"):
    @reads(Page(InvitationShape))
    def get(self) -> Any:
        """The invitations that are open."""
        return Rows(self.lead.campaign.invitations.open(), ("-pk",))

    @makes(InvitationWithLink, body=NewInvitation)
    def post(self) -> Any:
        """Make a link by which one person joins."""
        lifetime = timedelta(hours=self.data["hours"])
        made, secret = self.lead.campaign.invite(self.data["role"], self.lead, lifetime)
        return With(fresh(made), link=self.request.build_absolute_uri(reverse("invitation", args=[secret])))


class InvitationsByMail(Resource, at=f"{CAMPAIGN}/invitations/by-mail", name="invitations-by-mail"):
    @makes(HowMany, body=Invited, status=202)
    def post(self) -> Any:
        """Invite people by mail: all of a list, or nobody."""
        campaign = self.lead.campaign
        invitations.must_send_mails()
        lines = [f"{each['address']}, {each.get('name', '')}" for each in self.data["people"]]
        data = {"language": settings.LANGUAGE_CODE} | self.data | {"people": "\n".join(lines)}
        form = invitations.InvitationsForm(campaign, data)
        checked(form)
        return {"number": invitations.invite_all(self.request._request, self.lead, form)}


class OneInvitation(Resource, at=f"{CAMPAIGN}/invitations/<int:pk>", name="invitation"):
    @changes()
    def delete(self, pk: int) -> Any:
        """Withdraw an invitation, so that nobody can use it."""
        get_object_or_404(self.lead.campaign.invitations, pk=pk).withdraw()


class MailAgain(Resource, at=f"{CAMPAIGN}/invitations/<int:pk>/mail", name="invitation-mail"):
    @changes(InvitationShape, status=202)
    def post(self, pk: int) -> Any:
        """Send the mail of an open invitation once more, with the same link."""
        invitation = get_object_or_404(self.lead.campaign.invitations.open().exclude(address=""), pk=pk)
        invitations.must_send_mails()
        mails.ask_for(mails.mail_invitation, invitation, self.request._request, invitation.language)
        return invitation


class MessageShape(Shape):
    of = Message, "id text at read to=to.worker"


class NewMessage(Body):
    of = Message, "text to"
    to = Whole(required=False, min_value=1, max_value=10**9 - 1, help_text="a worker's number; without it, all")


class Messages(Resource, at=f"{CAMPAIGN}/messages", name="messages"):
    @reads(Page(MessageShape))
    def get(self) -> Any:
        """The messages to annotators, the newest first."""
        sent = Message.objects.filter(to__campaign=self.lead.campaign)
        return Rows(sent.select_related("to"), ("-pk",))

    @makes(HowMany, body=NewMessage)
    def post(self) -> Any:
        """Write to one annotator, or to all."""
        chosen = self.lead.campaign.memberships.reachable()
        if "to" in self.data:
            chosen = chosen.filter(pk=access.annotator_of(self.lead, self.data["to"]).pk)
        return {"number": Message.objects.send(chosen, self.data["text"], by=self.lead)}


class QuestionShape(Shape):
    of = (
        Question,
        "id worker=annotator.worker at text about query=query.text candidate=candidate_id "
        "caption=candidate.moment.caption letter=letter_id handled answer=answer.text",
    )
    helps = {
        "candidate": "the pair that it is about; null if it is about a query or nothing in particular",
        "letter": "the message that it answers",
        "handled": "when a lead answered it or put it aside",
    }
    about = serializers.ChoiceField(Question.About.choices)
    clip = ClipAddress(source="candidate.clip", read_only=True)


class QuestionsAsked(PageQuery):
    waiting = Truth(required=False, help_text="only those that no lead has answered or put aside")


class QuestionHandled(Body):
    answer = Text(
        required=False, max_length=LONGEST_MESSAGE, help_text="comes to who asked; without it, it is put aside"
    )


class Questions(Resource, at=f"{CAMPAIGN}/questions", name="questions"):
    @reads(Page(QuestionShape), query=QuestionsAsked)
    def get(self) -> Any:
        """What annotators ask, the oldest first, with their pairs."""
        campaign = self.lead.campaign
        questions = questions_with_pairs().filter(annotator__campaign=campaign)
        return questions.waiting(campaign) if self.params.get("waiting") else questions


class QuestionDone(Resource, at=f"{CAMPAIGN}/questions/<int:pk>/handled", name="question-handled"):
    @changes(QuestionShape, body=QuestionHandled)
    def post(self, pk: int) -> Any:
        """Answer a question by a message, or put it aside."""
        question = access.question(self.lead, pk)
        if text := self.data.get("answer", "").strip():
            answer(question, self.lead, text)
        else:
            put_aside(question, self.lead)
        return questions_with_pairs().get(pk=pk)


class HoursAsked(Query):
    locals()["from"] = serializers.DateField(required=False, help_text="the first day; else the present month's")
    to = serializers.DateField(required=False, help_text="the last day")


class HoursLine(Shape):
    of = (
        PayRow,
        "worker=member.worker first=period.first last=period.last batches=worked.batches "
        "judgements=worked.judgements reported_hours=worked.reported_hours hours=worked.hours rate currency pay "
        "approved=approved.at",
    )
    helps = {"reported_hours": "as browsers measured", "hours": "those that count"}


class HoursShape(Shape):
    currency = serializers.CharField()
    lines = HoursLine(many=True, help_text="for each member and hourly rate, and for approved days and others")


class PeriodBody(Body):
    locals()["from"] = Text(max_length=10, help_text="the first day")
    to = Text(max_length=10, help_text="the last day, which must be over")


class ApprovalShape(Shape):
    of = ApprovedPeriod, "first last at by=by.worker"
    helps = {"by": "the lead’s worker number"}


class Hours(Resource, at=f"{CAMPAIGN}/hours", name="hours"):
    @reads(HoursShape, UNFIT, query=HoursAsked)
    def get(self) -> Any:
        """Hours and pay in a period."""
        campaign = self.lead.campaign
        lines = pay_of(campaign, Period.from_params(self.params), Rates.of(campaign))
        return {"currency": campaign.currency, "lines": lines}

    @changes(ApprovalShape, UNFIT, body=PeriodBody)
    def post(self) -> Any:
        """Approve the hours and the pay of a period, which then never change."""
        return approve(self.lead, Period.from_params(self.data))
