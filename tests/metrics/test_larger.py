"""Larger random inputs under the conventions of every published evaluator, beside slow rewrites."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metrics import MeasureError, calc, parse_measure, qrels_from_dict, read_run, run_from_dict
from metrics.formats.qrels import read_qrels
from metrics.measures.windows import average_precision
from tests.metrics import oracle
from tests.metrics.oracle import Moment, Span
from tests.metrics.shared import write

QUERIES, VIDEOS = 120, 6
single = np.float32


def spans(rng: np.random.Generator, count: int, step: float) -> list[list[float]]:
    """Spans on a grid, so that IoUs often meet a threshold exactly."""
    start = rng.integers(0, 12, count) * step
    found: list[list[float]] = np.stack([start, start + rng.integers(0, 9, count) * step], axis=1).tolist()
    return found


def hull32(p: list[float], g: list[float]) -> Any:
    first, last, start, end = (single(x) for x in (*p[:2], *g))
    inter = max(single(0), min(last, end) - max(first, start))
    union = max(last, end) - min(first, start)
    return inter / union if union != 0 else single(0)


def random_world(rng: np.random.Generator, step: float) -> tuple[dict[str, list[Moment]], dict[str, list[Span]]]:
    """Graded moments and predictions of queries, some of them without either, in few videos."""
    qrels: dict[str, list[Moment]] = {}
    run: dict[str, list[Span]] = {}
    for q in range(QUERIES):
        moments = spans(rng, int(rng.integers(0, 30)), step)
        qrels[str(q)] = [(f"v{rng.integers(VIDEOS)}", s, e, int(rng.integers(0, 5))) for s, e in moments]
        found = spans(rng, int(rng.integers(0, 60)), step)
        scores = rng.permutation(len(found)).tolist()
        if q % 10:
            run[str(q)] = [
                (f"v{rng.integers(VIDEOS + 1)}", s, e, float(x)) for (s, e), x in zip(found, scores, strict=True)
            ]
    return qrels, run


@pytest.mark.parametrize("step", [5.0, 0.7])
@pytest.mark.parametrize(
    ("convention", "exp", "strict", "lowest"),
    [("paper", False, False, 1), ("released", True, True, 0), ("spr", True, False, 1)],
)
def test_tvr_ranking(step: float, convention: str, exp: bool, strict: bool, lowest: int, tmp_path: Path) -> None:
    judged, answered = random_world(np.random.default_rng(int(step * 10)), step)
    nested = [
        {
            "query_id": int(q),
            "query": "",
            "relevant_moment": [{"video_name": v, "timestamp": [s, e], "relevance": g} for v, s, e, g in moments],
        }
        for q, moments in judged.items()
    ]
    ranking = {
        q: [{"video_name": v, "timestamp": [s, e], "model_scores": x} for v, s, e, x in found]
        for q, found in answered.items()
    }
    qrels = read_qrels(write(tmp_path / "qrels", nested), lenient=True)  # some moments stand twice
    run = read_run(write(tmp_path / "run", ranking), lenient=True)
    for iou in (0.3, 0.5, 0.7):
        for k in (1, 10, 20, 40):
            values = []
            for query, moments in judged.items():
                value = oracle.ndcg(moments, answered.get(query, []), iou, k, exp, strict, lowest)
                if convention == "released":
                    value = value or 0.0
                if value is not None and (query in answered or convention == "paper"):
                    values.append(value)
            scores = calc([f"nDCG_IoU(iou={iou})@{k}"], qrels, run, convention)
            (got,) = scores.aggregate().values()
            assert got == pytest.approx(np.mean(values), abs=1e-12)


@pytest.mark.parametrize("step", [5.0, 0.7])
def test_axiou(step: float, tmp_path: Path) -> None:
    rng = np.random.default_rng(int(step * 10))
    judged, answered, expected = [], [], []
    for q in range(QUERIES):
        moment = [3 * step, (4 + q % 7) * step]
        judged.append([[f"v{q % 9}", f"sentence {q}"], [*moment, 60.0]])
        found = spans(rng, int(rng.integers(0, 15)), step) if q % 8 else []
        ratings = rng.permutation(len(found)).astype(float).tolist()
        if q % 8:
            answered.append([[f"v{q % 9}", f"sentence {q}"], [[*s, 60.0] for s in found] or None, ratings])
        ranked = [s for _, s in sorted(zip(ratings, found, strict=True), reverse=True)]
        expected.append([hull64(s, moment) for s in ranked])
    files = write(tmp_path / "gt", judged), write(tmp_path / "run", answered)
    for k in (1, 5, 10):
        names = [f"AxIoU@{k}", *(f"R@{k},{theta}" for theta in (0.3, 0.5, 0.7))]
        got = list(calc(names, str(files[0]), str(files[1]), "released").aggregate().values())
        slow = [np.mean([oracle.axiou(r, k) for r in expected])]
        slow += [np.mean([oracle.success(r, k, t, True) for r in expected]) for t in (0.3, 0.5, 0.7)]
        assert got == pytest.approx(slow, abs=1e-12)


@pytest.mark.parametrize("step", [5.0, 0.7, 1.1])
@pytest.mark.parametrize("several", [False, True])
def test_tvretrieval(step: float, several: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(int(step * 10))
    types = ["v", "t", "vt"]
    judged = []
    for q in range(QUERIES):
        ts = spans(rng, 4, step) if several else spans(rng, 1, step)[0]
        video = f"v{rng.integers(VIDEOS)}"
        judged.append({"desc_id": q, "vid_name": video, "ts": ts, "type": types[q % 3]})
    lists = [
        {
            "desc_id": q,
            "desc": "",
            "predictions": [[int(rng.integers(VIDEOS)), *p, 0.5] for p in spans(rng, int(rng.integers(1, 130)), step)],
        }
        for q in range(QUERIES)
    ]
    submission = {"video2idx": {f"v{n}": n for n in range(VIDEOS)}, "VCMR": lists}
    qrels = read_qrels(write(tmp_path / "gt", "\n".join(json.dumps(row) for row in judged)))
    run = read_run(write(tmp_path / "run", submission), lenient=True)
    for iou in (0.5, 0.7):
        for k in (1, 5, 10, 100):
            for task in ("VCMR", "SVMR"):
                hits = np.array([tvr_hit(g, p, iou, k, task) for g, p in zip(judged, lists, strict=True)])
                names = [f"Success_IoU(iou={iou},task={task})@{k}", f"Success_IoU(iou={iou},task={task},type=t)@{k}"]
                got = list(calc(names, qrels, run, "tvr").aggregate().values())
                assert got == [round(np.mean(hits) * 100, 2), round(np.mean(hits[1::3]) * 100, 2)]


def tvr_hit(judged: dict[str, Any], found: dict[str, Any], iou: float, k: int, task: str) -> bool:
    rows = found["predictions"][:100]
    if task == "SVMR":
        rows = [p for p in rows if f"v{p[0]}" == judged["vid_name"]]
    several = judged["ts"] if isinstance(judged["ts"][0], list) else [judged["ts"]]
    for p in rows[:k]:
        if f"v{p[0]}" == judged["vid_name"]:
            passed = sum(bool(hull32(p[1:3], g) >= single(iou)) for g in several)
            if passed >= min(2, len(several)):
                return True
    return False


def test_stal(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    rows = []
    for q in range(QUERIES + 1):
        count = int(rng.integers(1, 40))
        rows.append(
            {
                "annotation_id": q,
                "video_index": int(rng.integers(VIDEOS)),
                "times": spans(rng, int(rng.choice([1, 4])), 5.0),
                "pred_video_indices": rng.integers(0, VIDEOS, count).tolist(),
                "pred_segments": spans(rng, count, 5.0),
            }
        )
    path = write(tmp_path / "stal", rows)
    for iou in (0.5, 0.7):
        ranks = np.array([stal_rank(row, iou) for row in rows])
        names = [f"MedianRank(iou={iou})", f"StdRank(iou={iou})", f"Success_IoU(iou={iou})@10"]
        got = list(calc(names, read_qrels(path), read_run(path, lenient=True), "stal").aggregate().values())
        expected = [
            float(np.sort(ranks)[(len(ranks) - 1) // 2]),
            float(single(np.std(ranks, ddof=1))),
            float(single((ranks <= 10).sum()) / single(len(ranks))),
        ]
        assert got == expected


def stal_rank(row: dict[str, Any], iou: float) -> int:
    def lengths(p: list[float], g: list[float]) -> float:
        inter = max(0.0, min(p[1], g[1]) - max(p[0], g[0]))
        union = (p[1] - p[0]) + (g[1] - g[0]) - inter
        return inter / union if union > 0 else 0.0

    for rank, (video, p) in enumerate(zip(row["pred_video_indices"], row["pred_segments"], strict=True), 1):
        passed = sum(lengths(p, g) >= iou for g in row["times"])
        if video == row["video_index"] and passed >= min(2, len(row["times"])):
            return rank
    return len(row["pred_segments"]) + 1


def test_qvhighlights_windows(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    gt: list[dict[str, Any]] = []
    pred: list[dict[str, Any]] = []
    for q in range(QUERIES):
        windows = [w for w in spans(rng, 6, 2.0) if w[1] > w[0]] or [[0, 10]]
        gt.append({"qid": q, "vid": f"v{q}", "relevant_windows": windows, "duration": 150})
        found = [[*p, round(float(s), 1)] for p, s in zip(spans(rng, 14, 2.0), rng.uniform(0, 1, 14), strict=True)]
        pred.append({"qid": q, "vid": f"v{q}", "pred_relevant_windows": found})
    paths = [write(tmp_path / name, "\n".join(map(json.dumps, rows))) for name, rows in (("gt", gt), ("run", pred))]
    bars = [round(0.5 + 0.05 * n, 2) for n in range(10)]
    names = ["mAP", *(f"mAP@{bar}" for bar in bars), *(f"R1@{bar}" for bar in bars)]
    got = calc(names, read_qrels(paths[0]), read_run(paths[1], lenient=True), "qvhighlights").aggregate()
    table = np.array(
        [
            [qv_ap(g["relevant_windows"], p["pred_relevant_windows"][:10], bar) for bar in bars]
            for g, p in zip(gt, pred, strict=True)
        ]
    )
    assert got[parse_measure("mAP")] == float(f"{100 * table.mean(axis=0).mean():.2f}")
    for n, bar in enumerate(bars):
        assert got[parse_measure(f"mAP@{bar}")] == float(f"{100 * table[:, n].mean():.2f}")
        first = [
            max(hull64(p["pred_relevant_windows"][0], w) for w in g["relevant_windows"])
            for g, p in zip(gt, pred, strict=True)
        ]
        assert got[parse_measure(f"R1@{bar}")] == float(f"{100 * np.mean(np.array(first) >= bar):.2f}")


def hull64(p: list[float], g: list[float]) -> float:
    union = max(p[1], g[1]) - min(p[0], g[0])
    return max(0.0, min(p[1], g[1]) - max(p[0], g[0])) / union if union > 0 else 0.0


def qv_ap(windows: list[list[float]], found: list[list[float]], bar: float) -> float:
    """Detection's average precision of one query, one window after the other."""
    taken: set[int] = set()
    hits = []
    for p in sorted(found, key=lambda w: -w[2]):
        ious = []
        for g in windows:
            inter = max(0.0, min(p[1], g[1]) - max(p[0], g[0]))
            union = (p[1] - p[0]) + (g[1] - g[0]) - inter
            ious.append(inter / union if union > 0 else 0.0)
        order = np.argsort(ious, kind="stable")[::-1].tolist()  # of equals the last, as published
        free = [n for n in order if n not in taken and ious[n] >= bar]
        hits.append(bool(free))
        taken.update(free[:1])
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return float(sum(precision[n:].max() for n, hit in enumerate(hits) if hit) / len(windows))


def test_highlights_beside_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(8)
    for _ in range(100):
        salient = (rng.uniform(0, 1, (75, 3)) < 0.2).astype(np.int64)
        predicted = rng.integers(0, 20, 75) / 10  # many ties
        aps = []
        for annotator in range(3):
            precision, recall, _ = metrics.precision_recall_curve(salient[:, annotator], predicted)
            envelope = np.maximum.accumulate(precision)
            aps.append(envelope[np.flatnonzero(np.diff(recall.astype(np.float32)))].mean())
        assert average_precision(predicted, salient) == pytest.approx(np.mean(aps), abs=1e-9)


def test_only_the_most_salient_clip_counts() -> None:
    qrels = qrels_from_dict({"1": [("a", 0, 10, 1)]})
    with pytest.raises(MeasureError, match="its cutoff must be 1"):
        calc(["HIT@5"], qrels, run_from_dict({"1": [("a", 0, 10, 1.0)]}))
