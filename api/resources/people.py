"""The people of a campaign, for its leads: members, invitations, messages, hours, and the digest."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from rest_framework import serializers

from api.fields import Body, Choice, Page, Query, Shape, Text, Truth, Whole, WholeChoice, filters_of, shape
from api.operations import UNFIT, Rows, With, changes, fresh, makes, reads
from api.problems import checked
from api.resource import CAMPAIGN, LARGEST, Resource
from base.sites import site_address
from campaigns import access, invitations
from campaigns.access import let_create, let_create_no_longer, may_let_create
from campaigns.accounts import mails
from campaigns.invitations import NamedLink
from campaigns.models import Applicant, Invitation, Membership, Message
from campaigns.models.invitation import DECISIONS, MOST_PLACES
from campaigns.models.membership import LONGEST_GROUP
from judging.review import decisions
from reports.digest import Digest, Need, digest_of, have_mailed
from reports.hours import Rates
from reports.models import ApprovedPeriod
from reports.pay import PayRow, Period, approve, pay_of
from reports.summaries import PEOPLE, current_summary
from reports.tables.people import PEOPLE_LIST, PersonRow, Stage, people_rows


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
        (let_create if self.data["may"] else let_create_no_longer)(person.user, self.lead)


class PersonShape(Shape):
    """Somebody who is a member, asks to join, or is invited; who has no worker's number is no member."""

    of = (
        PersonRow,
        "worker=member.worker name role group address stage since invitation=invitation.id applicant=applicant.id "
        "places=invitation.places taken failed batches judgements last_grade=last_seen",
    )
    helps = {
        "name": "of an account; of who is only invited, as the lead wrote it",
        "since": "when this stage began, as far as it is known",
        "taken": "places of a link for several people that are taken",
        "failed": "why the mail was not sent",
    }
    stage = serializers.ChoiceField(Stage.choices, help_text="how far the person has come")


class People(Resource, at=f"{CAMPAIGN}/people", name="people"):
    @reads(shape("PeopleShape", people=PersonShape(many=True)), query=filters_of(PEOPLE_LIST, Query))
    def get(self) -> Any:
        """Those who are members, ask to join, or are invited, and how far each has come."""
        campaign, choices = self.lead.campaign, PEOPLE_LIST.choices(self.request.query_params)
        rows = people_rows(campaign, current_summary(campaign, PEOPLE))
        return {"people": choices.ordered(choices.chosen(rows))[0]}


class InvitationShape(Shape):
    of = Invitation, "id address name group places expires sent opened"
    helps = {"address": "empty if it is for whoever has the link", "places": "of a link for several people"}
    role = serializers.ChoiceField(Membership.Role.choices)


class InvitationWithLink(InvitationShape):
    link = serializers.CharField(help_text="told this once: only its hash is kept")


class NewInvitation(Body):
    of = invitations.LinkForm, "role group"
    hours = Whole(min_value=1, max_value=invitations.MOST_HOURS, help_text="for which it is open")
    people = Whole(
        required=False,
        min_value=1,
        max_value=MOST_PLACES,
        help_text="if more than one, so many can ask to join, and a lead decides",
    )


class InvitedPerson(Body):
    address = Text(required=False, max_length=254, allow_blank=True, help_text="needed for a mail")
    name = Text(required=False, max_length=invitations.LONGEST_NAME, allow_blank=True)
    group = Text(required=False, max_length=LONGEST_GROUP, allow_blank=True, help_text="else that of the list")
    role = Choice(required=False, choices=Membership.Role.choices, help_text="else that of the list")


class Named(Body):
    people = serializers.ListField(child=InvitedPerson(), min_length=1, max_length=invitations.MOST)
    role = Choice(choices=Membership.Role.choices)
    group = Text(required=False, max_length=LONGEST_GROUP, allow_blank=True)
    hours = WholeChoice(list(invitations.LIFETIMES))


class Invited(Named):
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
        """Make a link by which one person joins, or by which several ask to join."""
        made = invitations.make_link(self.request._request, self.lead, self.data)
        return With(fresh(made.invitation), link=made.link)


class InvitationsByMail(Resource, at=f"{CAMPAIGN}/invitations/by-mail", name="invitations-by-mail"):
    @makes(HowMany, body=Invited, status=202)
    def post(self) -> Any:
        """Invite people by mail: all of a list, or nobody."""
        lead = self.lead
        invitations.must_send_mails()
        return {"number": len(_invite_all(self.request._request, lead, self.data, invitations.MAIL))}


class NamedLinkShape(Shape):
    of = NamedLink, "id=invitation.id name=invitation.name address=invitation.address group=invitation.group link"
    helps = {"link": "empty if it was made under another key of this site"}
    role = serializers.ChoiceField(Membership.Role.choices, source="invitation.role")
    expires = serializers.DateTimeField(source="invitation.expires")


class NamedLinksShape(Shape):
    links = NamedLinkShape(many=True, help_text="by name")


