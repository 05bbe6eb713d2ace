"""Thirty-two annotators who judge as fast as the server answers, in turns with a bare view that stores one row.

The bare view (benchmarks/bare) is served by the same command, from the same database, and asked by the same clients.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from benchmarks.bare import TABLE
from benchmarks.databases import inside, is_sound, make_campaign, on_each
from benchmarks.hot_clients import Client, Request, run, run_httpx
from benchmarks.measuring import children, processor_seconds
from config.operations.management.commands.serve import WORKER
from tests.installation import Installation, sql

CLIENTS = int(os.environ.get("JUDGING_CLIENTS", "32"))
TURNS = int(os.environ.get("JUDGING_TURNS", "8"))
MOMENTS, SAVES = 60, 20
STATEMENTS = """
import json, uuid
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
client = Client(headers={"host": "127.0.0.1", "accept": "application/json"})
client.force_login(User.objects.get(username="client-0"))
with CaptureQueriesContext(connection) as claim:
    handed = client.post("/judge/bench/claim").json()["assignment"]
said = {"grade": 2, "fence": handed["fence"], "key": str(uuid.uuid4()), "press": 1, "seconds": 5, "input": "key"}
address = f"/judge/assignments/{handed['token']}/judgements/1"
with CaptureQueriesContext(connection) as save:
    assert client.put(address, json.dumps(said), content_type="application/json").status_code == 200
print(json.dumps([len(claim), len(save)]))
"""

Clients = Callable[[int, Sequence[Client]], list[float]]


@dataclass
class Served:
    """What a server has answered."""

    place: Installation
    clients: Clients = run
    seconds: list[float] = field(default_factory=list)
    took: float = 0  # on the clock
    processor: float = 0

    def ask(self, clients: Sequence[Client]) -> None:
        before, began = _processor_seconds(self.place), time.perf_counter()
        self.seconds += self.clients(self.place.port, clients)
        self.took += time.perf_counter() - began
        self.processor += _processor_seconds(self.place) - before

    @property
    def rate(self) -> float:
        return len(self.seconds) / self.took

    def __str__(self) -> str:
        p50, p99 = (1000 * statistics.quantiles(self.seconds, n=100)[centile - 1] for centile in (50, 99))
        return (
            f"{len(self.seconds):,}, {self.rate:.0f} a second, p50 {p50:.0f} ms, p99 {p99:.0f} ms, "
            f"{self.each:.2f} ms of the server's processor each"
        )

    @property
    def each(self) -> float:
        """Milliseconds of the server's processor for one request."""
        return 1000 * self.processor / len(self.seconds)

    @property
    def p99(self) -> float:
        return statistics.quantiles(self.seconds, n=100)[98]


def figures() -> Iterator[str]:
    return on_each(_measured)


def _measured(place: Installation) -> Iterator[str]:
    people = [Person(number, session) for number, session in enumerate(prepare(place, 2 * TURNS))]
    claim, save = json.loads(place.shell(STATEMENTS))
    yield f"a claim {claim} statements, a save {save}"
    sql(place, TABLE)
    _serve_with_bare(place)
    bare = _serve_bare(place)
    try:
        yield f"{CLIENTS} light clients, {TURNS} turns"
        yield from _compared(people, place, bare, run)
        yield f"{CLIENTS} clients that are httpx in threads, {TURNS} turns"
        yield from _compared(people, place, bare, run_httpx)
    finally:
        bare.stop()
    yield is_sound(place, "bench")


