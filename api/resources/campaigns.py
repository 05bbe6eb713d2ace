"""Who asks, the campaigns that they belong to, a campaign at a glance, its settings, and how its work is steered."""

from __future__ import annotations

from typing import Any, ClassVar

from django.shortcuts import get_object_or_404
from rest_framework import serializers

from accounts.models import Token
from api.fields import Truth
from api.operations import TAGGED, UNFIT, VERSIONED, Answer, Rows, annotated, changes, reads
from api.problems import checked
from api.resource import CAMPAIGN, Resource, must_match, tag_of
from api.serializers import Body, ModelAnswer, Page, body_field
from base.forms import limits_of
from campaigns.access import signed_in
from campaigns.models import Campaign, Membership
from judging.models import Batch, Candidate
from judging.review.frontier import REACH
from judging.settings import (
    COLUMNS,
    SETTINGS,
    GroupForm,
    LimitsForm,
    PriorityForm,
    SettingsForm,
    ShareForm,
    SteeringForm,
    fixed,
    set_up,
    values_of,
)
from reports.steering import Outlook, outlook, steered
from reports.tables.queries import at_a_glance


class Account(serializers.Serializer):
    user = serializers.CharField()
    scopes = serializers.ListField(
        child=serializers.ChoiceField(Token.Scope.choices), help_text="what the token may do; all for a session"
    )
    expires = serializers.DateTimeField(allow_null=True, help_text="of the token")


class OwnCampaign(ModelAnswer):
    """A campaign, and what the person is in it."""

    name = serializers.CharField(source="campaign.name")
    title = serializers.CharField(source="campaign.title")

    class Meta:
        model = Membership
        fields = ["role", "state"]


class CampaignDetail(ModelAnswer):
    corpus = serializers.CharField(source="corpus.name")
    reuses = serializers.CharField(
        source="reuses.name", allow_null=True, default=None, help_text="the campaign whose grades it reuses; null: none"
    )
    queries = serializers.IntegerField(source="n_queries")
    closed = serializers.IntegerField(source="n_closed", help_text="queries that are closed")
    to_review = serializers.IntegerField(source="n_to_review", help_text="batches that wait for the lead")
    at_work = serializers.IntegerField(source="n_at_work", help_text="annotators with a batch in hand")
    reused = serializers.IntegerField(help_text="pairs whose grade is reused; nobody judges them")

    class Meta:
        model = Campaign
        fields = ["name", "title", "encoder", "created"]
        help_texts = {"encoder": "the model that ranked its candidates; empty before"}


class Root(Resource, at="", name="root"):
    @reads(Account)
    def get(self) -> Any:
        """Who asks, and what the token may do."""
        token = self.request.auth if isinstance(self.request.auth, Token) else None
        return {
            "user": signed_in(self.request).get_username(),
            "scopes": token.scopes if token else Token.Scope.values,
            "expires": token.expires if token else None,
        }


class Campaigns(Resource, at="campaigns", name="campaigns"):
    @reads(Page(OwnCampaign))
    def get(self) -> Any:
        """The campaigns that the person belongs to."""
        own = Membership.objects.filter(user=self.request.user.pk, state__in=Membership.MAY_LEARN)
        return Rows(own.select_related("campaign"))


class OneCampaign(Resource, at=CAMPAIGN, name="campaign"):
    @reads(CampaignDetail)
    def get(self) -> Any:
        """A campaign, as its leads and researchers see it."""
        campaigns = at_a_glance(Campaign.objects.select_related("corpus", "reuses"))
        campaign = get_object_or_404(campaigns, pk=self.member.campaign_id)
        return annotated(campaign, reused=Candidate.objects.in_pool(campaign).reused().count())


class SettingsSerializer(ModelAnswer):
    fixed = serializers.DictField(child=serializers.CharField(), help_text="why settings can no longer change")

    class Meta:
        model = Campaign
        fields = [name for name in SETTINGS if name in COLUMNS]


class SettingsChange(Body):
    """Any of the settings; what is not named stays as it is."""

    left_out: ClassVar[tuple[str, ...]] = ()

    def get_fields(self) -> dict[str, serializers.Field]:
        return {name: _setting(name) for name in SETTINGS if name not in self.left_out} | super().get_fields()


def _setting(name: str) -> serializers.Field:
    """Return the field of a setting, with the range and the words of its column."""
    if name == "all_days":
        return Truth(required=False, help_text=SettingsForm.base_fields[name].help_text)
    column: Any = Campaign._meta.get_field(name)
    return body_field(column, required=False, help_text=column.help_text, **limits_of(column))


class Settings(Resource, at=f"{CAMPAIGN}/settings", name="settings"):
    @reads(SettingsSerializer, TAGGED)
    def get(self) -> Any:
        """The settings of a campaign."""
        return _settings(self.member.campaign)

    @changes(SettingsSerializer, VERSIONED, body=SettingsChange)
    def patch(self) -> Any:
        """Change settings."""
        checked(
            set_up(self.lead, self.data, partial=True, precondition=lambda now: must_match(self.request, _tag(now)))
        )
        return _settings(Campaign.objects.get(pk=self.lead.campaign_id))


