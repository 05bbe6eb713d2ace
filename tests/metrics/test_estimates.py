"""Scores estimated from part of the judgements: known answers, intervals that hold, and errors that help."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

from metrics import (
    Estimate,
    Estimator,
    MeasureError,
    MeasureWarning,
    as_pool,
    as_run,
    calc_aggregate,
    compare,
    estimate,
    estimate_difference,
    parse_measure,
    read_pool,
)
from metrics.analysis.planning import TVR_RANKING, Spread, queries_to_judge, smallest_difference
from metrics.analysis.sampling import Design
from tests.metrics.coverage import coverage, worlds
from tests.metrics.replay import SETS, Judged, Outcome, is_decided_early, replay
from tests.metrics.shared import SHARED, needs_shared, run_cli
from tests.metrics.tvr_ratings import SYSTEMS, Pairs, moment, pool_of, qrels_of, real_pairs, run_of

NDCG = parse_measure("nDCG_IoU(iou=0.5)@20")

# By the part of the queries, those whose number is divisible: of each system the mean and its standard error, λ, and
# the corrected mean and its standard error.
KNOWN = {
    10: {
        "rank": (0.880932, 0.004839, 1.1277, 0.886736, 0.004079),
        "(rank + 1)·2 mod 41": (0.863823, 0.005004, 3.2889, 0.871529, 0.003611),
        "(rank + 1)·7 mod 41": (0.776254, 0.005205, 0.8850, 0.779267, 0.005036),
        "first row": (0.966232, 0.002658, 0.3397, 0.967189, 0.002578),
        "first row ≥ 3": (0.934123, 0.003203, 0.6779, 0.936210, 0.002928),
    },
    4: {
        "rank": (0.883666, 0.002687, 1.0246, 0.884699, 0.002165),
        "(rank + 1)·2 mod 41": (0.873879, 0.002687, 3.1525, 0.875109, 0.001901),
    },
}


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return real_pairs(SHARED / "data")


def part_of(pairs: Pairs, divisor: int) -> Pairs:
    return {query: held for query, held in pairs.items() if int(query) % divisor == 0}


@needs_shared
@pytest.mark.parametrize("divisor", KNOWN)
def test_the_known_answers_of_real_ratings(pairs: Pairs, divisor: int) -> None:
    estimator = Estimator(NDCG, qrels_of(part_of(pairs, divisor)), pool_of(pairs))
    found = {}
    for name in KNOWN[divisor]:
        each = estimator.estimate(run_of(pairs, SYSTEMS[name]))[NDCG]
        found[name] = (
            *(round(number, 6) for number in (each.plain, each.plain_se)),
            round(each.slope, 4),
            *(round(number, 6) for number in (each.value, each.se)),
        )
        assert (each.judged, each.ranked) == ({10: 321, 4: 822}[divisor], 3280)
    assert found == KNOWN[divisor]


@needs_shared
def test_all_queries_judged_is_the_plain_score(pairs: Pairs) -> None:
    runs = {name: run_of(pairs, order) for name, order in SYSTEMS.items()}
    found = Estimator(NDCG, qrels_of(pairs), pool_of(pairs)).estimates(runs).values()
    values = [round(each[NDCG].value, 6) for each in found]
    assert values == [0.883593, 0.873573, 0.780153, 0.965375, 0.934818]
    assert values == [round(calc_aggregate(NDCG, qrels_of(pairs), run)[NDCG] or 0, 6) for run in runs.values()]
    assert all(each[NDCG].low == each[NDCG].value == each[NDCG].high for each in found)


@needs_shared
def test_one_judgement_of_each_pair_predicts(pairs: Pairs) -> None:
    first = {query: [(*moment(query, pair), float(pair.first)) for pair in held] for query, held in pairs.items()}
    estimator = Estimator(NDCG, qrels_of(part_of(pairs, 10)), pool_of(pairs), predictor=first)
    for name, known in (("rank", (0.6940, 0.885037, 0.002428)), ("first row ≥ 3", (0.6771, 0.937732, 0.002242))):
        found = estimator.estimate(run_of(pairs, SYSTEMS[name]))[NDCG]
        assert (round(found.slope, 4), round(found.value, 6), round(found.se, 6)) == known


@pytest.fixture(scope="module")
def judged(pairs: Pairs) -> Judged:
    return Judged.of(pairs)


@needs_shared
@pytest.mark.parametrize("name", SETS)
def test_intervals_hold_and_keep_the_order(judged: Judged, name: str) -> None:
    few = judged.take(np.sort(np.random.default_rng(5).permutation(3280)[:500]))
    found: Outcome = replay(few, SETS[name], 0.3, 40, seed=1)
    assert 0.92 <= found.scores <= 0.97
    assert 0.92 <= found.differences <= 0.97
    assert found.width < found.plain_width
    all_queries = replay(judged, SETS[name], 0.3, 20, seed=1, pairs=1)
    assert np.quantile(all_queries.tau, 0.05) >= {"spread": 0.992, "close": 0.978, "rerank": 0.978}[name]
    assert all_queries.tau.mean() >= all_queries.plain_tau.mean()


@needs_shared
def test_intervals_from_few_queries_hold(judged: Judged) -> None:
    few = judged.take(np.sort(np.random.default_rng(6).permutation(3280)[:500]))
    assert 0.92 <= replay(few, SETS["close"], 0.06, 60, seed=2).scores <= 0.97  # 30 queries


@needs_shared
def test_an_interval_at_all_times_is_rarely_wrong_where_looking_often_is_wrong_often(judged: Judged) -> None:
    usual, anytime = wrong_of_equal_systems(judged, 300)
    assert usual > 0.15
    assert anytime <= 0.05


def wrong_of_equal_systems(judged: Judged, trials: int) -> tuple[float, float]:
    """The shares of trials in which one of 24 looks at equal systems, after each 20 queries, finds a difference: by the
    usual interval of the mean, and by the corrected one that holds at all times.
    """
    rng = np.random.default_rng(3)
    lists = judged.lists(SETS["close"]._replace(finds=(0.0, 0.0), sees=(0.3, 0.3), number=2), seed=4)
    values = judged.ndcg(lists, judged.grades)
    by_rank = judged.ndcg(lists, np.broadcast_to(judged.means_by_rank(), judged.grades.shape))
    looks, usual, anytime = range(20, 500, 20), 0, 0
    for _ in range(trials):
        rows, sign = rng.permutation(values.shape[1])[:500], rng.choice([-1, 1], 500)  # neither is better
        difference, predicted = ((each[0] - each[1])[rows] * sign for each in (values, by_rank))
        usual += is_decided_early(difference, np.zeros(500), looks, anytime=False)
        anytime += is_decided_early(difference, predicted, looks, anytime=True)
    return usual / trials, anytime / trials


@needs_shared
def test_the_replay_scores_as_the_library_does(pairs: Pairs) -> None:
    some = dict(list(pairs.items())[:200])
    judged = Judged.of(some)
    lists = judged.lists(SETS["spread"], seed=1)[22]
    names, run = list(some), {}
    for query, ranks in zip(names, lists.tolist(), strict=True):
        held = {pair.rank: moment(query, pair) for pair in some[query]}
        run[query] = [(*held.get(rank, ("elsewhere", i, i + 1)), 1.0 - i / 100) for i, rank in enumerate(ranks)]
    rows = np.arange(0, 200, 3)
    sample = {names[row]: some[names[row]] for row in rows.tolist()}
    found = estimate(NDCG, qrels_of(sample), run, pool_of(some))
    by_rank = judged.take(rows).means_by_rank()
    design = Design(np.isin(np.arange(200), rows), [""] * 200)
    predicted = judged.ndcg(lists[None], np.broadcast_to(by_rank, judged.grades.shape))[0]
    values = design.values(judged.ndcg(lists[None], judged.grades)[0, rows], predicted)
    assert values
    assert found.value == pytest.approx(design.estimate(values).value, abs=1e-12)


# A small world: twelve queries with three candidates, of which five are judged.

POOL = {str(n): [("film", 100.0 * n + 10 * r, 100.0 * n + 10 * r + 5) for r in range(3)] for n in range(12)}
GRADES = [(4, 2, 0), (3, 3, 1), (0, 4, 0), (2, 2, 2), (4, 0, 1)]
QRELS = {str(n): [(*moment, grade) for moment, grade in zip(POOL[str(n)], GRADES[n], strict=True)] for n in range(5)}


def run_that_lists(*order: int) -> dict[str, list[tuple[str, float, float, float]]]:
    return {query: [(*held[rank], 1.0 - i / 10) for i, rank in enumerate(order)] for query, held in POOL.items()}


GOOD, BAD = run_that_lists(0, 1, 2), run_that_lists(2, 0)


def test_the_estimate_is_the_regression_estimator_of_the_textbook() -> None:
    rng = np.random.default_rng(1)
    x = rng.random(60)
    y = 0.2 + 0.5 * x[:24] + rng.normal(0, 0.05, 24)
    design = Design(np.arange(60) < 24, [""] * 60)
    values = design.values(y, x)
    assert values
    found = design.estimate(values)
    slope, at_zero = np.polyfit(x[:24], y, 1)
    residual = y - at_zero - slope * x[:24]
    assert found.method == "regression"
    assert found.slope == pytest.approx(slope)
    assert found.value == pytest.approx(at_zero + slope * x.mean())
    assert found.se == pytest.approx(np.sqrt((1 - 24 / 60) / 24 * (residual**2).sum() / 22))
    assert found.plain_se == pytest.approx(np.sqrt((1 - 24 / 60) / 24 * y.var(ddof=1)))


def test_the_text_of_an_estimate_names_an_interval_for_bounded_means() -> None:
    found = estimate("nDCG_IoU(iou=0.5)@1", QRELS, GOOD, POOL)
    assert (
        str(found)
        == f"{found.value:.4f} [{found.low:.4f}, {found.high:.4f}], estimated from 42% of the queries, bounded"
    )


# The method of the interval.


def zeros_and_ones(ones: int, judged: int, ranked: int, predicted: float = 0.0, future: bool = False) -> Estimate:
    design = Design(np.arange(ranked) < judged, [""] * ranked)
    values = design.values((np.arange(judged) < ones).astype(np.float64), np.full(ranked, predicted))
    assert values
    return design.estimate(values, future)


@pytest.mark.parametrize(("ones", "judged"), [(0, 20), (1, 20), (3, 40), (20, 20)])
def test_zeros_and_ones_have_the_interval_of_clopper_and_pearson(ones: int, judged: int) -> None:
    found = zeros_and_ones(ones, judged, 400, future=True)
    low = beta.ppf(0.025, ones, judged - ones + 1) if ones else 0.0
    high = beta.ppf(0.975, ones + 1, judged - ones) if ones < judged else 1.0
    assert found.method == "bounded"
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.001)


@pytest.mark.parametrize("predicted", [0.0, 1.0])
@pytest.mark.parametrize("ones", [0, 20])
def test_no_interval_of_a_sample_has_width_0(ones: int, predicted: float) -> None:
    """A run that finds nothing in any judged query, or all in each, may do otherwise in the next."""
    found = zeros_and_ones(ones, 20, 400, predicted)
    assert found.high - found.low > 0.1
    assert found.low <= found.value <= found.high
    census = zeros_and_ones(ones, 20, 20, predicted)
    assert (census.low, census.high, census.method) == (census.value, census.value, "census")


def test_ten_queries_that_deviate_are_enough_for_the_regression() -> None:
    of_number = {number: zeros_and_ones(number, 60, 400).method for number in (9, 10, 30, 50, 51)}
    assert of_number == {9: "bounded", 10: "regression", 30: "regression", 50: "regression", 51: "bounded"}


def test_one_rule_decides_p_and_interval() -> None:
    rng = np.random.default_rng(2)
    design = Design(np.arange(200) < 40, [""] * 200)
    for shift, many in ((0.01, True), (0.3, True), (0.3, False), (1.0, False)):
        difference = shift * (np.arange(40) < 8) + many * rng.normal(0, 0.03, 40)
        one, other = (design.values(each, np.zeros(200)) for each in (0.5 + difference / 2, 0.5 - difference / 2))
        assert one
        assert other
        p = design.p_value(one.less(other))
        for confidence in (1 - p * 1.05, 1 - p / 1.05):
            if 0 < confidence < 1:
                decided = design.estimate(one.less(other), future=True, confidence=confidence).is_decided
                assert decided == (confidence < 1 - p)


@needs_shared
@pytest.mark.parametrize(("name", "ranked"), [("spread", None), ("finds in 1%", 300), ("two strata", None)])
def test_intervals_of_every_measure_hold(judged: Judged, name: str, ranked: int | None) -> None:
    """At least 92 % of nominal 95 % intervals, less what 60 samples leave to chance; the benchmark has 1,000."""
    few = judged.take(np.sort(np.random.default_rng(7).permutation(3280)[:400]))
    for cell in coverage(name, dict(worlds(few, seed=7))[name], 30, 60, seed=8, ranked=ranked):
        assert min(cell.scores, cell.differences) > 0.87, cell
        assert cell.narrowest > 0, cell


def test_strata_count_by_their_share() -> None:
    sample = np.array([True, True, False, False, True, True, True, True, True, False])
    strata = ["a"] * 4 + ["b"] * 6
    design = Design(sample, strata)
    values = design.values(np.array([1.0, 2, 5, 6, 7, 8, 9]), np.zeros(10))
    assert values
    assert values.mean == pytest.approx(0.4 * 1.5 + 0.6 * 7)
    of_a, of_b = (0.4**2 * (1 - 2 / 4) * 0.5 / 2, 0.6**2 * (1 - 5 / 6) * 2.5 / 5)
    assert design.estimate(values).plain_se == pytest.approx(np.sqrt(of_a + of_b))


def test_small_strata_are_taken_together() -> None:
    sample = np.array([True] * 6 + [False, True])
    design = Design(sample, ["a", "b", "c", "c", "c", "a", "d", "d"])
    assert design.stratum.tolist() == [0, 2, 1, 1, 1, 0, 2, 2]  # b and d, of which one query is judged
    assert Design(np.array([True] * 3 + [False]), ["a", "b", "c", "d"]).strata == 1


def test_a_query_without_anything_relevant_is_left_out_or_counts_0_as_the_convention_says() -> None:
    qrels = QRELS | {"5": [(*moment, 0) for moment in POOL["5"]]}
    left_out = estimate("nDCG_IoU(iou=0.5)@1", qrels, GOOD, POOL)
    counted = estimate("nDCG_IoU(iou=0.5)@1", qrels, GOOD, POOL, convention="released")
    assert left_out.judged == 6
    assert left_out.plain == pytest.approx(0.8)
    assert counted.plain == pytest.approx(4 / 6)


@pytest.mark.parametrize(
    "measure",
    ["AxIoU@2", "Success_IoU(iou=0.5,rel=3)@1", "Recall_IoU(iou=0.5)@2", "mAP_IoU(iou=0.5)", "P@1", "AP", "RR"],
)
def test_every_mean_over_queries_is_estimated(measure: str) -> None:
    found = estimate(measure, QRELS, GOOD, POOL)
    assert found.plain == pytest.approx(calc_aggregate(measure, QRELS, GOOD)[parse_measure(measure)])
    assert found.low < found.value < found.high


def test_a_predictor_may_be_untrue() -> None:
    true = {
        query: [(*moment, float(grade)) for moment, grade in zip(held, GRADES[int(query) % 5], strict=True)]
        for query, held in POOL.items()
    }
    hostile = {query: [(*held[0], 1e38), (*held[1], -5.0)] for query, held in POOL.items()}
    constant = {query: [(*moment, 2.0) for moment in held] for query, held in POOL.items()}
    honest = estimate("nDCG_IoU(iou=0.5)@1", QRELS, GOOD, POOL, predictor=true)
    assert honest.slope == pytest.approx(1)
    assert honest.value == pytest.approx(np.mean([rows[0][3] == max(row[3] for row in rows) for rows in true.values()]))
    for predictor in (hostile, constant):
        found = estimate("nDCG_IoU(iou=0.5)@1", QRELS, GOOD, POOL, predictor=predictor)
        assert np.isfinite([found.value, found.low, found.high]).all()
    with pytest.raises(MeasureError, match="the predictor has no candidate of the pool"):
        estimate("AxIoU@1", QRELS, GOOD, POOL, predictor={"1": [("other", 0, 1, 2.0)]})


def test_differences_and_comparison() -> None:
    measure = "nDCG_IoU(iou=0.5)@2"
    between = estimate_difference(measure, QRELS, GOOD, BAD, POOL)
    assert between.plain == pytest.approx(
        estimate(measure, QRELS, GOOD, POOL).plain - estimate(measure, QRELS, BAD, POOL).plain
    )
    with pytest.raises(MeasureError, match="two runs are called"):
        Estimator(measure, QRELS, POOL).compare([as_run(GOOD), as_run(BAD)])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"measure": "MedianRank(iou=0.5)"}, "is a median, not a mean over queries"),
        ({"measure": "HIT@1"}, "looks at saliency"),
        (
            {"pool": {query: POOL[query] for query in "012"}},
            "the pool lacks 2 of the 5 judged queries (the first is '3')",
        ),
        ({"qrels": {query: QRELS[query] for query in "01"}}, "the sample holds 2 queries; an estimate needs 3 or more"),
        (
            {"run": {query: GOOD[query] for query in "01234"}},
            "has none of the 7 queries that are ranked and not judged",
        ),
        ({"pool": POOL | {"7": ["a"]}}, "moment id 'a' is not video@startms-endms"),
        ({"pool": POOL | {"7": [("a", 0, 1), ("a", 0, 1)]}}, "query '7'"),
        ({"pool": [1]}, "it must be a file or a dict"),
        ({"confidence": 95}, "confidence is 95; it must lie between 0 and 1"),
    ],
)
def test_errors_say_what_would_be_right(change: dict[str, Any], message: str) -> None:
    given = {"measure": "AxIoU@1", "qrels": QRELS, "run": GOOD, "pool": POOL} | change
    with pytest.raises(MeasureError) as problem:
        estimate(**given)
    assert message in str(problem.value)


def test_queries_that_a_run_lacks_are_counted() -> None:
    with pytest.warns(MeasureWarning, match="1 of the 7 queries that are not judged are missing"):
        estimate("AxIoU@1", QRELS, {query: rows for query, rows in GOOD.items() if query != "7"}, POOL)


def test_a_sample_that_the_qrels_lack_causes_a_warning(tmp_path: Path) -> None:
    file = write_pool(tmp_path / "pool.jsonl", sample=lambda query: True)
    with pytest.warns(MeasureWarning, match="no judgement of 7 of the 12 queries that the pool marks as judged"):
        estimate("AxIoU@1", QRELS, GOOD, file)


def test_the_progress_of_runs_that_differ_in_few_queries_has_no_number_of_queries() -> None:
    estimator = Estimator("Success_IoU(iou=0.5)@1", QRELS, POOL, future=True, anytime=True)
    ((estimate, needed),) = estimator.progress(GOOD, GOOD).values()
    assert (estimate.method, needed) == ("bounded", None)
    with pytest.raises(MeasureError, match="the two runs differ by the same on each of the 5 judged queries"):
        estimator.spreads(GOOD, GOOD)


# Files and the command line.


def write_pool(path: Path, **more: Any) -> Path:
    lines = [
        {
            "query_id": query,
            "candidates": [f"{video}@{start * 1000:.0f}-{end * 1000:.0f}" for video, start, end in held],
        }
        for query, held in POOL.items()
    ]
    lines = [line | {name: value(line["query_id"]) for name, value in more.items()} for line in lines]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_pool_from_a_file_is_that_of_the_dict(tmp_path: Path) -> None:
    file = write_pool(tmp_path / "pool.jsonl")
    assert estimate("AxIoU@1", QRELS, GOOD, file) == estimate("AxIoU@1", QRELS, GOOD, POOL)


def test_judged_queries_outside_the_sample_do_not_count(tmp_path: Path) -> None:
    file = write_pool(tmp_path / "pool.jsonl", sample=lambda query: int(query) < 4, stratum=lambda query: "s")
    assert read_pool(file).strata == ("s",) * 12
    found = estimate("nDCG_IoU(iou=0.5)@1", QRELS, GOOD, file)
    assert (found.judged, found.plain) == (4, 0.75)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"query_id": 1}', "line 1: field candidates is missing"),
        ('{"query_id": 1, "candidates": "a@1-2"}', "line 1: candidates are 'a@1-2'; they must be a list"),
        ('{"query_id": 1, "candidates": [7]}', "line 1: candidate 7 is neither a moment id nor"),
        ('{"query_id": 1, "candidates": ["a@1-2"], "sample": 1}', "line 1: sample is 1; it must be true or false"),
        ('{"query_id": 1, "candidates": ["a@1-2"]}\n{"query_id": "1", "candidates": ["a@1-2"]}', "stands twice"),
        (
            '{"query_id": 1, "candidates": ["a@1-2"], "sample": true}\n{"query_id": 2, "candidates": ["a@1-2"]}',
            "query '2' lacks the field sample",
        ),
    ],
)
def test_a_broken_pool_is_named(tmp_path: Path, line: str, message: str) -> None:
    (file := tmp_path / "pool.jsonl").write_text(line + "\n")
    with pytest.raises(MeasureError) as problem:
        read_pool(file)
    assert message in str(problem.value)
    assert str(problem.value).startswith(str(file))


def test_a_sample_that_is_not_random_is_refused(tmp_path: Path) -> None:
    file = write_pool(
        tmp_path / "pool.jsonl", sample=lambda query: query in ("0", "2", "3"), withdrawn=lambda query: query == "1"
    )
    with pytest.raises(MeasureError, match="not random: 1 query was withdrawn for what judging showed"):
        estimate("AxIoU@1", QRELS, GOOD, file)
    file = write_pool(file, sample=lambda query: query in ("0", "2", "3"), withdrawn=lambda query: query == "4")
    assert estimate("AxIoU@1", QRELS, GOOD, file).judged == 3


def test_a_query_without_candidates_is_not_ranked(tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match=r"1 of 13 queries have no candidates .the first is '12'.*empty='skip'"):
        estimate("AxIoU@1", QRELS, GOOD, POOL | {"12": []})
    pool = as_pool(POOL | {"12": []}, empty="skip")
    assert estimate("AxIoU@1", QRELS, GOOD, pool) == estimate("AxIoU@1", QRELS, GOOD, POOL)
    with pytest.warns(MeasureWarning, match="fewer candidates for 1 of its 13 queries: 0 for query '12', 3 for most"):
        assert estimate("AxIoU@1", QRELS, GOOD, as_pool(POOL | {"12": []}, empty="keep")).ranked == 13
    file = write_pool(tmp_path / "pool.jsonl", sample=lambda query: int(query) < 5)
    file.write_text(file.read_text() + '{"query_id": "12", "candidates": [], "sample": false}\n')
    assert read_pool(file, empty="skip").sample.tolist() == [True] * 5 + [False] * 7  # type: ignore[union-attr]
    with pytest.raises(MeasureError, match="13 of 13 queries have no candidates"):
        as_pool({query: [] for query in [*POOL, "12"]}, empty="skip")


def test_pools_of_unequal_depth_cause_a_warning() -> None:
    with pytest.warns(MeasureWarning, match="fewer candidates for 1 of its 12 queries: 1 for query '7', 3 for most"):
        estimate("AxIoU@1", QRELS, GOOD, POOL | {"7": POOL["7"][:1]})


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Options that name qrels and a pool; two runs lie beside them."""
    records = [
        {"query_id": query, "video_name": video, "timestamp": [start, end], "relevance": grade}
        for query, held in QRELS.items()
        for video, start, end, grade in held
    ]
    (tmp_path / "qrels.jsonl").write_text("".join(json.dumps(record | {"query": "q"}) + "\n" for record in records))
    for name, run in (("good", GOOD), ("bad", BAD)):
        lines = [
            f"{query} Q0 {video}@{start * 1000:.0f}-{end * 1000:.0f} {rank} {score} {name}"
            for query, rows in run.items()
            for rank, (video, start, end, score) in enumerate(rows, 1)
        ]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
    return ["--qrels", str(tmp_path / "qrels.jsonl"), "--pool", str(write_pool(tmp_path / "pool.jsonl"))]


