"""What noise in the annotated boundaries does to measures: how stable they are (AxIoU, section 6.4), and the bias and
variance of R@1,θ and AxIoU@1 (section C); and the two axioms of moment retrieval (sections 5 and A), tried on measures.

Both axioms compare a list with one that is better at rank k alone. INV-k: if the better moment is still not the best of
the first k, the score must not change. MON-k: if it becomes the best of the first k, the score must rise.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from ..formats.arrays import Bools, Floats, Ints
from ..formats.errors import MeasureError, MeasureWarning
from ..formats.qrels import as_qrels
from ..formats.runs import run_sources
from ..formats.tables import Qrels
from ..measures.conventions import Convention, convention_named
from ..measures.definitions import Measures, parse_measure
from ..measures.evaluate import Evaluator, calc
from ..measures.ground import Ground
from ..measures.matching import temporal_iou
from ..measures.measure import Measure
from ..measures.scene import Scene

LEVELS = (1.0, 2.0, 3.0, 4.0)
RATERS = 5
NoiseModel = Literal["paper", "released"]
Axiom = Literal["INV-k", "MON-k"]
AXIOMS: tuple[Axiom, ...] = ("INV-k", "MON-k")
TRIALS = 4000
STEPS = 20  # IoUs are multiples of 1/20, so that they often meet a threshold, and each other
SAME = 1e-12
LONGEST = 10


class NoiseError(NamedTuple):
    """Error by noise level and measure, averaged over systems: floats of shape (levels, measures).

    rmse: root of the mean square over noisy data sets (the paper). mae: mean absolute (the released code).
    bias, variance: square of the mean, and variance, over noisy data sets. iou: mean IoU of noisy with original
    moments, of shape (levels,).
    """

    levels: tuple[float, ...]
    rmse: Floats
    mae: Floats
    bias: Floats
    variance: Floats
    iou: Floats


def noise_error(
    measures: Measures,
    qrels: Any,
    runs: Any,
    convention: str | Convention = "paper",
    levels: Sequence[float] = LEVELS,
    datasets: int = 100,
    model: NoiseModel = "paper",
    seed: int = 0,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> NoiseError:
    """How far measures move when the boundaries of the moments are noisy.

    Parameters
    ----------
    measures, qrels, runs, convention
        As in `scores_of`.
    levels
        Standard deviations β of a rater's start, in seconds.
    datasets
        Number of noisy data sets for each level.
    model
        See `noisy`.
    seed
        Data set d of the level at position i is drawn from the seed (seed, i, d).
    report
        Is told before each data set how many are done, and of how many.

    Returns
    -------
    NoiseError

    References
    ----------
    AxIoU, section 6.4.
    """
    chosen = convention_named(convention)
    qrels = as_qrels(qrels, chosen.lenient or None)
    ready = Evaluator(measures, qrels, chosen)
    scene = ready.scene(ready.ordered(run_sources(runs, chosen.lenient or None)))
    truth = _means(ready, scene)
    found, overlaps = [], []
    for number, level in enumerate(levels):
        errors, iou = [], []
        for data_set in range(datasets):
            report(number * datasets + data_set, len(levels) * datasets)
            marked = noisy(qrels, level, model, np.random.default_rng([seed, number, data_set]))
            errors.append(_means(ready, scene.on(Ground(marked))) - truth)
            iou.append(temporal_iou(marked.start, marked.end, qrels.start, qrels.end).mean())
        found.append(_summed_up(np.array(errors)))
        overlaps.append(np.mean(iou))
    rmse, mae, bias, variance = np.array(found).swapaxes(0, 1)
    return NoiseError(tuple(levels), rmse, mae, bias, variance, np.array(overlaps))


def _summed_up(errors: Floats) -> list[Floats]:
    """RMSE, mean absolute error, squared bias and variance, from errors of shape (data sets, systems, measures)."""
    rmse, mae = np.sqrt(np.square(errors).mean(axis=0)), np.abs(errors).mean(axis=0)
    return [each.mean(axis=0) for each in (rmse, mae, np.square(errors.mean(axis=0)), errors.var(axis=0))]


def noisy(qrels: Qrels, level: float, model: NoiseModel, rng: np.random.Generator) -> Qrels:
    """The qrels as five noisy raters would have marked them.

    Parameters
    ----------
    level
        Standard deviation β, in seconds, of the start that a rater marks; it is normal around the true start.
    model
        `paper`: a rater's length is exponential, with the true length as its mean; the noisy start and end
        are the medians of the raters' starts and ends. `released`: a rater's length is the true length
        plus an exponential of mean 1 s; the noisy start is the median of the starts, and the noisy end is
        that median plus the median of the lengths.
    rng
        Draws the starts of all raters first, then their lengths.

    Returns
    -------
    Qrels with the same moments, ids and grades at noisy times.

    Raises
    ------
    MeasureError
        For qrels in which several annotators marked a moment.

    References
    ----------
    AxIoU, section 6.4, and its released code.
    """
    if qrels.further is not None:
        raise MeasureError("noise is modelled on one annotation of each moment; these qrels have several")
    shape = (RATERS, qrels.start.size)
    length = qrels.end - qrels.start
    starts = rng.normal(qrels.start, level, shape)
    drawn = rng.exponential(1.0, shape)
    start = np.median(starts, axis=0)
    end = np.median(starts + drawn * length, axis=0)
    if model == "released":
        end = start + np.median(length + drawn, axis=0)
    return replace(qrels, start=start, end=end, ids=tuple(qrels.moments))


def _means(ready: Evaluator, scene: Scene) -> Floats:
    tables = np.array([scores.table() for scores in ready.scores_on(scene)])
    if np.isnan(tables).all(axis=1).any():
        raise MeasureError("no query counts for every run and measure")
    means: Floats = np.nanmean(tables, axis=1)
    return means


class EstimationError(NamedTuple):
    """Squared bias and variance of a measure's value on one query; their sum is the mean squared error."""

    bias: Floats
    variance: Floats

    @property
    def mse(self) -> Floats:
        return self.bias + self.variance


