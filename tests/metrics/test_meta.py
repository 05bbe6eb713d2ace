"""The measures measured: SciPy as oracle, seeds, both models, figures."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from metrics import MeasureError, calc, qrels_from_dict, run_from_dict, scores_of
from metrics.analysis.meta import (
    _masks,
    agreement,
    all_tied,
    paper_measures,
    score_block,
    select,
    signs,
    stability,
    tau_b,
)
from metrics.analysis.noise import noise_error, noisy
from metrics.formats.qrels import read_qrels
from metrics.formats.tables import Qrels
from metrics.measures.matching import temporal_iou
from tests.metrics.shared import SHARED, needs_shared, run_cli, write

rankings = st.lists(st.integers(0, 3), min_size=4, max_size=4)


@given(rankings, rankings)
def test_tau_as_scipy(one: list[int], other: list[int]) -> None:
    x, y = np.array(one, dtype=float), np.array(other, dtype=float)
    oracle = kendalltau(x, y).statistic
    ours = float(tau_b(signs(x), signs(y)))
    assert ours == pytest.approx(oracle, abs=1e-12, nan_ok=True)


def block(systems: int = 4, queries: int = 60, measures: int = 2) -> Any:
    rng = np.random.default_rng(5)
    return rng.uniform(0, 1, (systems, queries, measures)) + np.arange(systems)[:, None, None] * 0.1


def test_agreement_is_symmetric_and_one_with_itself() -> None:
    tau = agreement(block())
    assert np.diag(tau).tolist() == [1.0, 1.0]
    assert np.array_equal(tau, tau.T)


def test_stability_of_the_whole_set_is_one_and_grows() -> None:
    found = stability(block(), [5, 30, 60], trials=400)
    assert found.mean[2].tolist() == [1.0, 1.0]
    assert found.variance[2].tolist() == [0.0, 0.0]
    assert (found.mean[0] < found.mean[1]).all()
    assert (found.variance[0] > found.variance[1]).all()
    assert found.undefined.tolist() == [[0, 0]] * 3


def test_stability_full_draws_all_sizes_from_one_stream_a_trial() -> None:
    """The released procedure, one trial after the other: its subsets of the second size follow the first's."""
    scores, sizes = block(), [20, 7, 40]
    slow = np.empty((len(sizes), 50, 2))
    for trial in range(50):
        stream = np.random.RandomState(trial)
        for i, size in enumerate(sizes):
            part = scores[:, stream.choice(60, size, replace=False)].mean(axis=1)
            whole = scores.mean(axis=1)
            slow[i, trial] = [kendalltau(part[:, m], whole[:, m]).statistic for m in range(2)]
    found = stability(scores, sizes, trials=50, model="full")
    assert found.mean == pytest.approx(slow.mean(axis=1))
    assert found.variance == pytest.approx(slow.var(axis=1))


def test_stability_counts_trials_that_tie_all_systems() -> None:
    scores = np.zeros((3, 10, 1))
    scores[0, 0] = 1.0
    found = stability(scores, [1], trials=300)
    assert 200 < found.undefined[0, 0] <= 300
    assert np.isnan(found.mean).all() or found.mean[0, 0] == 1.0


def test_subsets_have_the_size_and_reach_every_query() -> None:
    masks = np.concatenate(list(_masks(7, 3, 700, np.random.SeedSequence(1))))
    assert masks.shape == (700, 7)
    assert (masks.sum(axis=1) == 3).all()
    assert np.abs(masks.mean(axis=0) - 3 / 7).max() < 0.06


