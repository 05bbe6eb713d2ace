"""Who asks, the campaigns that they belong to, a campaign at a glance, its settings, and how its work is steered."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models
from django.shortcuts import get_object_or_404
from rest_framework import serializers

from api.fields import Body, Page, Shape, Truth, request_field
from api.operations import TAGGED, UNFIT, VERSIONED, Answer, Rows, With, changes, reads
from api.problems import checked
from api.resource import CAMPAIGN, Resource, must_match, tag_of
from campaigns.access import signed_in
from campaigns.models import Campaign, Membership, Token
from campaigns.settings import COLUMNS, LIMITS, SETTINGS
from judging.models import Batch, Candidate
from judging.review.frontier import REACH
from judging.settings import GroupForm, LimitsForm, PriorityForm, ShareForm, Steering, fixed, set_up, values_of
from reports.frontier import AnnotatorRow, GroupRow, Outlook, Steered, StratumRow, outlook, steered
from reports.tables.queries import at_a_glance


class Person(Shape):
    user = serializers.CharField()
    scopes = serializers.ListField(
        child=serializers.ChoiceField(Token.Scope.choices), help_text="what the token may do; all for a session"
    )
    expires = serializers.DateTimeField(allow_null=True, help_text="of the token")


class OwnCampaign(Shape):
    """A campaign, and what the person is in it."""

    of = Membership, "role state name=campaign.name title=campaign.title"


class CampaignDetail(Shape):
    of = Campaign, "name title encoder created corpus=corpus.name reuses=reuses.name"
    helps = {"encoder": "the model that ranked its candidates; empty before"}
    helps |= {"reuses": "the campaign whose grades it reuses; null: none"}
    queries = serializers.IntegerField(source="n_queries")
    closed = serializers.IntegerField(source="n_closed", help_text="queries that are closed")
    to_review = serializers.IntegerField(source="n_to_review", help_text="batches that wait for the lead")
    at_work = serializers.IntegerField(source="n_at_work", help_text="annotators with a batch in hand")
    reused = serializers.IntegerField(help_text="pairs whose grade is reused; nobody judges them")


class Root(Resource, at="", name="root"):
    @reads(Person)
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
        return With(campaign, reused=Candidate.objects.in_pool(campaign).reused().count())


class SettingsShape(Shape):
    of = Campaign, " ".join(name for name in SETTINGS if name in COLUMNS)
    fixed = serializers.DictField(
        child=serializers.CharField(), help_text="settings that can no longer change, each with the reason"
    )


class SettingsChange(Body):
    """Any of the settings; what is not named stays as it is."""

    left_out: ClassVar[tuple[str, ...]] = ()

    def get_fields(self) -> dict[str, serializers.Field]:
        return {name: _setting(name) for name in SETTINGS if name not in self.left_out} | super().get_fields()


def _setting(name: str) -> serializers.Field:
    """Return the field of a setting: its kind is the column's, its range and its words those of the settings."""
    setting = SETTINGS[name]
    options: dict[str, Any] = {"required": False, "help_text": setting.help}
    if name == "all_days":
        return Truth(**options)
    column = Campaign._meta.get_field(name)
    if not isinstance(column, models.BooleanField | models.CharField):
        least, most = (setting.least, setting.most) if setting.has_range else (-(2**63), 2**63 - 1)  # of a seed
        options |= {"min_value": least, "max_value": most}
    return request_field(column, **options)


class Settings(Resource, at=f"{CAMPAIGN}/settings", name="settings"):
    @reads(SettingsShape, TAGGED)
    def get(self) -> Any:
        """The settings of a campaign."""
        return _settings(self.member.campaign)

    @changes(SettingsShape, VERSIONED, body=SettingsChange)
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


class StratumShape(Shape):
    of = StratumRow, "split stratum queries finished in_order priority"
    helps = {
        "in_order": "of the finished ones, those before the first that is not finished: a random sample of the stratum",
        "priority": "when annotators get it",
    }


class GroupShape(Shape):
    of = GroupRow, "name annotators queries finished"
    helps = {"name": "empty: for everybody", "annotators": "who may judge", "queries": "whose round one is for it"}


class LimitsShape(Shape):
    of = (
        AnnotatorRow,
        "worker=member.worker group=member.group today week most_a_day=member.most_a_day "
        "most_a_week=member.most_a_week most_in_all=member.most_in_all",
    )
    helps = {"today": "judgements", "week": "judgements since Monday"}
    helps |= {name: limit.help for name, limit in LIMITS.items()}


class SteeringShape(Shape):
    of = Steered, "week reach"
    helps = {"week": "judgements of all annotators since Monday", "reach": REACH}
    strata = StratumShape(many=True)
    groups = GroupShape(many=True)
    annotators = LimitsShape(many=True)


class HardBatch(Shape):
    of = Batch, "id number round text=query.text"


class OutlookShape(Shape):
    of = Outlook, "words nobody=number nobody_before=before reach"
    helps = {
        "words": "what is done",
        "nobody": "batches that nobody may judge any more, and somebody could before",
        "nobody_before": "batches that nobody could judge before",
        "reach": REACH,
    }
    batches = HardBatch(many=True, help_text="the first 20 that nobody may judge any more")


class SteeringBody(Body):
    dry_run = Truth(required=False, help_text="say what it leads to, and change nothing")


class NewLimits(SteeringBody):
    of = LimitsForm, "who most_in_all most_a_day most_a_week"


class NewGroup(SteeringBody):
    of = GroupForm, "who group"


class NewPriority(SteeringBody):
    of = PriorityForm, "split stratum priority"


class NewShare(SteeringBody):
    of = ShareForm, "split stratum group percent"


class SteeringNow(Resource, at=f"{CAMPAIGN}/steering", name="steering"):
    @reads(SteeringShape)
    def get(self) -> Any:
        """How work is steered: priorities of strata, groups, and limits."""
        return steered(self.lead.campaign)


def _steer(lead: Membership, made: type[Steering], data: dict[str, Any]) -> Outlook:
    """Apply a form, unless it is a dry run, and say what it leads to."""
    form = made(lead, data)
    checked(form)
    found = outlook(form.campaign, form.apply)
    if not data.get("dry_run"):
        form.apply()
    return found


class SteeringLimits(Resource, at=f"{CAMPAIGN}/steering/limits", name="steering-limits"):
    @changes(OutlookShape, UNFIT, body=NewLimits)
    def put(self) -> Any:
        """Set how much annotators judge at most."""
        return _steer(self.lead, LimitsForm, self.data)


class SteeringGroup(Resource, at=f"{CAMPAIGN}/steering/group", name="steering-group"):
    @changes(OutlookShape, UNFIT, body=NewGroup)
    def put(self) -> Any:
        """Put annotators into a group."""
        return _steer(self.lead, GroupForm, self.data)


class SteeringPriority(Resource, at=f"{CAMPAIGN}/steering/priority", name="steering-priority"):
    @changes(OutlookShape, UNFIT, body=NewPriority)
    def put(self) -> Any:
        """Have annotators get strata first, as usual, or last."""
        return _steer(self.lead, PriorityForm, self.data)


class SteeringShare(Resource, at=f"{CAMPAIGN}/steering/share", name="steering-share"):
    @changes(OutlookShape, UNFIT, body=NewShare)
    def put(self) -> Any:
        """Have a group judge round one of a share of the queries."""
        return _steer(self.lead, ShareForm, self.data)
