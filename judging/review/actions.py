"""Actions: what a lead does to many queries at once, row by row in a job, and undoes as one.

Reviews, withdrawing, groups and reopening are verbs of actions. An action is prepared first, so that its page can say
what it costs. Nothing happens before the lead says to go on. Each row is done or left in a transaction of its own, so
that annotators wait for one row at most, and a job that is run again goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.db.models import Count, Q
from django.db.models.functions import Now

from base.errors import BadValue, Changed, WrongState
from base.text import abbreviated
from base.transactions import all_or_nothing, locked, store
from campaigns.models import LogEntry, Membership, log
from jobs.queue import Lane
from jobs.registry import Report, each_hour, kind
from judging.models import Action, ActionRow, Query, Reopening
from judging.models.pool import QueryQuerySet
from judging.review.reopening import ReopeningScope, nothing_left, scope_named, scope_of_record
from judging.review.verbs import OF_GROUP, verb_of

MOST_ROWS = 20_000
KEPT_PREPARED = timedelta(days=1)  # an action that nobody has begun
State = ActionRow.State


@all_or_nothing
def prepare(lead: Membership, verb: str, queries: QueryQuerySet, chosen: str = "", argument: str = "") -> Action:
    """Note what the lead may want to do to these queries, and return that. Nothing happens to them yet.

    Parameters
    ----------
    chosen
        How the queries were chosen, in words.
    argument
        One of those of the verb, if it has some; it can be chosen later.

    Raises
    ------
    BadValue
        If the verb has no such argument.
    WrongState
        If there are no queries, or too many.
    """
    keys = list(queries.order_by("pk").values_list("pk", flat=True)[: MOST_ROWS + 1])
    if not 1 <= len(keys) <= MOST_ROWS:
        raise WrongState(f"Choose one query at least, and {MOST_ROWS:,} at most.")
    action = Action.objects.create(campaign=lead.campaign, lead=lead, verb=verb, chosen=chosen[:500])
    store(ActionRow(action=action, row=key) for key in keys)
    if argument:
        choose(action, argument)
    action.refresh_from_db()
    return action


@all_or_nothing
def prepare_reopening(lead: Membership, scope: ReopeningScope) -> Action:
    """Note that the lead may want to reopen a candidate, a batch or work of an annotator.

    Which queries work of an annotator is on is looked up when it begins. Raise WrongState if nothing can be reopened,
    because it was reopened before or is being judged now.
    """
    if not scope.assignments.exists() and not scope.candidates.exists():  # in this order, as for `queries`
        raise nothing_left(scope)
    about = {"campaign": lead.campaign, "lead": lead, "chosen": scope.what[:500], "argument": scope.name}
    action = Action.objects.create(verb="reopen", **about)
    if not scope.annotator:
        store(ActionRow(action=action, row=key) for key in scope.queries)
    action.refresh_from_db()
    return action


@all_or_nothing
def choose(action: Action, argument: str) -> None:
    """Choose the argument of a prepared action. Raise BadValue if its verb has no such argument."""
    if argument not in (allowed := arguments_of(action)):
        raise BadValue("argument", abbreviated(argument), f"one of {', '.join(allowed)}")
    action.argument = argument
    Action.objects.filter(pk=action.pk, begun=None).update(argument=action.argument)


def is_ready(action: Action) -> bool:
    """Whether an action that nobody has begun has the argument that it needs."""
    return not action.begun and bool(action.argument or not verb_of(action).arguments)


def arguments_of(action: Action) -> Mapping[str, str]:
    """Return what an action can set, in words by its key; nothing if its verb sets nothing."""
    verb = verb_of(action)
    return verb.arguments(action.campaign) if verb.arguments else verb.details


def argument_of(action: Action) -> str:
    """Return the argument in words; an empty text while none is chosen, or if there are none to choose from."""
    known = arguments_of(action)
    return known.get(action.argument, action.argument.removeprefix(OF_GROUP)) if known else ""


@all_or_nothing
def begin(action: Action, lead: Membership, reason: str = "", detail: str = "") -> Action:
    """Have a prepared action done: by a job, or at once if it reopens a candidate or a batch. Twice is harmless.

    Raise BadValue if it needs a reason or an argument and there is none, Changed if another lead prepared it, and
    WrongState if a candidate or a batch was reopened meanwhile.
    """
    action = locked(Action.objects.filter(pk=action.pk)).select_related("lead__campaign").get()
    if action.begun:
        return action
    if action.lead_id != lead.pk:
        raise Changed("Another lead has prepared this. Choose the queries yourself.")
    if verb_of(action).needs_reason and not reason:
        raise BadValue("reason", "empty", "a few words; they are kept on record")
    if not is_ready(action):
        raise BadValue("argument", "empty", "what the action is to set")
    if detail:
        choose(action, detail)
    action.begun, action.reason = Now(), reason
    if start := verb_of(action).start:
        start(action)
    action.save(update_fields=["begun", "reason", "reopening"])
    of_part = action.reopening if action.argument else None
    log(lead, LogEntry.Kind.REOPENING if of_part else LogEntry.Kind.ACTION, of_part or _what(action), after=reason)
    if of_part and not of_part.annotator_id:
        act(action, lambda *_: None)
        if not action.rows.filter(state=State.DONE).exists():
            raise nothing_left(scope_named(action.campaign, action.argument))
    else:
        act.ask(action)
    action.refresh_from_db()
    return action


@all_or_nothing
def reopen(lead: Membership, scope: ReopeningScope, reason: str) -> Reopening:
    """Have something judged again by others: at once, or by a job if it is work of an annotator. For errors see
    `prepare_reopening`.
    """
    record = begin(prepare_reopening(lead, scope), lead, reason).reopening
    assert record
    return record


@all_or_nothing
def undo_action(action: Action, lead: Membership) -> Action:
    """Have all that an action did undone, as far as that is possible: at once if that is one query, else by a job.

    Doing it twice is harmless. Raise WrongState if the action has not ended yet.
    """
    action = locked(Action.objects.filter(pk=action.pk)).get()
    if action.undone:
        return action
    if not action.ended:
        raise WrongState("This is still being done. Undo it when it has ended.")
    action.undone, action.undone_by = Now(), lead
    action.save(update_fields=["undone", "undone_by"])
    if action.reopening:
        log(lead, LogEntry.Kind.REOPENING_UNDONE, action.reopening, action.reason)
    else:
        log(lead, LogEntry.Kind.ACTION_UNDONE, _what(action), action.reason)
    if action.rows.count() == 1:
        undo_all(action, lambda *_: None)
    else:
        undo_all.ask(action)
    action.refresh_from_db()
    return action


def undo_reopening(record: Reopening, lead: Membership) -> Action:
    """Undo a reopening as an action. Raise WrongState if version 0.1.0 made it, which kept nothing to undo it by."""
    if not hasattr(record, "action"):
        raise WrongState("It was reopened by an older version of Reeljudge, which kept nothing to undo it by.")
    return undo_action(record.action, lead)


def _what(action: Action) -> str:
    chosen = f" ({action.chosen})" if action.chosen else ""
    to = f", {words}" if (words := argument_of(action)) else ""
    return f"{verb_of(action).label}{to}: {action.rows.count():,} queries{chosen}"


ABOUT = {"lane": Lane.JUDGING, "of": Action, "owner": "campaign", "for_leads": True}
PAGE = ("action", "campaign.name", "pk")


@kind("act", "Act on many queries", page=PAGE, **ABOUT)
def act(action: Action, report: Report) -> None:
    """Do the action to each of its rows. What is not possible is left, with the reason."""
    if action.reopening and action.reopening.annotator_id:  # whose work is looked for when the job begins
        queries = scope_of_record(action.reopening).queries
        ActionRow.objects.bulk_create([ActionRow(action=action, row=key) for key in queries], ignore_conflicts=True)
    _each(action, State.WAITING, _do, report)
    Action.objects.filter(pk=action.pk, ended=None).update(ended=Now())
    action.campaign.touch()


@kind("undo-action", "Undo what was done to many queries", page=PAGE, **ABOUT)
def undo_all(action: Action, report: Report) -> None:
    """Undo the action for each row to which it was done, the last one first."""
    _each(action, State.DONE, _undo, report, newest_first=True)
    Action.objects.filter(pk=action.pk, undone_ended=None).update(undone_ended=Now())
    action.campaign.touch()


def _each(
    action: Action,
    state: str,
    work: Callable[[Action, ActionRow, Query], None],
    report: Report,
    newest_first: bool = False,
) -> None:
    rows = action.rows.filter(state=state).order_by("-pk" if newest_first else "pk")
    keys: Sequence[int] = list(rows.values_list("pk", flat=True))
    for number, key in enumerate(keys):
        report(number, len(keys))
        _one(action, key, state, work)
    report(len(keys), len(keys))


@all_or_nothing
def _one(action: Action, key: int, state: str, work: Callable[[Action, ActionRow, Query], None]) -> None:
    row = locked(action.rows.filter(pk=key)).get()
    if row.state != state:
        return  # another worker has done it
    query = Query.objects.select_related("campaign").get(pk=row.row)
    work(action, row, query)
    row.save(update_fields=["state", "made", "before", "why"])


def _do(action: Action, row: ActionRow, query: Query) -> None:
    try:
        made = verb_of(action).do(query, action)
        row.made, row.before = (made, None) if isinstance(made, int) else (None, made)
        row.state = State.DONE
    except WrongState as fault:
        row.state, row.why = State.LEFT, str(fault)[:500]


def _undo(action: Action, row: ActionRow, query: Query) -> None:
    try:
        verb_of(action).undo(query, action, row)
        row.state = State.UNDONE
    except WrongState as fault:
        row.state, row.why = State.KEPT, str(fault)[:500]


@all_or_nothing
def forget(action: Action) -> None:
    """Delete a prepared action. One that was begun stays."""
    locked(Action.objects.filter(pk=action.pk, begun=None)).delete()


def named_rows(action: Action, most: int, *states: str) -> list[tuple[Query, str]]:
    """Return the first queries in these states, each with the reason; else those not done, or not undone."""
    rows = list(action.rows.filter(state__in=states or (State.LEFT, State.KEPT)).order_by("pk")[:most])
    found = Query.objects.select_related("campaign").in_bulk([row.row for row in rows])
    return [(found[row.row], row.why) for row in rows if row.row in found]


def numbers(action: Action) -> dict[str, int]:
    """Return how many rows of the action are in each state."""
    counted: Any = action.rows.order_by().values_list("state").annotate(n=Count("pk"))
    return dict.fromkeys(State.values, 0) | dict(counted)


@each_hour
def forget_prepared_actions() -> None:
    """Delete the actions that nobody has begun."""
    Action.objects.filter(Q(begun=None), at__lt=Now() - KEPT_PREPARED).delete()
