"""How far annotators agree: numbers worked by hand, oracles, and what must not change them."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from django.utils import timezone
from scipy.stats import linregress
from scipy.stats import t as student
from sklearn.metrics import cohen_kappa_score

from campaigns.models import Campaign, Membership
from judging.models import Assignment, Candidate, Judgement, Kind, Query
from judging.pool import opening
from metrics.analysis.agreement import alpha, alpha_of, kappa_of
from metrics.formats.csv_tables import Ratings
from reports.statistics.agreement import _kappa_with_ends, agreement, by_query, weekly_slope
from reports.statistics.arrays import CANDIDATE, JUDGEMENT, SETTLED, Floats, Read, beside, joined, read
from reports.statistics.collection import by_rank, by_similarity, collection, spread
from reports.statistics.severity import who_judges
from tests.cast import claim, judge_all, make_query
from tests.remembered import remembered
from tests.tampering import tampering

ADA, BOB = (0, 2, 4, 1), (1, 2, 1, 1)  # of ranks 1-4; they are far apart on rank 3
CLEO, DAN = 3, 4  # of rank 3, in round two: 1, 3, 4, 4 settles on 4


@pytest.fixture
@remembered
def four(campaign: Campaign) -> Campaign:
    """Batches of four, and one query."""
    Query.objects.filter(campaign=campaign).delete()
    campaign.batch_size = 4
    campaign.save()
    make_query(campaign, "7", "Somebody opens a box.")
    return campaign


@pytest.fixture
@remembered
def judged(four: Campaign, ada: Membership, bob: Membership, cleo: Membership, dan: Membership) -> Campaign:
    """Round one in the second and third week of 2026, round two in the third."""
    judge_all(claim(ada), lambda candidate: ADA[candidate.rank - 1])
    judge_all(claim(bob), lambda candidate: BOB[candidate.rank - 1])
    judge_all(claim(cleo), lambda candidate: CLEO)
    judge_all(claim(dan), lambda candidate: DAN)
    Assignment.objects.update(submitted=datetime(2026, 1, 14, tzinfo=UTC))
    Assignment.objects.filter(annotator=ada).update(submitted=datetime(2026, 1, 5, tzinfo=UTC))
    return four


def of(numbers: dict[str, Any], member: Membership) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in numbers["annotators"] if each["member"] == member.pk)
    return found


@pytest.mark.both_databases
def test_an_annotator_by_hand(judged: Campaign, ada: Membership, bob: Membership, cleo: Membership) -> None:
    numbers = agreement(read(judged), 1)
    hers = of(numbers, ada)
    assert (hers["judged"], hers["pairs"]) == (4, 4)
    assert hers["difference"] == 0.5  # -1, 0, 3 and 0 above Bob
    assert of(numbers, bob)["difference"] == -0.5
    assert hers["contested"] == 0.25
    assert hers["settled"] == 1
    # Squares: 1 + 0 + 9 + 0 observed; (7 + 3 + 31 + 1) / 4 by chance.
    assert hers["kappa"] == pytest.approx(1 - 10 / 10.5, abs=1e-6)
    assert hers["kappa"] == pytest.approx(cohen_kappa_score(ADA, BOB, labels=range(5), weights="quadratic"), abs=1e-6)
    assert of(numbers, cleo)["judged"] == 1
    assert of(numbers, cleo)["contested"] is None  # nothing is contested after round two


def test_the_pairs_behind_kappa(judged: Campaign, ada: Membership, bob: Membership) -> None:
    hers = of(agreement(read(judged), 1), ada)
    pairs = {(own, other) for own, row in enumerate(hers["table"]) for other, n in enumerate(row) if n}
    assert pairs == set(zip(ADA, BOB, strict=True))
    assert [(each["member"], each["pairs"]) for each in hers["others"]] == [(bob.pk, 4)]


@pytest.mark.both_databases
def test_weeks_are_those_of_submission(judged: Campaign, ada: Membership) -> None:
    numbers = agreement(read(judged), 1)
    assert [(each["week"], each["judged"], each["pairs"]) for each in numbers["weeks"]] == [
        (202602, 4, 0),
        (202603, 6, 4),  # a pair belongs to the week in which it became complete
    ]
    assert [each["week"] for each in of(numbers, ada)["weeks"]] == [202602]


def test_alpha_counts_round_one_with_what_it_contested(judged: Campaign) -> None:
    numbers = agreement(read(judged), 1)["alpha"]

    def oracle(*rows: tuple[float, ...]) -> float:
        levels = np.unique([grade for row in rows for grade in row if grade == grade])
        return float(krippendorff.alpha(np.array(rows), value_domain=levels, level_of_measurement="ordinal"))

    nan = float("nan")
    assert numbers["round_one"] == pytest.approx(oracle(ADA, BOB), abs=1e-6)
    assert numbers["never_escalated"] == pytest.approx(oracle((0, 2, 1), (1, 2, 1)), abs=1e-6)
    late = (nan, nan, CLEO, nan), (nan, nan, DAN, nan)
    assert numbers["all"] == pytest.approx(oracle(ADA, BOB, *late), abs=1e-6)
    assert numbers["never_escalated"] > numbers["round_one"]


def test_speed_is_that_of_the_first_grade(four: Campaign, ada: Membership, bob: Membership) -> None:
    held = claim(ada)
    judge_all(held, lambda candidate: 2, submit=False)
    for number, judgement in enumerate(Judgement.objects.order_by("pk")):
        with tampering():
            judgement.revisions.update(seconds=[1, 1.5, 8, None][number])
    judge_all(held, lambda candidate: 3)  # thought better of, after 1 second each
    numbers = of(agreement(read(four), 1), ada)
    assert numbers["seconds"] == 1.5  # of 1, 1.5 and 8
    assert numbers["fast"] == pytest.approx(2 / 3, abs=1e-6)
    assert (numbers["pairs"], numbers["kappa"], numbers["difference"]) == (0, None, None)


def test_what_does_not_count_is_not_counted(judged: Campaign, ada: Membership) -> None:
    before = agreement(read(judged), 1)
    query = Query.objects.create(campaign=judged, kind=Kind.EXAM, query_id="c", text="examined")
    Candidate.objects.create(query=query, moment_id=Candidate.objects.first().moment_id, rank=1, similarity=1)  # type: ignore[union-attr]
    judge_all(opening.open_batch(query, 1).lend_to(ada), lambda candidate: 0)
    assert agreement(read(judged), 1) == before
    Query.objects.filter(query_id="7").update(withdrawn=timezone.now(), withdrawn_for="judged")
    assert agreement(read(judged), 1)["judgements"] == 0


def test_swapping_workers_changes_nothing_else(judged: Campaign, ada: Membership, bob: Membership) -> None:
    pool = read(judged)
    swap = {ada.pk: bob.pk, bob.pk: ada.pk}
    names = [
        np.array([swap.get(who, who) for who in column.tolist()])
        for column in (pool.judged.annotator, pool.judged.co_judge)
    ]
    swapped = Read(pool.candidates, pool.judged._replace(annotator=names[0], co_judge=names[1]))
    one, other = agreement(pool, 1), agreement(swapped, 1)
    assert {key: one[key] for key in ("alpha", "contested", "weeks")} == {
        key: other[key] for key in ("alpha", "contested", "weeks")
    }
    assert of(one, ada)["table"] == of(other, bob)["table"]
    assert of(one, ada)["difference"] == -of(one, bob)["difference"] == of(other, bob)["difference"]


def test_a_table_of_counts_says_what_single_ratings_say() -> None:
    chance = np.random.default_rng(3)
    rows = chance.integers(0, 5, (200, 3))
    ratings = Ratings(np.repeat(np.arange(200), 3), np.tile(np.arange(3), 200), rows.ravel())
    counts = np.array([np.bincount(row, minlength=5) for row in rows], float)
    for scale in ("nominal", "ordinal", "interval"):
        plain = alpha(ratings, scale)
        assert alpha_of(counts, np.arange(5.0), scale) == pytest.approx(plain)
        oracle = krippendorff.alpha(value_counts=counts, value_domain=range(5), level_of_measurement=scale)
        assert plain == pytest.approx(oracle)
    table = np.zeros((5, 5))
    np.add.at(table, (rows[:, 0], rows[:, 1]), 1)
    oracle = cohen_kappa_score(rows[:, 0], rows[:, 1], weights="quadratic")
    assert kappa_of(table, np.arange(5.0), "quadratic") == pytest.approx(oracle)


def test_queries_with_most_disagreement_come_first(judged: Campaign, ada: Membership, bob: Membership) -> None:
    calm = make_query(judged, "8", "Somebody closes a box.")
    judge_all(claim(ada), lambda candidate: 3)
    judge_all(claim(bob), lambda candidate: 2)
    first = judged.queries.get(query_id="7")
    # One of four contested; distances 1, 0, 3, 0; final grades 1, 2, 4, 1.
    assert by_query(read(judged), 1) == [[first.pk, 4, 0.25, 0.0, 1.0, 2.0], [calm.pk, 4, 0.0, 0.0, 1.0, 3.0]]


@pytest.mark.both_databases
def test_counts_of_the_collection_by_hand(judged: Campaign) -> None:
    counts = collection(judged, read(judged))
    moments = Candidate.objects.filter(batch__isnull=False)
    # Four moments of one film: 3.25 seconds each, of 100.
    assert moments.values("moment__video").distinct().count() == 1
    whole = counts["splits"]["all"]
    assert (whole["queries"], whole["moments"], whole["videos"], whole["vocabulary"]) == (1, 4, 1, 4)
    assert whole["moment_hours"] == pytest.approx(13 / 3600)
    assert whole["video_hours"] == pytest.approx(100 / 3600)
    assert whole["query_length"] == [4, 4, 4]
    assert whole["ratio"] == pytest.approx(0.0325)
    assert whole["relevant"] == 4
    none = dict.fromkeys(("discarded", "reused", "by_lead", "open"), 0)
    assert whole["consensus"] == {"candidates": 4, "two": 3, "four": 1} | none
    assert counts["final"] == [0, 2, 1, 0, 1]
    assert counts["corpus"]["moments"] == 60
    # "secret description 0 1" became "secret caption 0 1", sixty times.
    assert counts["replaced"] == [("caption", 60)]


def test_lowest_and_highest_grade(judged: Campaign) -> None:
    table = spread(read(judged))
    assert {(low, high) for low in range(5) for high in range(5) if table[low][high]} == {
        (0, 1),
        (2, 2),
        (1, 4),
        (1, 1),
    }


def test_bins_of_similarity_and_rank() -> None:
    candidates = np.zeros(4, CANDIDATE)
    candidates["similarity"] = [0.95, 0.949999, 1.0, 0.7]
    candidates["rank"] = [5, 6, 60, 61]
    candidates["outcome"], candidates["grade"] = "settled", [4, 3, 4, 0]
    bins = [(each["from"], each["to"], each["grades"]) for each in by_similarity(candidates)]
    assert bins == [(0.7, 0.75, [1, 0, 0, 0, 0]), (0.9, 0.95, [0, 0, 0, 1, 0]), (0.95, 1.0, [0, 0, 0, 0, 2])]
    assert [(each["from"], each["to"]) for each in by_rank(candidates)] == [(1, 5), (6, 10), (56, 60), (61, None)]


def test_one_person_twice_on_a_candidate_is_no_pair_of_hers(judged: Campaign, ada: Membership, bob: Membership) -> None:
    """As imported ratings may have it: Bob's judgements are said to be Ada's own, a second time."""
    Membership.objects.filter(pk=bob.pk).update(same_as=ada)
    judged.imported = timezone.now()
    numbers = agreement(read(judged), 1)
    assert [each["member"] for each in numbers["annotators"]].count(bob.pk) == 0
    hers = of(numbers, ada)
    assert (hers["judged"], hers["pairs"], hers["difference"]) == (8, 0, None)
    assert numbers["pairs"] == 4
    assert numbers["weeks"] == []


def test_an_empty_campaign_has_numbers_too(four: Campaign) -> None:
    numbers = agreement(read(four), 1)
    assert (numbers["judgements"], numbers["alpha"]["round_one"], numbers["annotators"]) == (0, None, [])
    assert by_query(read(four), 1) == []
    assert collection(four, read(four))["final"] == [0] * 5


def test_the_raw_ratings_of_tvr_ranking(shared: Path) -> None:
    """227,808 ratings of 96,483 pairs: known alpha, known discarded pairs."""
    pool = _pool(shared / "tvr_ranking" / "raw_annotation.csv")
    numbers = agreement(pool, 1)
    assert numbers["judgements"] == 227_808
    assert numbers["alpha"]["all"] == pytest.approx(0.615, abs=5e-4)
    assert numbers["alpha"]["never_escalated"] > numbers["alpha"]["round_one"] > 0.615
    assert numbers["pairs"] == 96_483
    assert sum(map(sum, spread(pool))) == 96_483
    assert len(numbers["annotators"]) == 21
    low, high = numbers["alpha_interval"]["all"]
    assert (low, high) == pytest.approx((0.607, 0.623), abs=0.002)
    assert all(each["alpha_low"] < each["alpha"] < each["alpha_high"] for each in numbers["annotators"][:-1])


def test_each_two_annotators_by_hand(judged: Campaign, ada: Membership, bob: Membership, cleo: Membership) -> None:
    pool = read(judged)
    numbers = agreement(pool, 1)
    cells = {(one, other): (pairs, kappa) for one, other, pairs, kappa, *_ in numbers["matrix"]}
    kappa = cohen_kappa_score(ADA, BOB, labels=range(5), weights="quadratic")
    assert cells[ada.pk, bob.pk] == (4, pytest.approx(kappa, abs=1e-6))
    assert len(cells) == 2  # and Cleo and Dan, on one pair
    # Without rounds, all four of rank 3 are beside each other.
    pairs = beside(pool.judged, rounds_known=False)
    assert len(pairs.grade) == 2 * (3 + 6)
    hers = pairs.where(pairs.annotator == cleo.pk)
    assert sorted(zip(hers.grade, hers.other, strict=True)) == [(3, 1), (3, 4), (3, 4)]


def test_the_interval_of_kappa_is_that_of_its_large_sample_variance() -> None:
    table = np.array([[53, 5, 2, 0, 0], [11, 14, 5, 0, 0], [1, 6, 10, 0, 0], [0] * 5, [0] * 5], float)
    kappa, low, high = _kappa_with_ends(table)
    assert kappa == pytest.approx(cohen_kappa_score(*raters_of(table), labels=range(5), weights="quadratic"), abs=1e-6)
    rng = np.random.default_rng(1)
    drawn = rng.multinomial(int(table.sum()), (table / table.sum()).ravel(), 4000).reshape(-1, 5, 5)
    spread = np.std([_kappa_with_ends(each.astype(float))[0] or 0.0 for each in drawn])
    assert ((high or 0) - (low or 0)) / 2 / 1.96 == pytest.approx(spread, rel=0.05)
    assert _kappa_with_ends(np.diag([3.0, 4.0, 0, 0, 0])) == [1.0, None, None]  # nothing varies


def raters_of(table: Floats) -> tuple[list[int], list[int]]:
    """The grades of two raters who met as often as the table counts."""
    pairs = [(one, other) for (one, other), n in np.ndenumerate(table) for _ in range(int(n))]
    return [one for one, _ in pairs], [other for _, other in pairs]


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([0.1, 0.2, 0.3], None),  # too few weeks
        ([0.1, None, 0.3, 0.4], None),
        ([0.1, 0.2, 0.3, 0.4], (0.1, 0.1, 0.1)),  # a line
    ],
)
def test_a_slope_needs_four_weeks(values: list[float | None], found: tuple[float, ...] | None) -> None:
    weeks = [202552, 202601, 202602, 202603][: len(values)]
    slope = weekly_slope(weeks, values, [9] * len(values))
    assert slope == (found and pytest.approx(found, abs=1e-9))


def test_the_interval_of_a_slope_is_that_of_regression() -> None:
    values: list[float | None] = [0.3, 0.5, 0.35, 0.6, 0.4, 0.55]
    oracle = linregress(range(6), values)
    far = student.ppf(0.975, 4) * oracle.stderr
    found = weekly_slope([202610 + week for week in range(6)], values, [7] * 6)
    assert found == pytest.approx((oracle.slope, oracle.slope - far, oracle.slope + far))


def test_alpha_beside_the_others_is_that_of_the_pairs(judged: Campaign, ada: Membership, bob: Membership) -> None:
    numbers = agreement(read(judged), 1)
    oracle = krippendorff.alpha(np.array([ADA, BOB], float), value_domain=[0, 1, 2, 4], level_of_measurement="ordinal")
    assert of(numbers, ada)["alpha"] == of(numbers, bob)["alpha"] == pytest.approx(oracle, abs=1e-6)
    assert of(numbers, ada)["alpha_low"] is None  # of one batch
    assert numbers["alpha_interval"] == {"round_one": None, "never_escalated": None, "all": None}


def test_who_judges(shared: Path) -> None:
    """Two queries are planted in the real ratings: one on which all disagree, and one on which one annotator does. A
    pair's consensus is planted as far from what careful annotators say.
    """
    pool = _pool(shared / "tvr_ranking" / "raw_annotation.csv")
    candidates, judged = pool
    candidates["query"] = candidates["batch"] // 5
    chance = np.random.default_rng(1)
    grade = judged.grade.copy()
    all_of_them = candidates["query"][judged.candidate] == 100
    grade[all_of_them] = chance.choice([0, 4], all_of_them.sum())
    of_one = (candidates["query"][judged.candidate] == 200) & (judged.annotator == 3)
    assert of_one.sum() > 20
    grade[of_one] = chance.choice([0, 4], of_one.sum())
    candidates["outcome"] = SETTLED
    sums, times = (np.bincount(judged.candidate, each) for each in (grade, np.ones(len(grade))))
    candidates["grade"] = np.floor(sums / times + 0.5)
    calm = np.flatnonzero((times == 2) & (np.bincount(judged.candidate, grade**2) == sums**2 / times) & (sums == 8))
    planted = calm[np.isin(calm, judged.candidate[np.isin(judged.annotator, (1, 9))])][0]
    candidates["grade"][planted] = 1
    found = who_judges(Read(candidates, judged._replace(grade=grade)), 1, rounds_known=False)
    disputed = [each["query"] for each in found["queries"]]
    assert disputed[0] == 100
    assert 200 not in disputed
    assert found["opposed"][0]["candidate"] == candidates["pk"][planted]
    assert {1, 9} & set(found["opposed"][0]["by"])
    assert [each["member"] for each in found["annotators"]] == sorted(set(judged.annotator.tolist()))


def test_who_judges_where_all_agree(four: Campaign, ada: Membership, bob: Membership) -> None:
    for member in (ada, bob):
        judge_all(claim(member), lambda candidate: candidate.rank)
    found = who_judges(read(four), 1)
    assert [(each["severity"], each["ratings"]) for each in found["annotators"]] == [(None, 4), (None, 4)]
    assert (found["pairs"], found["batches"], found["opposed"], found["queries"]) == (4, 1, [], [])


def test_who_judges_with_nothing_to_compare(four: Campaign, ada: Membership) -> None:
    judge_all(claim(ada), lambda candidate: 2)
    found = who_judges(read(four), 1)
    assert (found["annotators"], found["opposed"], found["queries"]) == ([], [], [])


def _pool(file: Path) -> Read:
    with file.open(newline="") as source:
        rows = [(int(pair), int(worker), int(grade)) for pair, worker, grade in list(csv.reader(source))[1:]]
    given: dict[int, list[tuple[int, int]]] = {}
    for pair, worker, grade in rows:
        given.setdefault(pair, []).append((worker, grade))
    candidates = np.zeros(len(given), CANDIDATE)
    candidates["pk"] = sorted(given)
    candidates["batch"] = candidates["pk"] // 20
    candidates["escalated"] = [len(given[pair]) == 4 for pair in sorted(given)]
    judgements = np.array(
        [
            (pair, worker, 0, seat, grade, -1.0)
            for pair, ratings in given.items()
            for seat, (worker, grade) in enumerate(ratings, 1)
        ],
        JUDGEMENT,
    )
    return joined(candidates, judgements, {})
