"""Errors as answers: a problem document (RFC 9457) for requests of JSON, a page for all others."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import REASON_BAD_ORIGIN
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views import defaults

from base.errors import (
    BadFields,
    BadValue,
    Busy,
    LockedOut,
    NotAllowed,
    NotFound,
    ReeljudgeError,
    StaleForm,
    TooManyRequests,
    WrongState,
)
from base.text import printable

API = "/api/"  # below this address every answer is JSON


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    if words := foreign_origin(request, reason):
        return problem(request, NotAllowed(words))
    return problem(request, StaleForm(_("This form is older than your sign-in. Load the page again and repeat.")))


def foreign_origin(request: HttpRequest, reason: str) -> str:
    """Return what is wrong if Django refuses the request for its header `Origin`; empty for other reasons."""
    origin = request.headers.get("origin", "")
    if not origin or REASON_BAD_ORIGIN % origin not in reason:
        return ""
    known = {f"{request.scheme}://{request.get_host()}", *settings.CSRF_TRUSTED_ORIGINS}
    sent, right = printable(origin[:200]), ", ".join(sorted(known))
    return (
        f"The request comes from the origin {sent}. This site takes requests from {right} only. If {sent} is the"
        " address of this site, its operator has to set SITE_URL to it, or add it to CSRF_TRUSTED_ORIGINS."
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem(request, NotFound(_("Nothing is here for you. It may be gone, or not yours to see.")))


def too_many_requests(request: HttpRequest) -> HttpResponse:
    return problem(request, LockedOut(_("There were too many requests from here. Try again in a few minutes.")))


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer what nobody foresaw. It is a 503 if the database cannot do something now, and else a 500.

    Django calls this for an error of a view or of middleware: a lock that does not come free, a server that is gone or
    takes no more connections, a full disk.
    """
    if isinstance(sys.exc_info()[1], OperationalError | InterfaceError):
        words = _(
            "The database cannot do this now. Go back and try again in a moment. "
            "Everything that you saved before is safe."
        )
        return problem(request, Busy(words))
    return defaults.server_error(request)


def speaks_json(request: HttpRequest) -> bool:
    """Return whether the request asks the API, sends JSON or accepts it."""
    if request.path.startswith(API) or request.content_type == "application/json":
        return True
    return "application/json" in request.headers.get("accept", "")


def problem(request: HttpRequest, fault: ReeljudgeError) -> HttpResponse:
    """Return the answer that describes the error."""
    if speaks_json(request):
        document = {"type": "about:blank", "title": _(fault.title), "status": fault.status}
        document["detail"] = str(fault)
        document["code"] = type(fault).__name__.lower()
        if number := request.META.get("REQUEST_ID"):
            document["request"] = number  # as the log has it
        if isinstance(fault, NotFound) and request.user.is_authenticated:
            document["user"] = request.user.get_username()  # the page may be that of another person
        if isinstance(fault, BadValue):
            document["field"] = fault.field
        if isinstance(fault, BadFields):
            document["fields"] = fault.fields
            if fault.form:
                document["field"] = next(iter(fault.fields))
        answer: HttpResponse = JsonResponse(document, status=fault.status, content_type="application/problem+json")
    else:
        # The page of a 503 asks the database for nothing, not even who is signed in.
        template = "503.html" if fault.status == 503 else "problem.html"
        context = {
            "fault": fault,
            "back": _back(request),
            "fields": _typed(request, fault),
            "form": _form(request, fault),
        }
        answer = render(request, template, context, status=fault.status)
    if fault.wait is not None:
        answer["Retry-After"] = str(fault.wait)
    return answer


def _typed(request: HttpRequest, fault: ReeljudgeError) -> list[tuple[str, str]]:
    """Return the fields of a form that came too early, so that the page can send it again."""
    if not isinstance(fault, TooManyRequests) or request.method != "POST":
        return []
    fields = [(name, value) for name, values in request.POST.lists() for value in values]
    return [field for field in fields if field[0] != "csrfmiddlewaretoken"]


def _form(request: HttpRequest, fault: ReeljudgeError) -> Any:
    """Return the form with fields to correct that a page has sent; None if there is none."""
    form = fault.form if isinstance(fault, BadFields) and request.method == "POST" else None
    return form if form and form.visible_fields() else None


def _back(request: HttpRequest) -> str:
    """Return the address that leads back: the page without its query, or the page whose link or form was refused.

    It is empty if neither is known.
    """
    if request.method == "GET" and request.GET:
        return request.path
    before = page_before(request)
    return before if before != request.build_absolute_uri() else ""


def page_before(request: HttpRequest) -> str:
    """Return the address of the page whose link or form was used; empty if it is not known, or another site's."""
    before = request.headers.get("referer", "")
    own = url_has_allowed_host_and_scheme(before, {request.get_host()}, require_https=request.is_secure())
    return before if own else ""


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
