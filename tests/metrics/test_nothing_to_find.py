"""Several moments, and nothing to find: the measures of QV-M2 and of GMR by hand, and as their evaluators have them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics import MeasureError, calc, estimate, explain, parse_measure, read_qrels, read_run
from tests.metrics.shared import ROOT, write

CASES = json.loads((ROOT / "tests" / "metrics" / "published_windows.json").read_text())
STEPS = "iou=0.5:0.05:0.95"
PUBLISHED = {
    "qvm2": {
        "MR-full-mAP": "G-mAP",
        "MR-full-mAP@1_tgt": "mAP@1_tgt",
        "MR-full-mAP@2_tgt": "mAP@2_tgt",
        "MR-full-mAP@3+tgt": "mAP@3+tgt",
        **{f"MR-full-mR{k}": f"mR@{k}" for k in (1, 2, 3)},
        **{f"MR-full-mIoU@{k}": f"mIoU@{k}" for k in (1, 2, 3)},
    },
    "gmr": {
        "AUROC": "Rejection_AUC",
        "mAP": "G-mAP",
        "Rej-R@0.4": "Silence(above=0.4)",
        **{f"Rej-F1@{bar}": f"Rejection_F1(above={bar})" for bar in (0.4, 0.6)},
        **{f"Acc@{bar}": f"Rejection_Accuracy(above={bar})" for bar in (0.4, 0.6)},
        **{f"G-mIoU@{k}": f"Set_IoU(above=0.4)@{k}" for k in (1, 3, 5)},
        **{f"mR@{k}": f"Recall_IoU({STEPS})@{k}" for k in (1, 3, 5)},
        **{f"mR+@{k}": f"mR+@{k}" for k in (1, 3, 5)},
        **{f"{name}@{k}": f"{name}@{k}" for name in ("mIoU", "mIoU+") for k in (1, 3, 5)},
    },
    "ego4d": {**{f"R@{k},{bar}": f"R@{k},{bar}" for k in (1, 3, 5) for bar in (0.3, 0.5, 0.01)}, "mIoU": "mIoU"},
}


@pytest.mark.filterwarnings("ignore:.*rise along the list", "ignore:.*are kept and counted")
@pytest.mark.parametrize(("convention", "number"), [(name, n) for name in PUBLISHED for n in range(len(CASES[name]))])
def test_the_published_evaluators(convention: str, number: int, tmp_path: Path) -> None:
    case = CASES[convention][number]
    qrels, run = (source(tmp_path / name, case[name]) for name in ("gt", "submission"))
    names = PUBLISHED[convention]
    scores = calc(list(names.values()), read_qrels(qrels), read_run(run, lenient=True), convention)
    found = {name: scores[measure] for name, measure in names.items()}
    right = {name: case["expected"][name] for name in names}
    assert found == (pytest.approx(right, abs=1e-12) if convention == "ego4d" else right)


def source(path: Path, data: Any) -> Path:
    return write(path, "".join(json.dumps(each) + "\n" for each in data) if isinstance(data, list) else data)


# Query a has three moments, b has one, and c and d have none.
QRELS = {"a": [("v", 0, 10, 1), ("v", 20, 30, 1), ("v", 40, 50, 1)], "b": [("w", 0, 8, 1)], "c": [], "d": []}
RUN = {
    "a": [("v", 0, 10, 0.9), ("v", 60, 70, 0.8), ("v", 20, 25, 0.7)],  # IoU 1, 0 and 0.5 with the second
    "b": [("w", 0, 4, 0.3)],  # IoU 0.5
    "c": [("w", 0, 4, 0.6)],
    "d": [("w", 0, 4, 0.2)],
}


def values(measure: str, run: Any = RUN, convention: str = "paper") -> dict[str, float]:
    return {query: found[measure] for query, found in calc(measure, QRELS, run, convention).per_query().items()}


def test_silence_by_hand() -> None:
    assert values("Silence(above=0.5)") == {"c": 0, "d": 1}
    assert values("Silence(above=0.6)") == {"c": 1, "d": 1}  # at most the threshold
    assert values("Silence") == {"c": 0, "d": 0}
    assert values("Silence", RUN | {"c": []}) == {"c": 1, "d": 0}
    assert values("Silence", {query: RUN[query] for query in "ab"}) == {"c": 1, "d": 1}  # missing queries
    assert calc("Silence", {"a": QRELS["a"]}, RUN)["Silence"] is None


def test_rejection_by_hand() -> None:
    """At 0.5 silence is right for d and wrong for b, an answer right for a and wrong for c: F1 is 2 / (2 + 1 + 1)."""
    assert values("Rejection_F1(above=0.5)") == {"b": 0, "c": 0, "d": 1}
    scores = calc(["Rejection_F1(above=0.5)", "Rejection_Accuracy(above=0.5)", "Rejection_AUC"], QRELS, RUN)
    assert scores["Rejection_F1(above=0.5)"] == pytest.approx(0.5)
    assert scores["Rejection_Accuracy(above=0.5)"] == 0.5
    # c (0.6) lies below a (0.9) and above b (0.3); d (0.2) lies below both: 3 of 4 pairs
    assert values("Rejection_AUC") == {"c": 0.5, "d": 1.0}
    assert scores["Rejection_AUC"] == 0.75
    assert values("Rejection_AUC", RUN | {"d": [("w", 0, 4, 0.3)]})["d"] == 0.75  # a tie counts half


def test_an_existence_score_stands_before_those_of_the_list(tmp_path: Path) -> None:
    gt = [{"qid": 1, "vid": "v", "relevant_windows": []}, {"qid": 2, "vid": "v", "relevant_windows": [[0, 4]]}]
    window = {"vid": "v", "pred_relevant_windows": [[0, 4, 0.9]]}
    run = [{"qid": 1, **window, "pred_exist_score": 0.1}, {"qid": 2, **window, "pred_exist_score": 0.2}]
    files = source(tmp_path / "gt", gt), source(tmp_path / "run", run)
    found = calc(["Silence(above=0.15)", "Rejection_AUC", "mAP_IoU(iou=0.5,above=0.15)"], *files)
    assert list(found.aggregate().values()) == [1.0, 1.0, 1.0]
    assert calc("mAP_IoU(iou=0.5,above=0.5)", *files)["mAP_IoU(iou=0.5,above=0.5)"] == 0.5


def test_sets_by_hand() -> None:
    """Query a: IoUs 1 and 0.5 of two pairs, over 3 predictions and 3 moments less 2 pairs; b: 0.5 over 1."""
    assert values("Set_IoU(above=0.5)@3") == {"a": 1.5 / 4, "b": 0, "c": 0, "d": 1}
    assert values("Set_IoU@3") == {"a": 1.5 / 4, "b": 0.5, "c": 0, "d": 0}
    assert values("Set_IoU@1") == {"a": 1 / 3, "b": 0.5, "c": 0, "d": 0}
    # the published code pairs the second prediction, which overlaps nothing, with the moment that the third needs
    assert values("Set_IoU@3", convention="gmr")["a"] == pytest.approx(100 / 3)
    assert values("Matched_IoU@3") == {"a": 1.5 / 3, "b": 0.5}
    assert values("Matched_IoU@3", convention="gmr")["a"] == pytest.approx(100 / 3)


def test_recall_of_several_moments_by_hand() -> None:
    """Of a's three moments the first three predictions find two, down to an IoU of 0.5: 5 of 14 thresholds."""
    assert values("mR(iou=0.5)@3") == {"a": 2 / 3}
    assert values("mR(iou=0.5)@2") == {"a": 1 / 2}
    assert values("mR(iou=0.5)@1") == {"a": 1, "b": 1}
    assert values("mR@3")["a"] == pytest.approx((5 * 2 / 3 + 9 * 1 / 3) / 14)
    assert str(parse_measure("mR@3")) == "mR@3"
    short = RUN | {"a": RUN["a"][:2]}
    assert values("mR(iou=0.5)@3", short) == {"a": 1 / 3}
    with pytest.raises(MeasureError, match="query 'z' of the qrels is missing"):
        calc("mR@3", QRELS | {"z": [("v", 0, 1, 1)]}, RUN, "qvm2")
    assert calc("mR(iou=0.5)@3", QRELS, short, "qvm2")["mR(iou=0.5)@3"] is None  # a shorter list is left out