def test_seeds_decide() -> None:
    one, same, other = (stability(block(), [10], trials=100, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.mean, same.mean)
    assert not np.array_equal(one.mean, other.mean)


def test_all_tied_and_select_by_hand() -> None:
    assert all_tied(np.array([[[1.0], [0.2]], [[1.0], [0.3]], [[1.0], [0.2]]])).tolist() == [0.5]
    validation = np.array([[0.9, 0.1, 0.5], [0.1, 0.9, 0.9]])
    found = select(validation, np.array([[0.2, 0.5], [0.8, 0.5]]))
    assert found.chosen.tolist() == [0, 1, 1]
    assert found.z[:, 0] == pytest.approx([-np.sqrt(2), 1 / np.sqrt(2), 1 / np.sqrt(2)])
    assert found.z[:, 1].tolist() == [0.0, 0.0, 0.0]


def world() -> tuple[Any, list[Any]]:
    rng = np.random.default_rng(0)
    starts = rng.uniform(30, 50, 30).tolist()  # so that no prediction begins before 0
    qrels = qrels_from_dict({str(q): [(f"v{q}", s, s + 6, 1)] for q, s in enumerate(starts)})
    runs = [
        run_from_dict(
            {
                str(q): [(f"v{q}", x, x + 6, -float(n)) for n, x in enumerate(rng.normal(s, 1 + r, 5).tolist())]
                for q, s in enumerate(starts)
            },
            f"run{r}",
        )
        for r in range(3)
    ]
    return qrels, runs


def test_noise_as_scored_one_by_one() -> None:
    qrels, runs = world()
    measures = paper_measures()
    found = noise_error(measures, qrels, runs, levels=[2.0], datasets=4, seed=7)
    truth = np.array([score.table().mean(axis=0) for score in scores_of(measures, qrels, runs).values()])
    errors = []
    for data_set in range(4):
        other = noisy(qrels, 2.0, "paper", np.random.default_rng([7, 0, data_set]))
        errors.append([calc(measures, other, run).table().mean(axis=0) for run in runs] - truth)
    assert found.rmse[0] == pytest.approx(np.sqrt(np.square(errors).mean(axis=0)).mean(axis=0))
    assert found.mae[0] == pytest.approx(np.abs(errors).mean(axis=0).mean(axis=0))
    assert (found.mae <= found.rmse + 1e-12).all()


def test_noise_models() -> None:
    qrels = qrels_from_dict({str(q): [("v", 10.0, 18.0, 1)] for q in range(4000)})
    paper = noisy(qrels, 1.0, "paper", np.random.default_rng(0))
    released = noisy(qrels, 0.0, "released", np.random.default_rng(0))
    assert np.median(paper.start) == pytest.approx(10, abs=0.05)
    assert np.median(paper.end - paper.start) < 8  # an exponential's median is below its mean
    assert np.median(released.end - released.start) == pytest.approx(8 + np.log(2), abs=0.05)
    assert (paper.end > paper.start).all()


def test_noise_by_hand() -> None:
    """Both models beside a loop over moments and raters that draws the same numbers."""
    rng = np.random.default_rng(11)
    starts = rng.uniform(5, 50, 40)
    lengths = rng.uniform(1, 20, 40)
    spans = {str(q): [("v", starts[q], starts[q] + lengths[q], 1)] for q in range(40)}
    for model in ("paper", "released"):
        draws = np.random.default_rng(3)
        first = draws.normal(starts, 2.0, (5, 40))
        second = draws.exponential(1.0, (5, 40))
        got = noisy(qrels_from_dict(spans), 2.0, model, np.random.default_rng(3))
        for q in range(40):
            start = sorted(first[:, q])[2]
            ends = sorted(first[r, q] + second[r, q] * lengths[q] for r in range(5))
            longest = sorted(lengths[q] + second[r, q] for r in range(5))
            end = ends[2] if model == "paper" else start + longest[2]
            assert (got.start[q], got.end[q]) == pytest.approx((start, end))


CHARADES = SHARED / "data" / "charades_sta" / "charades_sta_test.txt"
ACTIVITYNET = SHARED / "data" / "activitynet_captions" / "val_2.json"


def activitynet() -> Qrels:
    """ActivityNet Captions, each sentence as a query."""
    moments = [
        (video, *span) for video, entry in json.loads(ACTIVITYNET.read_text()).items() for span in entry["timestamps"]
    ]
    return qrels_from_dict({str(n): [(*moment, 1)] for n, moment in enumerate(moments)})


@needs_shared
@pytest.mark.parametrize(
    ("load", "expected"),
    [(lambda: read_qrels(CHARADES), [0.845, 0.777, 0.709, 0.648]), (activitynet, [0.908, 0.869, 0.834, 0.802])],
    ids=["Charades-STA test", "ActivityNet val_2"],
)
def test_released_noise_leaves_the_published_iou(load: Callable[[], Qrels], expected: list[float]) -> None:
    """Mean IoU of the noisy moments with the original ones, for β = 1, 2, 3 and 4."""
    qrels = load()
    found = []
    for level in (1.0, 2.0, 3.0, 4.0):
        sets = [noisy(qrels, level, "released", np.random.default_rng([7, n])) for n in range(5)]
        ious = [temporal_iou(s.start, s.end, qrels.start, qrels.end).mean() for s in sets]
        found.append(np.mean(ious))
    assert found == pytest.approx(expected, abs=0.005)


def test_what_cannot_be_measured() -> None:
    qrels, runs = world()
    with pytest.raises(MeasureError, match="at least two runs"):
        score_block(scores_of(["AxIoU@5"], qrels, runs[:1]))
    with pytest.raises(MeasureError, match="not a mean"):
        score_block(scores_of(["MedianRank(iou=0.5)"], qrels, runs))
    with pytest.raises(MeasureError, match="subset size 61"):
        stability(block(), [61])


def files(folder: Path) -> list[str]:
    qrels, runs = world()
    lines = [
        f"{q} 0 v{q}@{round(s * 1000)}-{round(e * 1000)} 1"
        for q, s, e in zip(qrels.queries, qrels.start, qrels.end, strict=True)
    ]
    paths = [str(write(folder / "qrels", "\n".join(lines)))]
    for run in runs:
        found: dict[str, Any] = {query: [] for query in run.queries}
        for row, query in enumerate(run.query_of_row().tolist()):
            span = [run.start[row], run.end[row]]
            found[run.queries[query]].append({"video_name": run.videos[row], "timestamp": span, "model_scores": 0.5})
        paths.append(str(write(folder / f"{run.name}.json", found)))
    return paths


@pytest.mark.parametrize("kind", ["agreement", "stability", "noise", "ties", "select"])
def test_command_line_and_figures(kind: str, tmp_path: Path) -> None:
    qrels, *runs = files(tmp_path)
    few = {"stability": ["--trials", "50"], "noise": ["--datasets", "2"]}.get(kind, [])
    base = [kind, "--qrels", qrels, "--runs", *runs, *few]
    found = json.loads(run_cli(*base, "--format", "json").stdout)
    assert found["kind"] == kind
    assert found["rows"]
    assert run_cli(*base, "--format", "csv", seed="3").stdout == run_cli(*base, "--format", "csv", seed="8").stdout
    assert run_cli(*base).stdout.startswith(f"{kind}, convention paper\n")
    pytest.importorskip("altair")
    magic = {".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF"}
    for suffix, head in magic.items() if kind == "stability" else [(".svg", b"<svg")]:
        path = tmp_path / f"figure{suffix}"
        done = run_cli(*base, "--figure", path)
        assert (done.returncode, done.stderr) == (0, "")
        assert path.read_bytes().startswith(head)
    assert run_cli(*base, "--figure", tmp_path / "figure.gif").returncode == 2


def test_select_on_a_test_split(tmp_path: Path) -> None:
    qrels, *runs = files(tmp_path)
    base = ["select", "--qrels", qrels, "--runs", *runs, "--format", "json"]
    found = json.loads(run_cli(*base, "--test-qrels", qrels, "--test-runs", *runs).stdout)
    assert len(found["rows"]) == 144
    assert "go together" in run_cli(*base, "--test-qrels", qrels).stderr
    assert "same systems" in run_cli(*base, "--test-qrels", qrels, "--test-runs", runs[0]).stderr
