"""Figures for Prometheus: requests are counted by every process, and the rest is read from the database when asked for.

A save is a request to the address `judge`, and a claim is one to the address `claim`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.db.models import Count
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from corpus.models import Clip
from jobs.models import Job, Sign

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
    return generate_latest(registry)


class _Rows(Collector):
    """What rows say, the same on every machine."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        jobs = GaugeMetricFamily("reeljudge_jobs", "Jobs by kind and state", labels=["kind", "state"])
        for kind, state, count in Job.objects.values_list("kind", "state").annotate(Count("pk")).order_by():
            jobs.add_metric([kind, state], count)
        yield jobs
        waits = GaugeMetricFamily("reeljudge_jobs_lag_seconds", "How long a job has been due", labels=["lane"])
        for lane, seconds in Job.objects.waits().items():
            waits.add_metric([lane], seconds)
        yield waits
        clips = GaugeMetricFamily("reeljudge_clips", "Clips by state", labels=["state"])
        for state, count in Clip.objects.values_list("state").annotate(Count("pk")).order_by():
            clips.add_metric([state], count)
        yield clips
        workers = GaugeMetricFamily("reeljudge_worker_sign_seconds", "Time since a sign of life", labels=["worker"])
        for worker, at, now in Sign.objects.annotate(now=Now()).values_list("worker", "at", "now"):
            workers.add_metric([worker], (now - at).total_seconds())
        yield workers
