"""What can be done to many queries at once: each verb does it to one query, and undoes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from base.errors import WrongState
from campaigns.models import Campaign
from judging.models import Action, ActionRow, Batch, Query, Reopening, Review
from judging.models.pool import QueryQuerySet
from judging.models.states import WithdrawnFor
from judging.pool.queries import set_group
from judging.review.decisions import bring_back, withdraw
from judging.review.reopening import reopen_query, scope_named, scope_of_query, scope_of_record, undo_query
from judging.review.reviewing import recommendation, review, undo


@dataclass(frozen=True)
class Verb:
    """Something that can be done to a query."""

    code: str
    label: str  # of the button
    done: str  # what became of a query, in words
    possible_for: str  # the queries to which it can be done, in words
    do: Callable[[Query, Action], Any]  # returns the key of what it made, or what it replaced
    undo: Callable[[Query, Action, ActionRow], None]
    needs_reason: bool = False
    start: Callable[[Action], None] | None = None  # is done once, before the first query
    arguments: Callable[[Campaign], Mapping[str, str]] | None = None  # what there is to choose from, with words
    details: Mapping[str, str] = field(default_factory=dict)  # what can be chosen, and need not be
    size: Callable[[Action], tuple[int, int]] | None = None  # queries that it opens again, and candidates to judge


def _review(verdict: str) -> Callable[[Query, Action], int]:
    return lambda query, action: review(_waiting(query), action.lead, verdict, action.reason).pk


def _accept(query: Query, action: Action) -> int:
    """Follow the recommendation that the grades make now."""
    waiting = _waiting(query)
    advice = recommendation(waiting)
    if advice.verdict is None:
        raise WrongState(advice.reason)
    return review(waiting, action.lead, advice.verdict, advice.reason).pk


def _waiting(query: Query) -> Batch:
    """Return the first batch of the query that waits for a review."""
    waiting = query.batches.to_review().select_related("query__campaign").order_by("number").first()
    if waiting is None:
        raise WrongState("No batch of it is to be reviewed.")
    return waiting


def _undo_review(query: Query, action: Action, row: ActionRow) -> None:
    made = Review.objects.with_begun().select_related("batch__query__campaign").get(pk=row.made)
    assert action.undone_by
    undo(made, action.undone_by)


def _withdraw(query: Query, action: Action) -> None:
    if query.withdrawn:
        raise WrongState("It is withdrawn already.")
    withdraw(query, action.reason, action.argument or None, by=action.lead)


def _bring_back(query: Query, action: Action) -> None:
    if not query.withdrawn:
        raise WrongState("It is not withdrawn.")
    bring_back(query, action.lead)


def _start_reopening(action: Action) -> None:
    about: dict[str, Any] = {"campaign": action.campaign, "lead": action.lead, "reason": action.reason}
    if not action.argument:
        what = f"{action.rows.count():,} queries" + (f" ({action.chosen})" if action.chosen else "")
        action.reopening = Reopening.objects.create(what=what[:LONGEST], **about)
        return
    scope = scope_named(action.campaign, action.argument)
    annotator, only, unfinished = scope.annotator, scope.only, action.campaign.actions.filter(ended=None)
    if annotator and unfinished.filter(reopening__annotator=annotator).exists():
        raise WrongState(f"{scope.what[:1].upper()}{scope.what[1:]} is being reopened already.")
    part = {"annotator": annotator, "week": only.week, "beside": only.beside, "off": only.off}
    action.reopening = Reopening.objects.create(what=scope.what[:LONGEST], **about, **part)


def _reopen(query: Query, action: Action) -> dict[str, Any]:
    record = action.reopening
    assert record
    if record.annotator_id:
        return reopen_query(record, scope_of_record(record, query.pk), query.pk)
    scope = scope_named(action.campaign, action.argument) if action.argument else scope_of_query(query)
    return reopen_query(record, scope, query.pk)


def _undo_reopening(query: Query, action: Action, row: ActionRow) -> None:
    assert action.reopening
    assert row.before
    if stays := undo_query(action.reopening, query, row.before):
        raise WrongState(stays)


LONGEST = 200  # characters of the description of what was reopened
EVERYBODY, OF_GROUP = "everybody", "group:"  # the argument of who judges round one


def _groups(campaign: Campaign) -> dict[str, str]:
    found = campaign.memberships.reachable().exclude(group="").order_by("group").values_list("group", flat=True)
    return {EVERYBODY: "everybody"} | {f"{OF_GROUP}{group}": f"group {group}" for group in found.distinct()}


def _give_to_group(query: Query, action: Action) -> str:
    group, before = _group_named(action.argument), query.group
    if query.withdrawn or before == group:
        raise WrongState("It is withdrawn." if query.withdrawn else "That is so already.")
    set_group(query.campaign, Query.objects.filter(pk=query.pk), group)
    return f"{OF_GROUP}{before}" if before else EVERYBODY


def _undo_group(query: Query, action: Action, row: ActionRow) -> None:
    assert row.before
    if query.group != _group_named(action.argument):
        raise WrongState("It is for others since.")
    set_group(query.campaign, Query.objects.filter(pk=query.pk), _group_named(row.before))


def _group_named(argument: str) -> str:
    return "" if argument == EVERYBODY else argument.removeprefix(OF_GROUP)


def steering(action: Action) -> tuple[QueryQuerySet, Callable[[], object]] | None:
    """Return the queries that an action would steer, and what steers all of them at once; None if it steers none."""
    if action.verb != "group":
        return None
    group = _group_named(action.argument)
    others = action.campaign.queries.pool().filter(pk__in=action.rows.values("row")).exclude(group=group)
    return others, lambda: set_group(action.campaign, others, group)


ACTION_VERBS = {
    each.code: each
    for each in (
        Verb(
            "accept",
            "Follow the recommendations",
            "followed",
            "queries with a batch to review, of which the grades recommend something",
            _accept,
            _undo_review,
        ),
        Verb(
            "second",
            "Open the second batch",
            "second batch opened",
            "queries whose first batch is to be reviewed, and that have candidates for a second one",
            _review(Review.Verdict.SECOND),
            _undo_review,
        ),
        Verb("close", "Close", "closed", "queries with a batch to review", _review(Review.Verdict.CLOSE), _undo_review),
        Verb(
            "withdraw",
            "Withdraw",
            "withdrawn",
            "queries that are not withdrawn yet",
            _withdraw,
            lambda query, action, row: bring_back(query, action.undone_by),
            needs_reason=True,
            details=dict(WithdrawnFor.choices),
        ),
        Verb(
            "bring_back",
            "Bring back",
            "brought back",
            "queries that are withdrawn",
            _bring_back,
            lambda query, action, row: withdraw(
                query, action.reason or "brought back, and that was undone", by=action.undone_by
            ),
        ),
        Verb(
            "reopen",
            "Reopen",
            "reopened",
            "queries that are not withdrawn, with a batch that was judged to its end",
            _reopen,
            _undo_reopening,
            needs_reason=True,
            start=_start_reopening,
        ),
        Verb(
            "group",
            "Give to a group",
            "group set",
            "queries that others judge now",
            _give_to_group,
            _undo_group,
            arguments=_groups,
        ),
    )
}
FURTHER_VERBS: dict[str, Verb] = {}  # of pages of their own, which apps above this one register


def verb_of(action: Action) -> Verb:
    return FURTHER_VERBS.get(action.verb) or ACTION_VERBS[action.verb]
