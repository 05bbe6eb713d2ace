"""Errors as answers: a problem document (RFC 9457) for requests of JSON, a page for all others."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from base.errors import BadValue, Forged, NotFound, ReeljudgeError, WrongState


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return problem(
        request, Forged(_("This form is older than your sign-in. Load the page again and repeat."))
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem(request, NotFound(_("Nothing is here for you. It may be gone, or not yours to see.")))


def speaks_json(request: HttpRequest) -> bool:
    """Return whether the request sends JSON or accepts it."""
    return request.content_type == "application/json" or "application/json" in request.headers.get(
        "accept", ""
    )


def problem(request: HttpRequest, fault: ReeljudgeError) -> HttpResponse:
    """Return the answer that describes the error."""
    if speaks_json(request):
        document = {"type": "about:blank", "title": _(fault.title), "status": fault.status}
        document["detail"] = str(fault)
        document["code"] = type(fault).__name__.lower()
        if isinstance(fault, NotFound) and request.user.is_authenticated:
            document["user"] = request.user.get_username()  # the page may be that of another person
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


@contextmanager
def refusal_as_message(request: HttpRequest) -> Iterator[None]:
    """Catch the refusal of what a form asks for, and say why on the page that the view goes on to.

    A caller that speaks JSON gets the problem document instead: the refusal passes through.
    """
    try:
        yield
    except WrongState as refusal:
        if speaks_json(request):
            raise
        messages.error(request, str(refusal))