def test_the_command_estimates(files: list[str], tmp_path: Path) -> None:
    runs = [str(tmp_path / name) for name in ("good.txt", "bad.txt")]
    done = run_cli("estimate", *files, "--run", *runs, "--measures", "nDCG@2", "--format", "json")
    found = json.loads(done.stdout)["estimates"]
    assert [each["run"] for each in found] == ["good", "bad"]
    assert found[0]["value"] == pytest.approx(estimate("nDCG@2", QRELS, GOOD, POOL).value)
    table = run_cli("estimate", *files, "--run", *runs, "--measures", "nDCG@2", "--difference", "--anytime").stdout
    assert "good − bad" in table
    assert (
        "Estimated from 5 of 12 queries (42%); 95% intervals for the mean over the 12 ranked queries, at all" in table
    )
    compared = run_cli("compare", *files, "--runs", *runs, "--measures", "nDCG@2").stdout
    assert "t test of the estimated differences" in compared
    alone = run_cli("estimate", *files, "--run", runs[0], "--difference")
    assert alone.stderr == "error: --difference needs two runs or more\n"


def test_the_plan_is_that_of_topic_set_size_design() -> None:
    for spread, number in zip(TVR_RANKING.values(), (410, 230, 64), strict=True):
        assert smallest_difference(number, spread) <= 0.02 < smallest_difference(number - 1, spread)
    assert queries_to_judge(0.5, Spread(0.1, 0.1), power=0.99) == 4  # SciPy cannot compute one tail of the distribution
    in_full = [queries_to_judge(0.02, spread) for spread in TVR_RANKING.values()]
    corrected = [queries_to_judge(0.02, spread, ranked=float("inf")) for spread in TVR_RANKING.values()]
    assert (in_full, corrected) == ([410, 230, 64], [100, 99, 57])
    assert queries_to_judge(0.02, TVR_RANKING["spread"], ranked=300) is None
    assert queries_to_judge(1e-6, Spread(0.1, 0.1)) is None
    done = run_cli(
        "plan", "--difference", "0.02", "--like", "close", "--pay", "12", "--hours", "40", "--format", "json"
    )
    assert [row["queries"] for row in json.loads(done.stdout)] == [230, 99]
    refused = run_cli("plan", "--difference", "0")
    assert refused.stderr == "error: difference is 0; it must be positive\n"