def _compared(people: Sequence[Person], place: Installation, alone: Installation, by: Clients) -> Iterator[str]:
    claims, saves, submits = Served(place, by), Served(place, by), Served(place, by)
    bare = {
        ("the bare view", "anybody"): Served(alone, by),
        ("the bare view behind Reeljudge's middleware", "anybody"): Served(place, by),
        ("the bare view for a person who is signed in", "signed-in"): Served(place, by),
    }
    for _ in range(TURNS):
        claims.ask([each.claim() for each in people])
        saves.ask([each.save() for each in people])
        submits.ask([each.submit() for each in people])
        for (_, whose), served in bare.items():
            served.ask([each.store(whose) for each in people])
    whole = len(saves.seconds) / (claims.took + saves.took + submits.took)
    yield f"claims: {claims}"
    yield f"saves: {saves}; with claims and submissions {whole:.0f} judgements a second"
    yield f"submissions, with the next claim: {submits}; {submits.each / saves.each:.1f} × the processor of a save"
    for (name, _), served in bare.items():
        yield f"{name}: {served}"
        yield (
            f"saves beside it: {saves.rate / served.rate:.2f} × the rate (with claims and submissions "
            f"{whole / served.rate:.2f} ×), {saves.p99 / served.p99:.2f} × the p99"
        )


class Person:
    """An annotator, whose requests are those of the workplace."""

    def __init__(self, number: int, session: str) -> None:
        self.chance, token = random.Random(number), "x" * 32
        self.headers = {"Cookie": f"sessionid={session}; csrftoken={token}", "X-CSRFToken": token}

    def claim(self) -> Client:
        status, body = yield Request("POST", "/judge/bench/claim", self.headers)
        assert status == 200, body
        self.handed = json.loads(body)["assignment"]
        assert self.handed, "there is no work left"

    def save(self, places: int = SAVES) -> Client:
        for position in range(1, places + 1):
            address = f"/judge/assignments/{self.handed['token']}/judgements/{position}"
            status, body = yield Request("PUT", address, self.headers, self._press(position))
            assert status == 200, body

    def submit(self) -> Client:
        body = json.dumps({"fence": self.handed["fence"]}).encode()
        address = f"/judge/assignments/{self.handed['token']}/submit"
        status, answer = yield Request("POST", address, self.headers, body)
        assert status == 200, answer
        self.handed = json.loads(answer)["next"]["assignment"]

    def store(self, whose: str) -> Client:
        for position in range(1, SAVES + 1):
            status, body = yield Request("PUT", f"/bare/{whose}/{position}", self.headers, self._press(position))
            assert status == 200, body

    def _press(self, position: int) -> bytes:
        key = str(UUID(int=self.chance.getrandbits(128), version=4))
        body = {"grade": 2, "fence": self.handed["fence"], "key": key, "press": position, "seconds": 5}
        return json.dumps(body | {"input": "key"}).encode()


def prepare(place: Installation, turns: int) -> list[str]:
    """Make a campaign without media, with a query for each batch of two clients. Return the clients' sessions."""
    make_campaign(place, "bench", CLIENTS * (turns + 2) // 2, MOMENTS)
    place.accounts("bench", "annotator", *[f"client-{n}" for n in range(CLIENTS)])
    sessions: list[str] = inside(place, "inside.sessions", "bench")
    return sessions


def _serve_with_bare(place: Installation) -> None:
    """Serve Reeljudge again, now with the bare view among its addresses."""
    place.stop()
    place.env |= {"DJANGO_SETTINGS_MODULE": "benchmarks.bare.settings", "BARE_MIDDLEWARE": "on"}
    place.serve()


def _serve_bare(place: Installation) -> Installation:
    """Serve the bare view alone beside it, from the same database."""
    bare = Installation(place.home, place.env.get("DATABASE_URL", ""), "")
    bare.env |= {"DJANGO_SETTINGS_MODULE": "benchmarks.bare.settings"}
    bare.serve()
    return bare


def _processor_seconds(place: Installation) -> float:
    """Return the processor time of the web processes so far, those of the system included."""
    return sum(map(processor_seconds, _web_processes(place.processes[0].pid)))


def _web_processes(pid: int) -> Iterator[int]:
    if Path(f"/proc/{pid}/comm").read_text().strip() == WORKER:
        return
    yield pid
    for child in children(pid):
        yield from _web_processes(child)
