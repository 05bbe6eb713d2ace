"""Figures for Prometheus: requests are counted by every process, and the rest is read from the database when asked for.

A save is a request to the address `judge`, and a claim is one to the address `claim`.
"""

from __future__ import annotations

import os
import time
from collections import Counter as Counts
from collections.abc import Callable, Iterator

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.db import DatabaseError, InterfaceError
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from config.operations import backups
from config.operations.readiness import free_bytes
from corpus.models import TO_COME, Clip
from jobs.models import Job, WorkerHeartbeat
from jobs.queue import Lane, machine_of

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


def figures() -> bytes:
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
        jobs = GaugeMetricFamily(
            "reeljudge_jobs", "Jobs that are not done, by kind and state", labels=["kind", "state"]
        )
        not_done = Job.objects.not_done().order_by()
        for kind, state, count in not_done.values_list("kind", "state").annotate(Count("pk")):
            jobs.add_metric([kind, state], count)
        yield jobs
        waits = GaugeMetricFamily("reeljudge_jobs_lag_seconds", "How long a job has been due", labels=["lane"])
        for lane, seconds in Job.objects.waits().items():
            waits.add_metric([lane], seconds)
        yield waits
        clips = GaugeMetricFamily("reeljudge_clips", "Clips that are still to be cut, by state", labels=["state"])
        to_come = Clip.objects.filter(state__in=TO_COME).order_by()
        counts = dict.fromkeys(TO_COME, 0) | dict(to_come.values_list("state").annotate(Count("pk")))
        for state, count in counts.items():
            clips.add_metric([state], count)
        yield clips
        workers = GaugeMetricFamily(
            "reeljudge_workers", "Processes that take jobs", labels=["machine", "version", "lane"]
        )
        signs = WorkerHeartbeat.objects.recent().values_list("worker", "version", "lane")
        seen = Counts((machine_of(worker), version, lane) for worker, version, lane in signs)
        for machine, version in {each[:2] for each in seen} or {("none", "")}:
            for lane in Lane.values:
                workers.add_metric([machine, version, lane], seen[machine, version, lane])
        yield workers
        if made := backups.newest():
            age = (timezone.now() - made).total_seconds()
            yield GaugeMetricFamily("reeljudge_backup_age_seconds", "Age of the newest backup", value=age)
        build = GaugeMetricFamily("reeljudge_build_info", "The version that runs", labels=["version"])
        build.add_metric([settings.VERSION], 1)
        yield build


class _Disks(Collector):
    """What is free where this machine writes."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        free = GaugeMetricFamily("reeljudge_disk_free_bytes", "Bytes free for files", labels=["folder"])
        for name in ("HOME", "MEDIA_ROOT", "UPLOAD_ROOT"):
            free.add_metric([name.removesuffix("_ROOT").lower()], free_bytes(getattr(settings, name)))
        yield free
