"""Lists: what leads do to many queries at once, the views of lists that people keep, and the history."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.fields import Body, Choice, Page, PageQuery, Shape, Text, Truth, Whole
from api.operations import UNFIT, Rows, With, changes, makes, reads, starts
from api.resource import CAMPAIGN, LARGEST_KEY, Resource
from base.errors import BadValue
from campaigns.models import LogEntry
from judging import access as judging_access
from judging.models import Action, ActionRow
from judging.review import actions
from judging.review.frontier import REACH
from judging.review.verbs import EVERYBODY, OF_GROUP, VERBS
from reports.lists import LISTS, forget_view, keep_view, views_of
from reports.models import LONGEST_NAME, LONGEST_VIEW, SavedView
from reports.tables.costs import ActionCost, action_cost
from reports.tables.history import HISTORY, HistoryFilters, entries_of
from reports.tables.queries import QUERIES, QueryFilters, chosen_queries


class ActionCostShape(Shape):
    of = ActionCost, "queries left judgements hours pay nobody reach"
    helps = {
        "queries": "to which it can be done",
        "left": "to which it cannot",
        "judgements": "to come; negative if so many are not needed any more",
        "pay": "in the campaign's currency; null, as the hours, while nobody's time is known",
        "nobody": "batches that somebody may judge now, and nobody could any more, of a priority or a group",
        "reach": REACH,
    }


class ActionShape(Shape):
    of = Action, "id verb argument chosen reason at begun ended undone undone_ended by=lead.worker"
    helps = {
        "chosen": "the filters that chose the queries, in words",
        "begun": "null while it is prepared only",
        "by": "the lead's worker number",
        "undone": "when undoing it was ordered",
    }


class OneActionShape(ActionShape):
    numbers = serializers.DictField(
        child=serializers.IntegerField(),
        help_text=f"queries by what became of them: {', '.join(ActionRow.State.values)}",
    )
    cost = ActionCostShape(allow_null=True, help_text="null once it is begun")


class FilterBody(Body):
    """The filters of the list of queries."""

    of = QueryFilters, " ".join(QUERIES.filters)


class NewAction(Body):
    verb = Choice(choices=[(verb.code, verb.label) for verb in VERBS.values()])
    queries = serializers.ListField(
        child=Whole(min_value=1, max_value=LARGEST_KEY),
        required=False,
        max_length=actions.MOST_ROWS,
        help_text="their ids; without them, all that the filters choose",
    )
    filters = FilterBody(required=False)
    argument = Text(
        max_length=100,
        required=False,
        help_text=f"of `priority`: first, usual or last; of `group`: {OF_GROUP}NAME, or {EVERYBODY}",
    )


class Beginning(Body):
    reason = Text(max_length=500, required=False, allow_blank=True, help_text="kept on record")


class Actions(Resource, at=f"{CAMPAIGN}/actions", name="actions"):
    @reads(Page(ActionShape))
    def get(self) -> Any:
        """What leads did to many queries at once, the newest first."""
        return Rows(self.member.campaign.actions.select_related("lead"), ("-pk",))

    @makes(OneActionShape, UNFIT, body=NewAction)
    def post(self) -> Any:
        """Prepare an action on many queries, and learn what it would cost. Nothing happens yet."""
        filters, keys = self.data.get("filters", {}), self.data.get("queries")
        queries, words = chosen_queries(self.lead.campaign, filters, keys)
        verb, argument = self.data["verb"], self.data.get("argument", "")
        if VERBS[verb].arguments and not argument:
            raise BadValue("argument", "missing", "what the action is to set")
        return _whole(actions.prepare(self.lead, verb, queries, words, argument))


class OneAction(Resource, at=f"{CAMPAIGN}/actions/<int:pk>", name="action"):
    @reads(OneActionShape)
    def get(self, pk: int) -> Any:
        """An action, with what became of its queries."""
        return _whole(judging_access.action(self.member, pk))

    @changes()
    def delete(self, pk: int) -> Any:
        """Forget an action that is prepared only."""
        actions.forget(judging_access.action(self.lead, pk))


class ActionBegun(Resource, at=f"{CAMPAIGN}/actions/<int:pk>/begun", name="action-begun"):
    @starts(OneActionShape, body=Beginning)
    def put(self, pk: int) -> Any:
        """Have a prepared action done, query by query."""
        action = actions.begin(judging_access.action(self.lead, pk), self.lead, self.data.get("reason", "").strip())
        return self.under_way(actions.act.jobs(action).first(), _whole(action))


class ActionUndone(Resource, at=f"{CAMPAIGN}/actions/<int:pk>/undone", name="action-undone"):
    @starts(OneActionShape)
    def put(self, pk: int) -> Any:
        """Have all that an action did undone, as far as that is possible."""
        action = actions.undo_action(judging_access.action(self.lead, pk), self.lead)
        return self.under_way(actions.undo_all.jobs(action).first(), _whole(action))


def _whole(action: Action) -> With:
    return With(action, numbers=actions.numbers(action), cost=action_cost(action) if actions.is_ready(action) else None)


class ViewShape(Shape):
    of = SavedView, "id listing name choices shared=is_shared"
    helps = {"listing": "the list that it is of", "choices": "as they stand in the address of the list"}


class NewView(Body):
    listing = Choice(choices=list(LISTS), help_text="the list that it is of")
    name = Text(max_length=LONGEST_NAME)
    choices = Text(max_length=LONGEST_VIEW, help_text="filters, order and columns, as in the address of the list")
    shared = Truth(required=False, help_text="whether all who see the campaign have it; only leads share")


class Views(Resource, at=f"{CAMPAIGN}/views", name="views"):
    @reads(Page(ViewShape))
    def get(self) -> Any:
        """The views of lists that you have."""
        return Rows(views_of(self.member), ("pk",))

    @changes(ViewShape, UNFIT, body=NewView, status=201, door=lambda resource: resource.member)
    def post(self) -> Any:
        """Keep a view under a name, in place of your own of that name."""
        return keep_view(self.member, **self.data)


class OneView(Resource, at=f"{CAMPAIGN}/views/<int:pk>", name="view"):
    @changes()
    def delete(self, pk: int) -> Any:
        """Forget a view."""
        forget_view(self.member, pk)


class EntryShape(Shape):
    of = LogEntry, "id at by=by.worker kind what before after"
    helps = {"by": "the worker's number of the lead", "before": "what there was", "after": "what there is since then"}


class HistoryAsked(PageQuery):
    """The filters of the history."""

    of = HistoryFilters, "who kind q"
    helps = {"q": "words of what was done", "who": "the worker's number of the lead"}
    to = serializers.DateField(required=False, help_text="the last day")
    locals()["from"] = serializers.DateField(required=False, help_text="the first day")


class History(Resource, at=f"{CAMPAIGN}/history", name="history"):
    @reads(Page(EntryShape), query=HistoryAsked)
    def get(self) -> Any:
        """What leads did in a campaign, the newest first."""
        filters = {name: value for name, value in self.params.items() if name in HISTORY.filters}
        return Rows(HISTORY.choices(filters).chosen(entries_of(self.lead.campaign)), ("-pk",))
