"""What the database cannot do now is a 503 that says when to come back, whatever asked for it."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import InterfaceError, OperationalError, connection
from django.test import Client
from django.urls import reverse

from campaigns.models import Membership
from config.operations.logs import SECONDS_BETWEEN_LINES, OutageFilter
from judging.models import Batch

WRITING = ("INSERT", "UPDATE", "DELETE")


@contextmanager
def without(what: Callable[[str], bool], fault: type[Exception] = OperationalError) -> Iterator[None]:
    """The database refuses the statements for which `what` is true."""

    def refuse(execute: Any, statement: str, *rest: Any) -> Any:
        if "SAVEPOINT" not in statement and what(statement):
            raise fault("canceling statement due to lock timeout")
        return execute(statement, *rest)

    with connection.execute_wrapper(refuse):
        yield


def writes(statement: str) -> bool:
    return statement.startswith(WRITING)


def asks_anything(statement: str) -> bool:
    return True


def asks_for_the_session(statement: str) -> bool:
    return "django_session" in statement


@pytest.fixture
def client(ada: Membership) -> Client:
    """Ada's, which gets what a browser would get."""
    client = Client(raise_request_exception=False)
    client.force_login(ada.user)
    return client


def is_busy(answer: Any) -> bool:
    return bool(answer.status_code == 503 and answer["Retry-After"] == "2")


@pytest.mark.parametrize("fault", [OperationalError, InterfaceError])
@pytest.mark.parametrize("cannot", [asks_anything, asks_for_the_session])
def test_a_page_is_a_503_in_plain_words(client: Client, fault: type[Exception], cannot: Any) -> None:
    with without(cannot, fault):
        answer = client.get(reverse("work"))
    assert is_busy(answer)
    assert "try again in a moment" in answer.content.decode()


@pytest.mark.parametrize("username", ["ada", "nobody"])
def test_signing_in_is_a_503_while_nobody_can_write(ada: Membership, username: str) -> None:
    ada.user.set_password("a-long-word-7")
    ada.user.save()
    with without(writes):
        answer = Client(raise_request_exception=False).post(
            reverse("sign-in"), {"username": username, "password": "a-long-word-7"}
        )
    assert is_busy(answer)


def test_a_script_gets_a_problem_document(client: Client, batch: Batch) -> None:
    for cannot in (writes, asks_anything):
        with without(cannot):
            answer = client.post(reverse("claim", args=["films"]), headers={"accept": "application/json"})
        assert is_busy(answer)
        assert answer.json()["code"] == "busy"


def test_any_other_fault_stays_a_500(client: Client) -> None:
    with without(asks_anything, ZeroDivisionError):
        assert client.get(reverse("work")).status_code == 500


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[StringIO]:
    """What the handler of the settings writes, which has seen no outage so far."""
    handlers = [each for each in logging.getLogger().handlers if isinstance(each, logging.StreamHandler)]
    (handler,) = [each for each in handlers if any(isinstance(f, OutageFilter) for f in each.filters)]
    (outage,) = [each for each in handler.filters if isinstance(each, OutageFilter)]
    monkeypatch.setattr(outage, "_quiet_until", 0.0)
    monkeypatch.setattr(outage, "_held", 0)
    before = handler.setStream(out := StringIO())
    yield out
    handler.setStream(before)


@pytest.mark.parametrize("fault", [OperationalError, InterfaceError])
def test_an_outage_is_one_line_of_the_log_in_a_while_with_a_count(
    client: Client, log: StringIO, fault: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("config.operations.logs.time.monotonic", lambda: now)
    with without(asks_anything, fault):
        for _ in range(5):
            assert is_busy(client.get(reverse("work")))
        assert is_busy(client.get("/no-page-of-ours/"))  # its 404 asks who is signed in
        now += SECONDS_BETWEEN_LINES
        assert is_busy(client.get(reverse("work")))
    first, second = log.getvalue().splitlines()
    assert first.endswith("/judge/ (the database: canceling statement due to lock timeout)")
    assert second.endswith("lock timeout; 5 more like this since the last such line)")


def test_the_traceback_of_any_other_fault_is_in_the_log(client: Client, log: StringIO) -> None:
    for _ in range(2):
        with without(asks_anything, ZeroDivisionError):
            client.get(reverse("work"))
    assert log.getvalue().count("ZeroDivisionError") == 2


@pytest.mark.django_db(transaction=True)
def test_a_writer_that_holds_sqlite_makes_signing_in_a_503() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("about SQLite")
    User.objects.create_user("ada", password="a-long-word-7")
    connection.close()
    options = connection.settings_dict["OPTIONS"]
    options["timeout"] = 0.1
    try:
        with closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            answer = Client(raise_request_exception=False).post(
                reverse("sign-in"), {"username": "ada", "password": "wrong"}
            )
    finally:
        options["timeout"] = 20
        connection.close()
    assert is_busy(answer)


@pytest.mark.parametrize("week", ["9999-W52", "0001-W01", "1999-W01", "2201-W02"])
def test_a_week_outside_of_the_calendar_is_refused(batch: Batch, leo: Membership, week: str) -> None:
    client = Client()
    client.force_login(leo.user)
    answer = client.get(reverse("judgements", args=["films"]), {"week": week})
    assert (answer.status_code, b"week" in answer.content) == (400, True)