def test_a_pilot_tells_the_spread() -> None:
    found = Estimator("nDCG_IoU(iou=0.5)@2", QRELS, POOL).spreads(GOOD, BAD)
    (spread,) = found.values()
    assert 0 < spread.left <= spread.judged


def test_a_pilot_that_is_judged_to_its_end_tells_what_predictions_leave() -> None:
    """There is nothing to correct in it, and yet it says how well the next one will be corrected."""
    qrels = {query: [(*m, g) for m, g in zip(POOL[query], GRADES[int(query) % 5], strict=True)] for query in POOL}
    estimator = Estimator("nDCG_IoU(iou=0.5)@2", qrels, POOL, predictor=qrels)
    (spread,) = estimator.spreads(GOOD, BAD).values()
    assert spread.left < 0.5 * spread.judged
    assert next(iter(estimator.shares_left(GOOD).values())) < 0.5


def test_full_comparison_agrees_with_the_plain_one() -> None:
    """With every query judged, estimated differences are the plain ones, whatever is predicted."""
    qrels = {query: [(*m, g) for m, g in zip(POOL[query], GRADES[int(query) % 5], strict=True)] for query in POOL}
    runs = {"good": GOOD, "bad": BAD}
    found = Estimator("nDCG_IoU(iou=0.5)@2", qrels, POOL, future=True).compare(runs)
    plain = compare("nDCG_IoU(iou=0.5)@2", qrels, runs)
    assert found.differences[0].difference == pytest.approx(plain.differences[0].difference)
    assert list(combinations(found.runs, 2)) == [("good", "bad")]
