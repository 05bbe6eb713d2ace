"""Measuring the measures: agreement, stability, ties, model selection (AxIoU, sections 6 and B).

All functions take scores as floats of shape (systems, queries, measures), without NaN: see `score_block`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from ..formats.arrays import Bools, Floats, Ints
from ..formats.errors import MeasureError
from ..measures.definitions import parse_measure
from ..measures.measure import Measure
from ..measures.results import Scores, listed, must_be_means

SLACK = 1e-12  # of a mean: sums of the same values in another order are still ties

TRIALS = 5000
BLOCK = 250  # trials at a time
SHORT_KEYS = 8192  # queries up to which 16-bit keys seldom tie at the edge
Model = Literal["two", "full"]


def paper_measures() -> list[Measure]:
    """The twelve of AxIoU's experiments: R@K,θ and AxIoU@K with K 1, 5, 10 and θ 0.3, 0.5, 0.7."""
    names = [f"R@{k},{theta}" for k in (1, 5, 10) for theta in (0.3, 0.5, 0.7)]
    return [parse_measure(name) for name in (*names, *(f"AxIoU@{k}" for k in (1, 5, 10)))]


def spelt(field: str, value: Any) -> Any:
    """A measure's name as the papers spell it, if the field of a result holds one; other values as they are."""
    names_measure = field in ("measure", "other", "validation", "test")
    return parse_measure(value).spelling if names_measure else value


def score_block(scores: Mapping[str, Scores] | Sequence[Scores]) -> Floats:
    """Scores of several systems as one block, of the queries that count for all of them in every measure."""
    scores = listed(scores)
    if len(scores) < 2:
        raise MeasureError("measuring measures needs at least two runs")
    must_be_means(scores[0].measures)
    block = np.stack([score.table() for score in scores])
    counted = ~np.isnan(block).any(axis=(0, 2))
    if not counted.any():
        raise MeasureError("no query counts for every run and measure")
    kept: Floats = block[:, counted]
    return kept


def agreement(block: Floats) -> Floats:
    """τ-b between the rankings of systems by each two measures: shape (measures, measures); AxIoU, section 6.2."""
    ranking = signs(block.mean(axis=1).T)
    return tau_b(ranking[:, None], ranking[None])


class Stability(NamedTuple):
    """Self-agreement of each measure by subset size: floats of shape (sizes, measures).

    undefined: trials whose τ does not exist as a ranking tied all systems; mean and variance are over the
    others.
    """

    sizes: tuple[int, ...]
    mean: Floats
    variance: Floats
    undefined: Ints


def stability(
    block: Floats, sizes: Sequence[int], trials: int = TRIALS, model: Model = "two", seed: int = 0
) -> Stability:
    """τ-b between the rankings of systems by a measure on random subsets of the queries.

    Parameters
    ----------
    block
        Scores of shape (systems, queries, measures), from `score_block`.
    sizes
        Subset sizes, each from 1 to the number of queries.
    trials
        Number of trials for each size.
    model
        `two`: each trial compares two subsets that are drawn independently (the paper, section 6.3).
        `full`: each trial compares a subset with all queries (the released code). Trial t has one random
        stream, seeded by t, which draws the subsets of all sizes one after the other, in the order of
        `sizes`; so a size's subsets depend on the sizes before it.
    seed
        Of model `two`. All measures and systems are compared on the same subsets.

    Returns
    -------
    Stability

    Raises
    ------
    MeasureError
        For a size that is not between 1 and the number of queries.

    References
    ----------
    AxIoU, section 6.3, and its released code.
    """
    queries = block.shape[1]
    wrong = [size for size in sizes if not 1 <= size <= queries]
    if wrong:
        raise MeasureError(f"subset size {wrong[0]} must lie between 1 and the number of queries, {queries}")
    compare = _against_all if model == "full" else _two_subsets
    found = compare(block, sizes, trials, seed)
    with np.errstate(all="ignore"):
        mean, variance = (np.array([_over_trials(tau, kind) for tau in found]) for kind in ("mean", "var"))
    return Stability(tuple(sizes), mean, variance, np.array([np.isnan(tau).sum(axis=0) for tau in found]))


