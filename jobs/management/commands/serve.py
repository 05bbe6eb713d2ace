"""manage.py serve: the web server, with the embedded worker beside it where there is no Redis."""

import os
import signal
import subprocess
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from gunicorn.app.base import BaseApplication

THREADS = 16


class Command(BaseCommand):
    help = (
        "Serve Reeljudge. On SQLite: one process of threads. Without REDIS_URL: an embedded worker beside it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--bind", default="127.0.0.1:8000")
        parser.add_argument(
            "--processes", type=int, default=1, help="web processes; more than one on PostgreSQL only"
        )

    def handle(self, **options: Any) -> None:
        on_sqlite = settings.DATABASES["default"]["ENGINE"] == "config.sqlite"
        processes = 1 if on_sqlite else options["processes"]
        worker = None if settings.REDIS_URL else _embedded_worker()
        self.stdout.write(f"Reeljudge is at http://{options['bind']}/ (Ctrl-C ends it)")
        self.stdout.flush()
        try:
            _Server(options["bind"], processes).run()
        finally:
            if worker:
                worker.terminate()
                worker.wait()


def _embedded_worker() -> subprocess.Popen[bytes]:
    # Its own process: encoding captions must not hold up a page.
    return subprocess.Popen(  # noqa: S603 - our own interpreter and script
        [sys.executable, sys.argv[0], "worker"], preexec_fn=_die_with_parent, env=os.environ
    )


def _die_with_parent() -> None:
    """Ask Linux to end this process with its parent, also when that is killed."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    except (OSError, AttributeError):
        pass  # elsewhere the worker ends with a clean stop only


class _Server(BaseApplication):  # type: ignore[misc]
    def __init__(self, bind: str, processes: int) -> None:
        self.bind, self.processes = bind, processes
        super().__init__()

    def load_config(self) -> None:
        chosen = {
            "bind": self.bind,
            "workers": self.processes,
            "worker_class": "gthread",
            "threads": THREADS,
            "keepalive": 30,
            "timeout": 60,
            "loglevel": "warning",
            "proc_name": "reeljudge",
            "control_socket_disable": True,
        }
        for name, value in chosen.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        from django.core.wsgi import get_wsgi_application

        return get_wsgi_application()
