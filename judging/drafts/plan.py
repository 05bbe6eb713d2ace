"""What a campaign is made of, and making it: the same for a draft of the browser or the API, and in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from base.errors import ReeljudgeError, WrongState
from campaigns.models import Campaign, Membership
from campaigns.models.draft import token
from corpus.models import Corpus
from judging.pool.queries import load_queries
from judging.pool.selection import Selection, store

Step = Callable[[str], AbstractContextManager[object]]


@dataclass(frozen=True)
class Plan:
    """A campaign that is to be made, or one that gets more queries."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    existing: Campaign | None = None
    selection: Selection | None = None
    queries: AbstractContextManager[Path] | None = None  # gives the file that holds them
    queries_name: str = "The queries"
    split: str = ""  # of the queries of the file
    owner: User | None = None  # who leads it; nobody if it is made in the terminal
    people: Iterable[tuple[str, str]] = ()  # name and role


@dataclass
class Built:
    """A campaign that was made, with how many queries were drawn, added from the file, and merged."""

    campaign: Campaign
    drawn: int = 0
    added: int = 0
    merged: int = 0


def build(plan: Plan, corpus: Corpus, step: Step = nullcontext) -> Built:
    """Store a campaign with its queries and its members, in the caller's transaction.

    Each part is made inside `step`, which is called with the part's name and may collect what is wrong with it. If
    anything is wrong, nothing may stay.
    """
    built = Built(plan.existing or _campaign(plan, corpus, step))
    if plan.selection:
        built.drawn = store(built.campaign, plan.selection)
    if plan.queries:
        with step(plan.queries_name), transaction.atomic(), plan.queries as file:
            built.added, built.merged = load_queries(built.campaign, file, plan.split)
    if plan.owner:
        with step("The people"), transaction.atomic():
            _add_members(built.campaign, plan.owner, plan.people)
    return built


def _campaign(plan: Plan, corpus: Corpus, step: Step) -> Campaign:
    """Store the campaign, or a stand-in if its settings are wrong, so that the rest can be checked too."""
    campaign, is_right = Campaign(name=plan.name, corpus=corpus, **plan.settings), False
    with step("The settings"):
        campaign.full_clean()
        is_right = True
    if not is_right:
        campaign = Campaign(name=token(), corpus=corpus)
    campaign.save()
    return campaign


def _add_members(campaign: Campaign, owner: User, people: Iterable[tuple[str, str]]) -> None:
    campaign.add_member(owner, Membership.Role.LEAD)
    named = [name for name, _ in people]
    users = {user.username: user for user in User.objects.filter(username__in=named)}
    for name, role in people:
        if name not in users:
            raise ReeljudgeError(f"{name}: nobody has this name; invite people without an account later")
        try:
            campaign.add_member(users[name], role)
        except WrongState as fault:
            raise ReeljudgeError(f"{name}: {fault}") from fault
