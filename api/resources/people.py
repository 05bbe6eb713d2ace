"""The people of a campaign, for its leads: members, invitations, those who ask to join, and hours with pay."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from rest_framework import serializers

from api.fields import Choice, Text, Truth, Whole, WholeChoice
from api.operations import UNFIT, Rows, annotated, changes, fresh, makes, reads
from api.problems import checked
from api.resource import CAMPAIGN, Resource
from api.serializers import Body, ModelAnswer, Page, QueryParameters, filters_of, inline
from base.sites import site_address
from campaigns import access, invitations, mails
from campaigns.access import let_create, let_create_no_longer, may_let_create
from campaigns.forms import InvitationsForm, LinkForm
from campaigns.models import Applicant, Invitation, Membership
from campaigns.models.invitation import DECISIONS, LONGEST_NAME, MOST_PLACES
from campaigns.models.membership import LONGEST_GROUP
from judging.review import decisions
from reports.campaign_summaries import PEOPLE, current_summary
from reports.hours import Rates
from reports.models import ApprovedPeriod
from reports.pay import Period, approve, pay_of
from reports.tables.people import PEOPLE_LIST, Stage, people_rows


class MemberSerializer(ModelAnswer):
    name = serializers.CharField(source="user.username")

    class Meta:
        model = Membership
        fields = ["worker", "role", "state", "joined", "qualified"]
        help_texts = {
            "worker": "stands for the person in all exports",
            "qualified": "when the exam was passed or waived",
        }


class MemberChange(Body):
    verb = Choice(choices=list(decisions.MEMBER_VERBS))
    reason = Text(required=False, max_length=400, allow_blank=True, help_text="kept on record")
    hand_over = Truth(required=False, help_text="with the verb pause: take the batch in hand away, too")


class NewRole(Body):
    role = Choice(choices=Membership.Role.choices)
    reason = Text(max_length=400, help_text="kept on record")


class Members(Resource, at=f"{CAMPAIGN}/members", name="members"):
    @reads(Page(MemberSerializer))
    def get(self) -> Any:
        """The members of a campaign."""
        rows = self.lead.campaign.memberships.filter(same_as=None)
        return Rows(rows.select_related("user"), ("worker",))


class OneMember(Resource, at=f"{CAMPAIGN}/members/<int:worker>", name="member"):
    @reads(MemberSerializer)
    def get(self, worker: int) -> Any:
        """A member."""
        return access.person(self.lead, worker)


class ChangeMember(Resource, at=f"{CAMPAIGN}/members/<int:worker>/changes", name="member-change"):
    @changes(MemberSerializer, body=MemberChange)
    def post(self, worker: int) -> Any:
        """Pause or resume a member, and so on."""
        person, reason = access.person(self.lead, worker), self.data.get("reason", "").strip()
        decisions.change_member(person, self.lead, self.data["verb"], reason, self.data.get("hand_over", False))
        return fresh(person)


class ChangeRole(Resource, at=f"{CAMPAIGN}/members/<int:worker>/role", name="member-role"):
    @changes(MemberSerializer, body=NewRole)
    def put(self, worker: int) -> Any:
        """Give a member another role."""
        person = access.person(self.lead, worker)
        decisions.change_role(person, by=self.lead, **self.data)
        return fresh(person)


class LetCreate(Resource, at=f"{CAMPAIGN}/members/<int:worker>/creates", name="member-creates"):
    @changes(body=inline("MayCreate", Body, may=Truth(help_text="whether the person may create campaigns")))
    def put(self, worker: int) -> Any:
        """Let a lead or a researcher create campaigns, or no longer."""
        person = access.person(self.lead, worker)
        if not may_let_create(self.lead, person):
            raise Http404
        (let_create if self.data["may"] else let_create_no_longer)(person.user, self.lead)


class PersonSerializer(serializers.Serializer):
    """Somebody who is a member, asks to join, or is invited; who has no worker's number is no member."""

    worker = serializers.IntegerField(source="member.worker", allow_null=True, default=None)
    name = serializers.CharField(help_text="of an account; of who is only invited, as the lead wrote it")
    role = serializers.CharField()
    group = serializers.CharField()
    address = serializers.CharField()
    since = serializers.DateTimeField(allow_null=True, help_text="when this stage began, as far as it is known")
    invitation = serializers.IntegerField(source="invitation.id", allow_null=True, default=None)
    applicant = serializers.IntegerField(source="applicant.id", allow_null=True, default=None)
    places = serializers.IntegerField(source="invitation.places", allow_null=True, default=None)
    taken = serializers.IntegerField(help_text="places of a link for several people that are taken")
    failed = serializers.CharField(help_text="why the mail was not sent")
    batches = serializers.IntegerField()
    judgements = serializers.IntegerField()
    last_grade = serializers.DateTimeField(source="last_seen", allow_null=True)
    stage = serializers.ChoiceField(Stage.choices, help_text="how far the person has come")


