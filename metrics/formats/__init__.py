"""The names of formats, and the scale. This module needs no NumPy, so that `--help` does not wait for it."""

from collections.abc import Sequence

from .errors import MeasureError

GRADED_QRELS = ("jsonl", "nested", "trec", "csv", "beir", "xinfap")
ANNOTATIONS = ("tvr", "qvhighlights", "didemo", "axiou", "charades", "activitynet", "tacos", "ego4d")
QRELS_FORMATS = (*GRADED_QRELS, *ANNOTATIONS)
RUN_FORMATS = (
    *("ranking", "predictions", "tvretrieval", "trec", "qvhighlights", "stal", "axiou", "didemo"),
    *("lighthouse", "ego4d", "trecvid", "dres", "beir"),
)
TASKS = ("VCMR", "SVMR", "VR")
HIGHEST_GRADE = 4  # of the scale 0-4 on which the field judges
ANY_GRADE = 100  # far above any scale in use, far below where 2^grade leaves float64


def check_name(what: str, name: str | None, known: Sequence[str]) -> None:
    """Raise MeasureError for a name that is not known; None is the choice not to name one."""
    if name not in (None, *known):
        raise MeasureError(f"unknown {what} {name!r}; there are {', '.join(known)}")
