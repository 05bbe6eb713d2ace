"""Severity and spread of annotators: simulated ones whose answers are known, the real ratings, and edges."""

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from metrics import MeasureError, Ratings
from metrics.analysis.agreement import alpha, alpha_interval, alpha_of_coincidences, alpha_with_interval, coincidences
from metrics.analysis.severity import Severity, severity
from metrics.formats.arrays import Floats, Ints
from tests.metrics.shared import ROOT, SHARED, needs_shared, run_cli, write

SIZE = 20  # pairs of a batch


class Played(NamedTuple):
    """Simulated ratings, and what each annotator is in truth."""

    ratings: Ratings
    batch: Ints
    severity: Floats  # beside the mean of all
    spread: Floats


def played(seed: int, people: int = 20, batches: int = 300, shared: float = 0.25) -> Played:
    """Batches in two hands, and in two others where these differ by more than 1. Each annotator errs in the same
    direction within a batch, by a standard deviation of `shared`.
    """
    rng = np.random.default_rng(seed)
    own, spread = rng.normal(0, 0.35, people), np.exp(rng.normal(np.log(0.6), 0.3, people))
    pairs = np.arange(batches * SIZE)
    batch = pairs // SIZE
    latent = np.clip(rng.normal(1.8, 0.7, batches)[batch] + rng.normal(0, 0.9, pairs.size), -0.5, 4.5)
    hard = rng.choice([0.5, 1, 2], pairs.size, p=[0.4, 0.45, 0.15])
    hands = np.array([rng.permutation(people)[:4] for _ in range(batches)])[batch].T
    error = rng.normal(0, shared, (batches, people))[batch, hands] + spread[hands] * hard * rng.normal(size=hands.shape)
    grade = np.clip(np.floor(latent + own[hands] + error + 0.5), 0, 4).astype(int)
    far = np.abs(grade[0] - grade[1]) > 1
    seats = [np.ones(pairs.size, bool), np.ones(pairs.size, bool), far, far]
    columns = [np.concatenate([each[seat] for each, seat in zip(rows, seats, strict=True)]) for rows in (hands, grade)]
    pair = np.concatenate([pairs[seat] for seat in seats])
    total = np.sqrt(spread**2 * (hard**2).mean() + shared**2)
    return Played(Ratings(pair, *columns), pair // SIZE, own - own.mean(), total)


def test_severities_are_found_and_intervals_hold() -> None:
    """Over 200 simulated annotators, so that 95 % hold to within 3 standard errors of 1.5 %."""
    held, off = [], []
    for seed in range(10):
        truth = played(seed)
        found = severity(truth.ratings, truth.batch)
        ends = found.severity_interval, found.spread_interval
        for (low, high), true in zip((each.T for each in ends), (truth.severity, truth.spread), strict=True):
            held.append((low <= true) & (true <= high))
        off.append(found.severity - truth.severity)
    assert np.std(off) < 0.1  # 0.35 is what severities differ by
    assert 0.905 <= np.mean(held[::2]) <= 0.995
    assert 0.905 <= np.mean(held[1::2]) <= 0.995


def test_intervals_by_pair_are_too_narrow_where_errors_of_a_batch_go_together() -> None:
    truth = played(1)
    by_batch, by_pair = severity(truth.ratings, truth.batch), severity(truth.ratings)
    assert by_batch.design_effect[0] > 1.5 * by_pair.design_effect[0]
    widths = [np.ptp(found.severity_interval, axis=1).mean() for found in (by_batch, by_pair)]
    assert widths[0] > 1.2 * widths[1]
    assert np.isclose(by_batch.severity, by_pair.severity, atol=0.1).all()


def test_who_has_judged_little_is_drawn_to_the_mean() -> None:
    """The newcomer gives four pairs two grades more than everybody else."""
    truth = played(2, people=10, batches=100)
    few = np.arange(4)
    given = truth.ratings.grade[few]
    rows = [
        np.concatenate(each) for each in zip(truth.ratings, (few, np.full(4, 99), (given + 2).clip(max=4)), strict=True)
    ]
    found = severity(Ratings(*rows), np.concatenate([truth.batch, [0] * 4]))
    newcomer = found.annotator == 99
    assert 0 < found.severity[newcomer] < 1
    assert np.isnan(found.severity_interval[newcomer]).all()


def test_hard_pairs_are_those_on_which_grades_lie_apart() -> None:
    truth = played(3)
    found = severity(truth.ratings, truth.batch)
    low, high = (np.full(found.candidate.size, start) for start in (9, -9))
    np.minimum.at(low, truth.ratings.candidate, truth.ratings.grade)
    np.maximum.at(high, truth.ratings.candidate, truth.ratings.grade)
    calm, far = found.difficulty[high == low], found.difficulty[high - low >= 3]
    assert calm.mean() < 1 < far.mean()


def test_an_annotators_number_does_not_matter() -> None:
    truth = played(4, people=6, batches=40)
    found = severity(truth.ratings, truth.batch)
    renamed = severity(truth.ratings._replace(annotator=50 - truth.ratings.annotator), truth.batch)
    assert np.allclose(found.severity, renamed.severity[::-1], atol=1e-6)
    assert np.allclose(found.spread_interval, renamed.spread_interval[::-1], atol=1e-6)


def test_edges() -> None:
    none = np.zeros(0, np.int64)
    for alone in (Ratings(none, none, none), Ratings(np.array([0, 0, 1]), np.array([5, 5, 6]), np.array([1, 4, 2]))):
        found = severity(alone)
        assert (found.annotator.size, found.candidate.size, found.severity.size) == (0, 0, 0)
    same = severity(Ratings(np.array([0, 0]), np.array([0, 1]), np.array([4, 4])))
    assert np.allclose(same.severity, 0, atol=1e-6)
    assert np.isnan(same.severity_interval).all()
    with pytest.raises(MeasureError, match="outside the scale of 0 to 4"):
        severity(Ratings(np.array([0, 0]), np.array([0, 1]), np.array([4, 5])))


def test_coincidence_matrices_add_up() -> None:
    truth = played(5, batches=30)
    counts = np.zeros((600, 5))
    np.add.at(counts, (truth.ratings.candidate, truth.ratings.grade), 1)
    together = coincidences(counts, np.arange(600) // SIZE)
    assert together.shape == (30, 5, 5)
    value = float(alpha_of_coincidences(together.sum(axis=0), np.arange(5.0)))
    assert value == pytest.approx(alpha(truth.ratings))
    assert np.isnan(alpha_of_coincidences(np.zeros((5, 5)), np.arange(5.0)))


def test_the_interval_of_alpha_is_that_of_drawing_batches() -> None:
    truth = played(6, batches=60)
    value, (low, high) = alpha_with_interval(truth.ratings, truth.batch)
    rng, alphas = np.random.default_rng(3), []
    rows = [np.flatnonzero(truth.batch == batch) for batch in range(60)]
    for _ in range(400):
        drawn = [rows[batch] for batch in rng.integers(0, 60, 60)]
        chosen = np.concatenate(drawn)
        pair = truth.ratings.candidate[chosen] + 10_000 * np.repeat(np.arange(60), list(map(len, drawn)))
        alphas.append(alpha(Ratings(pair, truth.ratings.annotator[chosen], truth.ratings.grade[chosen])))
    assert low < value < high
    assert (low, high) == pytest.approx(np.quantile(alphas, [0.025, 0.975]), abs=0.012)
    _, by_pair = alpha_with_interval(truth.ratings)
    assert high - low > 1.1 * (by_pair[1] - by_pair[0])


def test_few_batches_have_no_interval() -> None:
    truth = played(7, batches=9)
    value, ends = alpha_with_interval(truth.ratings, truth.batch)
    assert np.isfinite(value)
    assert np.isnan(ends).all()
    assert np.isnan(alpha_interval(np.zeros((20, 5, 5)), np.arange(5.0))).all()


@needs_shared
def test_tvr_rankings_annotators() -> None:
    """21 annotators; in the time of this process, so that others on the machine do not count."""
    file = SHARED / "data" / "tvr_ranking" / "raw_annotation.csv"
    ratings = Ratings(*np.loadtxt(file, np.int64, delimiter=",", skiprows=1).T)
    batch = ratings.candidate // SIZE
    started = time.process_time()
    value, (low, high) = alpha_with_interval(ratings, batch)
    found = severity(ratings, batch)
    assert time.process_time() - started < 20
    ends = low, high, *alpha_with_interval(ratings)[1]
    document = " ".join((ROOT / "docs" / "measures.md").read_text().split())
    sentence = "alpha is {:.3f}, by batches from {:.3f} to {:.3f}, by pairs from {:.3f} to {:.3f}."
    assert sentence.format(value, *ends) in document
    # Of a pair's grades those of other annotators, whose mean is taken off.
    at = tuple(np.unique(each, return_inverse=True)[1] for each in ratings[:2])
    table, number = (np.zeros((at[0].max() + 1, 21)) for _ in range(2))
    np.add.at(table, at, ratings.grade)
    np.add.at(number, at, 1)
    others = number[at[0]].sum(axis=1) - number[at]
    counted = others > 0
    off = ratings.grade[counted] - ((table[at[0]].sum(axis=1) - table[at])[counted] / others[counted])
    plain = np.bincount(at[1][counted], off) / np.bincount(at[1][counted])
    assert (plain.min(), plain.max()) == pytest.approx((-0.582, 0.376), abs=5e-4)
    assert np.corrcoef(plain, found.severity)[0, 1] > 0.85
    assert (found.severity.min(), found.severity.max()) == pytest.approx((-0.555, 0.544), abs=0.01)


def test_command_line(tmp_path: Path) -> None:
    lines = [f"{pair},{worker},{(pair + worker) % 4}" for pair in range(400) for worker in (1, 2)]
    file = write(tmp_path / "r.csv", "pair_id,worker,relevance\n" + "\n".join(lines))
    assert "drawn by pairs" in run_cli("annotators", "--ratings", file).stdout
    assert "drawn by batches" in run_cli("annotators", "--ratings", file, "--batch-size", "20").stdout
    assert "95 %" not in run_cli("annotators", "--ratings", file, "--batch-size", "100").stdout
    by_worker = run_cli("annotators", "--ratings", file, "--severity", "--format", "csv").stdout.splitlines()
    assert by_worker[0] == "worker,ratings,severity,low,high,spread,spread_low,spread_high"
    assert [line.split(",")[:2] for line in by_worker[1:]] == [["1", "400"], ["2", "400"]]


def test_a_column_names_the_batches(tmp_path: Path) -> None:
    lines = [f"q{pair},{worker},{(pair + worker) % 4},b{pair // 10}" for pair in range(200) for worker in (1, 2)]
    file = write(tmp_path / "r.csv", "pair_id,worker,relevance,batch\n" + "\n".join(lines))
    assert "drawn by batches" in run_cli("annotators", "--ratings", file).stdout
    refused = run_cli("annotators", "--ratings", file, "--batch-size", "20")
    assert (refused.returncode, "has 'q0'" in refused.stderr) == (2, True)
    alone = write(tmp_path / "alone.csv", "pair_id,worker,relevance\n1,1,2\n")
    refused = run_cli("annotators", "--ratings", alone, "--severity")
    assert (refused.returncode, "no pair was rated by two" in refused.stderr) == (2, True)


def few(annotators: int, pairs: int, rng: np.random.Generator) -> tuple[Severity, Floats]:
    """A small campaign without batches, in which two rate each pair; and the true severities."""
    true = rng.normal(0, 0.3, annotators)
    true -= true.mean()
    latent = rng.uniform(0, 4, pairs)
    who = np.stack([rng.choice(annotators, 2, replace=False) for _ in range(pairs)])
    grades = np.rint(latent[:, None] + true[who] + rng.normal(0, 0.6, who.shape)).clip(0, 4).astype(np.int64)
    return severity(Ratings(np.repeat(np.arange(pairs), 2), who.ravel(), grades.ravel())), true


def test_intervals_of_few_annotators_hold() -> None:
    rng, held = np.random.default_rng(5), list[bool]()
    for _ in range(20):
        found, true = few(4, 110, rng)
        low, high = found.severity_interval.T
        at = true[found.annotator]
        held += ((low <= at) & (at <= high))[np.isfinite(low)].tolist()
    assert len(held) > 50
    assert np.mean(held) >= 0.9


def shifted(batches: int, rng: np.random.Generator) -> tuple[Severity, Floats]:
    """Six annotators with so many batches of 20 pairs each, in each of which an annotator's grades shift together."""
    true = rng.normal(0, 0.3, 6)
    true -= true.mean()
    pairs = np.array([(first, (first + 1 + number % 5) % 6) for number in range(batches) for first in range(6)][::2])
    who, batch = np.repeat(pairs, 20, axis=0), np.repeat(np.arange(len(pairs)), 20)
    latent, shift = rng.uniform(0, 4, len(batch)), np.repeat(rng.normal(0, 0.4, pairs.shape), 20, axis=0)
    grades = np.rint(latent[:, None] + true[who] + shift + rng.normal(0, 0.6, who.shape)).clip(0, 4).astype(np.int64)
    ratings = Ratings(np.repeat(np.arange(len(batch)), 2), who.ravel(), grades.ravel())
    return severity(ratings, np.repeat(batch, 2)), true


def test_intervals_of_few_batches_hold() -> None:
    rng, held = np.random.default_rng(5), list[bool]()
    for _ in range(20):
        found, true = shifted(6, rng)
        low, high = found.severity_interval.T
        held += ((low <= true) & (true <= high))[np.isfinite(low)].tolist()
    assert len(held) > 50
    assert np.mean(held) >= 0.93


def test_too_few_batches_get_no_interval() -> None:
    assert np.isnan(shifted(3, np.random.default_rng(5))[0].severity_interval).all()


def test_too_few_ratings_get_no_interval() -> None:
    found, _ = few(3, 15, np.random.default_rng(5))
    assert np.isnan(found.severity_interval).all()
    assert np.isnan(found.spread_interval).all()
