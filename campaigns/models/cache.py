"""The cache: counts of attempts, used codes and budgets of people, shared by all machines in a table, as JSON.

Django's DatabaseCache stores pickles, with which whoever writes to the table could run code.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.db import IntegrityError, models, transaction
from django.utils import timezone

from base.errors import TooManyRequests
from base.transactions import all_or_nothing, locked

NEVER = datetime.max.replace(microsecond=0, tzinfo=UTC)
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600}


class CacheEntry(models.Model):
    """A row of the cache. The cache (`campaigns/models/cache.py`) reads and writes it."""

    cache_key = models.CharField(max_length=255, primary_key=True)
    value = models.TextField()
    expires = models.DateTimeField(db_index=True)

    class Meta:
        db_table = "shared_cache"

    def __str__(self) -> str:
        return self.cache_key


class JsonCache(BaseCache):
    """A cache in the rows of `CacheEntry`, whose values are what JSON can hold: tuples come back as lists."""

    def __init__(self, table: str, params: dict[str, Any]) -> None:
        super().__init__(params)

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        return self.get_many([key], version).get(key, default)

    def get_many(self, keys: Iterable[str], version: int | None = None) -> dict[str, Any]:
        named = {self.make_and_validate_key(key, version=version): key for key in keys}
        rows = CacheEntry.objects.filter(cache_key__in=named, expires__gt=timezone.now())
        return {named[key]: json.loads(value) for key, value in rows.values_list("cache_key", "value")}

    def set(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        fields = {"value": json.dumps(value), "expires": self._end(timeout)}
        self._cull()
        CacheEntry.objects.update_or_create(cache_key=self.make_and_validate_key(key, version=version), defaults=fields)

    def add(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        """Store a value unless there is one. Of several at once, one does so."""
        name = self.make_and_validate_key(key, version=version)
        fields = {"value": json.dumps(value), "expires": self._end(timeout)}
        self._cull()
        try:
            with transaction.atomic():
                CacheEntry.objects.filter(cache_key=name, expires__lte=timezone.now()).delete()
                return CacheEntry.objects.get_or_create(cache_key=name, defaults=fields)[1]
        except IntegrityError:  # somebody else had stored one, and has deleted it since
            return False

    def touch(self, key: str, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        name = self.make_and_validate_key(key, version=version)
        there = CacheEntry.objects.filter(cache_key=name, expires__gt=timezone.now())
        return bool(there.update(expires=self._end(timeout)))

    def delete(self, key: str, version: int | None = None) -> bool:
        name = self.make_and_validate_key(key, version=version)
        return bool(CacheEntry.objects.filter(cache_key=name).delete()[0])

    def clear(self) -> None:
        CacheEntry.objects.all().delete()

    def _end(self, timeout: Any) -> datetime:
        end = self.get_backend_timeout(timeout)
        return NEVER if end is None else datetime.fromtimestamp(end, UTC)

    def _cull(self) -> None:
        """Where there are too many entries, delete those that have expired, or else those that expire first."""
        if CacheEntry.objects.count() <= self._max_entries:
            return
        if not CacheEntry.objects.filter(expires__lte=timezone.now()).delete()[0]:
            first = CacheEntry.objects.order_by("expires").values("pk")[: self._max_entries // 3]
            CacheEntry.objects.filter(pk__in=[each["pk"] for each in first]).delete()


@all_or_nothing
def spend(person: int, budget: str, refusal: str) -> None:
    """Count something that a person does. Its time begins with the first, and then all are free again.

    Called inside the transaction of the verb, it counts only what is stored. The row is locked, because throttles that
    read and write apart, as those of Django REST framework, count twenty requests at once as one.

    person: the primary key of the user.
    budget: the name of the setting, such as QUESTION_RATE.
    Raises TooManyRequests if the budget is used up. The message is `refusal`, and how long to wait.
    """
    if not (rate := getattr(settings, budget)):
        return
    most, _, period = rate.partition("/")
    now, seconds = timezone.now(), int(period[:-1] or 1) * SECONDS[period[-1]]
    end = now + timedelta(seconds=seconds)
    rows, fresh = locked(CacheEntry.objects.all()), {"value": "0", "expires": end}
    entry, _ = rows.get_or_create(cache_key=f"{budget} {person}", defaults=fresh)
    if entry.expires <= now:
        entry.value, entry.expires = "0", end
    if int(entry.value) >= int(most):
        raise TooManyRequests(refusal, (entry.expires - now).total_seconds())
    entry.value = str(int(entry.value) + 1)
    entry.save(update_fields=["value", "expires"])
