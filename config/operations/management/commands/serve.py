"""manage.py serve: run the web server, with an embedded worker if REDIS_URL is not set."""

import gc
import logging
import os
import shutil
import signal
import struct
import subprocess
import sys
import threading
from argparse import ArgumentParser
from collections.abc import Callable
from contextlib import suppress
from filecmp import cmp
from ipaddress import ip_address
from pathlib import Path
from socket import SO_RCVTIMEO, SOL_SOCKET
from tempfile import mkdtemp
from typing import Any

from django.conf import settings
from django.core.checks import run_checks
from django.core.management import call_command
from django.db import DatabaseError, InterfaceError, connections
from gunicorn.app.base import BaseApplication
from gunicorn.glogging import Logger

from accounts.invitations import first_account_lines
from base.commands import ReeljudgeCommand
from base.errors import ReeljudgeError
from config.operations.schema import must_suit

log = logging.getLogger(__name__)
SECONDS_BEFORE_RESTART = 2
WORKER = "reeljudge-work"  # what Linux calls the process; at most 15 letters
REACHABLE = "reachable"  # the tag of checks that matter if others can reach this installation


class Command(ReeljudgeCommand):
    help = "Serve Reeljudge. On SQLite it is one process with threads. Without REDIS_URL it starts an embedded worker."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--bind", default="127.0.0.1:8000")
        parser.add_argument("--processes", type=int, default=1, help="web processes; more than one on PostgreSQL only")

    def execute(self, *arguments: Any, **options: Any) -> str | None:
        """Make the folder in which the processes keep their counts for /metrics.

        The library that counts looks for the variable once, when Django's checks import it.
        """
        me = os.getpid()
        counts = os.environ["PROMETHEUS_MULTIPROC_DIR"] = mkdtemp(prefix="reeljudge-metrics-")
        try:
            return super().execute(*arguments, **options)
        finally:
            if os.getpid() == me:
                shutil.rmtree(counts)
                del os.environ["PROMETHEUS_MULTIPROC_DIR"]

    def handle(self, **options: Any) -> None:
        on_sqlite = settings.DATABASES["default"]["ENGINE"] == "config.sqlite"
        processes = 1 if on_sqlite else options["processes"]
        is_local = is_on_this_machine(options["bind"])
        _refuse_what_would_fail(options["bind"], is_local)
        if not is_local or not _has_local_names_only():  # then others can reach it
            for found in run_checks(tags=[REACHABLE], include_deployment_checks=True, databases=["default"]):
                self.stderr.write(f"WARNING: {found.msg}")
        lines = _lines_at_start(_address_of_this_site(options["bind"], is_local))
        worker = None if settings.REDIS_URL else EmbeddedWorker()
        self.stdout.write(f"Reeljudge is at http://{options['bind']}/ (Ctrl-C ends it)")
        for line in lines:
            self.stdout.write(line)
        self.stdout.flush()
        me = os.getpid()
        try:
            _Server(options["bind"], processes).run()
        finally:
            if worker and os.getpid() == me:  # The server's child processes come here too when they end.
                worker.stop()


def _lines_at_start(address: str) -> list[str]:
    """Return what is printed at the start. Until the database is there and migrated, pages answer with an error.

    Raises OtherDatabase if the database is a newer one, with which each page would fail.
    """
    try:
        must_suit()
        return first_account_lines(address)
    except (InterfaceError, DatabaseError) as fault:
        return [
            f"The database is not ready: {str(fault).strip()}",
            f"If it is new, or the program is, run `{settings.COMMAND} migrate`.",
        ]
    finally:
        connections.close_all()  # else the processes of the server would share this connection


def _refuse_what_would_fail(bind: str, is_local: bool) -> None:
    if not is_local and not settings.TRUSTED_PROXIES:
        raise ReeljudgeError(
            f"--bind {bind}: {settings.WEB_THREADS} half-sent requests would stop a server that strangers can reach. "
            "Put a proxy before it that buffers requests, and name its address in TRUSTED_PROXIES "
            "(docs/deployment.md); or bind to 127.0.0.1"
        )
    if settings.SECURE_SSL_REDIRECT and not settings.TRUSTED_PROXIES:
        raise ReeljudgeError(
            "HTTPS=on: no proxy is known that speaks HTTPS, so that each page would lead to itself. Name the proxy's "
            "address in TRUSTED_PROXIES (docs/deployment.md)"
        )
    if missing := uncollected():
        raise ReeljudgeError(
            f"{settings.STATIC_ROOT}: {missing} is missing or not that of this program. "
            f"Run `{settings.COMMAND} collectstatic --noinput` first"
        )


def uncollected() -> str:
    """Return the name of a static file of ours that `collectstatic` has not collected yet, or an empty text."""
    if settings.DEBUG:
        return ""
    collected = Path(settings.STATIC_ROOT)
    if not (collected / "staticfiles.json").exists():
        return "staticfiles.json"
    for folder in map(Path, settings.STATICFILES_DIRS):
        for source in sorted(folder.rglob("*")):
            copy = collected / source.relative_to(folder)
            if source.is_file() and not (copy.exists() and cmp(source, copy, shallow=False)):
                return str(source.relative_to(folder))
    return ""


