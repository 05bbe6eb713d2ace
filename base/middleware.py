"""Middleware of all pages: the sign-in, errors as answers, and the language."""

from collections.abc import Callable
from typing import Any

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.middleware.locale import LocaleMiddleware
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from base.errors import ReeljudgeError, SignedOut
from base.problem_documents import problem, speaks_json


class SignedInMiddleware(LoginRequiredMiddleware):
    """Lets only signed-in people see a page. Requests for JSON get a problem document instead of a redirect."""

    def handle_no_permission(  # type: ignore[override]
        self, request: HttpRequest, view_func: Any
    ) -> HttpResponse:
        if speaks_json(request):
            return problem(
                request, SignedOut(_("You are signed out. Sign in again; nothing of yours is lost."))
            )
        answer: HttpResponse = super().handle_no_permission(request, view_func)
        return answer


class CompressionMiddleware(GZipMiddleware):
    """Django's middleware for pages and JSON only: clips answer ranges, and files are packed already."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        kind = response.get("Content-Type", "").partition(";")[0]
        if response.streaming or kind not in ("text/html", "application/json"):
            return response
        return super().process_response(request, response)


class ProblemMiddleware:
    """Answers a ReeljudgeError with its status and its message."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, fault: Exception) -> HttpResponse | None:
        return problem(request, fault) if isinstance(fault, ReeljudgeError) else None


class LanguageMiddleware(LocaleMiddleware):
    """Django's middleware, except that leads' pages, exports and releases are in English for everybody."""

    def process_request(self, request: HttpRequest) -> None:
        super().process_request(request)
        if is_english_only(request):
            translation.activate("en")
            request.LANGUAGE_CODE = "en"


def is_english_only(request: HttpRequest) -> bool:
    """Return whether the address is one below the campaigns, which are not translated."""
    return request.path.startswith(reverse("campaigns"))


def languages(request: HttpRequest) -> dict[str, bool]:
    """Tell templates whether the page can be in other languages (a context processor)."""
    return {"is_english_only": is_english_only(request)}
