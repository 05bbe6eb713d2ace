"""Temporal intersection over union, in the arithmetic of the published evaluators."""

import numpy as np

from ..formats.arrays import Floats
from ..formats.errors import MeasureError, show


def temporal_iou(start: Floats, end: Floats, other_start: Floats, other_end: Floats, union: str = "lengths") -> Floats:
    """Intersection over union of spans of time, element by element.

    Parameters
    ----------
    start, end, other_start, other_end
        Arrays that broadcast against each other: seconds. A span whose end lies before its start has IoU 0
        with everything. float32 input is computed in float32, as TVRetrieval's evaluator does.
    union
        ``lengths``: the sum of both lengths less the intersection (TVR-Ranking, SPR, STAL).
        ``hull``: latest end less earliest start (AxIoU, TVRetrieval, QVHighlights R1). The two agree wherever
        the spans overlap, except in the last bit; the last bit decides at a threshold.

    Returns
    -------
    Array of the broadcast shape, in [0, 1]; 0 where the union is not positive.

    References
    ----------
    TVR-Ranking, section 4, Figure 2(a); AxIoU, section 3.1.

    Examples
    --------
    Half of a ten-second moment, and nothing of it:

    >>> temporal_iou(np.array([0.0, 20.0]), np.array([5.0, 30.0]), np.array([0.0]), np.array([10.0])).tolist()
    [0.5, 0.0]
    """
    inter = np.maximum(0, np.minimum(end, other_end) - np.maximum(start, other_start))
    if union == "hull":
        total = np.maximum(end, other_end) - np.minimum(start, other_start)
    else:
        total = (end - start) + (other_end - other_start) - inter
    iou: Floats = np.zeros_like(total)
    np.divide(inter, total, out=iou, where=total > 0)
    return iou


def check_threshold(iou: object) -> None:
    """Raise MeasureError for a threshold of IoU that is not a number in [0, 1]."""
    if not isinstance(iou, int | float | np.number) or not 0 <= iou <= 1:
        raise MeasureError(f"threshold {show(iou)} must be a number from 0 to 1")