def _over_trials(tau: Floats, kind: str) -> Floats:
    """Mean or variance over the trials whose τ exists: shape (measures,)."""
    known = ~np.isnan(tau)
    count = known.sum(axis=0)
    mean: Floats = np.where(known, tau, 0).sum(axis=0) / count
    if kind == "mean":
        return mean
    spread: Floats = np.where(known, (tau - mean) ** 2, 0).sum(axis=0) / count
    return spread


def _two_subsets(block: Floats, sizes: Sequence[int], trials: int, seed: int) -> list[Floats]:
    """τ-b between two subsets: for each size, floats of shape (trials, measures)."""
    rank = _ranker(block)
    found = []
    for size in sizes:
        streams = np.random.SeedSequence([seed, size]).spawn(2)
        pairs = zip(*(_masks(block.shape[1], size, trials, stream) for stream in streams), strict=True)
        found.append(np.concatenate([tau_b(rank(one), rank(other)) for one, other in pairs]))
    return found


def _against_all(block: Floats, sizes: Sequence[int], trials: int, seed: int) -> list[Floats]:
    """τ-b between a subset and all queries: for each size, floats of shape (trials, measures)."""
    rank = _ranker(block)
    whole = rank(np.ones((1, block.shape[1]), dtype=np.bool_))
    blocks = [[tau_b(rank(mask), whole) for mask in masks] for masks in _released_masks(block.shape[1], sizes, trials)]
    return [np.concatenate(parts) for parts in zip(*blocks, strict=True)]


def _ranker(block: Floats) -> Callable[[Bools], Floats]:
    """A function from masks of shape (trials, queries) to the order of the systems, see `_rank`."""
    systems, queries, _ = block.shape
    by_query = np.ascontiguousarray(block.transpose(1, 2, 0)).reshape(queries, -1)
    return partial(_rank, by_query, systems, np.empty((BLOCK, queries)))


def _rank(by_query: Floats, systems: int, scratch: Floats, masks: Bools) -> Floats:
    """Order of the systems on each subset: shape (trials, measures, pairs).

    The masks become numbers in `scratch`: fresh memory for every block would cost more than the product.
    """
    weights = scratch[: len(masks)]
    np.copyto(weights, masks)
    means = (weights @ by_query).reshape(len(masks), -1, systems)
    means /= np.count_nonzero(masks[0])
    return signs(means)


def _masks(queries: int, size: int, trials: int, seed: np.random.SeedSequence) -> Iterator[Bools]:
    """Random subsets of exactly `size` queries, in blocks of shape (trials, queries).

    A subset is where random keys are among the `size` smallest. A row with a tie at the edge is drawn again; as no
    query is more likely to tie than another, all subsets stay equally likely. Short keys are quick to draw and select.
    """
    bits = np.random.SFC64(seed)
    key: type[np.unsignedinteger[Any]] = np.uint16 if queries <= SHORT_KEYS else np.uint32
    for done in range(0, trials, BLOCK):
        masks = _draw(bits, min(BLOCK, trials - done), queries, size, key)
        while (wrong := np.flatnonzero(np.count_nonzero(masks, axis=1) != size)).size:
            masks[wrong] = _draw(bits, wrong.size, queries, size, key)
        yield masks


