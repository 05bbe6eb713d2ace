"""INV-k and MON-k over every measure; the paper's Properties 1 to 8."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics import MeasureError, calc, qrels_from_dict, run_from_dict
from metrics.analysis.noise import AXIOMS, counterexample
from metrics.measures.definitions import DEFINITIONS
from tests.metrics.shared import run_cli

WHO = {  # INV-k, MON-k
    "Success_IoU(iou=0.5)@5": (True, False),  # Properties 2 and 1
    "AP_IoU(iou=0.5)@5": (False, False),  # 3 and 4
    "DCG_IoU@5": (False, True),  # 5 and 6
    "AxIoU@5": (True, True),  # 7 and 8
    "NCxIoU(p=uniform)@5": (True, True),
    "NCxIoU(p=geometric)@5": (True, True),
    "NCxIoU(p=err)@5": (False, False),  # a better moment stops the user before a still better one
    "nDCG_IoU(iou=0.5)@5": (True, False),
    "Recall_IoU(iou=0.5)@5": (True, False),
    "Recall_Further(iou=0.5)@5": (True, True),
    "mAP_IoU(iou=0.5)@5": (True, False),
    "MedianRank(iou=0.5)": (True, False),
    "StdRank(iou=0.5)": (True, False),
    "Success_Video@5": (True, False),
    "Judged(iou=0.5)@5": (False, False),
    "Rank@5": (True, False),
    "mIoU": (True, False),
}


@pytest.mark.parametrize("name", WHO)
def test_who_satisfies_what(name: str) -> None:
    found = tuple(counterexample(name, axiom) is None for axiom in AXIOMS)
    assert found == WHO[name]


def test_every_measure_is_in_the_table() -> None:
    named = {name.partition("(")[0].partition("@")[0] for name in WHO}
    assert named == {d.name for d in DEFINITIONS.values() if d.family not in ("highlight", "plain", "set")}
    with pytest.raises(MeasureError, match="saliency"):
        counterexample("HIT@1", "INV-k")


grid = st.integers(0, 10).map(lambda n: n / 10)


@given(st.lists(grid, min_size=1, max_size=6), st.data())
def test_axiou_and_recall_on_any_list(ious: list[float], data: Any) -> None:
    """The axioms as the supplement states them, on one list at a time."""
    k = data.draw(st.integers(0, len(ious) - 1))
    better = data.draw(grid.filter(lambda x: x > ious[k])) if ious[k] < 1 else None
    if better is None:
        return
    qrels = qrels_from_dict({"q": [("v", 0.0, 1.0, 1)]})
    lists = [ious, [*ious[:k], better, *ious[k + 1 :]]]
    names = ["AxIoU@6", "Success_IoU(iou=0.5)@6"]
    before, after = (
        calc(names, qrels, run_from_dict({"q": [("v", 0.0, x, 0.0) for x in row]}, lenient=True)).table()[0]
        for row in lists
    )
    if k and better <= max(ious[:k]):
        assert before == pytest.approx(after, abs=1e-12)
    elif k == 0 or better > max(ious[:k]):
        assert after[0] > before[0]
        assert after[1] >= before[1]


def test_the_printed_table() -> None:
    done = run_cli("axioms", "--measures", "R@5,0.5", "AxIoU@5")
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[1].split()[:3] == ["R@5,0.5", "yes", "no"]
    assert lines[2].split() == ["AxIoU@5", "yes", "yes"]


def test_a_measure_without_axioms_is_refused_before_anything_is_printed() -> None:
    done = run_cli("axioms", "--measures", "AxIoU@5", "nDCG@5")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nDCG@5 looks at saliency, at ids or at whole lists" in done.stderr
