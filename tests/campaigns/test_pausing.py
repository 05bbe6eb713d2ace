"""A membership paused and resumed: no work meanwhile, one event each, and nothing when it is said twice."""

from __future__ import annotations

import pytest

from base.errors import WrongState
from campaigns.models import Event, Membership
from judging.models import Batch
from judging.work import claiming
from tests.cast import claim


def events(member: Membership) -> list[tuple[str, int | None, str]]:
    return list(member.events.order_by("pk").values_list("kind", "by", "reason"))


def test_who_is_paused_gets_no_work_until_resumed(batch: Batch, ada: Membership, leo: Membership) -> None:
    ada.pause(leo, "Away in May.")
    with pytest.raises(WrongState):
        claiming.claim(ada)
    ada.resume(leo, "Back.")
    assert claim(ada).batch == batch
    assert events(ada) == [("paused", leo.pk, "Away in May."), ("resumed", leo.pk, "Back.")]


def test_twice_is_harmless(ada: Membership, leo: Membership) -> None:
    for _ in range(2):
        ada.pause(None, "by a rule")
    assert (ada.state, events(ada)) == ("paused", [("paused", None, "by a rule")])
    for _ in range(2):
        ada.resume(leo)
    assert (ada.state, len(events(ada))) == ("active", 2)


def test_who_left_is_neither_paused_nor_resumed(ada: Membership, leo: Membership) -> None:
    Membership.objects.filter(pk=ada.pk).update(state=Membership.State.LEFT)
    ada.pause(leo, "")
    ada.resume(leo)
    assert ada.state == Membership.State.LEFT
    assert not Event.objects.exists()
