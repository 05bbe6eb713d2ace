"""Which moments that runs found and nobody judged would decide between them; how a pool favours its runs. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..formats import HIGHEST_GRADE
from ..formats.arrays import Bools, Floats, Ints
from ..formats.tables import Qrels, Run
from ..measures import scores
from ..measures.conventions import Convention, Options, convention_named
from ..measures.evaluate import Evaluator
from ..measures.graded import ideal
from ..measures.ground import Ground, Pick, Plan
from ..measures.matching import Spans, join, ranks
from ..measures.measure import Measure
from ..measures.scene import Scene
from .fusion import kept_down_the_ranks
from .other_judging import NO_GRADE, means_on, with_grades

SAME = 0.7  # IoU from which two predictions are one moment
BLOCK = 4096  # moments at a time


@dataclass(frozen=True, eq=False)
class Found:
    """Moments that runs found, by query, and in a query by the best rank.

    queries, names: ids of queries, and names of videos.
    query, video: int64 of shape (moments,): numbers of them.
    start, end: floats of shape (moments,): seconds.
    ranks: int64 of shape (moments, runs): the best rank at which a run has the moment, from 1; 0 if it does not.
    """

    queries: tuple[str, ...]
    names: tuple[str, ...]
    query: Ints
    video: Ints
    start: Floats
    end: Floats
    ranks: Ints

    def __len__(self) -> int:
        return int(self.query.size)

    def take(self, rows: Ints | Bools) -> "Found":
        """Return some of the moments."""
        numbers, times = (self.query[rows], self.video[rows]), (self.start[rows], self.end[rows])
        return Found(self.queries, self.names, *numbers, *times, self.ranks[rows])


def undecided(
    ground: Ground, runs: Sequence[Run], depth: int, iou: float, convention: str | Convention = "paper"
) -> Found:
    """The predictions among the first ranks that match no judged moment, whatever its grade.

    Predictions are matched as NDCG@K, IoU≥μ does (TVR-Ranking, section 4), but with moments of grade 0 too, because
    these are decided. Of one query, going down the ranks, a prediction that overlaps one before it enough is the same
    moment, which has the times of the first.

    depth, iou: K and μ.

    The first run finds a judged moment and another one, which the second run has a little later in the film:

    >>> from reeljudge import qrels_from_dict, run_from_dict
    >>> ground = Ground(qrels_from_dict({"1": [("a", 0, 10, 0)]}))
    >>> one = run_from_dict({"1": [("a", 0, 9, 2.0), ("b", 0, 10, 1.0)]})
    >>> other = run_from_dict({"1": [("b", 1, 11, 2.0)]})
    >>> found = undecided(ground, [one, other], 10, 0.5)
    >>> [found.names[video] for video in found.video], found.start.tolist(), found.ranks.tolist()
    (['b'], [1.0], [[2, 1]])
    """
    options, scene = convention_named(convention).options("graded"), Scene(ground, runs, "skip")
    pick = Pick(0)
    matched = scene.matched(options, pick, Plan(depth, (iou,)))[0]
    spans, rank = scene.predictions(options, pick, depth)
    free = np.flatnonzero((matched[spans.unit, rank] < 0) & (spans.end > spans.start))
    run, query = np.divmod(spans.unit[free], scene.queries)
    order = np.lexsort((run, rank[free], query))
    free, run, query = free[order], run[order], query[order]
    names = dict.fromkeys([*ground.qrels.names, *(name for each in scene.runs for name in each.names)])
    spans, rank = spans.take(free)._replace(unit=query), rank[free]
    leader = _leaders(spans)
    rows, moment = np.unique(leader, return_inverse=True)
    best = np.full((rows.size, len(runs)), np.iinfo(np.int64).max)
    np.minimum.at(best, (moment.reshape(-1), run), rank + 1)
    best[best == np.iinfo(np.int64).max] = 0
    columns = (spans.unit[rows], spans.video[rows], spans.start[rows], spans.end[rows])
    return Found(ground.queries, tuple(names), *columns, best)


def _leaders(spans: Spans) -> Ints:
    """For each prediction, by query and rank, the row of the one before it that is the same moment, or its own."""
    place = ranks(spans.unit)
    pairs = join(spans, place, spans, "lengths", SAME)
    kept = kept_down_the_ranks(pairs, place)
    leader = np.arange(spans.unit.size)
    joins = ~kept[pairs.prediction] & kept[pairs.moment] & (place[pairs.moment] < pairs.rank)
    member, to, overlap = pairs.prediction[joins], pairs.moment[joins], pairs.iou[joins]
    order = np.lexsort((-to, overlap, member))  # the last of each member is the one that it overlaps most
    leader[member[order]] = to[order]
    return leader


def pooled(qrels: Qrels, runs: Sequence[Run], depth: int) -> dict[str, list[tuple[str, float, float]]]:
    """The moments of each query of the qrels, and then what the runs list down to a rank, the best ranks first.

    A prediction that overlaps a moment before it by `SAME` or more, or that ends where it starts, is left out.

    depth: how many ranks of each run are looked at.
    Returns video, start and end (seconds) of each moment.

    >>> from reeljudge import qrels_from_dict, run_from_dict
    >>> qrels = qrels_from_dict({"1": [("a", 0, 10, 1)]})
    >>> runs = [run_from_dict({"1": [("a", 0, 9, 2.0), ("b", 0, 5, 1.0)]}), run_from_dict({"1": [("a", 20, 30, 1.0)]})]
    >>> pooled(qrels, runs, 2)
    {'1': [('a', 0.0, 10.0), ('a', 20.0, 30.0), ('b', 0.0, 5.0)]}
    """
    return {query: list(pool) for query, pool in pooled_by_rank(qrels, runs, depth).items()}


def pooled_by_rank(qrels: Qrels, runs: Sequence[Run], depth: int) -> dict[str, dict[tuple[str, float, float], int]]:
    """As `pooled`, with the rank at which each moment is found, from 1; 0 for those of the qrels.

    What is found down to a smaller depth is that of a rank up to it, because the best ranks come first.
    """
    lists = [dict(run.rows(run.scores)) for run in runs]
    found: dict[str, dict[tuple[str, float, float], int]] = {}
    for query, moments in qrels.rows(qrels.grades):
        pool = found[query] = {(video, start, end): 0 for video, start, end, _ in moments}
        for rank in range(depth):
            for rows in lists:
                for video, start, end, _ in rows.get(query, [])[rank : rank + 1]:
                    if end > start and not any(_is_same((video, start, end), other) for other in pool):
                        pool[video, start, end] = rank + 1
    return found


def _is_same(one: tuple[str, float, float], other: tuple[str, float, float]) -> bool:
    both = min(one[2], other[2]) - max(one[1], other[1])
    return one[0] == other[0] and both >= SAME * (one[2] - one[1] + other[2] - other[1] - both)


def influence(
    found: Found, ground: Ground, runs: Sequence[Run], depth: int, iou: float, convention: str | Convention = "paper"
) -> Floats:
    """How much each moment could change the order of the runs by NDCG@K, IoU≥μ, if it alone were judged perfect.

    Of each two runs whose scores are `gap` apart, the moment would move that difference by `change`, and counts
    `change / (gap + change)`: 1 if they are tied, 1/2 if the moment alone could make up for the gap, and near 0 if it
    takes many of its kind. The sum over all pairs of runs is returned. Which of the two found the moment does not
    matter: judging only what the one behind found would favour it.

    found: from `undecided` with the same arguments.
    Returns floats of shape (moments,), from 0 to the number of pairs of runs.

    Two runs are tied, and one of them found another moment:

    >>> from reeljudge import qrels_from_dict, run_from_dict
    >>> ground = Ground(qrels_from_dict({"1": [("a", 0, 10, 4)]}))
    >>> one, other = ([("a", 0, 10, 2.0), ("b", 0, 10, 1.0)], [("a", 0, 10, 2.0), ("a", 0, 9, 1.0)])
    >>> runs = [run_from_dict({"1": rows}) for rows in (one, other)]
    >>> found = undecided(ground, runs, 2, 0.5)
    >>> influence(found, ground, runs, 2, 0.5).tolist(), found.ranks.tolist()
    ([1.0, 1.0], [[2, 0], [0, 2]])
    """
    options = convention_named(convention).options("graded")
    values, best, raised = _scores(ground, runs, depth, iou, convention_named(convention), options)
    counted = max(1, int((best > 0).sum()))
    first, second = np.triu_indices(len(runs), 1)
    mean = values.sum(axis=0) / counted
    gap = np.abs(mean[first] - mean[second])
    top = scores.gains(np.array([HIGHEST_GRADE]), options.gain)[0]
    gained = np.append(0.0, top / scores.discounts("log2", depth))
    total = np.zeros(len(found))
    for low in range(0, len(found), BLOCK):
        here = slice(low, low + BLOCK)
        query = found.query[here]
        after = (values[query] * best[query, None] + gained[found.ranks[here]]) / raised[query, None]
        moved = (after - values[query]) / counted
        change = np.abs(moved[:, first] - moved[:, second])
        share = np.zeros_like(change)
        np.divide(change, gap + change, out=share, where=change > 1e-15)
        total[here] = share.sum(axis=1)
    return total


def _scores(
    ground: Ground, runs: Sequence[Run], depth: int, iou: float, convention: Convention, options: Options
) -> tuple[Floats, Floats, Floats]:
    """NDCG by query and run, and DCG of each query's ideal ranking, without and with one more perfect moment."""
    evaluator = Evaluator([f"nDCG_IoU(iou={iou})@{depth}"], ground, convention.but(unjudged="skip"))
    scene = evaluator.scene(list(runs))
    values = np.stack([each.table()[:, 0] for each in evaluator.scores_on(scene)], axis=1)
    gains = ideal(scene, options.lowest, options.gain)[: scene.queries]
    top = np.full((scene.queries, 1), scores.gains(np.array([HIGHEST_GRADE]), options.gain)[0])
    best, raised = (scores.dcg(each[:, :depth])[:, -1] for each in (gains, np.concatenate([top, gains], axis=1)))
    return np.nan_to_num(values), best, raised


