"""The published evaluators' own outputs on small cases, read from the published evaluators' own file
formats.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from metrics import MeasureError, MeasureWarning, calc, convention_named, parse_measure, read_run
from metrics.formats.qrels import read_qrels
from tests.metrics.shared import cases, needs_shared, write

pytestmark = needs_shared
CUTS, BARS = (1, 5, 10), (0.3, 0.5, 0.7)
Value = float | None


def score(
    folder: Path, gt: object, pred: object, names: dict[str, str], convention: str, **options: Any
) -> tuple[dict[str, Value], list[dict[str, float]]]:
    """Aggregates and per-query values under the published names."""
    qrels = read_qrels(write(folder / "gt", gt))
    run = read_run(write(folder / "run", pred), task=options.get("task"), lenient=True)
    chosen = convention_named(convention).but(options.get("missing"))
    scores = calc(names.values(), qrels, run, chosen)
    found = scores.aggregate()
    per_query = scores.per_query().values()
    rows = [{n: row.get(parse_measure(m), -1.0) for n, m in names.items()} for row in per_query]
    return {name: found[parse_measure(measure)] for name, measure in names.items()}, rows


def lines(records: list[dict[str, Any]]) -> str:
    return "\n".join(json.dumps(record) for record in records)


RECALL = {f"R@{k} IoU>{t}": f"Success_IoU(iou={t})@{k}" for k in CUTS for t in BARS}
AXIOU = {f"AxIoU@{k}": f"AxIoU@{k}" for k in CUTS}


@pytest.mark.parametrize("case", cases("axiou"), ids=lambda case: case["name"])
@pytest.mark.parametrize("part", ["recall", "axiou"])
def test_axiou(case: dict[str, Any], part: str, tmp_path: Path) -> None:
    expected = case["expected"][part]
    low = case["kwargs"].get("iou_lb")
    axiou = {name: m.replace("AxIoU@", f"AxIoU(lb={low})@") for name, m in AXIOU.items()} if low else AXIOU
    names = RECALL if part == "recall" else axiou
    if "duplicate" in case["name"]:  # two ground truths for one query: ours says so
        with pytest.raises(MeasureError, match="stands twice"):
            score(tmp_path, case["gt"], case["pred"], names, "released")
        return
    if "exception" in expected:
        with pytest.raises(MeasureError, match=r"lasts 29\.0 s in the run but 30\.0 s in the qrels"):
            score(tmp_path, case["gt"], case["pred"], names, "released")
        return
    if part == "axiou" and "zero_length" in case["name"]:  # published: NaN
        with pytest.warns(MeasureWarning, match="relevant moments have length 0"):
            found, _ = score(tmp_path, case["gt"], case["pred"], names, "released")
        assert set(found.values()) == {0.0}
        return
    found, rows = score(tmp_path, case["gt"], case["pred"], names, "released")
    assert found == pytest.approx(expected["mean"], abs=1e-9)
    assert rows == [pytest.approx(row, abs=1e-9) for row in expected["per_query"]]


@pytest.mark.parametrize("case", cases("stal"), ids=lambda case: case["name"])
def test_stal(case: dict[str, Any], tmp_path: Path) -> None:
    highest = case["args"].get("max_rank")
    names: dict[str, str] = {}
    for t in (0.5, 0.7):
        params = f"iou={t}" + (f",max_rank={highest}" if highest else "")
        names |= {f"MedRank@{t}": f"MedianRank({params})", f"StdRand@{t}": f"StdRank({params})"}
        names |= {f"Recall@{k},{t}": f"Success_IoU({params})@{k}" for k in case["args"]["topk"]}
    found, rows = score(tmp_path, case["queries"], case["queries"], names, "stal")
    for name, value in case["expected"].items():
        assert found[name] == (None if value != value else pytest.approx(value, abs=1e-9)), name
    ranks = [[row[f"MedRank@{t}"] for t in (0.5, 0.7)] for row in rows]
    assert ranks == case["ranks_1indexed_per_query_[iou.5,iou.7]"]


def test_stal_averages_over_thresholds(tmp_path: Path) -> None:
    case = cases("stal")[0]
    names = {"rank": "MedianRank(iou=0.5+0.7)", "recall": "Success_IoU(iou=0.5+0.7)@2"}
    found, _ = score(tmp_path, case["queries"], case["queries"], names, "stal")
    assert found == {"rank": 2.5, "recall": 0.25}


def tvr_names(task: str, kind: str | None, expected: dict[str, Any]) -> dict[str, str]:
    names = {}
    for key in (key for key in expected if key != "desc_type_ratio"):
        params = [f"iou={key.split('-')[-2]}"] if task != "VR" else []
        params += ["task=SVMR"] if task == "SVMR" else []
        params += [f"type={key.split('-')[0]}"] if kind else []
        name = "Success_Video" if task == "VR" else "Success_IoU"
        inside = f"({','.join(params)})" if params else ""
        names[key] = f"{name}{inside}@{key.rsplit('-r', 1)[-1].removeprefix('r')}"
    return names


@pytest.mark.parametrize("case", cases("tvr"), ids=lambda case: case["name"])
@pytest.mark.parametrize("variant", ["TVRetrieval", "TVRetrieval_match_number_False", "ReLoCLNet"])
def test_tvr(case: dict[str, Any], variant: str, tmp_path: Path) -> None:
    expected = case.get(variant, {})
    if "exception" in expected and case["name"] == "missing_query":
        with pytest.raises(MeasureError, match="query '4' of the qrels is missing"):
            score(tmp_path, lines(case["gt"]), case["submission"], {"": "Success_IoU(iou=0.5)@1"}, "tvr")
        return
    if "exception" in expected:  # published: a crash on an empty list; ours: no hit
        names = {"0.5-r1": "Success_IoU(iou=0.5)@1", "0.5-r5": "Success_IoU(iou=0.5)@5"}
        found, _ = score(tmp_path, lines(case["gt"]), case["submission"], names, "tvr")
        assert found == {"0.5-r1": 25.0, "0.5-r5": 50.0}
        return
    for part, values in expected.items():
        task, _, kind = part.partition("_by_")
        missing = "skip" if "False" in variant else None
        names = tvr_names(task, kind, values)
        if task == "VR":
            names = {key: name for key, name in names.items() if key != "desc_type_ratio"}
        found, _ = score(tmp_path, lines(case["gt"]), case["submission"], names, "tvr", task=task, missing=missing)
        assert found == {key: pytest.approx(values[key], abs=1e-9) for key in names}, part


def qv_names() -> dict[str, str]:
    ranges = {"full": "", "short": ",length=short", "middle": ",length=middle", "long": ",length=long"}
    bars = [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]
    names = {}
    for name, length in ranges.items():
        names[f"{name} mAP average"] = f"mAP_IoU(iou=0.5:0.05:0.95{length})"
        names |= {f"{name} mAP {t}": f"mAP_IoU(iou={t}{length})" for t in bars}
        names |= {f"{name} R1 {t}": f"Success_IoU(iou={t}{length})@1" for t in bars}
    for level in ("Fair", "Good", "VeryGood"):
        names |= {f"HL-min-{level} {m}": f"HL-min-{level}-{m}" for m in ("mAP", "Hit1")}
    return names


def qv_expected(expected: dict[str, Any]) -> dict[str, float]:
    flat: dict[str, float] = {}
    for name in ("full", "short", "middle", "long"):
        for part in ("mAP", "R1"):
            flat |= {f"{name} {part} {t}": value for t, value in expected[name][f"MR-{part}"].items()}
    for level in ("Fair", "Good", "VeryGood"):
        flat |= {f"HL-min-{level} {m}": expected[f"HL-min-{level}"][f"HL-{m}"] for m in ("mAP", "Hit1")}
    return flat


@pytest.mark.parametrize("case", cases("qvhighlights"), ids=lambda case: case["name"])
def test_qvhighlights(case: dict[str, Any], tmp_path: Path) -> None:
    gt, pred, names = lines(case["gt"]), lines(case["pred"]), qv_names()
    if case["name"] == "missing_qid":
        with pytest.raises(MeasureError, match="query '3' of the qrels is missing"):
            score(tmp_path, gt, pred, names, "qvhighlights")
        return
    missing = "skip" if case["kwargs"] else None
    found, _ = score(tmp_path, gt, pred, names, "qvhighlights", missing=missing)
    if "exception" not in case["expected"]:
        assert found == pytest.approx(qv_expected(case["expected"]), abs=1e-9)
    elif case["name"].startswith("range_without_gt"):  # published: a crash; ours: no value for that range
        assert found["long mAP average"] is None
        assert found["full R1 0.5"] == 100.0
    elif case["name"] == "empty_pred_windows":  # published: a crash; ours: the query scores 0
        assert (found["full R1 0.5"], found["full mAP 0.5"]) == (66.67, 66.67)
    else:  # no window is relevant; published: a crash; ours: the query is left out
        assert case["name"] == "empty_gt_windows"
        assert (found["full R1 0.5"], found["full mAP 0.5"]) == (100.0, 100.0)