def is_on_this_machine(bind: str) -> bool:
    """Return whether only this machine can connect to an address to listen at.

    >>> [is_on_this_machine(bind) for bind in ("127.0.0.1:8000", "[::1]:80", "unix:/run/web", "0.0.0.0:80", ":80")]
    [True, True, True, False, False]
    """
    host = bind.rpartition(":")[0].strip("[]")
    return bind.startswith(("unix:", "fd://")) or host == "localhost" or _is_loopback(host)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _has_local_names_only() -> bool:
    """Return whether the names of this site are those of this machine, so that no proxy passes requests on."""
    return all(name == "localhost" or _is_loopback(name.strip("[]")) for name in settings.ALLOWED_HOSTS)


def _address_of_this_site(bind: str, is_local: bool) -> str:
    """Return the address by which a browser reaches this site, as far as the settings know it."""
    if settings.SITE_URL:
        return str(settings.SITE_URL)
    if is_local and _has_local_names_only() and not bind.startswith(("unix:", "fd://")):
        return f"http://{bind}"
    scheme = "https" if getattr(settings, "SECURE_SSL_REDIRECT", False) else "http"
    names = [name for name in settings.ALLOWED_HOSTS if name != "*"]
    return f"{scheme}://{names[0].removeprefix('.')}" if names else f"{scheme}://NAME-OF-THIS-SITE"


class EmbeddedWorker:
    """The worker in a process of its own, so that encoding captions delays no page. If it dies, it starts again.

    Another process watches it. On Linux both are forks, which share this process's memory, and end with their parents.
    """

    def __init__(self) -> None:
        gc.collect()
        gc.freeze()  # so that collecting garbage does not copy what is shared
        self.pid = _fork(_watch_a_worker)

    def stop(self) -> None:
        with suppress(ProcessLookupError, ChildProcessError):  # gunicorn waits for all children, too
            os.kill(self.pid, signal.SIGTERM)
            os.waitpid(self.pid, 0)


def _watch_a_worker() -> None:
    is_ending = threading.Event()

    def end(*_: object) -> None:
        is_ending.set()
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGTERM)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the worker, too, and to the server
    worker = _start_worker()
    signal.signal(signal.SIGTERM, end)
    while not is_ending.is_set():
        os.waitpid(worker, 0)
        if not is_ending.wait(SECONDS_BEFORE_RESTART):
            worker = _start_worker()


def _start_worker() -> int:
    """Start the worker, and return its process's number."""
    if sys.platform == "linux":
        return _fork(_work)
    # Elsewhere libraries of the system may not survive a fork.
    return subprocess.Popen([sys.executable, sys.argv[0], "worker"]).pid  # noqa: S603 - our own interpreter and script


def _work() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    call_command("worker")


def _fork(work: Callable[[], None]) -> int:
    """Run a function in a new process, and return the process's number."""
    if pid := os.fork():
        return pid
    status = 1
    try:
        _die_with_parent()
        work()
        status = 0
    except SystemExit as end:
        status = int(end.code or 0)
    except Exception:
        log.exception("the worker failed")
    finally:
        sys.stdout.flush()
        os._exit(status)


def _die_with_parent() -> None:
    """Ask Linux to end this process when its parent ends, even if the parent is killed, and name it."""
    try:
        import ctypes

        process = ctypes.CDLL(None).prctl
        process(1, signal.SIGTERM)
        process(15, WORKER.encode())
    except (OSError, AttributeError):
        pass  # On other systems the worker ends only if the server stops normally.


class _Server(BaseApplication):  # type: ignore[misc]
    def __init__(self, bind: str, processes: int) -> None:
        self.bind, self.processes = bind, processes
        super().__init__()

    def load_config(self) -> None:
        chosen = {
            "bind": self.bind,
            "workers": self.processes,
            "worker_class": "gthread",
            "threads": settings.WEB_THREADS,
            "keepalive": settings.WEB_KEEPALIVE,
            "timeout": settings.WEB_TIMEOUT,
            "max_requests": settings.WEB_RECYCLE,
            "max_requests_jitter": settings.WEB_RECYCLE // 10,  # not all processes at once
            "loglevel": "warning",
            "logger_class": _Log,
            "proc_name": "reeljudge",
            "control_socket_disable": True,
            "secure_scheme_headers": {},  # whose word counts about HTTPS is for the middleware to judge
            "when_ready": _give_up_silent_requests,
        }
        for name, value in chosen.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        from django.core.wsgi import get_wsgi_application

        return get_wsgi_application()


class _Log(Logger):  # type: ignore[misc]
    """Gunicorn's messages go where all others go, in the same format."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        self.error_log.handlers.clear()
        self.error_log.propagate = True


def _give_up_silent_requests(server: Any) -> None:
    """Limit how long a thread waits for the rest of a request. Connections inherit the limit of their listener."""
    for listener in server.LISTENERS:
        listener.sock.setsockopt(SOL_SOCKET, SO_RCVTIMEO, struct.pack("ll", settings.WEB_SILENCE, 0))
