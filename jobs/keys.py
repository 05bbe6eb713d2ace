"""Keys of the jobs that belong to one row of a table, such as a batch or a release."""

from __future__ import annotations

from typing import Any

from django.db.models import CharField, Model, QuerySet, Value
from django.db.models.functions import Cast, Concat


def key_of(row: Model) -> str:
    """Return the key of a row's jobs: the name of its model and its primary key, as in `batch 7`."""
    return f"{row._meta.model_name} {row.pk}"


def keys_of(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Return the keys of the jobs of all these rows, as a subquery."""
    prefix = Value(f"{rows.model._meta.model_name} ")
    keyed: QuerySet[Any] = rows.annotate(key_of_jobs=Concat(prefix, Cast("pk", CharField())))
    return keyed.values("key_of_jobs")
