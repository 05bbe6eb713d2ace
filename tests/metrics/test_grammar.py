"""Measures as values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics import MeasureError, parse_measure


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("nDCG_IoU(iou=0.5)@20", "nDCG_IoU(iou=0.5)@20"),
        (" nDCG_IoU( iou = .50 ) @ 20 ", "nDCG_IoU(iou=0.5)@20"),
        ("ndcg_iou(iou=1)@5", "nDCG_IoU(iou=1.0)@5"),
        ("nDCG@20", "nDCG@20"),
        ("ndcg", "nDCG"),
        ("R@10", "R@10"),
        ("R@10,0.5", "Success_IoU(iou=0.5)@10"),
        ("R@1 IoU>0.7", "Success_IoU(iou=0.7)@1"),
        ("P(rel=2)@5", "P(rel=2)@5"),
        ("rank@5", "Rank@5"),
        ("NDCG@20, IoU≥0.5", "nDCG_IoU(iou=0.5)@20"),
        ("NDCG@10,IoU=0.3", "nDCG_IoU(iou=0.3)@10"),
        ("nDCG_IoU(gain=exp,iou=0.5)@20", "nDCG_IoU(iou=0.5,gain=exp)@20"),
        ("nDCG_IoU(iou=0.5:0.05:0.95)@20", "nDCG_IoU(iou=0.5:0.05:0.95)@20"),
        ("nDCG_IoU(iou=0.5+0.7)@20", "nDCG_IoU(iou=0.5+0.7)@20"),
    ],
)
def test_reads_and_prints(text: str, canonical: str) -> None:
    measure = parse_measure(text)
    assert str(measure) == canonical
    assert parse_measure(canonical) == measure
    assert hash(parse_measure(canonical)) == hash(measure)


def test_a_range_of_thresholds() -> None:
    ten = parse_measure("nDCG_IoU(iou=0.5:0.05:0.95)@1").thresholds
    assert ten == (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)


@given(st.floats(0, 1, allow_subnormal=False).map(lambda x: round(x, 6)), st.integers(1, 999999))
def test_any_threshold_and_cutoff(iou: float, cutoff: int) -> None:
    measure = parse_measure(f"nDCG_IoU(iou={iou:.6f})@{cutoff}")
    assert parse_measure(str(measure)) == measure
    assert measure.thresholds == (iou,)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nDGC_IoU(iou=0.5)@20", "did you mean nDCG_IoU"),
        ("nDCG_IoU@20", "needs iou"),
        ("nDCG_IoU(iou=0.5)", "needs a cutoff"),
        ("nDCG_IoU(iou=0.5)@0", "cutoff from 1"),
        ("nDCG_IoU(iou=1.5)@20", "between 0 and 1"),
        ("nDCG_IoU(iou=nan)@20", "must be a number"),
        ("nDCG_IoU(iou=0.5,gain=cubic)@20", "one of linear, exp"),
        ("DCG_IoU(gain=binary)@5", "one of linear, exp"),
        ("DCG_IoU(gain=0+1+3)@5", "one of linear, exp"),
        ("nDCG_IoU(mu=0.5)@20", "no parameter 'mu'"),
        ("nDCG_IoU(iou=0.5:0:0.9)@20", "step"),
        ("", "cannot be read"),
        ("@20", "cannot be read"),
        ("nDCG_IoU(iou=0.5)@twenty", "cannot be read"),
    ],
)
def test_says_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(MeasureError, match=says):
        parse_measure(text)