def test_what_is_found_beside_the_first_by_hand() -> None:
    """Of a's two further moments the first three predictions find one, with an IoU of 0.5; b has no further one."""
    assert values("Recall_Further(iou=0.5)@3") == {"a": 1 / 2}
    assert values("Recall_Further(iou=0.5)@1") == {"a": 0}
    assert values("mR+@3")["a"] == pytest.approx(1 / 2 / 10)  # at one threshold of ten
    assert values("Matched_Further@3") == {"a": 0.5 / 2}  # three predictions and three moments make two further pairs
    assert values("mIoU+@1") == {"a": 0}
    assert values("Matched_Further@2") == {"a": 0}  # the second prediction finds nothing
    assert str(parse_measure("mR+@5")) == "Recall_Further(iou=0.5:0.05:0.95)@5"


def test_targets_by_hand() -> None:
    """AP of a: precisions 1 and 2/3 over three moments; of b: 1. Three and four targets: a mean of two means."""
    ap = "mAP_IoU(iou=0.5"
    assert values(f"{ap})") == {"a": pytest.approx((1 + 2 / 3) / 3), "b": 1}
    assert values(f"{ap},targets=3+)") == {"a": pytest.approx((1 + 2 / 3) / 3)}
    assert values(f"{ap},targets=1)") == {"b": 1}
    four = [("v", 10 * n, 10 * n + 5, 1) for n in range(4)]
    qrels = {"a": four, "b": four[:3], "c": four[:3]}
    run = {"a": [(*span[:3], 1.0) for span in four], "b": [("v", 90, 95, 1.0)], "c": [("v", 90, 95, 1.0)]}
    name = f"{ap},targets=3+)"
    assert calc(name, qrels, run)[name] == pytest.approx(1 / 3)
    assert calc(name, qrels, run, "qvm2")[name] == 50.0


