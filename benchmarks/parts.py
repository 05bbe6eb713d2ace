"""Encoding 20,000 captions by one Celery worker on one core, and by two on two; and what handing out a part costs.

The workers have no other work; each loads the model first, which counts. Beside the time stands the processor time of
the busiest worker, which is the time that a core takes on which nothing else runs.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import uuid4

from benchmarks.measuring import SHARED, children, need, processor_seconds
from benchmarks.ranking import activitynet
from tests import made_once
from tests.installation import ROOT, Installation, sql
from tests.redis_servers import own_redis
from tests.waiting import wait_until

CAPTIONS = int(os.environ.get("PARTS_CAPTIONS", "20000"))
PARTS = 300
STORE = """
import json
from corpus.models import Corpus, Moment, Video
corpus = Corpus.objects.create(name="parts", format="tvr")
film = Video.objects.create(corpus=corpus, name="film", duration=1e6)
texts = json.load(open("{file}"))
Moment.objects.bulk_create(
    [Moment(video=film, start=n, end=n + 5, description=t, caption=t) for n, t in enumerate(texts)], batch_size=2000
)
"""
ASK = """
from corpus.models import Corpus
from retrieval.search.index import index_captions
index_captions.ask(Corpus.objects.get())
"""
HAND_OUT = """
import time
from jobs.parts import share
from jobs.registry import Kind, KINDS
KINDS["nothing"] = kind = Kind("nothing", "Nothing", lambda report, first: report(1, 1), is_part=True)
began = time.perf_counter()
share(kind, None, [{{"first": n}} for n in range({parts})], lambda *progress: None, "doing nothing")
print((time.perf_counter() - began) / {parts})
"""
TOOK = "SELECT state, started, ended FROM jobs_job WHERE kind = 'index-captions'"


def figures() -> Iterator[str]:
    cores = sorted(os.sched_getaffinity(0))[:2]
    is_there = len(cores) == 2 and SHARED.is_dir() and "TEST_POSTGRES_URL" in os.environ
    need(is_there, "two cores, PostgreSQL and the shared data (REELJUDGE_SHARED)")
    with _place() as place:
        texts = sorted({caption for *_, caption in activitynet()})[:: 71957 // CAPTIONS][:CAPTIONS]
        (place.home / "texts").write_text(json.dumps(texts))
        place.shell(STORE.format(file=place.home / "texts"))
        one, two = (_seconds(place, some) for some in (cores[:1], cores))
        of = f"{len(texts):,} captions encoded and indexed by one worker on one core, and by two on two"
        yield f"{of}: {one[0]:.1f} s, {two[0]:.1f} s; ratio {two[0] / one[0]:.2f} (promised: at most 0.6)"
        yield f"of the processor, by the busiest: {one[1]:.1f} s, {two[1]:.1f} s; ratio {two[1] / one[1]:.2f}"
        each = float(place.shell(HAND_OUT.format(parts=PARTS)))
        yield f"a part asked for, taken, done and noted: {1000 * each:.1f} ms, of {PARTS}, PostgreSQL"


@contextmanager
def _place() -> Iterator[Installation]:
    """An installation of its own, of which nothing runs."""
    server, name = os.environ["TEST_POSTGRES_URL"], f"reeljudge_{uuid4().hex[:12]}"
    with tempfile.TemporaryDirectory() as home, own_redis() as redis:
        place = Installation(Path(home) / "home", made_once.migrated_postgres(server, name), redis.url)
        place.create()
        try:
            yield place
        finally:
            place.stop()
            made_once.drop(server, name)


def _seconds(place: Installation, cores: list[int]) -> tuple[float, float]:
    """Return how long workers, one on each core, take from the start of the job to its end; and the busiest of them."""
    sql(place, "DELETE FROM retrieval_vector", "DELETE FROM jobs_job", "DELETE FROM jobs_sign")
    with ExitStack() as workers:
        pids = [workers.enter_context(_worker(place, core)) for core in cores]
        wait_until(lambda: sql(place, "SELECT count(*) FROM jobs_sign")[0][0] == len(cores), lambda: "workers start")
        pids = [child for pid in pids for child in children(pid)]  # in which Celery runs tasks
        before = [processor_seconds(pid) for pid in pids]
        place.shell(ASK)
        while (row := sql(place, TOOK)[0])[0] in ("waiting", "running"):
            signal.sigtimedwait([], 0.5)
        busiest = max(processor_seconds(pid) - each for pid, each in zip(pids, before, strict=True))
    assert row[0] == "done", row
    return (row[2] - row[1]).total_seconds(), busiest


@contextmanager
def _worker(place: Installation, core: int) -> Iterator[int]:
    pinned = [shutil.which("taskset") or "taskset", "--cpu-list", str(core), sys.executable]
    env = place.env | {"OMP_NUM_THREADS": "1"}
    celery = ["-m", "celery", "-A", "config", "worker", "-c", "1", "-Q", "long", "-n", f"{core}@%h", "-l", "warning"]
    worker = subprocess.Popen([*pinned, *celery], cwd=ROOT, env=env)
    try:
        yield worker.pid
    finally:
        worker.terminate()
        worker.wait()
