"""/healthz, /readyz and /metrics answer machines that watch this one, and tell strangers no more than yes or no."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.db import DatabaseError, OperationalError, connection, connections
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.timezone import now

from campaigns.models import Membership
from config.operations import monitoring, readiness
from corpus.models import Clip, Corpus, Video
from jobs.models import Job, WorkerHeartbeat
from jobs.queue import Lane
from judging.models import Batch
from metrics import __version__
from tests.cast import browser, claim
from tests.installation import ROOT, Installation

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


@pytest.mark.django_db
def test_which_version_runs_is_for_watchers_leads_and_the_terminal(ada: Membership, leo: Membership) -> None:
    assert Client().get("/healthz", headers=WATCHER).content == f"alive {__version__}\n".encode()
    assert f'reeljudge_build_info{{version="{__version__}"}} 1.0' in monitoring.prometheus_figures().decode()
    line = f"Reeljudge {__version__}"
    assert line in browser(leo).get(reverse("campaign", args=[leo.campaign])).content.decode()
    assert line not in browser(ada).get(reverse("work")).content.decode()
    done = subprocess.run([sys.executable, "manage.py", "--version"], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == f"{line}\n"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/statusz", "/metrics"])
def test_probes_only_read(path: str, db: None) -> None:
    for method in ("post", "put", "delete", "patch"):
        assert getattr(Client(), method)(path).status_code == 405


@pytest.mark.django_db
def test_ready_names_each_check_to_watchers_only(settings: Any) -> None:
    assert probe("/readyz") == (200, {"ready": True})
    checks = dict.fromkeys(["database", "migrations"], "ok")
    assert probe("/readyz", **WATCHER) == (200, {"ready": True, "checks": checks})
    assert probe("/readyz", authorization="Bearer let-me") == (200, {"ready": True})
    settings.MONITORING_TOKEN = ""
    assert probe("/readyz", authorization="Bearer ") == (200, {"ready": True})


@pytest.mark.django_db
def test_the_status_has_every_check_and_is_for_watchers() -> None:
    WorkerHeartbeat.record("here:1", Lane.values)
    checks = dict.fromkeys(["database", "migrations", "release", "media", "workers"], "ok")
    assert probe("/statusz", **WATCHER) == (200, {"ready": True, "checks": checks})
    assert Client().get("/statusz").status_code == 404


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
        WorkerHeartbeat.objects.update(at=Now() - timedelta(minutes=3))


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["database", "migrations", "media", "workers"])
def test_what_fails_is_named_and_makes_a_503(
    name: str, monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    WorkerHeartbeat.record("here:1", Lane.values)
    failing(name, monkeypatch, settings, tmp_path)
    status, report = probe("/statusz", **WATCHER)
    assert (status, report["ready"]) == (503, False)
    assert [each for each, found in report["checks"].items() if found != "ok"] == [name]
    assert "secret" not in str(report)  # the cause is in the log
    assert ("user secret" in caplog.text) == (name == "database")
    assert f"{name}: {report['checks'][name]}" in caplog.text
    # A store or workers that are away are away for every machine: a balancer must not leave out all of them.
    to_answer = name in ("database", "migrations")
    assert probe("/readyz") == ((503, {"ready": False}) if to_answer else (200, {"ready": True}))


@pytest.mark.django_db
def test_each_lane_needs_a_worker() -> None:
    WorkerHeartbeat.record("here:1", ["quick", "judging", "training"])
    checks = probe("/statusz", **WATCHER)[1]["checks"]
    assert checks["workers"] == "nobody takes jobs of the lane long"


@pytest.mark.django_db
@pytest.mark.both_databases
def test_no_sign_stays_of_a_process_that_ended() -> None:
    WorkerHeartbeat.record("there:1", ["long"])  # killed, and never seen again
    WorkerHeartbeat.objects.update(at=Now() - timedelta(seconds=91))
    for _ in range(2):
        WorkerHeartbeat.record("here:1", ["quick", "long"])
    assert set(WorkerHeartbeat.objects.values_list("worker", "lane")) == {("here:1", "quick"), ("here:1", "long")}
    WorkerHeartbeat.forget("here:1")
    assert not WorkerHeartbeat.objects.exists()


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
        assert probe("/statusz", **WATCHER)[1]["checks"] == {"media": "no answer within 0 seconds"}
    go_on.set()
    assert time.monotonic() - began < 5
    assert len(begun) == 1


@pytest.fixture
def counted(settings: Any) -> Iterator[None]:
    yield
    monitoring.REQUESTS.clear()
    monitoring.SECONDS.clear()


@pytest.mark.django_db
def test_figures_count_saves_claims_jobs_and_clips(counted: None, batch: Batch, ada: Membership) -> None:
    client, held = browser(ada), claim(ada)
    Job.objects.create(kind="rank", key="1", due=Now() - timedelta(seconds=90))
    WorkerHeartbeat.record("here:1", Lane.values)
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
    assert 'reeljudge_workers{lane="long",machine="here",version="0.2.0"} 1.0' in page
    assert re.search(r'reeljudge_clips\{state="failed"\} \d', page)
    assert "reeljudge_database_up 1.0" in page
    assert float(re.findall(r'^reeljudge_disk_free_bytes{folder="home"} (\S+)', page, re.M)[0]) > 0
    assert held.token not in page
    assert "secret-path" not in page


@pytest.mark.django_db
def test_requests_are_counted_while_the_database_is_away(counted: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(rows: object) -> None:
        raise OperationalError("the database system is starting up")

    monkeypatch.setattr(monitoring._Rows, "_rows", refuse)
    Client().get("/sign-in/")
    page = Client().get("/metrics", headers=WATCHER).content.decode()
    assert "reeljudge_database_up 0.0" in page
    assert 'reeljudge_requests_total{address="sign-in",method="GET",status="200"} 1.0' in page
    assert "reeljudge_jobs" not in page


@pytest.mark.django_db
@pytest.mark.both_databases
def test_a_scrape_counts_no_whole_table(counted: None) -> None:
    """What has ended well is most of the rows: no statement may read them."""
    corpus = Corpus.objects.create(name="films", format="tvr")
    video = Video.objects.create(corpus=corpus, name="film", duration=9000)
    Clip.objects.bulk_create(Clip(video=video, start=n, end=n + 1, state="ready", audience="a") for n in range(3000))
    Job.objects.bulk_create(Job(kind="rank", key=str(n), state="done", due=now(), ended=now()) for n in range(3000))
    if connection.vendor == "postgresql":  # nobody does so on SQLite
        connection.cursor().execute("ANALYZE")
    with CaptureQueriesContext(connection) as queries:
        Client().get("/metrics", headers=WATCHER)
        explained = [explain(each["sql"]) for each in queries.captured_queries if "SELECT" in each["sql"]]
    whole = re.compile(r"(Seq Scan on|SCAN) (jobs_job|corpus_clip)(?! USING (COVERING )?INDEX clips_to_come)")
    assert [plan for plan in explained if whole.search(plan)] == []
    assert any(re.search("jobs_job|corpus_clip", plan) for plan in explained)


def explain(statement: str) -> str:
    how = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
    with connection.cursor() as cursor:
        cursor.execute(f"{how} {statement}")
        return "; ".join(str(row[-1]) for row in cursor.fetchall())


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
