"""Information retrieval's measures on moment ids, beside trec_eval's own code."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics import MeasureError, MeasureWarning, calc, calc_aggregate, parse_measure, read_qrels, read_run
from tests.metrics.shared import ROOT, run_cli, write

pytrec_eval = pytest.importorskip("pytrec_eval")

OURS = {  # ours, and trec_eval's name
    "nDCG@3": "ndcg_cut_3",
    "nDCG": "ndcg",
    "P@5": "P_5",
    "R@5": "recall_5",
    "RR": "recip_rank",
    "AP": "map",
    "AP@3": "map_cut_3",
}
MEASURES = {"ndcg_cut.3", "ndcg", "P.5", "recall.5", "recip_rank", "map", "map_cut.3"}
ids = st.sampled_from([f"v{v}@{s}000-{s + 5}000" for v in range(3) for s in range(4)])
scores = st.sampled_from([0.5, 0.25, 0.1, 1e-9, 0.1 + 1e-9, 3.0, -1.0])  # two are one number in float32
Judged = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


def agrees(judged: Judged, run: Run) -> None:
    theirs = pytrec_eval.RelevanceEvaluator(judged, MEASURES).evaluate(run)
    ours = calc(OURS, judged, run).per_query()
    for query, row in theirs.items():
        for name, theirs_name in OURS.items():
            assert ours[query][parse_measure(name)] == pytest.approx(row[theirs_name], abs=1e-12), name


@given(
    st.dictionaries(st.sampled_from("abc"), st.dictionaries(ids, st.integers(0, 4), min_size=1), min_size=1),
    st.dictionaries(st.sampled_from("abc"), st.dictionaries(ids, scores, min_size=1), min_size=1),
)
def test_trec_eval_on_small_worlds(judged: Judged, run: Run) -> None:
    run = {query: found for query, found in run.items() if query in judged}
    if run:
        agrees(judged, run)


def large(queries: int = 150, seed: int = 0) -> tuple[Judged, Run]:
    rng = np.random.default_rng(seed)
    pool = [f"v{v}@{s}-{s + 5000}" for v in range(20) for s in range(0, 40_000, 4000)]
    judged, run = {}, {}
    for q in range(queries):
        held = rng.choice(len(pool), int(rng.integers(1, 60)), replace=False).tolist()
        judged[str(q)] = {pool[m]: int(g) for m, g in zip(held, rng.integers(0, 5, len(held)), strict=True)}
        found = rng.choice(len(pool), int(rng.integers(1, 150)), replace=False).tolist()
        run[str(q)] = dict(zip((pool[m] for m in found), (rng.integers(0, 90, len(found)) / 8).tolist(), strict=True))
    return judged, run


def test_trec_eval_on_a_large_world_with_many_ties() -> None:
    agrees(*large())


def test_files_score_as_dicts_do(tmp_path: Path) -> None:
    """A TREC file is read in trec_eval's order; its moments are then compared by video and milliseconds."""
    judged, run = large()
    qrels_lines = [f"{q} 0 {m} {g}" for q, held in judged.items() for m, g in held.items()]
    run_lines = [f"{q} Q0 {m} 0 {s!r} x" for q, found in run.items() for m, s in found.items()]
    files = write(tmp_path / "q", "\n".join(qrels_lines)), write(tmp_path / "r", "\n".join(run_lines))
    expected = calc_aggregate(OURS, judged, run)
    assert calc_aggregate(OURS, str(files[0]), str(files[1])) == pytest.approx(expected, abs=1e-12)
    assert calc_aggregate(OURS, judged, str(files[1])) == pytest.approx(expected, abs=1e-12)
    done = run_cli("evaluate", "--qrels", files[0], "--run", files[1], "--measures", "nDCG@3", "RR")
    values = [float(line.split()[-1]) for line in done.stdout.splitlines()[1:]]
    assert values == [round(expected[parse_measure(m)] or 0, 4) for m in ("nDCG@3", "RR")]


def test_scores_in_files_tie_in_float32(tmp_path: Path) -> None:
    """Two scores that are one number in float32 are a tie to trec_eval, which the id decides."""
    judged = {"1": {"a@0-5000": 1, "b@0-5000": 0}}
    run = {"1": {"a@0-5000": 0.1 + 1e-9, "b@0-5000": 0.1}}
    agrees(judged, run)
    lines = [f"1 Q0 {moment} 0 {score!r} x" for moment, score in run["1"].items()]
    path = str(write(tmp_path / "run", "\n".join(lines)))
    assert list(calc_aggregate(["RR"], judged, path).values()) == [0.5]


def test_a_moment_counts_once_and_a_list_is_taken_in_its_order() -> None:
    judged = {"1": [("a", 0, 10, 2), ("b", 0, 10, 1)], "2": [("a", 0, 1, 0)], "3": [("a", 0, 1, 1)]}
    run = {"1": [("a", 0, 10.0004, 0.1), ("a", 0, 10, 0.2), ("b", 0, 10, 0.9), ("b", 0, 11, 0.8)]}
    values = calc(["P@2", "R@2", "RR", "AP", "P(rel=2)@1"], judged, run).table().tolist()
    assert values[0] == pytest.approx([0.5, 0.5, 1.0, (1 + 2 / 3) / 2, 1.0])
    assert values[1:] == [[0.0] * 5, [0.0] * 5]  # nothing relevant, and missing: 0, as trec_eval -c has it


