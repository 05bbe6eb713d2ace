"""Claims and saves in a large database beside the same in a small one, on PostgreSQL.

`GROWTH_JUDGEMENTS` asks for less than 10,000,000 judgements.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import httpx

from tests.installation import Installation, installation, sql

QUERIES = 1900  # of the generated campaign, which then has 200,000 judgements
JUDGEMENTS = int(os.environ.get("GROWTH_JUDGEMENTS", "10000000"))
CLIENTS, WARMING, BATCHES = 8, 3, 25
NAME = "bench"

UNUSED = """
    SELECT indexrelname FROM pg_stat_user_indexes JOIN pg_index USING (indexrelid)
    WHERE NOT indisunique AND idx_scan = 0 AND pg_relation_size(indexrelid) > 10000000 ORDER BY 1
"""


@dataclass
class Times:
    """The milliseconds of each answer."""

    claims: list[float] = field(default_factory=list)
    saves: list[float] = field(default_factory=list)

    def p99(self) -> tuple[float, float]:
        return _p99(self.claims), _p99(self.saves)


def figures() -> Iterator[str]:
    if not {"TEST_POSTGRES_URL", "TEST_REDIS_URL"} <= os.environ.keys():
        yield "PostgreSQL: skipped, it is not here"
        return
    with tempfile.TemporaryDirectory() as home, installation(Path(home), "postgres") as place:
        yield from _measured(place)


def _measured(place: Installation) -> Iterator[str]:
    yield place.manage("generate_campaign", NAME, "--queries", str(QUERIES)).strip()
    # Who gives every clip the same grade would soon be paused by the checks.
    sql(place, "UPDATE campaigns_campaign SET check_warn = 1, check_pause = 1")
    cookies = json.loads(place.run("-m", "benchmarks.inside", "sessions", NAME))[:CLIENTS]
    small = _work(place, cookies)
    yield from _said(place, small)
    began = time.perf_counter()
    place.run("-m", "benchmarks.growing", str(JUDGEMENTS))
    yield f"copied in {time.perf_counter() - began:.0f} s, {_size(place)}"
    place.run("-m", "benchmarks.inside", "count", NAME)
    sql(place, "SELECT pg_stat_reset()")
    large = _work(place, cookies)
    yield from _said(place, large)
    claims, saves = (after / before for after, before in zip(large.p99(), small.p99(), strict=True))
    yield f"p99 beside the small database: claims {claims:.2f} x, saves {saves:.2f} x"
    yield from _statements(place)


def _said(place: Installation, times: Times) -> Iterator[str]:
    (judgements,) = sql(place, "SELECT count(*) FROM judging_judgement")[0]
    for what, all_ in (("claims", times.claims), ("saves", times.saves)):
        p50, p99 = statistics.median(all_), _p99(all_)
        yield f"{judgements:,} judgements: {len(all_):,} {what}, p50 {p50:.0f} ms, p99 {p99:.0f} ms"


def _statements(place: Installation) -> Iterator[str]:
    plans = json.loads(place.run("-m", "benchmarks.plans", NAME))
    yield f"{plans['statements']} statements explained; large tables: {', '.join(plans['large'])}"
    for what, table, statement in plans["read"]:
        yield f"{what} reads all of {table}: {statement}"
    if not plans["read"]:
        yield "none reads all of a large table"
    unused = [name for (name,) in sql(place, UNUSED)]
    yield f"indexes that nothing used: {', '.join(unused) or 'none'}"


def _size(place: Installation) -> str:
    return str(sql(place, "SELECT pg_size_pretty(pg_database_size(current_database()))")[0][0])


def _work(place: Installation, cookies: list[str]) -> Times:
    with ThreadPoolExecutor(CLIENTS) as threads:
        # The first batches are not measured: they read what no memory holds yet.
        list(threads.map(lambda cookie: _judge(place.address, cookie, WARMING), cookies))
        times = list(threads.map(lambda cookie: _judge(place.address, cookie, BATCHES), cookies))
    claims = [each for one in times for each in one.claims]
    return Times(claims, [each for one in times for each in one.saves])


def _judge(address: str, session: str, batches: int) -> Times:
    times, token = Times(), uuid4().hex
    cookies, headers = (
        {"sessionid": session, "csrftoken": token},
        {"Accept": "application/json", "X-CSRFToken": token},
    )
    with httpx.Client(base_url=address, timeout=60, headers=headers, cookies=cookies) as http:
        for _ in range(batches):
            handed = _timed(http, times.claims, "POST", f"/judge/{NAME}/claim").json()["assignment"]
            if handed is None:
                break
            base, fence = f"/judge/assignments/{handed['token']}", {"fence": handed["fence"]}
            for place in range(1, len(handed["places"]) + 1):
                body = fence | {"grade": 2, "key": str(uuid4()), "press": place, "seconds": 5}
                _timed(http, times.saves, "PUT", f"{base}/judgements/{place}", body)
            _timed(http, [], "POST", f"{base}/submit", fence)
    return times


def _timed(http: httpx.Client, times: list[float], method: str, address: str, body: object = None) -> httpx.Response:
    began = time.perf_counter()
    answer = http.request(method, address, json=body)
    times.append(1000 * (time.perf_counter() - began))
    answer.raise_for_status()
    return answer


def _p99(times: list[float]) -> float:
    return statistics.quantiles(times, n=100)[98]
