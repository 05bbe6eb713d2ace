"""Faults as answers: problem documents (RFC 9457) where JSON is spoken, a page elsewhere."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from corpus.importers import rows
from judging.consensus import GRADES
from judging.errors import BadValue, Forged, JudgingError, Nowhere, SignedOut, TooLarge
from judging.models import Revision

LARGEST_BODY = 16 * 1024  # bytes; a judgement takes about 120
Answer = Callable[[HttpRequest], HttpResponse]


class SignedInMiddleware(LoginRequiredMiddleware):
    """Every page but the sign-in asks who is there; where JSON is spoken, without a redirect."""

    def handle_no_permission(  # type: ignore[override]
        self, request: HttpRequest, view_func: Any
    ) -> HttpResponse:
        if speaks_json(request):
            return problem(
                request, SignedOut(_("You are signed out. Sign in again; nothing of yours is lost."))
            )
        answer: HttpResponse = super().handle_no_permission(request, view_func)
        return answer


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return problem(
        request, Forged(_("This form is older than your sign-in. Load the page again and repeat."))
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem(request, Nowhere(_("Nothing is here for you. It may be gone, or not yours to see.")))


class ProblemMiddleware:
    """Answer a JudgingError with its status and its words."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, fault: Exception) -> HttpResponse | None:
        return problem(request, fault) if isinstance(fault, JudgingError) else None


def speaks_json(request: HttpRequest) -> bool:
    return request.content_type == "application/json" or "application/json" in request.headers.get(
        "accept", ""
    )


def problem(request: HttpRequest, fault: JudgingError) -> HttpResponse:
    if speaks_json(request):
        document = {"type": "about:blank", "title": _(fault.title), "status": fault.status}
        document["detail"] = str(fault)
        document["code"] = type(fault).__name__.lower()
        if isinstance(fault, BadValue):
            document["field"] = fault.field
        answer: HttpResponse = JsonResponse(
            document, status=fault.status, content_type="application/problem+json"
        )
    else:
        answer = render(request, "problem.html", {"fault": fault}, status=fault.status)
    if fault.status == 503:
        answer["Retry-After"] = "2"
    return answer


def json_body(request: HttpRequest) -> dict[str, Any]:
    """The request's JSON object; anything else is refused with what it was."""
    if int(request.headers.get("content-length") or 0) > LARGEST_BODY:
        raise TooLarge(f"body: more than {LARGEST_BODY:,} bytes")
    try:
        body = json.loads(request.body, parse_constant=_constant)
    except UnicodeDecodeError as fault:
        raise BadValue("body", "not UTF-8", "JSON in UTF-8") from fault
    except (ValueError, RecursionError) as fault:
        raise BadValue("body", f"not JSON ({fault})", "a JSON object") from fault
    if not isinstance(body, dict):
        raise BadValue("body", f"a JSON {type(body).__name__}", "a JSON object")
    return body


def _constant(name: str) -> float:
    return float(name)  # NaN and infinities reach the field's own check, which names the field


KEY = 18  # digits that a key of a row may have


def is_whole(text: str, digits: int = 9) -> bool:
    """Whether an address or a form says a whole number of at most so many digits."""
    return text.isascii() and text.isdecimal() and len(text) <= digits


def whole(field: str, text: str, right: str = "a whole number", digits: int = 9) -> int:
    """The whole number that an address or a form says; anything else is refused."""
    if not is_whole(text, digits):
        raise BadValue(field, shown(text), right)
    return int(text)


def grade_in(body: dict[str, Any]) -> int:
    """The grade: one of the integers 0-4, and nothing that merely looks like one."""
    value = body.get("grade")
    if type(value) is not int or value not in GRADES:
        raise BadValue("grade", shown(value), "one of the integers 0, 1, 2, 3, 4")
    return value


def fence_in(body: dict[str, Any]) -> int:
    value = body.get("fence")
    if type(value) is not int or not 0 < value < 2**31:
        raise BadValue("fence", shown(value), "the number that came with the batch")
    return value


def key_in(body: dict[str, Any]) -> UUID:
    value = body.get("key")
    try:
        return UUID(value if isinstance(value, str) else "")
    except ValueError as fault:
        raise BadValue("key", shown(value), "a UUID, new for each press") from fault


def seconds_in(body: dict[str, Any]) -> float | None:
    value = body.get("seconds")
    if value is None:
        return None
    if type(value) not in (int, float) or not math.isfinite(float(value) if abs(value) < 1e300 else math.inf):
        raise BadValue("seconds", shown(value), "a number of seconds, or null")
    if not 0 <= value <= 24 * 3600:
        raise BadValue("seconds", shown(value), "between 0 and 86,400")
    return float(value)


def input_in(body: dict[str, Any]) -> str:
    """How it was said: by key, pointer or touch; nothing where no browser is at work."""
    value = body.get("input", "")
    if value != "" and value not in Revision.Input.values:
        raise BadValue("input", shown(value), f"one of {', '.join(Revision.Input.values)}")
    return str(value)


def text_in(body: Mapping[str, Any], field: str, most: int) -> str:
    value = body.get(field, "")
    if not isinstance(value, str) or len(value) > most or not rows.storable(value):
        raise BadValue(field, shown(value), f"a text of at most {most} characters")
    return value.strip()


def reason_in(body: Mapping[str, Any]) -> str:
    """Why something is done that stays on record: a few words, not none."""
    if reason := text_in(body, "reason", 500):
        return reason
    raise BadValue("reason", "empty", "a few words; they are kept on record")


def shown(value: object) -> str:
    """The value as JSON writes it, cut to a length that fits a message."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**30:
        return "a very large integer"
    return rows.shown(value)[:60]
