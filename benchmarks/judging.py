"""Sixteen annotators who judge at once, as fast as the server answers, on SQLite and on PostgreSQL."""

import json
import random
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from uuid import UUID

import httpx

from benchmarks.databases import on_each
from tests.installation import Installation

CLIENTS, BATCHES, MOMENTS = 16, 4, 60


@dataclass
class Times:
    """The seconds of each answer."""

    claims: list[float] = field(default_factory=list)
    saves: list[float] = field(default_factory=list)


def figures() -> Iterator[str]:
    return on_each(_measured)


def _measured(place: Installation) -> Iterator[str]:
    passwords = _prepare(place)
    clients = [_signed_in(place, *account) for account in passwords.items()]
    began = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as threads:
        times = list(threads.map(_work, clients, range(CLIENTS)))
    took = time.perf_counter() - began
    saves = [each for one in times for each in one.saves]
    claims = [each for one in times for each in one.claims]
    yield f"{CLIENTS} clients, {len(saves):,} judgements, {len(saves) / took:.0f} a second"
    yield f"save p50 {_centile(saves, 50):.0f} ms, p99 {_centile(saves, 99):.0f} ms"
    yield f"claim p50 {_centile(claims, 50):.0f} ms, p99 {_centile(claims, 99):.0f} ms ({len(claims)} claims)"
    broken = "BROKEN" in place.manage("audit", "bench", check=False)
    yield f"audit {'broken' if broken else 'ok'}"


def _centile(seconds: list[float], centile: int) -> float:
    return 1000 * statistics.quantiles(seconds, n=100)[centile - 1]


def _prepare(place: Installation) -> dict[str, str]:
    """Make a campaign without media, with a query for each batch of two clients. Return the accounts."""
    moments = [
        {"vid_name": "film", "duration": MOMENTS, "ts": [n, n + 1], "desc": f"caption {n}", "type": "v"}
        for n in range(MOMENTS)
    ]
    number = CLIENTS * BATCHES // 2 + CLIENTS
    queries = [{"query_id": n, "query": f"query {n}"} for n in range(number)]
    (place.home / "moments.jsonl").write_text("".join(f"{json.dumps(moment)}\n" for moment in moments))
    (place.home / "queries.json").write_text(json.dumps(queries))
    place.manage("import_corpus", "bench", str(place.home / "moments.jsonl"), "--format", "tvr")
    place.manage(
        "create_campaign", "bench", "--corpus", "bench", "--queries", str(place.home / "queries.json")
    )
    place.manage("worker", "--until-idle")
    return place.accounts("bench", "annotator", *[f"client-{n}" for n in range(CLIENTS)])


def _signed_in(place: Installation, name: str, password: str) -> httpx.Client:
    http = httpx.Client(base_url=place.address, timeout=60, headers={"Accept": "application/json"})
    http.get("/sign-in/")
    form = {"username": name, "password": password, "csrfmiddlewaretoken": http.cookies["csrftoken"]}
    http.post("/sign-in/", data=form)
    http.headers["X-CSRFToken"] = http.cookies["csrftoken"]
    for _ in range(300):  # until the ranking is done
        if http.post("/judge/bench/claim").json()["assignment"]:
            return http
        time.sleep(0.2)
    raise AssertionError("there was no work")


def _work(http: httpx.Client, number: int) -> Times:
    chance, times = random.Random(number), Times()
    for _ in range(BATCHES):
        seconds, answer = _timed(http, "POST", "/judge/bench/claim")
        times.claims.append(seconds)
        handed = answer.json()["assignment"]
        if handed is None:
            break
        base = f"/judge/assignments/{handed['token']}"
        for position in range(1, len(handed["places"]) + 1):
            key = str(UUID(int=chance.getrandbits(128), version=4))
            body = {"grade": 2, "fence": handed["fence"], "key": key, "press": position, "seconds": 5}
            times.saves.append(_timed(http, "PUT", f"{base}/judgements/{position}", body)[0])
        _timed(http, "POST", f"{base}/submit", {"fence": handed["fence"]})
    return times


def _timed(
    http: httpx.Client, method: str, address: str, body: object = None
) -> tuple[float, httpx.Response]:
    began = time.perf_counter()
    answer = http.request(method, address, json=body)
    answer.raise_for_status()
    return time.perf_counter() - began, answer
