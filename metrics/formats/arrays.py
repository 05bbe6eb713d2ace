"""The types of the measures' arrays, and data frames of them."""

from collections.abc import Sequence
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
