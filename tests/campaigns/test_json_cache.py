"""The cache keeps JSON in a table, for all machines, and never too much."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import partial

import pytest
from django.core.cache import cache
from django.db import IntegrityError
from django.utils import timezone

from campaigns.models import CacheEntry
from campaigns.models.cache import JsonCache
from tests.together import at_once

pytestmark = pytest.mark.django_db(transaction=True)


def lapse() -> None:
    CacheEntry.objects.update(expires=timezone.now() - timedelta(seconds=1))


def test_what_is_stored_is_json_and_nothing_else_is_read_or_written() -> None:
    value = {"times": [1.5, 2], "name": "ada", "none": None}
    cache.set("count", value)
    assert json.loads(CacheEntry.objects.get().value) == value == cache.get("count")
    with pytest.raises(TypeError):
        cache.set("other", object())
    CacheEntry.objects.update(value="gASVJQAAAAAAAAA=")  # the beginning of a pickle
    with pytest.raises(json.JSONDecodeError):
        cache.get("count")


def test_values_come_go_and_expire() -> None:
    assert cache.get("count", 7) == 7
    cache.set("count", 1)
    cache.set("count", 2)
    assert (cache.get("count"), cache.incr("count"), "count" in cache) == (2, 3, True)
    assert cache.get_many(["count", "other"]) == {"count": 3}
    lapse()
    assert (cache.get("count"), cache.touch("count")) == (None, False)
    cache.set("kept", 1, None)
    assert (cache.get("kept"), cache.touch("kept", 10)) == (1, True)
    assert (cache.delete("kept"), cache.delete("kept")) == (True, False)
    cache.clear()
    assert not CacheEntry.objects.exists()


@pytest.mark.both_databases
def test_of_several_that_add_at_once_one_does() -> None:
    for _ in range(2):
        assert at_once(*[partial(cache.add, "code", True)] * 4).count(True) == 1
        assert not cache.add("code", True)
        lapse()


def test_too_many_entries_make_room() -> None:
    few = JsonCache("", {"OPTIONS": {"MAX_ENTRIES": 6}})
    for number in range(8):
        few.set(f"k{number}", number, 100 + number)
    assert few.get_many([f"k{number}" for number in range(8)]) == {f"k{n}": n for n in range(2, 8)}


def test_a_value_that_comes_and_goes_meanwhile_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one's row refuses this one's, and is gone when Django looks for it."""

    def too_late(**fields: object) -> None:
        raise IntegrityError("duplicate key")

    monkeypatch.setattr(CacheEntry.objects, "get_or_create", too_late)
    assert cache.add("lock", 1) is False
