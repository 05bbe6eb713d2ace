"""Predicted grades: their file, how they compare with final grades, and that an untrue predictor costs only width."""

from __future__ import annotations

import gzip
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metrics import (
    Estimator,
    MeasureError,
    MeasureWarning,
    calibration,
    estimate,
    kappa,
    parse_measure,
    queries_alone,
    read_predicted,
)
from metrics.formats.arrays import Floats
from metrics.formats.predicted import as_predicted, predicted_csv
from tests.metrics.shared import run_cli

NDCG = parse_measure("nDCG_IoU(iou=0.5)@20")
ROWS = [("7", "a film", 1.25, 4.5, 2.5), ("7", "b", 0.0, 1.0, 0.0), ("=8", "ü", 1 / 3, 2 / 3, 4.0)]
HEADER = "query,video,start,end,grade\n"


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    lines = "".join(predicted_csv(ROWS))
    fields = HEADER.strip().split(",")
    objects = "".join(json.dumps(dict(zip(fields, row, strict=True))) + "\n" for row in ROWS)
    shuffled = "grade\tend\tstart\tvideo\tquery\n" + "".join("\t".join(map(str, row[::-1])) + "\n" for row in ROWS)
    files: dict[str, str | bytes] = {
        "a.csv": lines,
        "b.jsonl": objects,
        "c.csv.gz": gzip.compress(lines.encode()),
        "d.tsv": shuffled,
        "e.jsonl": objects.splitlines()[0],
    }
    for name, content in files.items():
        for table in (read_predicted(path := written(tmp_path / name, content)), as_predicted(path)):
            found = [(query, *row) for query, held in table.rows(table.scores) for row in held]
            assert found == (ROWS[:1] if name.startswith("e") else ROWS), name


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is empty"),
        ("query,video,start,end\n1,a,0,1\n", "line 1: column grade is missing"),
        (HEADER + "1,a,0,1,5\n", "line 2: grade is 5; it must be a number from 0 to 4"),
        (HEADER + "1,a,0,1,-0.5\n", "line 2: grade is -0.5"),
        (HEADER + "1,a,0,1,nan\n", "line 2: grade is 'nan'; it must be a finite number"),
        (HEADER + "1,a,0,1,all four\n", "it must be a finite number"),
        (HEADER + "1,a,0,1,4,5\n", "line 2: has 6 columns"),
        (HEADER + ",a,0,1,4\n", "line 2: query_id is ''"),
        (HEADER + "1,a,0,1,4\n1,a,0,1,3\n", "line 3: stands for the same candidate as a line before"),
        (HEADER, "has no candidates"),
        ('{"query": 1, "video": "a", "start": 0, "end": 1}\n', "line 1: field grade is missing"),
        ('{"query": 1, "video": "a", "start": 0, "end": 1, "grade": "4"}\n', "grade is '4'"),
        ('{"query": 1, "video": "a", "start": 0, "end": 1, "grade": true}\n', "grade is True"),
        ('{"query": [1], "video": "a", "start": 0, "end": 1, "grade": 1}\n', "query_id is [1]"),
        ('{"query": 1, "video": "a", "start": 0, "end": 1, "grade": 1}\nnonsense\n', "line 2"),
        (b"\x00\x01\x02", "is not text"),
        (b"\xff\xfe\xfa", "is not UTF-8"),
    ],
)
def test_a_wrong_file_is_named(content: str | bytes, says: str, tmp_path: Path) -> None:
    with pytest.raises(MeasureError) as fault:
        read_predicted(path := written(tmp_path / "guess.csv", content))
    assert str(fault.value).startswith(f"{path}: ")
    assert says in str(fault.value)


def test_calibration_is_that_of_all_queries_and_its_intervals_hold_them_together() -> None:
    rng = np.random.default_rng(1)
    query = np.repeat(np.arange(60), 20)
    grades = rng.integers(0, 5, query.size).astype(np.float64)
    off = np.repeat(rng.normal(0, 1, 60), 20)  # a query's errors go together
    predicted = (grades - 0.4 + off).clip(0, 4)
    found = calibration(predicted, grades, query)
    assert found.kappa.mean == pytest.approx(kappa(np.floor(predicted + 0.5), grades, "quadratic"))
    assert found.severity.mean == pytest.approx((predicted - grades).mean())
    assert (found.candidates, found.queries, found.table.sum()) == (1200, 60, 1200)
    for interval in (found.kappa, found.severity):
        assert interval.low < interval.mean < interval.high
    alone = calibration(predicted, grades, np.arange(query.size))  # as if each were a query of its own
    widths = [each.severity.high - each.severity.low for each in (found, alone)]
    assert widths[0] > 1.8 * widths[1]


