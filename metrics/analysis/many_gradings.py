"""NDCG@K, IoU≥μ of several runs under many gradings of the same moments, as a bootstrap over annotators makes them.

Scoring anew under each grading would match the same predictions with the same moments a thousand times. Most moments
compete with no other for a prediction: whoever grades them, the first prediction that passes the threshold gets them.
Only groups of moments that compete are matched again, once for each way in which the gradings differ on them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..formats.arrays import Bools, Floats, Ints
from ..formats.errors import MeasureError
from ..formats.tables import Run
from ..measures import scores
from ..measures.conventions import Convention, Options, convention_named
from ..measures.ground import Ground, Pick
from ..measures.matching import Pairs, match, passing
from ..measures.measure import Measure
from ..measures.scene import Scene

Gradings = NDArray[np.int8]
NO_RANK = -1
GRADES = 5  # of the scale
GRADINGS_AT_ONCE = 64
ENTRIES_AT_ONCE = 20_000


class Matches(NamedTuple):
    """Moments that predictions match. run, moment, rank: int64 of shape (matches,)."""

    run: Ints
    moment: Ints
    rank: Ints


class Changing(NamedTuple):
    """Moments that competing predictions match at ranks that depend on the grading, ordered by run.

    run, moment: int64 of shape (entries,). first, kinds: of shape (entries,): where an entry's ranks begin in `ranks`,
    one for each kind of grading, and its row of `kind`. kind: int16 of shape (rows, gradings).
    """

    run: Ints
    moment: Ints
    first: Ints
    kinds: Ints
    ranks: Ints
    kind: NDArray[np.int16]


def means_by_grading(
    ground: Ground,
    runs: Sequence[Run],
    gradings: Gradings,
    measures: Sequence[Measure],
    convention: str | Convention = "paper",
) -> Floats:
    """Mean of each measure over the queries, under each grading.

    ground: all moments that a grading may grade; their own grades do not matter.
    gradings: int8 of shape (gradings, moments): a grade for each row of the qrels, −1 where the grading has none.
    measures: nDCG_IoU with a threshold and a cutoff, and nothing else.
    Returns floats of shape (gradings, runs, measures), on the scale from 0 to 1; NaN where no query counts. Raises
    MeasureError for another measure.
    """
    _must_be_ndcg(measures)
    options = convention_named(convention).graded
    scene = Scene(ground, runs, "skip")
    depth = max(measure.cutoff or 0 for measure in measures)
    thresholds = sorted({measure.thresholds[0] for measure in measures})
    by_moment = np.ascontiguousarray(gradings.T)
    pairs = _pairs(scene, options, depth, thresholds[0])
    matches = {
        threshold: _matches(passing(pairs, threshold, options.strict), by_moment, options, threshold)
        for threshold in thresholds
    }
    means = np.empty((len(gradings), len(runs), len(measures)))
    for begin in range(0, len(gradings), GRADINGS_AT_ONCE):
        here = slice(begin, begin + GRADINGS_AT_ONCE)
        graded = _Graded(scene, by_moment[:, here], options)
        sums, counts = _sums(graded, measures, matches, depth, here), graded.counted()
        means[here] = (sums / np.where(counts > 0, counts, np.nan)).transpose(2, 1, 0)
    return means


def _must_be_ndcg(measures: Sequence[Measure]) -> None:
    for measure in measures:
        names = [key for key, _ in measure.params]
        if measure.name != "nDCG_IoU" or names != ["iou"] or len(measure.thresholds) > 1:
            raise MeasureError(f"measure {measure}: gradings are compared by nDCG_IoU(iou=μ)@K alone")


def _sums(
    graded: "_Graded",
    measures: Sequence[Measure],
    matches: dict[float, tuple[Matches, Changing]],
    depth: int,
    here: slice,
) -> Floats:
    """Sum of each measure over the queries under some gradings: floats of shape (measures, runs, gradings)."""
    sums = np.zeros((len(measures), len(graded.scene.sources), graded.gain.shape[1]))
    for cutoff in sorted({measure.cutoff or 0 for measure in measures}):
        shares, weights = graded.shares(cutoff), _weights(cutoff, depth)
        for n, measure in enumerate(measures):
            if measure.cutoff == cutoff:
                fixed, changing = matches[measure.thresholds[0]]
                _add_fixed(sums[n], shares, fixed, weights)
                _add_changing(sums[n], shares, changing, weights, here)
    return sums


def _pairs(scene: Scene, options: Options, depth: int, least: float) -> Pairs:
    """The pairs of predictions and moments; a moment of run r is numbered r × moments + its row in the qrels."""
    pairs = scene.pairs(options, Pick(0), depth, least, options.strict)
    rows = scene.ground.moments(Pick(0))
    run, place = np.divmod(pairs.moment, rows.size)
    return Pairs(
        pairs.prediction, run * rows.size + rows[place], pairs.iou, pairs.rank, pairs.predictions, pairs.moments
    )


def _matches(pairs: Pairs, by_moment: Gradings, options: Options, threshold: float) -> tuple[Matches, Changing]:
    """What is matched at the same rank under all gradings, and what is not."""
    moments = len(by_moment)
    group, tied, alone = _groups(pairs)
    steady = np.less_equal(options.lowest, by_moment.min(axis=1))[pairs.moment % moments]
    sways: Bools = np.bincount(group, ~steady | tied, minlength=alone.size) > 0
    changes = sways[group] & ~alone[group]
    bars = np.array([threshold])
    rest = _only(pairs, ~changes)
    matched = match(rest, bars, options.strict)[0]
    hit = np.flatnonzero(matched >= 0)
    rank = np.zeros(pairs.predictions, dtype=np.int64)
    rank[rest.prediction] = rest.rank
    fixed = Matches(matched[hit] // moments, matched[hit] % moments, rank[hit])
    tied_groups = np.bincount(group, tied, minlength=sways.size) > 0
    return fixed, _changing(_only(pairs, changes), group[changes], tied_groups, by_moment, options, bars)


def _only(pairs: Pairs, kept: Bools) -> Pairs:
    columns = (pairs.prediction[kept], pairs.moment[kept], pairs.iou[kept], pairs.rank[kept])
    return Pairs(*columns, pairs.predictions, pairs.moments)


def _groups(pairs: Pairs) -> tuple[Ints, Bools, Bools]:
    """The group of each pair, in which predictions compete for moments; whether the pair's IoU is also that of another
    moment with the same prediction; and for each group whether it has one moment alone.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    predictions, prediction = np.unique(pairs.prediction, return_inverse=True)
    moments, moment = np.unique(pairs.moment, return_inverse=True)
    size = predictions.size + moments.size
    links = coo_matrix((np.ones(moment.size, np.int8), (prediction, predictions.size + moment)), shape=(size, size))
    count, label = connected_components(links, directed=False) if size else (0, np.zeros(0, np.int64))
    order = np.lexsort((pairs.iou, pairs.prediction))
    same = (np.diff(pairs.prediction[order]) == 0) & (np.diff(pairs.iou[order]) == 0)
    tied = np.zeros(moment.size, dtype=np.bool_)
    tied[order] = np.append(same, False) | np.append(False, same) if moment.size else False
    alone: Bools = np.equal(np.bincount(label[predictions.size :], minlength=count), 1)
    return label[prediction].astype(np.int64), tied, alone


