"""The types of the measures' arrays, and data frames of them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import MeasureError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def data_frame(data: Any, columns: list[str] | None = None, index: tuple[str, Sequence[str]] | None = None) -> Any:
    """A pandas data frame, with a named index if one is given; raises MeasureError where pandas is not installed."""
    try:
        import pandas
    except ImportError:
        raise MeasureError("to_frame needs pandas: pip install pandas") from None
    rows = pandas.Index(index[1], name=index[0]) if index else None
    return pandas.DataFrame(data, rows, columns)


def order_ties(order: Ints, scores: NDArray[np.float32], group: Ints, key: Callable[[int], str]) -> Ints:
    """An order of rows by group and falling score, with the rows of equal scores in a group by falling key."""
    same = (np.diff(scores[order]) == 0) & (np.diff(group[order]) == 0)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8)))
    for low, high in edges.reshape(-1, 2).tolist():
        order[low : high + 1] = sorted(order[low : high + 1].tolist(), key=key, reverse=True)
    return order