def means_without_own(
    qrels: Qrels,
    finders: Bools,
    runs: Sequence[Run],
    group: Sequence[int],
    measures: Sequence[str | Measure],
    convention: str | Convention = "paper",
) -> Floats:
    """Mean scores of each run, had its system added nothing to the pool: what only it found counts as not judged.

    The difference to the run's score on the whole pool is how much the pool favours it, and so how much too low an
    equally good system scores that took no part in the pool.

    finders: bool of shape (rows of the qrels, groups): which groups found a moment. Rows that nobody found are of the
    pool that the runs had no part in, and always stay.
    group: the number of each run's group, such as the seeds of a system. A group is left out as a whole.
    Returns floats of shape (runs, measures).

    A run alone found the only relevant moment that is not in the first pool:

    >>> from reeljudge import qrels_from_dict, run_from_dict
    >>> qrels = qrels_from_dict({"1": [("a", 0, 10, 4), ("b", 0, 10, 4)]})
    >>> run = run_from_dict({"1": [("b", 0, 10, 2.0), ("c", 0, 10, 1.0)]})
    >>> finders = np.array([[False], [True]])
    >>> means_without_own(qrels, finders, [run], [0], ["nDCG_IoU(iou=0.5)@1"]).tolist()
    [[0.0]]
    """
    alone, found = finders.sum(axis=1) == 1, np.zeros((len(runs), len(measures)))
    by_group = np.array(group)
    for number in np.unique(by_group).tolist():
        kept = ~(finders[:, number] & alone)
        members = np.flatnonzero(by_group == number)
        found[members] = means_of_part(qrels, kept, [runs[n] for n in members.tolist()], measures, convention)
    return found


def means_of_part(
    qrels: Qrels,
    kept: Bools,
    runs: Sequence[Run],
    measures: Sequence[str | Measure],
    convention: str | Convention = "paper",
) -> Floats:
    """Mean scores of shape (runs, measures) with a part of the judged moments: bool of shape (rows of the qrels,)."""
    part = with_grades(qrels, np.where(kept, qrels.grades, NO_GRADE))
    return means_on(part, measures, runs, convention_named(convention))