def _draw(bits: np.random.SFC64, rows: int, queries: int, size: int, key: type[np.unsignedinteger[Any]]) -> Bools:
    words = bits.random_raw(-(-rows * queries * np.dtype(key).itemsize // 8))
    keys = words.view(key)[: rows * queries].reshape(rows, queries)
    edge = np.partition(keys, size - 1, axis=1)[:, size - 1]
    return np.asarray(keys <= edge[:, None])


def _released_masks(queries: int, sizes: Sequence[int], trials: int) -> Iterator[list[Bools]]:
    """The released code's subsets, in blocks of trials: for each size, a mask of shape (trials, queries)."""
    for done in range(0, trials, BLOCK):
        masks = [np.zeros((min(BLOCK, trials - done), queries), dtype=np.bool_) for _ in sizes]
        for row in range(len(masks[0])):
            stream = np.random.RandomState(done + row)
            for mask, size in zip(masks, sizes, strict=True):
                mask[row, stream.choice(queries, size, replace=False)] = True
        yield masks


def all_tied(block: Floats) -> Floats:
    """Share of queries on which all systems have exactly the same score: shape (measures,); AxIoU, section B.

    >>> all_tied(np.array([[[1.0], [0.5]], [[1.0], [0.6]]])).tolist()
    [0.5]
    """
    share: Floats = (block == block[:1]).all(axis=0).mean(axis=0)
    return share


def halves(block: Floats, seed: int) -> tuple[Floats, Floats]:
    """The block split into two random halves of its queries: for validation, and for test."""
    queries = block.shape[1]
    if queries < 2:
        raise MeasureError("a split needs at least two queries")
    order = np.random.default_rng(seed).permutation(queries)
    return block[:, order[: queries // 2]], block[:, order[queries // 2 :]]


class Selection(NamedTuple):
    """Model selection: chosen, int64 of shape (validation measures,); z, (validation measures, test
    measures).
    """

    chosen: Ints
    z: Floats


def select(validation: Floats, test: Floats) -> Selection:
    """Z-scores on the test measures of the systems that each validation measure selects (AxIoU, section 6.6).

    Parameters
    ----------
    validation, test
        Mean scores of shape (systems, measures), of the same systems in the same order. The first of tied
        systems is selected.

    Returns
    -------
    Selection; for each test measure the z-scores of the selected systems have mean 0 and, unless all are the
    same, standard deviation 1.

    Examples
    --------
    >>> chosen, z = select(np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([[0.3], [0.5]]))
    >>> chosen.tolist(), z.round(6).tolist()
    ([0, 1], [[-1.0], [1.0]])
    """
    chosen = validation.argmax(axis=0)
    reached = test[chosen]
    spread = reached.std(axis=0)
    flat = spread <= 1e-15
    z = np.where(flat, 0.0, (reached - reached.mean(axis=0)) / np.where(flat, 1.0, spread))
    return Selection(chosen.astype(np.int64), z)


def signs(scores: Floats) -> Floats:
    """Order of every pair of systems: 1, 0 (tied) or −1; from shape (…, systems) to (…, pairs)."""
    first, second = np.triu_indices(scores.shape[-1], 1)
    gap = scores[..., first] - scores[..., second]
    return np.where(np.abs(gap) <= SLACK, 0.0, np.sign(gap))


def tau_b(one: Floats, other: Floats) -> Floats:
    """Kendall's τ-b along the last axis.

    Parameters
    ----------
    one, other
        Signs of pairs, from `signs`: shape (…, pairs); they broadcast.

    Returns
    -------
    Floats of shape (…), in [−1, 1]; NaN where a ranking ties all systems.

    References
    ----------
    AxIoU, section 6.2.

    Examples
    --------
    Three systems, of which the second ranking swaps two: two pairs agree, one does not.

    >>> tau_b(signs(np.array([3.0, 2.0, 1.0])), signs(np.array([3.0, 1.0, 2.0]))).round(4).item()
    0.3333
    """
    agree = (one * other).sum(axis=-1)
    untied = np.abs(one).sum(axis=-1) * np.abs(other).sum(axis=-1)
    tau = np.full(np.shape(agree), np.nan)
    np.divide(agree, np.sqrt(untied), out=tau, where=untied > 0)
    return tau
