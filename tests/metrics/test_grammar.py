"""Measures as values, and results that are asked by them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metrics
from metrics import (
    AxIoU,
    MeasureError,
    Success_IoU,
    calc,
    default_measures,
    mIoU,
    nDCG_IoU,
    parse_measure,
    parse_measures,
)
from metrics.measures.definitions import DEFINITIONS


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


OF_OTHERS = {
    "trec_eval": {
        "map": "AP", "AP": "AP", "ndcg": "nDCG", "ndcg_cut_20": "nDCG@20", "MRR@10": "RR@10", "recip_rank": "RR",
        "recall_10": "R@10", "P_5": "P@5", "map_cut_100": "AP@100",
    },
    "ranx": {"ndcg@10": "nDCG@10", "map@10": "AP@10", "recall@10": "R@10", "precision@5": "P@5", "mrr": "RR"},
    "QVHighlights": {
        "MR-full-R1@0.5": "Success_IoU(iou=0.5)@1", "MR-long-mAP": "mAP_IoU(iou=0.5:0.05:0.95,length=long)",
        "MR-full-mAP@0.75": "mAP_IoU(iou=0.75)", "MR-full-mIoU": "AxIoU@1", "HL-min-Good-Hit1": "HIT(level=3)@1",
    },
    "Charades-STA": {
        "Rank@1,IoU=0.5": "Success_IoU(iou=0.5)@1", "Recall@5, IoU=0.7": "Success_IoU(iou=0.7)@5",
        "R@1,IoU@0.5": "Success_IoU(iou=0.5)@1", "R1@0.5": "Success_IoU(iou=0.5)@1", "mIoU": "mIoU",
        "R@1 (IoU=0.3)": "Success_IoU(iou=0.3)@1", "Rank@1": "Rank@1",
    },
    "detection": {"mAP": "mAP_IoU(iou=0.5:0.05:0.95)", "mAP@0.5": "mAP_IoU(iou=0.5)"},
}  # fmt: skip


@pytest.mark.parametrize("field", OF_OTHERS)
def test_names_are_read_as_others_write_them(field: str) -> None:
    assert {text: str(parse_measure(text)) for text in OF_OTHERS[field]} == OF_OTHERS[field]


@pytest.mark.parametrize(
    ("text", "one", "other"),
    [
        ("NDCG@10", "nDCG@10", "nDCG_IoU(iou=0.5)@10"),
        ("MAP", "AP", "mAP_IoU(iou=0.5:0.05:0.95)"),
        ("Recall@5", "R@5", "Success_IoU(iou=0.5)@5"),
        ("mAP@10", "AP", "mAP_IoU"),
    ],
)
def test_an_ambiguous_name_is_refused_with_both_candidates(text: str, one: str, other: str) -> None:
    with pytest.raises(MeasureError, match="is ambiguous; it may be") as refused:
        parse_measure(text)
    assert one in str(refused.value)
    assert other in str(refused.value)


def test_each_convention_has_the_measures_of_its_evaluators_table() -> None:
    for name, convention in metrics.CONVENTIONS.items():
        measures = default_measures(name)
        assert {measure.definition.family for measure in measures} <= {*convention.families}
        assert default_measures(convention.but(order="score")) == measures
    assert [measure.name_in("qvhighlights") for measure in default_measures("qvhighlights")][:8] == [
        *("MR-full-R1@0.5", "MR-full-R1@0.7", "MR-full-mAP", "MR-full-mAP@0.5", "MR-full-mAP@0.75"),
        *("MR-long-mAP", "MR-middle-mAP", "MR-short-mAP"),
    ]


def test_a_family_that_the_evaluator_never_had_is_refused() -> None:
    qrels = {"1": [("a", 0, 10, 4)]}
    with pytest.raises(
        MeasureError,
        match=r"convention tvr has no graded measures.*it has hit measures, such as Success_IoU\(iou=0.5\)@1",
    ):
        calc("nDCG_IoU(iou=0.5)@10", qrels, {"1": [("a", 0, 10, 1.0)]}, "tvr")


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


def test_every_measure_is_a_value_of_its_name() -> None:
    for name, definition in DEFINITIONS.items():
        assert getattr(metrics, name) == name
        assert getattr(metrics, name).definition is definition


def test_values_print_as_they_parse_and_equal_their_text() -> None:
    values = {
        "nDCG_IoU(iou=0.5)@20": nDCG_IoU(iou=0.5) @ 20,
        "nDCG_IoU(iou=0.5,gain=exp)@20": nDCG_IoU(gain="exp", iou=".50") @ 20,
        "nDCG_IoU(iou=0.7)@20": (nDCG_IoU(iou=0.5) @ 20)(iou=0.7),
        "nDCG_IoU(iou=0.5)@5": nDCG_IoU(iou=0.5) @ 20 @ 5,
        "Success_IoU(iou=0.5+0.7,rel=2)@1": Success_IoU(iou="0.5+0.7", rel=2) @ np.int64(1),
        "mIoU": mIoU,
        "Judged@10": metrics.Judged(iou=0.5) @ 10,
    }
    for text, value in values.items():
        assert str(value) == repr(value) == text
        assert value == text == value
        by_value: dict[Any, int] = {value: 1}
        by_text: dict[Any, int] = {text: 1}
        assert by_value[text] == by_text[value] == 1
        assert parse_measure(text) == value
    assert AxIoU @ 5 != "AxIoU@10"
    assert AxIoU @ 5 != 5
    assert AxIoU.params == nDCG_IoU.params == ()  # values do not change


def test_a_list_is_several_measures() -> None:
    four = nDCG_IoU(iou=[0.3, 0.5]) @ [10, 20]
    assert four == [nDCG_IoU(iou=iou) @ cutoff for cutoff in (10, 20) for iou in (0.3, 0.5)]
    assert parse_measures(four) == [*four]
    assert [*map(str, nDCG_IoU(iou=[0.3, 0.5], gain=[0, 1, 3]) @ 10)] == [
        "nDCG_IoU(iou=0.3,gain=0.0+1.0+3.0)@10",
        "nDCG_IoU(iou=0.5,gain=0.0+1.0+3.0)@10",
    ]
    assert [*map(str, (AxIoU @ [1, 5])(rel=[1, 2]))] == [
        "AxIoU(rel=1)@1",
        "AxIoU(rel=2)@1",
        "AxIoU(rel=1)@5",
        "AxIoU(rel=2)@5",
    ]
    arange = metrics.mAP_IoU(iou=np.arange(0.5, 0.64, 0.05))
    assert [str(measure) for measure in arange] == ["mAP_IoU(iou=0.5)", "mAP_IoU(iou=0.55)", "mAP_IoU(iou=0.6)"]


def test_several_cutoffs_are_several_measures() -> None:
    assert [*map(str, AxIoU @ [1, 5, 10])] == ["AxIoU@1", "AxIoU@5", "AxIoU@10"]
    wanted: list[Any] = ["R@5,0.7", AxIoU @ (1, 5), mIoU, [AxIoU @ 5]]
    assert parse_measures(wanted) == ["Success_IoU(iou=0.7)@5", "AxIoU@1", "AxIoU@5", "mIoU"]
    assert parse_measures("mIoU") == parse_measures(mIoU) == ["mIoU"]
    nine = [nDCG_IoU(iou=iou) @ cutoff for cutoff in (10, 20, 40) for iou in (0.3, 0.5, 0.7)]
    assert default_measures() == nine


WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: nDCG_IoU(mu=0.5), "measure 'nDCG_IoU' has no parameter 'mu'; its parameters: iou, gain, discount"),
    (lambda: nDCG_IoU(iou=1.5), "measure 'nDCG_IoU' has iou=1.5: a threshold must lie between 0 and 1"),
    (lambda: (AxIoU @ 3)(rel="x"), "measure 'AxIoU@3' has rel=x: it must be an integer from 1"),
    (lambda: AxIoU @ 0, "measure 'AxIoU' needs a cutoff from 1 to 999999, not 0, as in AxIoU@10"),
    (lambda: AxIoU @ True, "not True"),
    (lambda: AxIoU @ 2.5, "not 2.5"),  # type: ignore[operator]
    (lambda: AxIoU @ "5", "not '5'"),  # type: ignore[operator]
    (lambda: mIoU @ 5, "measure 'mIoU' takes no cutoff"),
    (lambda: parse_measure(nDCG_IoU @ 5), r"measure 'nDCG_IoU@5' needs iou, as in nDCG_IoU\(iou=0.5\)@10"),
    (lambda: calc(AxIoU, {"1": [("a", 0, 1, 1)]}, {"1": []}), "measure 'AxIoU' needs a cutoff, as in AxIoU@10"),
]


@pytest.mark.parametrize(("make", "says"), WRONG, ids=[says for _, says in WRONG])
def test_a_value_that_cannot_be_is_refused_in_one_line(make: Callable[[], object], says: str) -> None:
    with pytest.raises(MeasureError, match=says):
        make()


def test_results_are_asked_by_what_one_asked_with() -> None:
    qrels = {"1": [("a", 0, 10, 4)], "2": [("a", 0, 10, 2)]}
    run = {"1": [("a", 0, 8, 1.0)], "2": [("a", 0, 4, 1.0)]}
    scores = calc([nDCG_IoU(iou=0.5) @ 20, "R@1,0.7"], qrels, run)
    spellings: list[Any] = ["nDCG_IoU(iou=0.5)@20", "NDCG@20, IoU≥0.5", "ndcg_iou(iou=.5) @ 20", nDCG_IoU(iou=0.5) @ 20]
    for each in spellings:
        assert scores[each] == scores.get(each) == scores.aggregate()[each] == 0.5
        assert scores.per_query()["2"][each] == 0.0
    assert scores["R@1,0.7"] == scores[Success_IoU(iou=0.7) @ 1] == 0.5
    assert scores.get("mIoU") is None
    assert scores.get("mIoU", -1.0) == -1.0
    assert metrics.calc_aggregate("AxIoU@1", qrels, run).get("no measure", 7) == 7
    for absent in ("mIoU", "no measure"):
        with pytest.raises(KeyError, match=r"is not among the measures nDCG_IoU\(iou=0.5\)@20, Success_IoU"):
            scores[absent]
    frame = scores.to_frame()
    assert frame.loc["1", "nDCG_IoU(iou=0.5)@20"] == 1.0
    assert list(frame.columns) == list(scores.measures)
