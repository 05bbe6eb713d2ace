"""Work for jobs of kind "count", whatever a test makes of it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import celery
import pytest

from config import celeryconfig
from jobs import queue
from jobs.registry import KINDS, Kind, Report
from jobs.running import STOPPING
from tests.redis_servers import RedisServer, own_redis

Work = Callable[[dict[str, Any], Report], None]
Register = Callable[[Work], None]


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Register:
    """Registers a function as the work of jobs of kind "count"."""

    def register(function: Work) -> None:
        def count(report: Report, **arguments: Any) -> None:
            function(arguments, report)

        monkeypatch.setitem(KINDS, "count", Kind("count", "Count", count))

    return register


@pytest.fixture
def own_signals() -> Iterator[None]:
    """The test runner's way to end stays its own, though the worker sets another; and it is not told to stop."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)
    STOPPING[0] = 0


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with own_redis() as server:
        yield server


@pytest.fixture
def app(redis: RedisServer, monkeypatch: pytest.MonkeyPatch, settings: Any) -> celery.Celery:
    """Celery as it is configured, on the Redis of this test."""
    app = celery.Celery(set_as_current=False)
    app.config_from_object(celeryconfig)
    app.conf.broker_url = settings.REDIS_URL = redis.url
    monkeypatch.setattr(celery, "current_app", app)
    monkeypatch.setattr(queue, "resting_until", 0.0)
    return app
