"""How fast files are read: beside bare `json`, and beside the wrappers of trec_eval, in one run.

Every figure is the median of a few rounds in which both sides take
turns; the large TREC files are read in a process of their own, whose highest memory is its own.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.measuring import alone, in_turn
from metrics import calc, default_measures, read_qrels, read_run
from metrics.formats import json_files

QUERIES, PREDICTIONS, MOMENTS, VIDEOS = 2781, 100, 40, 2000
LINES, ROUNDS = 1_000_000, 3
BOTH = """
import resource, sys, time
from metrics import read_qrels, read_run
started = time.perf_counter()
qrels, run = read_qrels(sys.argv[1]), read_run(sys.argv[2])
seconds = time.perf_counter() - started
assert qrels.grades.size == run.scores.size == int(sys.argv[3])
print(seconds, time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def figures() -> Iterator[str]:
    """The lines of `make bench`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rng = np.random.default_rng(5)
        files = write_json(folder, rng)
        yield from of_json(*files)
        yield from alone("metrics_reading.without_fast", *files)
        yield trec(folder, rng)


def without_fast(*files: str) -> list[str]:
    """The same figures as if orjson were not installed."""
    json_files.orjson = None
    return [*of_json(*map(Path, files))]


def of_json(qrels: Path, ranking: Path, lists: Path, index: Path) -> Iterator[str]:
    """How fast JSON is read, by whatever parser this process finds."""
    yield parser()
    yield beside_json("run as TVR-Ranking's object", ranking, lambda: read_run(ranking))
    yield beside_json("run as lists by video index", lists, lambda: read_run(lists, videos=index))
    yield beside_json_lines("qrels as JSON Lines", qrels, lambda: read_qrels(qrels))
    yield scoring(qrels, ranking)


def parser() -> str:
    fast = "orjson" if json_files.orjson else "json (without the extra `fast`)"
    return f"{QUERIES:,} x {PREDICTIONS} predictions, {QUERIES * MOMENTS:,} judged moments; JSON read by {fast}"


def beside_json(what: str, path: Path, read: Callable[[], object]) -> str:
    return ratio(what, "bare json", lambda: json.loads(path.read_text()), read)


def beside_json_lines(what: str, path: Path, read: Callable[[], object]) -> str:
    return ratio(what, "bare json", lambda: json_lines(path), read)


def json_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.open()]


def scoring(qrels: Path, run: Path) -> str:
    """Reading both files and nine measures, beside bare json of both files."""

    def bare() -> object:
        return json_lines(qrels), json.loads(run.read_text())

    def whole() -> object:
        return calc(default_measures(), read_qrels(qrels), read_run(run)).aggregate()

    return ratio("reading both, and nine cuts", "bare json of both", bare, whole)


def ratio(what: str, beside: str, bare: Callable[[], object], ours: Callable[[], object]) -> str:
    """Median ratio of rounds in which both take turns."""
    seconds = in_turn([lambda _: bare(), lambda _: ours()], range(ROUNDS))
    times = [median(column) for column in seconds]
    share = median(our / their for their, our in zip(*seconds, strict=True))
    return f"{what}: {share:.2f} x {beside} ({times[1]:.2f} s beside {times[0]:.2f} s)"


def trec(folder: Path, rng: np.random.Generator) -> str:
    """Two TREC files of a million lines, and the memory that it takes."""
    qrels, run = folder / "qrels.trec", folder / "run.trec"
    write_trec(qrels, rng, graded=True)
    write_trec(run, rng, graded=False)
    command = [sys.executable, "-c", BOTH, str(qrels), str(run), str(LINES)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, busy, memory = map(float, done.stdout.split())
    return f"two TREC files of {LINES:,} lines: {seconds:.1f} s ({busy:.1f} s of processor), {memory:.0f} MB"


def video(number: int) -> str:
    return f"series_s{number % 10:02d}e{number % 24:02d}_seg{number // 24:02d}_clip_{number:04d}"


def write_json(folder: Path, rng: np.random.Generator) -> tuple[Path, Path, Path, Path]:
    """Qrels, and a run in two formats with its video index."""
    qrels, ranking, lists, index = (folder / name for name in ("q.jsonl", "r.json", "l.json", "i.json"))
    found = {str(q): spans(rng, PREDICTIONS) for q in range(QUERIES)}
    objects = {
        q: [{"video_name": video(v), "timestamp": [s, e], "model_scores": x} for v, s, e, x in rows]
        for q, rows in found.items()
    }
    ranking.write_text(json.dumps(objects))
    lists.write_text(json.dumps([{"query_id": q, "predictions": rows} for q, rows in found.items()]))
    index.write_text(json.dumps({video(v): [100.0, v] for v in range(VIDEOS)}))
    with qrels.open("w") as out:
        for q in range(QUERIES):
            for v, s, e, x in spans(rng, MOMENTS):
                pair = {"query_id": q, "query": f"Somebody looks for {q}.", "video_name": video(v)}
                more = {"timestamp": [s, e], "duration": 100.0, "similarity": 0.5, "relevance": int(5 * x)}
                out.write(json.dumps(pair | more) + "\n")
    return qrels, ranking, lists, index


def spans(rng: np.random.Generator, count: int) -> list[tuple[int, float, float, float]]:
    """Video, start, end and falling scores below 1."""
    where = rng.choice(VIDEOS, count, replace=False)
    start, length = rng.uniform(0, 80, count), rng.uniform(2, 20, count)
    scores = -np.sort(-rng.random(count))
    return list(zip(where.tolist(), start.tolist(), (start + length).tolist(), scores.tolist(), strict=True))


def write_trec(path: Path, rng: np.random.Generator, graded: bool) -> None:
    each = 400
    with path.open("w") as out:
        for q in range(LINES // each):
            for rank, (v, s, e, x) in enumerate(spans(rng, each), 1):
                moment = f"{video(v)}@{round(1000 * s)}-{round(1000 * e)}"
                end = f"0 {moment} {int(5 * x)}" if graded else f"Q0 {moment} {rank} {x:.6f} system"
                out.write(f"{q} {end}\n")
