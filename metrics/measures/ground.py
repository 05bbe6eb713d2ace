"""Qrels made ready for the kernels: which moments take part, and in which order."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..formats.arrays import Ints
from ..formats.by_id import IdQrels
from ..formats.tables import Qrels
from .identity import KnownMoments
from .matching import Spans, ranks


@dataclass(frozen=True)
class Plan:
    """What all measures of a family need together, so that one pass over the runs is enough.

    Attributes
    ----------
    depth
        The deepest cutoff; 0 if a measure has none.
    thresholds
        All thresholds of IoU, ascending.
    """

    depth: int
    thresholds: tuple[float, ...]


@dataclass(frozen=True)
class Pick:
    """Which moments and predictions take part in a measure.

    Attributes
    ----------
    lowest
        The lowest grade that takes part.
    length
        Only moments longer than the first and at most as long as the second, in seconds; None for all.
    own_video
        Whether only predictions in a judged video of the query take part (TVRetrieval's SVMR).
    last
        Whether, of moments with the same grade, the last in the file comes first.
    """

    lowest: int
    length: tuple[float, float] | None = None
    own_video: bool = False
    last: bool = False


class Ground:
    """Qrels made ready once and used for many runs.

    Parameters
    ----------
    source
        The qrels; those given by moment id are read as spans only when a measure asks for spans.
    """

    def __init__(self, source: Qrels | IdQrels) -> None:
        self.source = source
        self.queries = source.queries

    @cached_property
    def qrels(self) -> Qrels:
        return self.source if isinstance(self.source, Qrels) else self.source.table

    @cached_property
    def position(self) -> dict[str, int]:
        """Number of every query."""
        return {query: i for i, query in enumerate(self.queries)}

    @cached_property
    def spans(self) -> Spans:
        qrels = self.qrels
        return Spans(qrels.query_of_row(), qrels.video, qrels.start, qrels.end)

    @cached_property
    def known(self) -> KnownMoments:
        """The judged moments, ready to be recognised by video and times."""
        return KnownMoments(self.spans, self.qrels.grades)

    def moments(self, pick: Pick) -> Ints:
        """Rows of the moments that take part: by query, then grade (highest first), then file order."""
        if pick not in self._chosen:
            self._chosen[pick] = self._choose(pick)
        return self._chosen[pick]

    @cached_property
    def _chosen(self) -> dict[Pick, Ints]:
        return {}

    def _choose(self, pick: Pick) -> Ints:
        row = np.arange(self.qrels.grades.size)
        rows = np.lexsort((-row if pick.last else row, -self.qrels.grades, self.spans.unit)).astype(np.int64)
        rows = rows[self.qrels.grades[rows] >= pick.lowest]
        if pick.length:
            length = self.qrels.end[rows] - self.qrels.start[rows]
            rows = rows[(length > pick.length[0]) & (length <= pick.length[1])]
        return rows

    def annotations(self, rows: Ints) -> tuple[Spans, Ints]:
        """All annotations of those moments, one moment after the other, and the position of each one's
        moment in `rows`.
        """
        spans, owner, further = self.spans.take(rows), np.arange(rows.size), self.qrels.further
        if further is None:
            return spans, owner
        position = np.full(self.qrels.start.size, -1)
        position[rows] = owner
        kept = position[further.row] >= 0
        at = position[further.row[kept]]
        owner = np.concatenate([owner, at])
        order = np.argsort(owner, kind="stable")
        start = np.concatenate([spans.start, further.start[kept]])
        end = np.concatenate([spans.end, further.end[kept]])
        owner = owner[order]
        return Spans(spans.unit[owner], spans.video[owner], start[order], end[order]), owner

    def grades(self, lowest: int) -> Ints:
        """Grades of every query's moments from `lowest` up, highest first, padded with 0: shape
        (queries, most moments).
        """
        if isinstance(self.source, IdQrels):
            unit, grade = self.source.columns()
        else:
            unit, grade = self.source.query_of_row(), self.source.grades
        rows = np.lexsort((-grade, unit))
        rows = rows[grade[rows] >= lowest]
        rank = ranks(unit[rows])
        table = np.zeros((len(self.queries), int(rank.max(initial=0)) + 1), dtype=np.int64)
        table[unit[rows], rank] = grade[rows]
        return table