class People(Resource, at=f"{CAMPAIGN}/people", name="people"):
    @reads(
        inline("PeopleSerializer", people=PersonSerializer(many=True)), query=filters_of(PEOPLE_LIST, QueryParameters)
    )
    def get(self) -> Any:
        """Those who are members, ask to join, or are invited, and how far each has come."""
        campaign, choices = self.lead.campaign, PEOPLE_LIST.choices(self.request.query_params)
        rows = people_rows(campaign, current_summary(campaign, PEOPLE))
        return {"people": choices.ordered(choices.chosen(rows))[0]}


class HoursParameters(QueryParameters):
    from_ = serializers.DateField(required=False, help_text="the first day; else the present month's")
    to = serializers.DateField(required=False, help_text="the last day")


class HoursLine(serializers.Serializer):
    worker = serializers.IntegerField(source="member.worker")
    first = serializers.DateField(source="period.first")
    last = serializers.DateField(source="period.last")
    batches = serializers.IntegerField(source="worked.batches")
    judgements = serializers.IntegerField(source="worked.judgements")
    reported_hours = serializers.FloatField(source="worked.reported_hours", help_text="as browsers measured")
    hours = serializers.FloatField(source="worked.hours", help_text="those that count")
    rate = serializers.FloatField(allow_null=True)
    currency = serializers.CharField()
    pay = serializers.FloatField(allow_null=True)
    approved = serializers.DateTimeField(source="approved.at", allow_null=True, default=None)


class HoursSerializer(serializers.Serializer):
    currency = serializers.CharField()
    lines = HoursLine(many=True, help_text="for each member and hourly rate, and for approved days and others")


class PeriodBody(Body):
    from_ = serializers.DateField(help_text="the first day")
    to = serializers.DateField(help_text="the last day, which must be over")


class ApprovalSerializer(ModelAnswer):
    by = serializers.IntegerField(source="by.worker", help_text="the lead’s worker number")

    class Meta:
        model = ApprovedPeriod
        fields = ["first", "last", "at"]


class Hours(Resource, at=f"{CAMPAIGN}/hours", name="hours"):
    @reads(HoursSerializer, UNFIT, query=HoursParameters)
    def get(self) -> Any:
        """Hours and pay in a period."""
        campaign = self.lead.campaign
        lines = pay_of(campaign, Period.between(self.params.get("from"), self.params.get("to")), Rates.of(campaign))
        return {"currency": campaign.currency, "lines": lines}

    @changes(ApprovalSerializer, UNFIT, body=PeriodBody)
    def post(self) -> Any:
        """Approve the hours and the pay of a period, which then never change."""
        return approve(self.lead, Period.between(self.data["from"], self.data["to"]))


class InvitationSerializer(ModelAnswer):
    role = serializers.ChoiceField(Membership.Role.choices)

    class Meta:
        model = Invitation
        fields = ["id", "address", "name", "group", "places", "expires", "sent", "opened"]
        help_texts = {"address": "empty if it is for whoever has the link", "places": "of a link for several people"}


class InvitationWithLink(InvitationSerializer):
    link = serializers.CharField(help_text="told this once: only its hash is kept")


class NewInvitation(Body):
    hours = Whole(min_value=1, max_value=invitations.MOST_HOURS, help_text="for which it is open")
    people = Whole(
        required=False,
        min_value=1,
        max_value=MOST_PLACES,
        help_text="if more than one, so many can ask to join, and a lead decides",
    )

    class Meta:
        form = LinkForm
        fields = ["role", "group"]


class InvitedPerson(Body):
    address = Text(required=False, max_length=254, allow_blank=True, help_text="needed for a mail")
    name = Text(required=False, max_length=LONGEST_NAME, allow_blank=True)
    group = Text(required=False, max_length=LONGEST_GROUP, allow_blank=True, help_text="else that of the list")
    role = Choice(required=False, choices=Membership.Role.choices, help_text="else that of the list")