def success_error(true: float, theta: Floats, noise: Floats) -> EstimationError:
    """Error of R@1,θ if the IoU of the first prediction is observed with normal noise.

    Parameters
    ----------
    true
        The IoU r with the true moment, in [0, 1].
    theta, noise
        Threshold θ, and standard deviation γ > 0 of the observed IoU; they broadcast.

    Returns
    -------
    EstimationError, of the broadcast shape. With p = P(r + N(0, γ²) ≥ θ), the bias is p less the true value (1 if
    θ ≤ r, else 0), and the variance p(1 − p). The observed IoU is not cut off at 0 and 1, as in the paper.

    References
    ----------
    AxIoU, section C and Figure 10.

    Examples
    --------
    At θ = r the observed IoU passes in half of the cases, though it should always.

    >>> error = success_error(0.5, np.array(0.5), np.array(0.1))
    >>> float(error.bias), float(error.variance), float(error.mse)
    (0.25, 0.25, 0.5)
    """
    from scipy.special import ndtr

    passes = ndtr((true - np.asarray(theta)) / noise)
    truth = np.where(np.asarray(theta) <= true, 1.0, 0.0)
    return EstimationError(np.square(passes - truth), passes * (1 - passes))


def axiou_error(noise: Floats) -> EstimationError:
    """Error of AxIoU@1 under the same noise: it has no bias, and the variance of the noise."""
    spread = np.square(np.asarray(noise, dtype=np.float64))
    return EstimationError(np.zeros_like(spread), spread)


class Counterexample(NamedTuple):
    """IoUs of a list, the rank (from 1) that changes, the IoU it changes to, and the scores before and after."""

    ious: tuple[float, ...]
    rank: int
    better: float
    before: float
    after: float


def counterexample(
    measure: str | Measure, axiom: Axiom, convention: str | Convention = "paper", seed: int = 0
) -> Counterexample | None:
    """A case in which a measure breaks an axiom; None if there is none among some thousand random cases.

    The query has one relevant moment; lists are as long as the cutoff, at most 10.

    seed: of the random cases.
    Raises MeasureError for a measure that does not look at the IoU of moments. See AxIoU, sections 5 and A.

    R@K,θ satisfies INV-k but not MON-k (the paper's Properties 1 and 2), AxIoU both (7 and 8):

    >>> [counterexample("R@5,0.5", axiom) is None for axiom in AXIOMS]
    [True, False]
    >>> [counterexample("AxIoU@5", axiom) is None for axiom in AXIOMS]
    [True, True]
    """
    measure = parse_measure(measure)
    if measure.definition.family in ("highlight", "plain", "set"):
        what = "saliency, at ids or at whole lists"
        raise MeasureError(f"measure {measure} looks at {what}; the axioms are about the IoU of moments")
    before, after, rank = _lists(min(measure.cutoff or 5, LONGEST), axiom, seed)
    low, high = _value(measure, before, convention), _value(measure, after, convention)
    broken = np.abs(high - low) > SAME if axiom == "INV-k" else high - low <= SAME
    if not broken.any():
        return None
    i = int(np.flatnonzero(broken)[0])
    better = float(after[i, rank[i]])
    return Counterexample(tuple(before[i].tolist()), int(rank[i]) + 1, better, float(low[i]), float(high[i]))


def _lists(width: int, axiom: Axiom, seed: int) -> tuple[Floats, Floats, Ints]:
    """Lists of IoUs before and after, and the rank (from 0) at which they differ, as the axiom's conditions say."""
    rng = np.random.default_rng(seed)
    before = rng.integers(0, STEPS + 1, (TRIALS, width)) // rng.integers(1, 4, (TRIALS, 1))  # some are poor
    rank = rng.integers(0, width, TRIALS)
    better = rng.integers(0, STEPS + 1, TRIALS)
    above = np.where(np.arange(width) < rank[:, None], before, -1).max(axis=1)
    fits: Bools = better > before[np.arange(TRIALS), rank]
    fits &= (better <= above) if axiom == "INV-k" else (better > above)
    after = before[fits].copy()
    after[np.arange(len(after)), rank[fits]] = better[fits]
    return before[fits] / STEPS, after / STEPS, rank[fits]


def _value(measure: Measure, ious: Floats, convention: str | Convention) -> Floats:
    """The measure on each list, as a query of its own; the sign of ranks is changed, as less is better there."""
    judged = {str(i): [("v", 0.0, 1.0, 1)] for i in range(len(ious))}
    spans = {str(i): [("v", 0.0, iou, -float(n)) for n, iou in enumerate(row)] for i, row in enumerate(ious.tolist())}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeasureWarning)  # two ranks may have the same IoU
        values = calc([measure], judged, spans, convention, lenient=True).table()[:, 0]
    return -values if measure.definition.is_of_ranks else values