class InvitationLinks(Resource, at=f"{CAMPAIGN}/invitations/links", name="invitation-links"):
    @reads(NamedLinksShape)
    def get(self) -> Any:
        """The links of named people that a lead hands out, as long as nobody has used them."""
        return {"links": invitations.named_links(self.lead.campaign, self.request._request)}

    @makes(NamedLinksShape, body=Named)
    def post(self) -> Any:
        """Make a link for each person of a list, or for nobody."""
        made = {each.pk for each in _invite_all(self.request._request, self.lead, self.data, invitations.LINKS)}
        all_links = invitations.named_links(self.lead.campaign, self.request._request)
        return {"links": [each for each in all_links if each.invitation.pk in made]}


def _invite_all(request: HttpRequest, lead: Membership, data: dict[str, Any], way: str) -> list[Invitation]:
    lines = [invitations.written(invitations.Person(**each)) for each in data["people"]]
    form = invitations.InvitationsForm(lead.campaign, data | {"people": "\n".join(lines), "way": way})
    checked(form)
    return invitations.invite_all(request, lead, form)


class ApplicantShape(Shape):
    of = Applicant, "id name=user.username at approved decided"
    helps = {"approved": "null while the person waits"}
    role = serializers.ChoiceField(Membership.Role.choices, source="invitation.role")


class Applicants(Resource, at=f"{CAMPAIGN}/applicants", name="applicants"):
    @reads(Page(ApplicantShape))
    def get(self) -> Any:
        """Who asks to join by a link for several people, and waits."""
        waiting = Applicant.objects.waiting().filter(invitation__campaign=self.lead.campaign)
        return waiting.select_related("user", "invitation")


class DecideOnApplicant(Resource, at=f"{CAMPAIGN}/applicants/<int:pk>/decision", name="applicant"):
    @changes(ApplicantShape, body=shape("NewDecision", Body, action=Choice(choices=list(DECISIONS))))
    def post(self, pk: int) -> Any:
        """Let somebody join who asks to, or not."""
        applicant = access.applicant(self.lead, pk)
        DECISIONS[self.data["action"]](applicant, self.lead)
        return fresh(applicant)


class OneInvitation(Resource, at=f"{CAMPAIGN}/invitations/<int:pk>", name="invitation"):
    @changes()
    def delete(self, pk: int) -> Any:
        """Withdraw an invitation, so that nobody can use it."""
        get_object_or_404(self.lead.campaign.invitations, pk=pk).withdraw(self.lead)


class MailAgain(Resource, at=f"{CAMPAIGN}/invitations/<int:pk>/mail", name="invitation-mail"):
    @changes(InvitationShape, status=202)
    def post(self, pk: int) -> Any:
        """Send the mail of an open invitation once more, with the same link."""
        invitation = get_object_or_404(self.lead.campaign.invitations.mailed(), pk=pk)
        invitations.must_send_mails()
        mails.ask_for(mails.mail_invitation, invitation, self.request._request, invitation.language)
        return invitation


class MessageShape(Shape):
    of = Message, "id text at read to=to.worker"


class NewMessage(Body):
    of = Message, "text to"
    to = Whole(required=False, min_value=1, max_value=LARGEST, help_text="a worker's number; without it, all")


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
    locals()["from"] = serializers.DateField(help_text="the first day")
    to = serializers.DateField(help_text="the last day, which must be over")


class ApprovalShape(Shape):
    of = ApprovedPeriod, "first last at by=by.worker"
    helps = {"by": "the lead’s worker number"}


class Hours(Resource, at=f"{CAMPAIGN}/hours", name="hours"):
    @reads(HoursShape, UNFIT, query=HoursAsked)
    def get(self) -> Any:
        """Hours and pay in a period."""
        campaign = self.lead.campaign
        lines = pay_of(campaign, Period.between(self.params.get("from"), self.params.get("to")), Rates.of(campaign))
        return {"currency": campaign.currency, "lines": lines}

    @changes(ApprovalShape, UNFIT, body=PeriodBody)
    def post(self) -> Any:
        """Approve the hours and the pay of a period, which then never change."""
        return approve(self.lead, Period.between(self.data["from"], self.data["to"]))


class NeedShape(Shape):
    of = Need, "number words address"
    helps = {"address": "of the page about it"}


class DigestShape(Shape):
    of = Digest, "since"
    helps = {"since": "the beginning of yesterday, in the time zone of the site"}
    happened = NeedShape(many=True)
    waits = NeedShape(many=True)
    mailed = serializers.BooleanField(help_text="whether who asks gets it by mail each morning")


class TheDigest(Resource, at=f"{CAMPAIGN}/digest", name="digest"):
    @reads(DigestShape)
    def get(self) -> Any:
        """What happened since yesterday, and what waits for a lead."""
        return With(digest_of(self.lead), mailed=bool(self.lead.digest_site))


class DigestByMail(Resource, at=f"{CAMPAIGN}/digest/mail", name="digest-mail"):
    @changes(body=shape("DigestWanted", Body, wanted=Truth()))
    def put(self) -> Any:
        """Get the digest by mail each morning, or no longer."""
        have_mailed(self.lead, site_address(self.request._request) if self.data["wanted"] else "")
