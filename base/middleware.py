"""Middleware of all pages: who asks, the sign-in, errors as answers, and the language."""

import logging
import re
from collections.abc import Callable, Iterable
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed
from django.middleware.gzip import GZipMiddleware
from django.middleware.locale import LocaleMiddleware
from django.urls import reverse
from django.utils import translation
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _

from base.errors import ReeljudgeError, SignedOut, TooLarge, WrongMethod
from base.problem_documents import page_before, problem, speaks_json

Network = IPv4Network | IPv6Network

logger = logging.getLogger("reeljudge")

WITH_PORT = re.compile(r"\[([^\]]+)\](?::\d+)?|([\d.]+):\d+")


class ClientAddressMiddleware:
    """Sets REMOTE_ADDR to the address of who asks, where a proxy that the settings trust passes the request on.

    Each proxy adds the address that it sees at the end of X-Forwarded-For. What stands before the first address that
    is not one of ours could be anything, because anybody can send that header. X-Forwarded-Proto, by which Django
    learns that a request came by HTTPS, is taken away from whoever is not one of our proxies.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.trusted = networks(settings.TRUSTED_PROXIES)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not is_within(request.META.get("REMOTE_ADDR", ""), self.trusted):
            request.META.pop("HTTP_X_FORWARDED_PROTO", None)
            return self.get_response(request)
        hops = request.headers.get("x-forwarded-for", "").split(",")
        while hops and is_within(request.META.get("REMOTE_ADDR", ""), self.trusted):
            if not (address := _address(hops.pop())):
                _warn_of_address()
                break
            request.META["REMOTE_ADDR"] = str(address)
        return self.get_response(request)


def networks(addresses: Iterable[str]) -> list[Network]:
    """Return the networks that a setting names, of which a single address is the smallest."""
    return [ip_network(each.strip(), strict=False) for each in addresses]


def is_within(remote: str, networks: Iterable[Network]) -> bool:
    """Return whether an address lies in one of the networks; a text that is no address lies in none."""
    address = _address(remote)
    return address is not None and any(address in network for network in networks)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Return an address, which some proxies write with a port behind it; None for other texts."""
    with_port = WITH_PORT.fullmatch(text.strip())
    try:
        address = ip_address((with_port[1] or with_port[2]) if with_port else text.strip())
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


@cache
def _warn_of_address() -> None:
    logger.warning("X-Forwarded-For of a trusted proxy holds a text that is not an IP address; its clients share one")


class NotStoredMiddleware(MiddlewareMixin):
    """Keeps browsers and proxies from storing an answer, unless its view says something else of that."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        response.setdefault("Cache-Control", "private, no-store")
        return response


class SignedInMiddleware(LoginRequiredMiddleware):
    """Lets only signed-in people see a page. Requests for JSON get a problem document instead of a redirect."""

    def handle_no_permission(  # type: ignore[override]
        self, request: HttpRequest, view_func: Any
    ) -> HttpResponse:
        if speaks_json(request):
            return problem(request, SignedOut(_("You are signed out. Sign in again; nothing of yours is lost.")))
        if request.method not in ("GET", "HEAD"):  # after signing in, its address would answer with a 405
            return redirect_to_login(urlsplit(page_before(request)).path or reverse("home"))
        answer: HttpResponse = super().handle_no_permission(request, view_func)
        return answer


class CompressionMiddleware(GZipMiddleware):
    """Django's middleware for pages and JSON only: clips answer ranges, and files are packed already."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        kind = response.get("Content-Type", "").partition(";")[0]
        if response.streaming or kind not in ("text/html", "application/json"):
            return response
        return super().process_response(request, response)


class ProblemMiddleware(MiddlewareMixin):
    """Answers a ReeljudgeError, or a wrong method, with its status and its message, as a page or as JSON.

    A large body gets a 413 before it is read.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        # Django would write an upload to the disk before it looks at anything else.
        is_small = 0 <= _length(request) <= most
        if is_small:
            return None
        words = _("This is too large: at most {n} MB can be sent at once.").format(n=most // 1024**2)
        return problem(request, TooLarge(words))

    def process_exception(self, request: HttpRequest, fault: Exception) -> HttpResponse | None:
        return problem(request, fault) if isinstance(fault, ReeljudgeError) else None

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if not isinstance(response, HttpResponseNotAllowed):
            return response
        words = _("This address takes only what a button or a form sends. Go back to its page.")
        answer = problem(request, WrongMethod(words))
        answer["Allow"] = response["Allow"]
        return answer


def _length(request: HttpRequest) -> int:
    """Return how many bytes the request says that it has, or -1 if that is no number."""
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return -1


class LanguageMiddleware(LocaleMiddleware):
    """Django's middleware, except that leads' pages, exports, releases and the API are in English for everybody."""

    def process_request(self, request: HttpRequest) -> None:
        super().process_request(request)
        if is_english_only(request):
            translation.activate("en")
            request.LANGUAGE_CODE = "en"


def is_english_only(request: HttpRequest) -> bool:
    """Return whether the address is one of those that are not translated: leads', first accounts' and the API's."""
    return request.path.startswith(_english_only())


@cache
def _english_only() -> tuple[str, ...]:
    """Return how their addresses begin. Those of corpora and captions have no page above them."""
    above = ("campaigns", "site-work", "drafts", "first-account", "api-root")
    without = reverse("corpus", args=["0"]), reverse("captions", args=[0])
    return (*map(reverse, above), *(address.removesuffix("0/") for address in without))


def languages(request: HttpRequest) -> dict[str, bool]:
    """Tell templates whether the page can be in other languages (a context processor)."""
    return {"is_english_only": is_english_only(request)}
