"""What examines the measures, as records: a dict for each number, with what it belongs to. Pages, files and figures
are made of these.
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from ..formats.arrays import Floats, Ints
from ..measures.measure import Measure
from . import meta
from .meta import signs, tau_b
from .noise import NoiseError
from .other_judging import Changed

Row = dict[str, Any]


def agreement(measures: Sequence[Measure], block: Floats) -> list[Row]:
    names = [*map(str, measures)]
    return in_cells({"measure": names, "other": names}, tau=meta.agreement(block))


def stability(measures: Sequence[Measure], found: meta.Stability) -> list[Row]:
    sides = {"size": found.sizes, "measure": [*map(str, measures)]}
    return in_cells(sides, mean=found.mean, variance=found.variance, undefined=found.undefined)


def noise(measures: Sequence[Measure], found: NoiseError) -> list[Row]:
    sides = {"level": found.levels, "measure": [*map(str, measures)]}
    return in_cells(sides, rmse=found.rmse, mae=found.mae, bias=found.bias, variance=found.variance)


def ties(measures: Sequence[Measure], block: Floats) -> list[Row]:
    share = meta.all_tied(block)
    return [{"measure": str(m), "all_tied": float(x)} for m, x in zip(measures, share, strict=True)]


def selection(
    systems: Sequence[str], validated: Sequence[Measure], tested: Sequence[Measure], found: meta.Selection
) -> list[Row]:
    return [
        {"validation": str(v), "selected": systems[found.chosen[i]], "test": str(t), "z": float(found.z[i, j])}
        for i, v in enumerate(validated)
        for j, t in enumerate(tested)
    ]


def scores(systems: Sequence[str], measures: Sequence[Measure], block: Floats) -> list[Row]:
    """Mean of each system on each measure (AxIoU, Figure 5)."""
    return in_cells({"system": systems, "measure": [*map(str, measures)]}, mean=block.mean(axis=1))


def orders(
    systems: Sequence[str], measures: Sequence[Measure], found: Changed, full: Floats
) -> tuple[list[Row], list[Row]]:
    """What a change of the judging does to the scores, and to the order of the systems.

    full: means of shape (systems, measures) as things are. The first list has the mean, lowest and highest score of
    each system on each measure over the trials; the second, for each measure, the mean and the lowest τ-b with the
    order as things are, the trials that kept that order, and those that kept the best system.
    """
    who = {"change": found.change, "annotator": found.annotator}
    names = [*map(str, measures)]
    scored = in_cells(
        {"system": systems, "measure": names},
        mean=found.means.mean(axis=0),
        lowest=found.means.min(axis=0),
        highest=found.means.max(axis=0),
    )
    now, then = signs(full.T), signs(found.means.swapaxes(1, 2))
    tau = tau_b(then, now)  # (trials, measures)
    best = (found.means.argmax(axis=1) == full.argmax(axis=0)).sum(axis=0)
    ordered = in_cells(
        {"measure": names},
        tau=_over_known(np.nanmean, tau),
        lowest=_over_known(np.nanmin, tau),
        same=(then == now).all(axis=-1).sum(axis=0),
        best=best,
        trials=np.full(len(names), len(tau)),
    )
    return [who | row for row in scored], [who | row for row in ordered]


def _over_known(summary: Callable[..., Floats], tau: Floats) -> Floats:
    """A summary over the trials whose τ exists, NaN where there is none."""
    known = ~np.isnan(tau).all(axis=0)
    found = np.full(tau.shape[1], np.nan)
    found[known] = summary(tau[:, known], axis=0)
    return found


def in_cells(sides: dict[str, Sequence[Any]], **matrices: Floats | Ints) -> list[Row]:
    """A row for each cell of some matrices: what it belongs to, down the side and across the top, and its values."""
    pairs = enumerate(product(*sides.values()))
    columns = {name: matrix.ravel().tolist() for name, matrix in matrices.items()}
    return [
        dict(zip(sides, pair, strict=True)) | {name: column[n] for name, column in columns.items()} for n, pair in pairs
    ]
