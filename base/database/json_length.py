"""How long a list in a JSON column is, in SQL."""

from __future__ import annotations

from typing import Any

from django.db import models


class JSONLength(models.Func):
    """The number of elements of a JSON list."""

    function = "JSON_ARRAY_LENGTH"
    arity = 1
    output_field = models.IntegerField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, function="jsonb_array_length", **context)
