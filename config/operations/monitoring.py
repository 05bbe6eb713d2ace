"""Watching an installation: the number of each request, the answers to probes, and figures for Prometheus.

Probes come before everything else, because a probe has no host name, speaks plain HTTP, and signs in nowhere. Requests
are counted by every process; the rest is read from the database. A save is a request to the address `judge`, a claim is
one to the address `claim`.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections import Counter as Counts
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.exceptions import MiddlewareNotUsed
from django.db import DatabaseError, InterfaceError
from django.db.models import Count
from django.http import HttpRequest, HttpResponse, HttpResponseNotFound, JsonResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.deprecation import MiddlewareMixin
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from base.middleware import is_within, networks
from config.operations import backups, readiness
from config.operations.logs import request_id
from config.operations.readiness import free_bytes
from corpus.models import TO_COME, Clip
from jobs.models import Job, WorkerHeartbeat
from jobs.queue import Lane, machine_of

log = logging.getLogger(__name__)


class ProbesMiddleware(MiddlewareMixin):
    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        probe = PROBES.get(request.path_info)
        if not probe:
            return None
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
    headers = {VERSION: page_version()} if watched else {}
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
    return HttpResponse(prometheus_figures(), content_type=CONTENT_TYPE_LATEST)


PROBES: dict[str, Callable[[HttpRequest], HttpResponse]] = {
    "/healthz": alive,
    "/readyz": ready,
    "/statusz": status,
    "/metrics": figures,
}


VERSION = "Reeljudge-Version"  # the header
PROPER = re.compile(r"[A-Za-z0-9-]{8,64}")


class RequestMiddleware:
    """Numbers each request. A proxy that the settings trust may have done so already, in the header X-Request-ID."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.proxies = networks(settings.TRUSTED_PROXIES)
        self.version = page_version()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get("x-request-id", "")
        believed = PROPER.fullmatch(given) and is_within(request.META.get("REMOTE_ADDR", ""), self.proxies)
        number = given if believed else uuid4().hex
        request.META["REQUEST_ID"] = number
        # It holds until this thread's next request, because Django logs an error, and streams, after the middleware.
        request_id.set(number)
        answer = self.get_response(request)
        answer["X-Request-ID"] = number
        if _is_known(request):
            answer[VERSION] = self.version
        return answer


def _is_known(request: HttpRequest) -> bool:
    """Return whether the answer is for a token or a signed-in person. It does not read the session."""
    found = vars(request)
    user = found.get("_cached_user")  # as Django's middleware keeps it
    return bool(found.get("auth") or (user and user.is_authenticated))


def page_version() -> str:
    """Return a word that changes whenever a script, a stylesheet or another static file of the pages does."""
    return getattr(staticfiles_storage, "manifest_hash", "") or "none"


def version(request: HttpRequest) -> dict[str, str]:
    """Tell templates the version of the pages, and the release that serves them (a context processor)."""
    return {"page_version": page_version(), "release_version": settings.VERSION}


BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
REQUESTS = Counter("reeljudge_requests", "Requests by address, method and status", ["address", "method", "status"])
SECONDS = Histogram("reeljudge_request_seconds", "Seconds of a request by address", ["address"], buckets=BUCKETS)
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH")


class MetricsMiddleware:
    """Counts requests, if anybody may read the figures."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if not (settings.MONITORING_ADDRESSES or settings.MONITORING_TOKEN):
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        answer = self.get_response(request)
        # The name of the address, never the address itself: it may contain a secret, and there are too many.
        name = (request.resolver_match and request.resolver_match.url_name) or "none"
        method = request.method if request.method in METHODS else "other"
        REQUESTS.labels(name, method, answer.status_code).inc()
        SECONDS.labels(name).observe(time.perf_counter() - began)
        return answer


def prometheus_figures() -> bytes:
    """Return all figures as Prometheus reads them: those of all processes of this `serve`, and of the database."""
    registry = CollectorRegistry()
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    else:
        registry.register(REGISTRY)
    registry.register(_Rows())
    registry.register(_Disks())
    return generate_latest(registry)


class _Rows(Collector):
    """What rows say, the same on every machine. What has ended well is not counted: there is ever more of it."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        began = time.perf_counter()
        try:
            found = list(self._rows())
        except (InterfaceError, DatabaseError):  # requests are counted all the same
            yield GaugeMetricFamily("reeljudge_database_up", "Whether the database answers", value=0)
            return
        yield GaugeMetricFamily("reeljudge_database_up", "Whether the database answers", value=1)
        seconds = time.perf_counter() - began
        yield GaugeMetricFamily(
            "reeljudge_database_seconds", "How long the figures of the database take", value=seconds
        )
        yield from found

    def _rows(self) -> Iterator[GaugeMetricFamily]:
        not_done = Job.objects.not_done().order_by().values_list("kind", "state").annotate(Count("pk"))
        jobs = {(kind, state): count for kind, state, count in not_done}
        yield _gauge("reeljudge_jobs", "Jobs that are not done, by kind and state", ["kind", "state"], jobs)
        waits = {(lane,): seconds for lane, seconds in Job.objects.waits().items()}
        yield _gauge("reeljudge_jobs_lag_seconds", "How long a job has been due", ["lane"], waits)
        to_come = Clip.objects.filter(state__in=TO_COME).order_by()
        counts = dict.fromkeys(TO_COME, 0) | dict(to_come.values_list("state").annotate(Count("pk")))
        clips = {(str(state),): count for state, count in counts.items()}
        yield _gauge("reeljudge_clips", "Clips that are still to be cut, by state", ["state"], clips)
        signs = WorkerHeartbeat.objects.recent().values_list("worker", "version", "lane")
        seen = Counts((machine_of(worker), version, lane) for worker, version, lane in signs)
        machines = {each[:2] for each in seen} or {("none", "")}
        workers = {(*machine, lane): seen[*machine, lane] for machine in machines for lane in Lane.values}
        yield _gauge("reeljudge_workers", "Processes that take jobs", ["machine", "version", "lane"], workers)
        if made := backups.newest():
            age = (timezone.now() - made).total_seconds()
            yield GaugeMetricFamily("reeljudge_backup_age_seconds", "Age of the newest backup", value=age)
        yield _gauge("reeljudge_build_info", "The version that runs", ["version"], {(settings.VERSION,): 1})


class _Disks(Collector):
    """What is free where this machine writes."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        folders = {"home": settings.HOME, "media": settings.MEDIA_ROOT, "upload": settings.UPLOAD_ROOT}
        free = {(name,): free_bytes(folder) for name, folder in folders.items()}
        yield _gauge("reeljudge_disk_free_bytes", "Bytes free for files", ["folder"], free)


def _gauge(name: str, words: str, labels: list[str], values: Mapping[Any, float]) -> GaugeMetricFamily:
    """Return a figure that has a value for each combination of labels."""
    found = GaugeMetricFamily(name, words, labels=labels)
    for key, value in values.items():
        found.add_metric(key, value)
    return found
