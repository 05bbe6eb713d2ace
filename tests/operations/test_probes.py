"""/healthz, /readyz and /metrics answer machines that watch this one, and tell strangers no more than yes or no."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.db import DatabaseError, connection, connections
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from campaigns.models import Membership
from config.operations import metrics, readiness
from jobs.models import Job, Sign
from jobs.running import sweep
from judging.models import Batch
from tests.cast import browser, claim
from tests.installation import Installation

WATCHER = {"authorization": "Bearer let-me-see"}


@pytest.fixture(autouse=True)
def _anew(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """Every test looks for itself, in its own thread, which sees what the test has not committed."""
    monkeypatch.setattr(readiness, "_looks", {})
    monkeypatch.setattr(connections, "close_all", lambda: None)

    class AtOnce:
        def __init__(self, target: Callable[..., None], args: tuple[Any, ...], daemon: bool) -> None:
            self.start = lambda: target(*args)

    monkeypatch.setattr(readiness, "Thread", AtOnce)
    settings.MONITORING_TOKEN = "let-me-see"


@pytest.fixture
def stranger() -> Client:
    return Client(raise_request_exception=False)


def probe(path: str, **headers: str) -> tuple[int, Any]:
    answer = Client().get(path, headers=headers)
    return answer.status_code, answer.json()


def test_alive_needs_no_database_no_name_and_no_https(settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT, settings.ALLOWED_HOSTS = True, ["judge.example.org"]
    answer = Client(SERVER_NAME="10.0.0.7").get("/healthz")
    assert (answer.status_code, answer.content) == (200, b"alive\n")
    assert answer["Cache-Control"] == "no-store"
    assert Client(SERVER_NAME="10.0.0.7").get("/sign-in/").status_code == 400  # the control


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_probes_only_read(path: str, db: None) -> None:
    for method in ("post", "put", "delete", "patch"):
        assert getattr(Client(), method)(path).status_code == 405


@pytest.mark.django_db
def test_ready_names_each_check_to_watchers_only(settings: Any) -> None:
    Sign.leave("here:1")
    assert probe("/readyz") == (200, {"ready": True})
    checks = dict.fromkeys(["database", "migrations", "media", "workers"], "ok")
    assert probe("/readyz", **WATCHER) == (200, {"ready": True, "checks": checks})
    assert probe("/readyz", authorization="Bearer let-me") == (200, {"ready": True})
    settings.MONITORING_TOKEN = ""
    assert probe("/readyz", authorization="Bearer ") == (200, {"ready": True})


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("proxies", "forwarded", "sees"),
    [([], None, True), ([], "1.2.3.4", False), (["127.0.0.1"], "1.2.3.4", False), (["127.0.0.1"], "127.0.0.1", True)],
)
def test_the_addresses_of_watchers_cannot_be_claimed(
    settings: Any, proxies: list[str], forwarded: str | None, sees: bool
) -> None:
    """Also where a proxy on the same machine passes strangers on, and the settings do not name it."""
    settings.TRUSTED_PROXIES, settings.MONITORING_ADDRESSES = proxies, ["127.0.0.0/8"]
    headers = {"x-forwarded-for": forwarded} if forwarded else {}
    assert ("checks" in probe("/readyz", **headers)[1]) is sees
    assert (Client().get("/metrics", headers=headers).status_code == 200) is sees


def failing(name: str, monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> None:
    if name == "database":

        def refuse() -> str:
            raise DatabaseError("password authentication failed for user secret")

        monkeypatch.setitem(readiness.CHECKS, "database", refuse)
    if name == "migrations":
        connection.cursor().execute("DELETE FROM django_migrations WHERE app = 'judging'")
    if name == "media":
        settings.MEDIA_ROOT = tmp_path / "not mounted" / "media"
    if name == "workers":
        Sign.objects.update(at=Now() - timedelta(minutes=3))


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["database", "migrations", "media", "workers"])
def test_what_fails_is_named_and_makes_a_503(
    name: str, monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Sign.leave("here:1")
    failing(name, monkeypatch, settings, tmp_path)
    status, report = probe("/readyz", **WATCHER)
    assert (status, report["ready"]) == (503, False)
    assert [each for each, found in report["checks"].items() if found != "ok"] == [name]
    assert "secret" not in str(report)  # the cause is in the log
    assert ("user secret" in caplog.text) == (name == "database")
    assert f"{name}: {report['checks'][name]}" in caplog.text
    assert probe("/readyz") == (503, {"ready": False})


@pytest.mark.django_db
def test_a_busy_worker_need_not_leave_a_sign() -> None:
    assert probe("/readyz")[0] == 503
    Job.objects.create(kind="rank", key="1", due=Now())
    assert Job.objects.take("here:1")
    readiness._looks.clear()
    assert probe("/readyz")[0] == 200


@pytest.mark.django_db
def test_the_sweeper_leaves_a_sign(settings: Any) -> None:
    sweep()
    sweep()
    assert Sign.objects.count() == 1
    assert probe("/readyz")[0] == 200


def test_a_check_that_hangs_is_told_in_time(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    """And is not begun again while it hangs."""
    from threading import Event, Thread

    begun, go_on = [], Event()

    def hang() -> str:
        begun.append(1)
        go_on.wait(20)
        return "ok"

    monkeypatch.setattr(readiness, "Thread", Thread)
    monkeypatch.setattr(readiness, "SECONDS_OF_PATIENCE", 0.2)
    monkeypatch.setattr(readiness, "CHECKS", {"media": hang})
    began = time.monotonic()
    for _ in range(3):
        assert probe("/readyz", **WATCHER)[1]["checks"] == {"media": "no answer within 0 seconds"}
    go_on.set()
    assert time.monotonic() - began < 5
    assert len(begun) == 1


@pytest.fixture
def counted(settings: Any) -> Iterator[None]:
    yield
    metrics.REQUESTS.clear()
    metrics.SECONDS.clear()


@pytest.mark.django_db
def test_figures_count_saves_claims_jobs_and_clips(counted: None, batch: Batch, ada: Membership) -> None:
    client, held = browser(ada), claim(ada)
    Job.objects.create(kind="rank", key="1", due=Now() - timedelta(seconds=90))
    Sign.leave("here:1")
    body = {"grade": 3, "fence": held.fence, "key": "7d9f0bd2-9a1b-4d0c-8a6c-0d3ad9f7a4d8", "seconds": 1.5}
    for _ in range(2):
        address = reverse("judge", args=[held.token, 1])
        assert client.put(address, body, content_type="application/json").status_code == 200
    client.post(reverse("claim", args=["films"]))
    Client().get("/no/such/secret-path")
    page = Client().get("/metrics", headers=WATCHER).content.decode()
    assert 'reeljudge_requests_total{address="judge",method="PUT",status="200"} 2.0' in page
    assert 'reeljudge_requests_total{address="claim",method="POST",status="302"} 1.0' in page
    assert 'reeljudge_request_seconds_count{address="judge"} 2.0' in page
    assert re.search(r'reeljudge_jobs\{kind="rank",state="waiting"\} \d', page)
    assert float(re.findall(r'^reeljudge_jobs_lag_seconds\{lane="long"\} (\S+)', page, re.M)[0]) >= 90
    assert 'reeljudge_worker_sign_seconds{worker="here:1"}' in page
    assert "reeljudge_clips" in page
    assert held.token not in page
    assert "secret-path" not in page


@pytest.mark.django_db
def test_figures_are_closed_unless_the_settings_open_them(settings: Any, stranger: Client) -> None:
    settings.MONITORING_TOKEN = ""
    for headers in ({}, WATCHER, {"authorization": "Bearer "}, {"x-forwarded-for": "127.0.0.1"}):
        answer = stranger.get("/metrics", headers=headers)
        assert (answer.status_code, answer.content) == (404, b"")


def test_a_real_server_is_ready_and_counts_in_every_process(servers: Callable[[str], Installation]) -> None:
    place = servers("sqlite")
    with httpx.Client(base_url=place.address, headers=WATCHER) as client:
        for _ in range(3):
            assert client.get("/sign-in/").status_code == 200
        counted = re.search(r'reeljudge_requests_total{address="sign-in",.*} (\S+)', client.get("/metrics").text)
        assert counted
        assert float(counted[1]) >= 3
        assert client.get("/readyz").json()["checks"]["database"] == "ok"