def _changing(pairs: Pairs, group: Ints, tied: Bools, by_moment: Gradings, options: Options, bars: Floats) -> Changing:
    """Match the competing moments anew for each kind of grading."""
    moments = len(by_moment)
    groups, member = np.unique(group, return_inverse=True)
    own, numbered = np.unique(np.stack([member, pairs.moment]), axis=1)  # the moments of each group
    row, examples, kind = _kinds(own, numbered % moments, tied[groups], by_moment, options)
    kinds = np.array([len(examples[n]) for n in row], dtype=np.int64)  # of each group
    # A copy of each group for each kind of grading, with the moments that take part under it.
    times = kinds[member]
    pair = np.repeat(np.arange(member.size), times)
    copy = np.arange(pair.size) - np.repeat(np.cumsum(times) - times, times)
    begins = np.cumsum([0, *map(len, examples)])
    example = np.concatenate([*examples, np.zeros(0, np.int64)])[begins[row[member[pair]]] + copy]
    grade = by_moment[pairs.moment[pair] % moments, example]
    kept = np.flatnonzero(grade >= options.lowest)
    pair, copy, grade = pair[kept], copy[kept], grade[kept]
    order = np.lexsort((pairs.moment[pair], -grade, pairs.prediction[pair], copy, pairs.rank[pair]))
    pair, copy = pair[order], copy[order]
    prediction = np.unique(pairs.prediction[pair] * (int(kinds.max(initial=0)) + 1) + copy, return_inverse=True)[1]
    entry = np.searchsorted(own * pairs.moments + numbered, member[pair] * pairs.moments + pairs.moment[pair])
    first = np.cumsum(kinds[own]) - kinds[own]  # of an entry's ranks
    total = int(kinds[own].sum())
    columns = (prediction, first[entry] + copy, pairs.iou[pair], pairs.rank[pair])
    matched = match(Pairs(*columns, int(prediction.max(initial=-1)) + 1, total), bars, options.strict)[0]
    rank_of = np.zeros(matched.size, dtype=np.int64)
    rank_of[prediction] = pairs.rank[pair]
    ranks = np.full(total, NO_RANK, dtype=np.int64)
    ranks[matched[matched >= 0]] = rank_of[matched >= 0]
    by_run = np.argsort(numbered // moments, kind="stable")
    run, moment = np.divmod(numbered[by_run], moments)
    return Changing(run, moment, first[by_run], row[own[by_run]], ranks, kind)


def _kinds(
    own: Ints, moment: Ints, tied: Bools, by_moment: Gradings, options: Options
) -> tuple[Ints, list[Ints], NDArray[np.int16]]:
    """How the gradings differ on groups of moments: which of them take part, or how all are graded where IoUs tie.

    Returns the row of each group, shared by groups of the same moments; a grading of each kind, by row; and the kind of
    each grading, of shape (rows, gradings).
    """
    coefficients = np.random.default_rng(0).integers(1, 2**62, size=64) | 1
    begins = np.flatnonzero(np.diff(own, prepend=-1))
    ends = np.append(begins, own.size)[1:]
    rows = dict[tuple[int, ...], int]()
    kind, examples, row = list[NDArray[np.int16]](), list[Ints](), np.zeros(begins.size, dtype=np.int64)
    for n, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
        moments = moment[begin:end].tolist()
        name = (int(tied[n]), *moments)
        if name not in rows:
            rows[name] = len(kind)
            grade = np.maximum(by_moment[moments], options.lowest - 1).astype(np.int64)
            level = grade if tied[n] else (grade >= options.lowest).astype(np.int64)
            _, example, kinds = np.unique(
                np.resize(coefficients, len(moments)) @ level, return_index=True, return_inverse=True
            )
            examples.append(example)
            kind.append(kinds.astype(np.int16))
        row[n] = rows[name]
    return row, examples, np.array(kind, dtype=np.int16).reshape(len(kind), by_moment.shape[1])


class _Graded:
    """Some gradings of all moments: what each moment is worth, and how many moments of a query reach each grade."""

    def __init__(self, scene: Scene, by_moment: Gradings, options: Options) -> None:
        self.scene, self.options = scene, options
        self.sizes = np.diff(scene.ground.qrels.offsets)
        # Of −1, and of each grade.
        self.gains = np.concatenate([[0.0], scores.gains(np.arange(GRADES), options.gain)])
        self.gain = self.gains.astype(np.float32)[by_moment + 1]
        starts = scene.ground.qrels.offsets[:-1]
        self.reaching = [np.add.reduceat(by_moment >= grade, starts, axis=0, dtype=np.int32) for grade in range(GRADES)]

    def shares(self, cutoff: int) -> NDArray[np.float32]:
        """Gain of each moment over its query's ideal DCG, 0 where nothing is to be found: shape (moments, gradings)."""
        discounted = np.concatenate([[0], np.cumsum(1 / scores.discounts("log2", cutoff))])
        ideal = np.zeros(self.reaching[0].shape)
        for grade in range(1, GRADES):  # what each grade adds to the one below, on the ranks that reach it
            more = self.gains[grade + 1] - self.gains[grade]
            ideal += more * discounted[np.minimum(self.reaching[grade], cutoff)]
        with np.errstate(divide="ignore"):
            inverse = np.where(ideal > 0, 1 / ideal, 0.0).astype(np.float32)
        shares: NDArray[np.float32] = self.gain * np.repeat(inverse, self.sizes, axis=0)
        return shares

    def counted(self) -> Floats:
        """Number of queries that count: floats of shape (runs, gradings)."""
        runs = len(self.scene.sources)
        there = ~self.scene.missing.reshape(runs, -1)
        present = np.where(there | (self.options.missing != "skip"), 1.0, 0.0)
        something = self.reaching[1] > 0
        return present @ np.where(something | (self.options.empty == "zero"), 1.0, 0.0)


def _weights(cutoff: int, depth: int) -> NDArray[np.float32]:
    """Weight of each rank down to the cutoff, 0 for the ranks below it, and, at the end, for no rank."""
    weights = np.where(np.arange(depth + 1) < cutoff, 1 / scores.discounts("log2", depth + 1), 0.0)
    return weights.astype(np.float32)


def _add_fixed(sums: Floats, shares: NDArray[np.float32], fixed: Matches, weights: NDArray[np.float32]) -> None:
    """Add what the moments bring that are matched at the same rank under all gradings: shape (runs, gradings)."""
    from scipy.sparse import csr_matrix

    shape = (len(sums), len(shares))
    sums += csr_matrix((weights[fixed.rank], (fixed.run, fixed.moment)), shape=shape) @ shares


def _add_changing(
    sums: Floats, shares: NDArray[np.float32], changing: Changing, weights: NDArray[np.float32], here: slice
) -> None:
    """Add what the competing moments bring."""
    for low in range(0, changing.run.size, ENTRIES_AT_ONCE):
        part = slice(low, low + ENTRIES_AT_ONCE)
        rank = changing.ranks[changing.first[part, None] + changing.kind[changing.kinds[part], here]]
        got = shares[changing.moment[part]] * weights[rank]
        begins = np.flatnonzero(np.diff(changing.run[part], prepend=-1))
        sums[changing.run[part][begins]] += np.add.reduceat(got, begins, axis=0)
