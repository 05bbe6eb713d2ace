"""Which server saves go through: `python -m benchmarks servers`, not part of `make bench`.

Each serves the same database, one after the other, asked by the clients of the benchmark `judging`. waitress and
granian are left out where they are not installed. WEB_THREADS is the setting of gunicorn's threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from benchmarks.databases import on_each
from benchmarks.judging import Person, Served, prepare
from tests.installation import Installation

TURNS = 3
SERVE = ("manage.py", "serve", "--bind", "127.0.0.1:{port}", "--processes")
GRANIAN = ("-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1", "--port", "{port}")
Server = tuple[tuple[str, ...], dict[str, str]]  # arguments of Python, and environment
EVERYWHERE: dict[str, Server] = {
    "gunicorn, 1 process of 4 threads": ((*SERVE, "1"), {"WEB_THREADS": "4"}),
    "gunicorn, 1 process of 16 threads": ((*SERVE, "1"), {"WEB_THREADS": "16"}),
    "waitress, 1 process of 8 threads": (
        ("-m", "waitress", "--listen=127.0.0.1:{port}", "--threads=8", "config.wsgi:application"),
        {},
    ),
    "granian, 1 process of 8 threads": (
        (*GRANIAN, "--workers", "1", "--blocking-threads", "8", "config.wsgi:application"),
        {},
    ),
}
ON_POSTGRESQL: dict[str, Server] = {
    "gunicorn, 2 processes of 4 threads": ((*SERVE, "2"), {"WEB_THREADS": "4"}),
    "gunicorn, 2 processes of 16 threads": ((*SERVE, "2"), {"WEB_THREADS": "16"}),
    "the same with a pool of 8": ((*SERVE, "2"), {"WEB_THREADS": "16", "BENCH_POOL": "8"}),
    "the same with prepared statements": ((*SERVE, "2"), {"WEB_THREADS": "16", "BENCH_PREPARED": "on"}),
}


def figures() -> Iterator[str]:
    return on_each(_measured)


def _measured(place: Installation) -> Iterator[str]:
    chosen = {name: server for name, server in EVERYWHERE.items() if _is_here(*server)}
    if "DATABASE_URL" in place.env:
        chosen |= ON_POSTGRESQL
    people = [Person(number, session) for number, session in enumerate(prepare(place, TURNS * len(chosen)))]
    for name, server in chosen.items():
        running = _started(place, *server)
        saves = Served(running)
        try:
            for _ in range(TURNS):
                Served(running).ask([each.claim() for each in people])
                saves.ask([each.save() for each in people])
                Served(running).ask([each.submit() for each in people])
        finally:
            running.stop()
        yield f"{name}: {saves}"


def _is_here(arguments: tuple[str, ...], environment: dict[str, str]) -> bool:
    return arguments[0] != "-m" or find_spec(arguments[1]) is not None


def _started(place: Installation, arguments: tuple[str, ...], environment: dict[str, str]) -> Installation:
    made = Installation(place.home, place.env.get("DATABASE_URL", ""), "none")
    made.env |= {"DJANGO_SETTINGS_MODULE": "benchmarks.server_settings"} | environment
    made.spawn(*[argument.format(port=made.port) for argument in arguments])
    made._wait()
    return made
