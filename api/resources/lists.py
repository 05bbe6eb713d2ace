"""Lists: what leads do to many queries at once, the views of lists that people keep, and the history."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.fields import Choice, Text, Truth, Whole
from api.operations import UNFIT, Rows, annotated, changes, makes, reads, starts
from api.resource import CAMPAIGN, Resource
from api.serializers import Body, ModelAnswer, Page, PageParameters
from base.errors import BadValue
from base.forms import LARGEST_KEY
from campaigns.models import LogEntry
from judging import access as judging_access
from judging.models import Action, ActionRow
from judging.review import actions
from judging.review.frontier import REACH
from judging.review.verbs import ACTION_VERBS, EVERYBODY, OF_GROUP
from reports.lists import LISTS, forget_view, keep_view, views_of
from reports.models import LONGEST_NAME, LONGEST_VIEW, SavedView
from reports.tables.costs import action_cost
from reports.tables.history import HISTORY, HistoryFilters, entries_of
from reports.tables.queries import QUERIES, QueryFilters, chosen_queries


class ActionCostSerializer(serializers.Serializer):
    queries = serializers.IntegerField(help_text="to which it can be done")
    left = serializers.IntegerField(help_text="to which it cannot")
    judgements = serializers.IntegerField(help_text="to come; negative if so many are not needed any more")
    hours = serializers.FloatField(allow_null=True)
    pay = serializers.FloatField(allow_null=True, help_text="in the campaign's currency; null as the hours")
    nobody = serializers.IntegerField(help_text="of a group: batches that lose their last possible annotator")
    reach = serializers.IntegerField(allow_null=True, help_text=REACH)
    ready = serializers.IntegerField(allow_null=True, help_text="queries up to the frontier; null if that stays")
    ready_after = serializers.IntegerField(allow_null=True, help_text="how many would be left of them")


class ActionSerializer(ModelAnswer):
    by = serializers.IntegerField(source="lead.worker", help_text="the lead's worker number")

    class Meta:
        model = Action
        fields = ["id", "verb", "argument", "chosen", "reason", "at", "begun", "ended", "undone", "undone_ended"]
        help_texts = {
            "chosen": "the filters that chose the queries, in words",
            "begun": "null while it is prepared only",
            "undone": "when undoing it was ordered",
        }


class OneActionSerializer(ActionSerializer):
    numbers = serializers.DictField(
        child=serializers.IntegerField(),
        help_text=f"queries by what became of them: {', '.join(ActionRow.State.values)}",
    )
    cost = ActionCostSerializer(allow_null=True, help_text="null once it is begun")


class FilterBody(Body):
    """The filters of the list of queries."""

    class Meta:
        form = QueryFilters
        fields = list(QUERIES.filters)


class NewAction(Body):
    verb = Choice(choices=[(verb.code, verb.label) for verb in ACTION_VERBS.values()])
    queries = serializers.ListField(
        child=Whole(min_value=1, max_value=LARGEST_KEY),
        required=False,
        max_length=actions.MOST_ROWS,
        help_text="their ids; without them, all that the filters choose",
    )
    filters = FilterBody(required=False)
    argument = Text(max_length=100, required=False, help_text=f"of `group`: {OF_GROUP}NAME, or {EVERYBODY}")


class Beginning(Body):
    reason = Text(max_length=500, required=False, allow_blank=True, help_text="kept on record")


class Actions(Resource, at=f"{CAMPAIGN}/actions", name="actions"):
    @reads(Page(ActionSerializer))
    def get(self) -> Any:
        """What leads did to many queries at once, the newest first."""
        return Rows(judging_access.actions(self.member), ("-pk",))

    @makes(OneActionSerializer, UNFIT, body=NewAction)
    def post(self) -> Any:
        """Prepare an action on many queries, and learn what it would cost. Nothing happens yet."""
        filters, keys = self.data.get("filters", {}), self.data.get("queries")
        queries, words = chosen_queries(self.lead.campaign, filters, keys)
        verb, argument = self.data["verb"], self.data.get("argument", "")
        if ACTION_VERBS[verb].arguments and not argument:
            raise BadValue("argument", "missing", "what the action is to set")
        return _whole(actions.prepare(self.lead, verb, queries, words, argument))


class OneAction(Resource, at=f"{CAMPAIGN}/actions/<int:pk>", name="action"):
    @reads(OneActionSerializer)
    def get(self, pk: int) -> Any:
        """An action, with what became of its queries."""
        return _whole(judging_access.action(self.member, pk))

    @changes()
    def delete(self, pk: int) -> Any:
        """Forget an action that is prepared only."""
        actions.forget(judging_access.action(self.lead, pk))


class ActionBegun(Resource, at=f"{CAMPAIGN}/actions/<int:pk>/begun", name="action-begun"):
    @starts(OneActionSerializer, body=Beginning)
    def put(self, pk: int) -> Any:
        """Have a prepared action done, query by query."""
        action = actions.begin(judging_access.action(self.lead, pk), self.lead, self.data.get("reason", "").strip())
        return self.under_way(actions.act.jobs(action).first(), _whole(action))


class ActionUndone(Resource, at=f"{CAMPAIGN}/actions/<int:pk>/undone", name="action-undone"):
    @starts(OneActionSerializer)
    def put(self, pk: int) -> Any:
        """Have all that an action did undone, as far as that is possible."""
        action = actions.undo_action(judging_access.action(self.lead, pk), self.lead)
        return self.under_way(actions.undo_all.jobs(action).first(), _whole(action))


def _whole(action: Action) -> Any:
    return annotated(
        action, numbers=actions.numbers(action), cost=action_cost(action) if actions.is_ready(action) else None
    )


class ViewSerializer(ModelAnswer):
    shared = serializers.BooleanField(source="is_shared")

    class Meta:
        model = SavedView
        fields = ["id", "listing", "name", "choices"]
        help_texts = {"listing": "the list that it is of", "choices": "as they stand in the address of the list"}


class NewView(Body):
    listing = Choice(choices=list(LISTS), help_text="the list that it is of")
    name = Text(max_length=LONGEST_NAME)
    choices = Text(max_length=LONGEST_VIEW, help_text="filters, order and columns, as in the address of the list")
    shared = Truth(required=False, help_text="whether all who see the campaign have it; only leads share")


class Views(Resource, at=f"{CAMPAIGN}/views", name="views"):
    @reads(Page(ViewSerializer))
    def get(self) -> Any:
        """The views of lists that you have."""
        return Rows(views_of(self.member), ("pk",))

    @changes(ViewSerializer, UNFIT, body=NewView, status=201, door=lambda resource: resource.member)
    def post(self) -> Any:
        """Keep a view under a name, in place of your own of that name."""
        return keep_view(self.member, **self.data)


class OneView(Resource, at=f"{CAMPAIGN}/views/<int:pk>", name="view"):
    @changes()
    def delete(self, pk: int) -> Any:
        """Forget a view."""
        forget_view(self.member, pk)


class EntrySerializer(ModelAnswer):
    by = serializers.IntegerField(source="by.worker", help_text="the worker's number of the lead")

    class Meta:
        model = LogEntry
        fields = ["id", "at", "kind", "what", "before", "after"]
        help_texts = {"before": "what there was", "after": "what there is since then"}


class HistoryParameters(PageParameters):
    """The filters of the history."""

    to = serializers.DateField(required=False, help_text="the last day")
    from_ = serializers.DateField(required=False, help_text="the first day")

    class Meta:
        form = HistoryFilters
        fields = ["who", "kind", "q"]
        help_texts = {"q": "words of what was done", "who": "the worker's number of the lead"}


class History(Resource, at=f"{CAMPAIGN}/history", name="history"):
    @reads(Page(EntrySerializer), query=HistoryParameters)
    def get(self) -> Any:
        """What leads did in a campaign, the newest first."""
        filters = {name: value for name, value in self.params.items() if name in HISTORY.filters}
        return Rows(HISTORY.choices(filters).chosen(entries_of(self.lead.campaign)), ("-pk",))