def test_calibration_of_nothing_and_of_one_grade_is_unknown() -> None:
    nothing = calibration(np.array([]), np.array([]), np.array([], dtype=np.int64))
    assert (nothing.candidates, nothing.queries) == (0, 0)
    assert np.isnan([nothing.kappa.mean, nothing.severity.mean]).all()
    same = calibration(np.array([2.0, 2.0]), np.array([2.0, 2.0]), np.array([0, 1]))
    assert np.isnan(same.kappa.mean)
    assert same.severity.mean == 0


# Simulated collections --------------------------------------------------------------------------------------
RANKED, JUDGED, CANDIDATES = 120, 40, 8
PREDICTORS = ("caption rank", "honest", "noisy", "constant", "inverted")
# Of twenty samples: how many intervals hold the true score, and how wide they are.
HOLDS = dict(zip(PREDICTORS, (19, 20, 20, 19, 19), strict=True))
WIDTHS = dict(zip(PREDICTORS, (0.0786586616, 0.0735960431, 0.0843989529, 0.0882872107, 0.0567112379), strict=True))


class World:
    """Queries that differ in how many good candidates they have, and a system that sees grades a little."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        ease = rng.normal(0, 1.2, (RANKED, 1))
        falls = np.linspace(1.5, -1.0, CANDIDATES)
        self.grades = np.rint(2 + ease + falls + rng.normal(0, 1, (RANKED, CANDIDATES))).clip(0, 4)
        self.system = rng.permuted(np.tile(np.arange(CANDIDATES), (RANKED, 1)), axis=1) + 0.8 * self.grades
        noise = rng.normal(0, 1, self.grades.shape)
        self.predicted = {
            "honest": (self.grades + 0.4 * noise).clip(0, 4),
            "noisy": (self.grades + 3 * noise).clip(0, 4),
            "constant": np.full(self.grades.shape, 2.0),
            "inverted": 4 - self.grades,
        }
        self.rng = rng

    @staticmethod
    def dict_of(values: Floats, rows: Any) -> dict[str, list[tuple[str, float, float, float]]]:
        return {f"q{q}": [(f"v{c}", 0.0, 1.0, float(values[q, c])) for c in range(CANDIDATES)] for q in rows}

    def run(self) -> dict[str, list[tuple[str, float, float, float]]]:
        found = self.dict_of(self.system, range(RANKED))
        return {query: sorted(rows, key=lambda row: -row[3]) for query, rows in found.items()}

    def qrels(self, rows: Any) -> dict[str, list[tuple[str, float, float, int]]]:
        return {query: [(*m, int(g)) for *m, g in held] for query, held in self.dict_of(self.grades, rows).items()}  # type: ignore[misc]


def replays(trials: int) -> tuple[dict[str, int], dict[str, float]]:
    """How many 95 % intervals hold the true score, of samples from two collections, and how wide they are."""
    measure = parse_measure("nDCG_IoU(iou=0.5)@5")
    holds, widths = dict.fromkeys(PREDICTORS, 0), dict.fromkeys(PREDICTORS, 0.0)
    for seed in (1, 2):
        world = World(seed)
        pool = pool_of(world.dict_of(world.grades, range(RANKED)))
        tables = {name: as_predicted(world.dict_of(values, range(RANKED))) for name, values in world.predicted.items()}
        run, all_queries = world.run(), world.qrels(range(RANKED))
        true = Estimator(measure, all_queries, pool).estimate(run)[measure].value
        for _ in range(trials // 2):
            rows = np.sort(world.rng.permutation(RANKED)[:JUDGED])
            qrels = world.qrels(rows)
            for name in PREDICTORS:
                found = Estimator(measure, qrels, pool, predictor=tables.get(name)).estimate(run)[measure]
                holds[name] += found.low <= true <= found.high
                widths[name] += (found.high - found.low) / trials
    return holds, widths


def test_twenty_samples_give_what_they_gave() -> None:
    """They are among those of the next test."""
    holds, widths = replays(20)
    assert holds == HOLDS
    assert widths == pytest.approx(WIDTHS, rel=1e-6)


@pytest.mark.long
def test_an_untrue_predictor_costs_only_width() -> None:
    """Of 200 samples at least as many 95 % intervals hold the true score as chance allows: a binomial of 200 and .95 is
    180 or more with probability .998. Where few queries deviate, more hold.
    """
    holds, mean = replays(200)
    assert min(holds.values()) >= 180, holds
    assert mean["honest"] < 0.8 * mean["caption rank"]
    assert mean["inverted"] < 0.9 * mean["caption rank"]  # it tells as much, the other way round
    assert mean["honest"] < mean["noisy"] < 1.1 * mean["caption rank"]
    assert mean["constant"] == pytest.approx(mean["caption rank"], rel=0.15)


def test_what_is_left_says_how_many_queries_alone_tell_as_much() -> None:
    world = World(3)
    pool = pool_of(world.dict_of(world.grades, range(RANKED)))
    qrels, run = world.qrels(range(JUDGED)), world.run()
    measure = parse_measure("nDCG_IoU(iou=0.5)@5")
    left = {}
    for name in ("honest", "constant"):
        estimator = Estimator(
            measure, qrels, pool, predictor=world.dict_of(world.predicted[name], range(RANKED)), future=True
        )
        (found,) = estimator.estimate(run).values()
        left[name] = estimator.shares_left(run)[measure]
        alone = queries_alone(left[name], JUDGED, RANKED)
        assert found.se == pytest.approx(found.plain_se * (JUDGED / alone) ** 0.5, rel=0.15), name
    assert left["honest"] < 0.4
    assert left["constant"] > 0.9
    with pytest.raises(MeasureError, match="share left is 0"):
        queries_alone(0, 100, 1000)


def test_what_is_predicted_may_not_depend_on_what_is_judged() -> None:
    world = World(4)
    pool = pool_of(world.dict_of(world.grades, range(RANKED)))
    qrels, run = world.qrels(range(JUDGED)), world.run()
    honest = world.predicted["honest"]
    with pytest.raises(MeasureError, match="candidates of judged queries only"):
        estimate("P@5", qrels, run, pool, predictor=world.dict_of(honest, range(JUDGED)))
    with pytest.warns(MeasureWarning, match="100% of the candidates of judged queries, and 50% of others"):
        estimate("P@5", qrels, run, pool, predictor=world.dict_of(honest, range(JUDGED + (RANKED - JUDGED) // 2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimate("P@5", qrels, run, pool, predictor=world.dict_of(honest, range(RANKED)))


def test_the_command_takes_the_same_file(tmp_path: Path) -> None:
    world = World(5)
    rows = world.dict_of(world.predicted["honest"], range(RANKED))
    guess = written(
        tmp_path / "guess.csv", "".join(predicted_csv((q, *row) for q, held in rows.items() for row in held))
    )
    qrels = [
        {"query_id": q, "video_name": v, "timestamp": [s, e], "relevance": g}
        for q, held in world.qrels(range(JUDGED)).items()
        for v, s, e, g in held
    ]
    written(tmp_path / "qrels.jsonl", "".join(json.dumps(each) + "\n" for each in qrels))
    pool = [
        {"query_id": q, "candidates": [f"{v}@{int(s * 1000)}-{int(e * 1000)}" for v, s, e, _ in held]}
        for q, held in rows.items()
    ]
    written(tmp_path / "pool.jsonl", "".join(json.dumps(each) + "\n" for each in pool))
    fields = ("video_name", "timestamp", "model_scores")
    run = {
        q: [dict(zip(fields, (v, [s, e], x), strict=True)) for v, s, e, x in held] for q, held in world.run().items()
    }
    written(tmp_path / "run.json", json.dumps(run))
    files = [f"--{name}={tmp_path / file}" for name, file in (("qrels", "qrels.jsonl"), ("pool", "pool.jsonl"))]
    words = ["estimate", *files, "--run", str(tmp_path / "run.json"), "--measures", "P@5", "--format", "json"]
    found = json.loads(run_cli(*words, "--predictor", str(guess)).stdout)["estimates"][0]
    same = estimate("P@5", world.qrels(range(JUDGED)), world.run(), pool_of(rows), predictor=str(guess))
    assert [found["value"], found["se"]] == pytest.approx([same.value, same.se])


def pool_of(rows: dict[str, list[tuple[str, float, float, float]]]) -> dict[str, list[tuple[str, float, float]]]:
    return {query: [row[:3] for row in held] for query, held in rows.items()}
