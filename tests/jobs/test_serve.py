"""The web server is stopped neither by requests that stay half-sent, nor, where it could be, opened to strangers."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from config.operations.management.commands.serve import uncollected
from tests import made_once
from tests.installation import ROOT, Installation
from tests.terminal import printed, refused
from tests.waiting import wait_until

HALVES = [
    b"GET /sign-in/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-",
    b"POST /sign-in/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\nuse",
]
# The server with one second of patience, so that the test needs no more.
SERVER = """
import django; django.setup()
from config.operations.management.commands import serve
serve._Server("127.0.0.1:{port}", 1).run()
"""


@pytest.mark.parametrize("bind", ["0.0.0.0:1", ":1", "192.0.2.1:1", "judge.example.org:1", "[::]:1"])
def test_it_listens_to_strangers_only_behind_a_proxy(bind: str, settings: Any) -> None:
    settings.TRUSTED_PROXIES = []
    with pytest.raises(CommandError, match=r"half-sent requests .* TRUSTED_PROXIES") as refusal:
        printed("serve", "--bind", bind)
    assert refusal.value.returncode == 2


def test_https_needs_a_proxy_that_speaks_it(settings: Any) -> None:
    settings.TRUSTED_PROXIES, settings.SECURE_SSL_REDIRECT = [], True
    with pytest.raises(CommandError, match=r"HTTPS=on: .* TRUSTED_PROXIES"):
        printed("serve", "--bind", "127.0.0.1:0")


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
    made_once.migrated_sqlite(tmp_path / "reeljudge.sqlite3")
    (tmp_path / "static").symlink_to(made_once.collected_static())
    env = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    env |= {"REELJUDGE_HOME": str(tmp_path), "DJANGO_SETTINGS_MODULE": "config.settings"}
    env |= {"WEB_SILENCE": "1"}
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-c", SERVER.format(port=number)], cwd=ROOT, env=env, stdout=log, stderr=log
        )
    try:
        wait_until(lambda: answers(number), lambda: (tmp_path / "log").read_text())
        yield number
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)


def answers(port: int, patience: float = 5) -> bool:
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/sign-in/", timeout=patience):
        return True
    return False


@pytest.mark.parametrize("half", HALVES, ids=["headers", "body"])
def test_half_sent_requests_do_not_stop_it(port: int, half: bytes, settings: Any) -> None:
    """As many of them as it has threads; it answers as soon as it has given them up."""
    with ExitStack() as open_ones:
        for _ in range(settings.WEB_THREADS):
            connection = open_ones.enter_context(socket.create_connection(("127.0.0.1", port)))
            connection.sendall(half)
        assert answers(port, patience=60)


def test_it_does_not_start_before_static_files_are_collected(tmp_path: Path, settings: Any) -> None:
    settings.STATIC_ROOT = tmp_path / "static"
    assert "collectstatic" in refused("serve")
    shutil.copytree(made_once.collected_static(), settings.STATIC_ROOT)
    assert uncollected() == ""
    (settings.STATIC_ROOT / "annotate" / "outbox.js").write_text("// that of an older program\n")
    assert "annotate/outbox.js is missing or not that of this program" in refused("serve")


def test_it_starts_before_the_database_is_migrated(tmp_path: Path) -> None:
    """It says so in a line, and the pages work as soon as somebody has migrated it."""
    place = Installation(tmp_path / "home")
    place.create()
    (place.home / "reeljudge.sqlite3").unlink()
    log = place.home / "log"
    try:
        place.serve(wait=False)
        wait_until(lambda: "The database is not ready: " in log.read_text(), log.read_text)
        place.run("manage.py", "migrate", "-v0")
        wait_until(lambda: answers(place.port), log.read_text)
    finally:
        place.stop()
    assert "Traceback" not in log.read_text().partition("The database is not ready: ")[0]


AMBIGUOUS = {
    "two lengths": b"Content-Length: 6\r\nContent-Length: 0\r\n\r\n",
    "a length and chunks": b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks by another name": b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "a blank before the colon": b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "a negative length": b"Content-Length: -1\r\n\r\n",
    "two hosts": b"Host: evil.example\r\nContent-Length: 0\r\n\r\n",
}


def test_a_request_that_can_be_read_in_two_ways_is_refused(port: int) -> None:
    """Else a proxy and this server could disagree where it ends, and the rest would count as another person's."""
    for name, rest in AMBIGUOUS.items():
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.sendall(b"POST /sign-in/ HTTP/1.1\r\nHost: 127.0.0.1\r\n" + rest + b"GET /next HTTP/1.1\r\n\r\n")
            answer = connection.makefile("rb").read()
        assert re.match(rb"HTTP/1.1 (400|501) ", answer), name
        assert answer.count(b"HTTP/1.1 ") == 1, name
        assert b"Connection: close" in answer, name