def test_ids_with_measures_of_iou(tmp_path: Path) -> None:
    """Dicts by id serve the other measures as well; only then an id must say its times."""
    judged, run = {"1": {"a@0-10000": 4}}, {"1": {"a@0-9000": 2.0, "b@0-10": 3.0}}
    names = ["nDCG@2", "Success_IoU(iou=0.5)@2", "Success_IoU(iou=0.5)@1"]
    assert list(calc_aggregate(names, judged, run).values()) == [0.0, 1.0, 0.0]
    named = {"1": {"m1": 4}}, {"1": {"m1": 1.0}}
    assert list(calc_aggregate(["nDCG@2"], *named).values()) == [1.0]
    with pytest.raises(MeasureError, match="m1"):
        calc_aggregate(names, *named)


def test_a_grade_below_0_is_not_relevant_as_in_trec_eval() -> None:
    with pytest.warns(MeasureWarning, match="1 grade below 0 counts as 0, as in trec_eval"):
        assert calc_aggregate(["P@1"], {"1": {"m": -1, "n": 1}}, {"1": {"m": 1.0}}) == {"P@1": 0.0}


@pytest.mark.parametrize(
    ("judged", "run", "says"),
    [
        ({"1": {"m": 2.5}}, {"1": {"m": 1.0}}, "query '1', moment 'm': grade is 2.5"),
        ({"1": {"m": True}}, {"1": {"m": 1.0}}, "grade is True"),
        ({"1": {"m": 1}}, {"1": {"k": 0.0, "m": "x"}}, "query '1', moment 'm': score is 'x'"),
        ({"1": {"m": 1}}, {"1": {"m": float("nan")}}, "score is nan"),
    ],
)
def test_bad_values_are_named(judged: Any, run: Any, says: str) -> None:
    with pytest.raises(MeasureError, match=says):
        calc_aggregate(["nDCG@2"], judged, run)


def test_a_query_may_be_empty_and_a_number() -> None:
    found = calc(["nDCG@2"], {1: {"m": 1}, 2: {"k": 1}, 3: {}}, {1: {}, 2: {"k": np.float32(1)}}).table()
    assert found[:, 0].tolist() == [0.0, 1.0, 0.0]


SAMPLES = json.loads((ROOT / "tests" / "metrics" / "published_windows.json").read_text())["trecvid"]
STRATA = """1 0 a@0-5000 1 1
1 0 b@0-5000 1 0
1 0 c@0-5000 2 1
1 0 d@0-5000 2 -1
1 0 e@0-5000 2 -1
"""


@pytest.mark.parametrize("case", SAMPLES)
def test_inferred_precision_of_strata_as_nists_code_has_it(case: dict[str, Any], tmp_path: Path) -> None:
    qrels, run = (write(tmp_path / name, case[name]) for name in ("qrels", "run"))
    scores = calc("xinfAP", read_qrels(qrels), read_run(run), "trecvid")
    found = {query: values["xinfAP"] for query, values in scores.per_query().items()} | {"all": scores["xinfAP"]}
    assert found == pytest.approx(case["expected"], abs=5.1e-5)  # four decimals are printed


@given(
    st.dictionaries(ids, st.integers(-1, 1), min_size=1, max_size=12),
    st.dictionaries(ids, st.floats(0, 1, width=16), min_size=1),
)
def test_inferred_precision_beside_trec_eval(judged: dict[str, int], run: dict[str, float]) -> None:
    if max(judged.values()) < 0:
        return
    theirs = pytrec_eval.RelevanceEvaluator({"1": judged}, {"infAP"}).evaluate({"1": run})["1"]["infAP"]
    with TemporaryDirectory() as folder:
        lines = "".join(f"1 0 {moment} 1 {grade}\n" for moment, grade in judged.items())
        qrels = read_qrels(write(Path(folder) / "qrels", lines))
    assert calc("infAP", qrels, {"1": run})["infAP"] == pytest.approx(theirs, abs=1e-12)


def test_inferred_precision_by_hand(tmp_path: Path) -> None:
    """Stratum 2 has three moments of which one was sampled, so that c stands for three of the four relevant ones.

    At rank 1 c has precision 1. Before rank 5, where a is, c and d are of stratum 2, of whose sampled moments all so
    far are relevant: 2 × 1.00001 / 1.00003. Of stratum 1 there is b: 1e-5 / 1.00003. Nobody pooled x.
    """
    qrels = read_qrels(write(tmp_path / "qrels", STRATA))
    run = {"1": {"c@0-5000": 0.9, "d@0-5000": 0.8, "x@0-5000": 0.7, "b@0-5000": 0.6, "a@0-5000": 0.5}}
    at_a = (1 + 2 * 1.00001 / 1.00003 + 0.00001 / 1.00003) / 5
    assert calc("xinfAP", qrels, run)["xinfAP"] == pytest.approx((3 * 1.0 + at_a) / 4, abs=1e-12)
    # infAP knows one stratum: of the pooled moments before a, two of the two that were sampled are c and b
    before = 3 * 1.00001 / 2.00002
    assert calc("infAP", qrels, run)["infAP"] == pytest.approx((1.0 + (1 + before) / 5) / 2, abs=1e-12)
    assert calc("xinfAP@1", qrels, run)["xinfAP@1"] == pytest.approx(3 / 4 * 4 / 1)  # more are relevant than listed
    assert calc(["AP", "xinfAP"], {"1": {"a@0-5000": 1}}, run).aggregate()[parse_measure("xinfAP")] == 0.2


def test_a_topic_that_a_run_lacks_counts_by_the_convention(tmp_path: Path) -> None:
    qrels = read_qrels(write(tmp_path / "qrels", STRATA + "2 0 a@0-5000 1 1\n3 0 a@0-5000 1 0\n"))
    run = {"1": {"c@0-5000": 0.9}, "3": {"a@0-5000": 0.9}}
    assert calc("xinfAP", qrels, run)["xinfAP"] == pytest.approx(3 / 4 / 3)
    assert calc("xinfAP", qrels, run, "trecvid")["xinfAP"] == pytest.approx(3 / 4 / 2)
