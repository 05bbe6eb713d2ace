"""The OpenAPI document. It says no more than docs/api.md, so anybody may read it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator


@login_not_required
@require_safe
def schema(request: HttpRequest) -> HttpResponse:
    return HttpResponse(document(), content_type="application/json")


@cache
def document() -> str:
    """Return the document, which changes with the program only."""
    generator: Any = SchemaGenerator
    return json.dumps(generator().get_schema(request=None, public=True), ensure_ascii=False)
