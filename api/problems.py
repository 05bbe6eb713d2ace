"""Every error of the API as a problem document (RFC 9457)."""

from __future__ import annotations

from itertools import islice
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.utils.encoding import force_str
from rest_framework import exceptions

from api.authentication import REALM
from base import errors
from base.forms import WHOLE, faults_of
from base.problem_documents import problem

MOST_FIELDS = 20  # whose faults an answer tells


def answer(fault: Exception, context: dict[str, Any]) -> HttpResponse | None:
    """Return the answer to an error, or None if nobody foresaw it."""
    known = _known(fault)
    if known is None:
        return None
    response = problem(context["request"]._request, known)
    if known.status == 401:
        response["WWW-Authenticate"] = REALM
    if known.status == 405:
        response["Allow"] = ", ".join(context["view"].allowed_methods)
    return response


def _known(fault: Exception) -> errors.ReeljudgeError | None:
    """Return the error as one of ours, which carries a status and a title."""
    if isinstance(fault, errors.ReeljudgeError):
        return fault
    if isinstance(fault, Http404 | exceptions.NotFound):
        return errors.NotFound("Nothing is here for you. It may be gone, or not yours to see.")
    if isinstance(fault, exceptions.ValidationError):
        return errors.BadFields(_first(fields_of(fault.detail)))
    if isinstance(fault, exceptions.ParseError):
        return errors.BadValue(WHOLE, force_str(fault.detail), "a JSON object in UTF-8")
    if isinstance(fault, exceptions.NotAuthenticated | exceptions.AuthenticationFailed):
        return errors.SignedOut("Sign in, or send Authorization: Bearer and a token.")
    if isinstance(fault, exceptions.PermissionDenied | PermissionDenied):
        return errors.NotAllowed(force_str(getattr(fault, "detail", "This is not yours to do.")))
    if isinstance(fault, exceptions.MethodNotAllowed):
        return errors.WrongMethod(force_str(fault.detail))
    if isinstance(fault, exceptions.UnsupportedMediaType):
        return errors.UnsupportedMedia(f"{force_str(fault.detail)} Send application/json.")
    return None


def fields_of(detail: Any, name: str = "") -> dict[str, list[str]]:
    """Return the faults by field; a field inside another one is named `outer.inner`."""
    if isinstance(detail, dict):
        faults: dict[str, list[str]] = {}
        for key, inner in detail.items():
            own = WHOLE if key == "non_field_errors" else str(key)
            faults |= fields_of(inner, f"{name}.{own}" if name else own)
        return faults
    if isinstance(detail, list) and any(isinstance(each, dict) for each in detail):
        return {
            key: words
            for number, each in enumerate(detail)
            for key, words in fields_of(each, f"{name}.{number}").items()
        }
    words = detail if isinstance(detail, list) else [detail]
    return {name or WHOLE: [force_str(each) for each in words]}


def _first(faults: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the faults of the first fields, and how many others have some."""
    first = dict(islice(faults.items(), MOST_FIELDS))
    if more := len(faults) - len(first):
        first.setdefault(WHOLE, []).append(f"{more:,} more fields are wrong")
    return first


def checked(form: Any) -> dict[str, Any]:
    """Return what a form of the pages has accepted. Raises Unfit if something is wrong, with the faults by field."""
    if not form.is_valid():
        raise errors.Unfit(faults_of(form))
    data: dict[str, Any] = form.cleaned_data
    return data
