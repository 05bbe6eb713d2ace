"""Detection of a file's format from its content, and of what a file is that stands in the wrong place."""

import re
from typing import Any

from .columns import MOMENT, QUERY
from .errors import SWAPPED, MeasureError, setting, show
from .json_files import looks_like_json

TREC_QRELS, TREC_RUN = 4, 6  # fields of a line
RUN_FIELDS = ("model_scores", "score", "predictions", "pred_relevant_windows", "pred_saliency_scores")
OTHER_RUN_FIELDS = ("pred_segments", "segments", "video2idx")
QRELS_FIELDS = ("relevance", "relevant_moment", "relevant_windows", "ts", "times")


def qrels_format(data: bytes, source: str) -> str | None:
    """The format of qrels that are not JSON; None for JSON, of which the records tell the format."""
    if looks_like_json(data):
        return None
    first = first_line(data)
    if "##" in first:
        return "charades"
    cells = [cell.strip().lower() for cell in re.split("[,;\t]", first)]
    if {"pair_id", "worker", "relevance"} <= {*cells}:
        raise MeasureError(
            f"{source}: these are raw ratings; settle them first, or see `annotators` for their agreement"
        )
    if len(cells) > 1 and {*QUERY, *MOMENT.fields} & {*cells}:
        return "csv"
    if len(first.split()) == TREC_RUN:
        raise MeasureError(f"{source}: line 1: has 6 fields: this looks like a run in TREC's format; {SWAPPED}")
    return "trec"


def format_of_records(records: list[Any], source: str) -> str:
    """The format of qrels in JSON."""
    first = records[0] if records else None
    if isinstance(first, tuple):
        return _format_of_object(first[1], source)
    if isinstance(first, list):
        if len(first) == 3:
            raise MeasureError(f"{source}: these look like AxIoU's predictions, not its ground truth; {SWAPPED}")
        return "axiou"
    there = first if isinstance(first, dict) else {}
    signs = {"relevant_moment": "nested", "video_name": "jsonl", "relevance": "jsonl", "vid_name": "tvr"}
    signs |= {"relevant_windows": "qvhighlights", "times": "didemo"}
    found = next((format for sign, format in signs.items() if sign in there), None)
    if not found:
        _refuse_run(there, source)
    return found or "nested"


def _format_of_object(value: Any, source: str) -> str:
    """The format of qrels that are one object, by its first value."""
    if isinstance(value, dict) and "timestamps" in value:
        return "tacos" if "fps" in value else "activitynet"
    if isinstance(value, list) and [type(item) for item in value] in ([float, int], [int, int]):
        raise MeasureError(f"{source}: this looks like a video index file; give it by {setting('videos')}")
    moment = value[0] if isinstance(value, list) and value else value
    if isinstance(moment, dict) and "relevance" not in moment:
        _refuse_run(moment, source)
    return "nested"


def _refuse_run(record: dict[str, Any], source: str) -> None:
    sign = next((name for name in RUN_FIELDS if name in record), None)
    if sign:
        raise MeasureError(f"{source}: this looks like a run (it has {sign}), not qrels; {SWAPPED}")


def run_is_trec(data: bytes, source: str) -> bool:
    """Whether a run is in TREC's format; raises MeasureError for text that is something else."""
    if looks_like_json(data):
        return False
    first = first_line(data)
    fields = len(first.split())
    if "##" in first or re.match(r"(query_id|pair_id|moment_id)[,;\t]", first):
        raise MeasureError(f"{source}: line 1: {show(first)} is not a run; {SWAPPED}")
    if fields == TREC_QRELS:
        raise MeasureError(
            f"{source}: line 1: has 4 fields: these look like qrels in TREC's format, and a run has 6; {SWAPPED}"
        )
    return True


def run_format(data: Any, source: str) -> str:
    """The format of a run in JSON."""
    if isinstance(data, list):
        return _format_of_list(data[0] if data else None, source)
    if not isinstance(data, dict):
        raise MeasureError(f"{source}: is {show(data)}; a run is an object of queries or a list of predictions")
    signs = {
        "video2idx": "tvretrieval",
        "pred_relevant_windows": "qvhighlights",
        "pred_saliency_scores": "qvhighlights",
        "predictions": "predictions",
    }
    found = next((format for sign, format in signs.items() if sign in data), None)
    if found:
        return found
    _refuse_qrels(data, source)
    value = next(iter(data.values()), None)
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, dict):
        if "timestamps" in first:
            raise MeasureError(f"{source}: these look like captions with their moments, not a run; {SWAPPED}")
        if not any(name in first for name in RUN_FIELDS):
            _refuse_qrels(first, source)
    if isinstance(value, list) and value and isinstance(first, list):
        return "didemo" if set(map(type, first)) <= {int} and len(first) == 2 else "ranking"
    return "ranking"


def _format_of_list(first: Any, source: str) -> str:
    if isinstance(first, list):
        if len(first) == 2 and isinstance(first[0], list) and len(first[0]) == 2 and isinstance(first[0][0], str):
            raise MeasureError(f"{source}: this looks like AxIoU's ground truth, not a run; {SWAPPED}")
        return "axiou"
    there = first if isinstance(first, dict) else {}
    if "pred_relevant_windows" in there or "pred_saliency_scores" in there:
        return "qvhighlights"
    if "segments" in there:
        return "didemo"
    if "pred_segments" in there:
        return "stal"
    if "predictions" not in there:
        _refuse_qrels(there, source)
    return "predictions"


def refuse_qrels_at_a_glance(data: bytes, source: str) -> None:
    """Refuse JSON in whose beginning stands a field of qrels, and none of a run."""
    fields = re.findall(rb'"(\w+)"\s*:', data)
    there = dict.fromkeys(name.decode() for name in fields)
    if not any(name in there for name in (*RUN_FIELDS, *OTHER_RUN_FIELDS)):
        _refuse_qrels(there, source)


def _refuse_qrels(record: dict[str, Any], source: str) -> None:
    sign = next((name for name in QRELS_FIELDS if name in record), None)
    if sign:
        raise MeasureError(f"{source}: these look like qrels (they have {sign}), not a run; {SWAPPED}")


def first_line(data: bytes) -> str:
    """The first line that is not blank, as far as a line should go."""
    found = re.match(rb"\s*([^\r\n]{0,2000})", data)
    return found[1].decode(errors="replace") if found else ""