class Named(Body):
    people = serializers.ListField(child=InvitedPerson(), min_length=1, max_length=invitations.MOST)
    role = Choice(choices=Membership.Role.choices)
    group = Text(required=False, max_length=LONGEST_GROUP, allow_blank=True)
    hours = WholeChoice(list(invitations.LIFETIMES))


class Invited(Named):
    language = Choice(choices=settings.LANGUAGES, required=False, help_text="of the mail")


class Invitations(Resource, at=f"{CAMPAIGN}/invitations", name="invitations"):
    @reads(Page(InvitationSerializer))
    def get(self) -> Any:
        """The invitations that are open."""
        return Rows(self.lead.campaign.invitations.open(), ("-pk",))

    @makes(InvitationWithLink, body=NewInvitation)
    def post(self) -> Any:
        """Make a link by which one person joins, or by which several ask to join."""
        made = invitations.make_link(self.lead, site_address(self.request._request), **self.data)
        return annotated(fresh(made.invitation), link=made.link)


class InvitationsByMail(Resource, at=f"{CAMPAIGN}/invitations/by-mail", name="invitations-by-mail"):
    @makes(inline("HowManyInvited", number=serializers.IntegerField()), body=Invited, status=202)
    def post(self) -> Any:
        """Invite people by mail: all of a list, or nobody."""
        lead = self.lead
        invitations.must_send_mails()
        return {"number": len(_invite_all(self.request._request, lead, self.data, invitations.MAIL))}


class NamedLinkSerializer(serializers.Serializer):
    id = serializers.IntegerField(source="invitation.id")
    name = serializers.CharField(source="invitation.name")
    address = serializers.CharField(source="invitation.address")
    group = serializers.CharField(source="invitation.group")
    link = serializers.CharField(help_text="empty if it was made under another key of this site")
    role = serializers.ChoiceField(Membership.Role.choices, source="invitation.role")
    expires = serializers.DateTimeField(source="invitation.expires")


class NamedLinksSerializer(serializers.Serializer):
    links = NamedLinkSerializer(many=True, help_text="by name")


class InvitationLinks(Resource, at=f"{CAMPAIGN}/invitations/links", name="invitation-links"):
    @reads(NamedLinksSerializer)
    def get(self) -> Any:
        """The links of named people that a lead hands out, as long as nobody has used them."""
        return {"links": invitations.named_links(self.lead.campaign, site_address(self.request._request))}

    @makes(NamedLinksSerializer, body=Named)
    def post(self) -> Any:
        """Make a link for each person of a list, or for nobody."""
        made = {each.pk for each in _invite_all(self.request._request, self.lead, self.data, invitations.LINKS)}
        all_links = invitations.named_links(self.lead.campaign, site_address(self.request._request))
        return {"links": [each for each in all_links if each.invitation.pk in made]}


def _invite_all(request: HttpRequest, lead: Membership, data: dict[str, Any], way: str) -> list[Invitation]:
    lines = [invitations.written(invitations.Person(**each)) for each in data["people"]]
    form = InvitationsForm(lead.campaign, data | {"people": "\n".join(lines), "way": way})
    valid, site = checked(form), site_address(request)
    return invitations.invite_all(lead, valid["people"], way, valid["hours"], valid["language"], site)


class ApplicantSerializer(ModelAnswer):
    name = serializers.CharField(source="user.username")
    role = serializers.ChoiceField(Membership.Role.choices, source="invitation.role")

    class Meta:
        model = Applicant
        fields = ["id", "at", "approved", "decided"]
        help_texts = {"approved": "null while the person waits"}


class Applicants(Resource, at=f"{CAMPAIGN}/applicants", name="applicants"):
    @reads(Page(ApplicantSerializer))
    def get(self) -> Any:
        """Who asks to join by a link for several people, and waits."""
        waiting = Applicant.objects.waiting().filter(invitation__campaign=self.lead.campaign)
        return waiting.select_related("user", "invitation")


class DecideOnApplicant(Resource, at=f"{CAMPAIGN}/applicants/<int:pk>/decision", name="applicant"):
    @changes(ApplicantSerializer, body=inline("NewDecision", Body, action=Choice(choices=list(DECISIONS))))
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
    @changes(InvitationSerializer, status=202)
    def post(self, pk: int) -> Any:
        """Send the mail of an open invitation once more, with the same link."""
        invitation = get_object_or_404(self.lead.campaign.invitations.mailed(), pk=pk)
        invitations.must_send_mails()
        mails.ask_for(mails.mail_invitation, invitation, self.request._request, invitation.language)
        return invitation