def _tag(campaign: Campaign) -> str:
    return tag_of("settings", values_of(campaign))


def _settings(campaign: Campaign) -> Answer:
    return Answer.tagged(values_of(campaign) | {"fixed": fixed(campaign)}, _tag(campaign))


class StratumSerializer(serializers.Serializer):
    split = serializers.CharField()
    stratum = serializers.CharField()
    queries = serializers.IntegerField()
    finished = serializers.IntegerField()
    in_order = serializers.IntegerField(help_text="finished ones before the first unfinished one: a random sample")
    priority = serializers.CharField(help_text="when annotators get it")


class GroupSerializer(serializers.Serializer):
    name = serializers.CharField(help_text="empty: for everybody")
    annotators = serializers.IntegerField(help_text="who may judge")
    queries = serializers.IntegerField(help_text="whose round one is for it")
    finished = serializers.IntegerField()


class LimitsSerializer(serializers.Serializer):
    worker = serializers.IntegerField(source="member.worker")
    group = serializers.CharField(source="member.group")
    today = serializers.IntegerField(help_text="judgements")
    week = serializers.IntegerField(help_text="judgements since Monday")
    most_a_day = serializers.IntegerField(source="member.most_a_day", allow_null=True, help_text="null: no limit")
    most_a_week = serializers.IntegerField(source="member.most_a_week", allow_null=True, help_text="null: no limit")
    most_in_all = serializers.IntegerField(source="member.most_in_all", allow_null=True, help_text="null: no limit")


class SteeringSerializer(serializers.Serializer):
    week = serializers.IntegerField(help_text="judgements of all annotators since Monday")
    reach = serializers.IntegerField(allow_null=True, help_text=REACH)
    strata = StratumSerializer(many=True)
    groups = GroupSerializer(many=True)
    annotators = LimitsSerializer(many=True)


class HardBatch(ModelAnswer):
    text = serializers.CharField(source="query.text")

    class Meta:
        model = Batch
        fields = ["id", "number", "round"]


class OutlookSerializer(serializers.Serializer):
    words = serializers.CharField(help_text="what is done")
    nobody = serializers.IntegerField(source="number", help_text="batches that lose their last possible annotator")
    nobody_before = serializers.IntegerField(source="before", help_text="batches that nobody could judge before")
    reach = serializers.IntegerField(allow_null=True, help_text=REACH)
    batches = HardBatch(many=True, help_text="the first 20 that nobody may judge any more")


class SteeringBody(Body):
    dry_run = Truth(required=False, help_text="say what it leads to, and change nothing")


class NewLimits(SteeringBody):
    class Meta:
        form = LimitsForm
        fields = ["who", "most_in_all", "most_a_day", "most_a_week"]


class NewGroup(SteeringBody):
    class Meta:
        form = GroupForm
        fields = ["who", "group"]


class NewPriority(SteeringBody):
    class Meta:
        form = PriorityForm
        fields = ["split", "stratum", "priority"]


class NewShare(SteeringBody):
    class Meta:
        form = ShareForm
        fields = ["split", "stratum", "group", "percent"]


class SteeringNow(Resource, at=f"{CAMPAIGN}/steering", name="steering"):
    @reads(SteeringSerializer)
    def get(self) -> Any:
        """How work is steered: priorities of strata, groups, and limits."""
        return steered(self.lead.campaign)


def _steer(lead: Membership, made: type[SteeringForm], data: dict[str, Any]) -> Outlook:
    """Apply a form, unless it is a dry run, and say what it leads to."""
    form = made(lead, data)
    checked(form)
    found = outlook(form.campaign, form.apply)
    if not data.get("dry_run"):
        form.apply()
    return found


class SteeringLimits(Resource, at=f"{CAMPAIGN}/steering/limits", name="steering-limits"):
    @changes(OutlookSerializer, UNFIT, body=NewLimits)
    def put(self) -> Any:
        """Set how much annotators judge at most."""
        return _steer(self.lead, LimitsForm, self.data)


class SteeringGroup(Resource, at=f"{CAMPAIGN}/steering/group", name="steering-group"):
    @changes(OutlookSerializer, UNFIT, body=NewGroup)
    def put(self) -> Any:
        """Put annotators into a group."""
        return _steer(self.lead, GroupForm, self.data)


class SteeringPriority(Resource, at=f"{CAMPAIGN}/steering/priority", name="steering-priority"):
    @changes(OutlookSerializer, UNFIT, body=NewPriority)
    def put(self) -> Any:
        """Have annotators get strata first, as usual, or last."""
        return _steer(self.lead, PriorityForm, self.data)


class SteeringShare(Resource, at=f"{CAMPAIGN}/steering/share", name="steering-share"):
    @changes(OutlookSerializer, UNFIT, body=NewShare)
    def put(self) -> Any:
        """Have a group judge round one of a share of the queries."""
        return _steer(self.lead, ShareForm, self.data)