@pytest.mark.parametrize(
    "measure", ["nDCG_IoU({})@3", "Recall_IoU({})@3", "Success_IoU({})@3", "mAP_IoU({})", "AxIoU({})@3"]
)
def test_a_threshold_on_scores_makes_queries_with_nothing_to_find_count(measure: str) -> None:
    iou = "" if measure.startswith("AxIoU") else "iou=0.5"
    plain = values(measure.format(iou).replace("()", ""))
    gated = values(measure.format(f"{iou},above=0.5".strip(",")))
    assert plain.keys() == {"a", "b"}
    assert gated == {"a": plain["a"], "b": 0, "c": 0, "d": 1}
    assert values(measure.format(f"{iou},above=-1".strip(","))) == plain | {"c": 0, "d": 0}


def test_a_threshold_on_scores_beside_a_part_of_the_queries() -> None:
    assert values("mAP_IoU(iou=0.5,targets=1,above=0.1)") == {"b": 1}
    with pytest.raises(MeasureError, match="it must be a number of moments from 1 up, such as 2 or 3"):
        parse_measure("mAP_IoU(iou=0.5,targets=0)")
    with pytest.raises(MeasureError, match="above=high: it must be a number"):
        parse_measure("Silence(above=high)")
    with pytest.raises(MeasureError, match="cannot be explained"):
        explain("AxIoU(above=0.5)@3", QRELS, RUN, "a")
    with pytest.raises(MeasureError, match="whether there is nothing to find"):
        estimate("Silence", QRELS, {"a": ["v@0-10000"]}, RUN)


SPANS = st.lists(st.tuples(st.integers(0, 8), st.integers(1, 6)), max_size=5)


@given(worlds=st.lists(st.tuples(SPANS, SPANS), min_size=1, max_size=4), cutoff=st.integers(1, 5))
def test_sets_as_a_slow_rewrite(worlds: list[tuple[Any, Any]], cutoff: int) -> None:
    qrels = {str(n): sorted({("v", s, s + d, 1) for s, d in held}) for n, (held, _) in enumerate(worlds)}
    run = {str(n): [("v", s, s + d, 1.0) for s, d in dict.fromkeys(found)] for n, (_, found) in enumerate(worlds)}
    found = calc(f"Set_IoU@{cutoff}", qrels, run).per_query()
    for query, moments in qrels.items():
        predictions, free, pairs = run[query][:cutoff], list(moments), []
        for _, start, end, _ in predictions:
            ious = [overlap(start, end, moment[1], moment[2]) for moment in free]
            if ious and max(ious) > 0:
                pairs.append(max(ious))
                free.pop(int(np.argmax(ious)))
        size = len(predictions) + len(moments) - len(pairs)
        assert found[query][f"Set_IoU@{cutoff}"] == pytest.approx(sum(pairs) / size if size else 1.0)


def overlap(start: float, end: float, other: float, last: float) -> float:
    both = max(0.0, min(end, last) - max(start, other))
    return both / (end - start + last - other - both)
