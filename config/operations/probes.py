"""Answers to machines that watch this one: /healthz, /readyz, /statusz and /metrics.

They come before everything else, because a probe has no host name, speaks plain HTTP, and signs in nowhere.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseNotFound, JsonResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST

from base.middleware import is_within, networks
from config.operations import metrics, readiness, requests

log = logging.getLogger(__name__)


class ProbesMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        probe = PROBES.get(request.path_info)
        if not probe:
            return self.get_response(request)
        answer = probe(request)
        answer["Cache-Control"] = "no-store"
        return answer


def is_watcher(request: HttpRequest) -> bool:
    """A machine at an address that the settings name, or with the settings' token."""
    wanted = settings.MONITORING_TOKEN
    if wanted and constant_time_compare(request.headers.get("authorization", ""), f"Bearer {wanted}"):
        return True
    # Behind a proxy that the settings do not name, everybody has the proxy's address.
    if "x-forwarded-for" in request.headers and not settings.TRUSTED_PROXIES:
        return False
    return is_within(request.META.get("REMOTE_ADDR", ""), networks(settings.MONITORING_ADDRESSES))


@require_safe
def alive(request: HttpRequest) -> HttpResponse:
    """This process answers. Nothing else is asked, so that no database takes all machines out of service.

    Watchers read which version answers; strangers do not.
    """
    watched = is_watcher(request)
    headers = {requests.VERSION: requests.page_version()} if watched else {}
    version = f" {settings.VERSION}" if watched else ""
    return HttpResponse(f"alive{version}\n", content_type="text/plain", headers=headers)


@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """Whether this machine can answer requests, for a balancer; what it lacks is shown to watchers only."""
    return _report(readiness.TO_ANSWER, is_watcher(request))


@require_safe
def status(request: HttpRequest) -> HttpResponse:
    """Everything that the work needs, also where requests can be answered without it."""
    return _report(readiness.CHECKS, True) if is_watcher(request) else HttpResponseNotFound()


def _report(names: Iterable[str], in_full: bool) -> HttpResponse:
    checks = readiness.state(names)
    is_ready = all(found == readiness.OK for found in checks.values())
    if not is_ready:
        log.warning("not ready: %s", ", ".join(f"{name}: {found}" for name, found in checks.items()))
    return JsonResponse({"ready": is_ready} | ({"checks": checks} if in_full else {}), status=200 if is_ready else 503)


@require_safe
def figures(request: HttpRequest) -> HttpResponse:
    if not is_watcher(request):
        return HttpResponseNotFound()
    return HttpResponse(metrics.figures(), content_type=CONTENT_TYPE_LATEST)


PROBES: dict[str, Callable[[HttpRequest], HttpResponse]] = {
    "/healthz": alive,
    "/readyz": ready,
    "/statusz": status,
    "/metrics": figures,
}
