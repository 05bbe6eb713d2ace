"""Claims and saves in a large database beside the same in a small one, on PostgreSQL.

`GROWTH_JUDGEMENTS` asks for less than 10,000,000 judgements.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from itertools import chain

from benchmarks.databases import fresh, has_postgres, inside
from benchmarks.hot_clients import Client, run_httpx
from benchmarks.judging import Person
from benchmarks.measuring import need
from tests.installation import Installation, sql

QUERIES = 1900  # of the generated campaign, which then has 200,000 judgements
JUDGEMENTS = int(os.environ.get("GROWTH_JUDGEMENTS", "10000000"))
CLIENTS, WARMING, BATCHES = 8, 3, 25
NAME = "bench"
Times = dict[str, list[float]]  # milliseconds of the answers to each kind of request

UNUSED = """
    SELECT indexrelname FROM pg_stat_user_indexes JOIN pg_index USING (indexrelid)
    WHERE NOT indisunique AND idx_scan = 0 AND pg_relation_size(indexrelid) > 10000000 ORDER BY 1
"""


def figures() -> Iterator[str]:
    need(has_postgres(), "PostgreSQL")
    with fresh("postgres") as place:
        yield from _measured(place)


def _measured(place: Installation) -> Iterator[str]:
    yield place.manage("generate_campaign", NAME, "--queries", str(QUERIES)).strip()
    # Who gives every clip the same grade would soon be paused by the checks.
    sql(place, "UPDATE campaigns_campaign SET check_warn = 1, check_pause = 1")
    people = [
        Person(number, session) for number, session in enumerate(inside(place, "inside.sessions", NAME)[:CLIENTS])
    ]
    small = _work(place, people)
    yield from _said(place, small)
    began = time.perf_counter()
    inside(place, "growing.grow_here", JUDGEMENTS)
    yield f"copied in {time.perf_counter() - began:.0f} s, {_size(place)}"
    inside(place, "inside.count", NAME)
    sql(place, "SELECT pg_stat_reset()")
    large = _work(place, people)
    yield from _said(place, large)
    claims, saves = (_p99(large[kind]) / _p99(small[kind]) for kind in ("claims", "saves"))
    yield f"p99 beside the small database: claims {claims:.2f} x, saves {saves:.2f} x"
    yield from _statements(place)


def _said(place: Installation, times: Times) -> Iterator[str]:
    (judgements,) = sql(place, "SELECT count(*) FROM judging_judgement")[0]
    for kind in ("claims", "saves"):
        p50, p99 = statistics.median(times[kind]), _p99(times[kind])
        yield f"{judgements:,} judgements: {len(times[kind]):,} {kind}, p50 {p50:.0f} ms, p99 {p99:.0f} ms"


def _statements(place: Installation) -> Iterator[str]:
    plans = inside(place, "inside.whole_tables_read", NAME)
    yield f"{plans['statements']} statements explained; large tables: {', '.join(plans['large'])}"
    for what, table, statement in plans["read"]:
        yield f"{what} reads all of {table}: {statement}"
    if not plans["read"]:
        yield "none reads all of a large table"
    unused = [name for (name,) in sql(place, UNUSED)]
    yield f"indexes that nothing used: {', '.join(unused) or 'none'}"


def _size(place: Installation) -> str:
    return str(sql(place, "SELECT pg_size_pretty(pg_database_size(current_database()))")[0][0])


def _work(place: Installation, people: list[Person]) -> Times:
    # The first batches are not measured: they read what no memory holds yet.
    run_httpx(place.port, [_judged(person, [], WARMING) for person in people])
    kinds: list[list[str]] = [[] for _ in people]
    seconds = run_httpx(place.port, [_judged(*each, BATCHES) for each in zip(people, kinds, strict=True)])
    times: Times = {"claims": [], "saves": [], "submissions": []}
    for kind, each in zip(chain(*kinds), seconds, strict=True):
        times[kind].append(1000 * each)
    return times


def _judged(person: Person, kinds: list[str], batches: int) -> Client:
    """Judge so many batches, and note what each request is for."""
    for _ in range(batches):
        kinds.append("claims")
        yield from person.claim()
        kinds += ["saves"] * len(person.handed["places"]) + ["submissions"]
        yield from person.save(len(person.handed["places"]))
        yield from person.submit()


def _p99(times: list[float]) -> float:
    return statistics.quantiles(times, n=100)[98]
