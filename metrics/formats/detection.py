"""Detection of a file's format from its content, and of what a file is that stands in the wrong place."""

import re
from typing import Any

from .beir import HEADER
from .columns import MOMENT, QUERY
from .errors import SWAPPED, MeasureError, setting, show
from .json_files import Records, looks_like_json

TREC_QRELS, SAMPLED_QRELS, TREC_RUN = 4, 5, 6  # fields of a line
RUN_FIELDS = ("model_scores", "score", "predictions", "pred_relevant_windows", "pred_saliency_scores")
OTHER_RUN_FIELDS = ("pred_segments", "segments", "video2idx", "predicted_times", "answerSets")
QRELS_FIELDS = ("relevance", "relevant_moment", "relevant_windows", "ts", "times", "language_queries")
QRELS_SIGNS = {  # fields of records, by which their format is known
    "relevant_moment": "nested",
    "video_name": "jsonl",
    "relevance": "jsonl",
    "vid_name": "tvr",
    "relevant_windows": "qvhighlights",
    "times": "didemo",
}
RUN_SIGNS = {
    "pred_relevant_windows": "qvhighlights",
    "pred_saliency_scores": "qvhighlights",
    "video2idx": "tvretrieval",
    "answerSets": "dres",
    "submissionId": "dres",
    "segments": "didemo",
    "pred_segments": "stal",
    "predictions": "predictions",
}
NEIGHBOURS: dict[tuple[str, ...], str] = {  # fields by which files are known that are neither qrels nor runs
    ("candidates", "query_id"): "a pool, for `estimate` and `compare`",
    ("relevant_moment", "similarity"): "a pseudo training set, for systems",
    ("_id", "text"): "BEIR's corpus or queries; its qrels are qrels/SPLIT.tsv, or give the folder",
    ("campaign", "checksums"): "a release's manifest; `load_release` reads the release",
    ("nbformat", "cells"): "a Jupyter notebook",
    ("@context", "@type"): "JSON-LD, such as Croissant's metadata of a data set",
    ("images", "annotations"): "COCO's annotations of images",
    ("database", "version"): "ActivityNet's or THUMOS' annotations of actions, which name no queries",
    ("query", "video", "grade"): "predicted grades, which `read_predicted` reads",
}


def qrels_format(data: bytes, source: str) -> str | None:
    """The format of qrels that are not JSON; None for JSON, of which the records tell the format."""
    if looks_like_json(data):
        return None
    first = first_line(data)
    if b"<videoAdhocSearch" in data:
        raise MeasureError(f"{source}: this looks like TRECVID's run in XML, not qrels; {SWAPPED}")
    if first.startswith("<"):
        raise MeasureError(f"{source}: is {_markup(first)}, not qrels")
    if "##" in first:
        return "charades"
    cells = [cell.strip().lower() for cell in re.split("[,;\t]", first)]
    if {"pair_id", "worker", "relevance"} <= {*cells}:
        raise MeasureError(
            f"{source}: these are raw ratings; settle them first, or see `annotators` for their agreement"
        )
    if cells == [*HEADER]:
        return "beir"
    if len(first.split()) == SAMPLED_QRELS and re.fullmatch("-1|[0-9]+", first.split()[-1]):
        return "xinfap"
    if len(cells) > 1 and {*QUERY, *MOMENT.fields} & {*cells}:
        return "csv"
    if len(first.split()) == TREC_RUN:
        raise MeasureError(f"{source}: line 1: has 6 fields: this looks like a run in TREC's format; {SWAPPED}")
    _refuse_table(first, cells, source, "qrels")
    return "trec"


def format_of_records(records: Records) -> str:
    """The format of qrels in JSON."""
    source, first = records.source, records.items[0] if records.items else None
    if isinstance(first, tuple):
        whole = dict(records.items)
        if {"results", "challenge"} <= {*whole}:
            raise MeasureError(f"{source}: these look like Ego4D's predictions, not qrels; {SWAPPED}")
        _refuse_neighbours(whole, source, "qrels")
        return _format_of_object(first[0], first[1], source)
    if isinstance(first, list):
        if len(first) == 3:
            raise MeasureError(f"{source}: these look like AxIoU's predictions, not its ground truth; {SWAPPED}")
        return "axiou"
    there = first if isinstance(first, dict) else {}
    if isinstance(there.get("videos"), list):
        return "ego4d"
    if "relevant_moment" in there:
        _refuse_neighbours(there | _first_of(there["relevant_moment"]), source, "qrels")
    if found := _signed(there, QRELS_SIGNS):
        return found
    _refuse_run(there, source)
    _refuse_others(there, source, "qrels")
    return "nested"


def _signed(record: dict[str, Any], signs: dict[str, str]) -> str | None:
    """The format of the first sign that the record has."""
    return next((format for sign, format in signs.items() if sign in record), None)


def _first_of(items: Any) -> dict[str, Any]:
    first = items[0] if isinstance(items, list) and items else None
    return first if isinstance(first, dict) and "relevance" not in first else {}


def _format_of_object(key: str, value: Any, source: str) -> str:
    """The format of qrels that are one object, by its first key and value."""
    if isinstance(value, dict) and "timestamps" in value:
        return "tacos" if "fps" in value else "activitynet"
    if isinstance(value, list) and [type(item) for item in value] in ([float, int], [int, int]):
        raise MeasureError(f"{source}: this looks like a video index file; give it by {setting('videos')}")
    moment = value[0] if isinstance(value, list) and value else value
    if key in OTHER_RUN_FIELDS:
        _refuse_run({key: value}, source)
    if isinstance(moment, dict) and "relevance" not in moment:
        _refuse_run(moment, source)
    return "nested"


def _refuse_run(record: dict[str, Any], source: str) -> None:
    sign = next((name for name in (*RUN_FIELDS, *OTHER_RUN_FIELDS) if name in record), None)
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
    if re.fullmatch(r"\s*\S+\s+Q?0\s+\S+\s+\S+\s+(-1|[0-9])\s*", first):
        raise MeasureError(f"{source}: line 1: has 5 fields: these look like TRECVID's sampled qrels; {SWAPPED}")
    cells = re.split("[,;\t]", first)
    if cells == [*HEADER]:
        raise MeasureError(f"{source}: line 1: these look like qrels of BEIR's, not a run; {SWAPPED}")
    _refuse_table(first, cells, source, "a run")
    return True


def run_format(records: Records) -> str:
    """The format of a run in JSON."""
    source, first = records.source, records.items[0] if records.items else None
    if isinstance(first, list):
        if len(first) == 2 and isinstance(first[0], list) and len(first[0]) == 2 and isinstance(first[0][0], str):
            raise MeasureError(f"{source}: this looks like AxIoU's ground truth, not a run; {SWAPPED}")
        return "axiou"
    there = first if isinstance(first, dict) else {}
    if records.is_object and isinstance(there.get("results"), list) and {"challenge", "version"} & {*there}:
        return "ego4d"
    if found := _signed(there, RUN_SIGNS):
        # Lighthouse's windows name no query but its text.
        return "lighthouse" if found == "qvhighlights" and "query" in there and "qid" not in there else found
    _refuse_qrels(there, source)
    if records.is_object:
        return _format_of_queries(there, source)
    _refuse_others(there, source, "a run")
    return "predictions"


def _format_of_queries(queries: dict[str, Any], source: str) -> str:
    """The format of a run that is an object from query id to predictions."""
    if isinstance(queries.get("videos"), list):
        raise MeasureError(f"{source}: these look like Ego4D's annotations, not a run; {SWAPPED}")
    _refuse_neighbours(queries, source, "a run")
    value = next(iter(queries.values()), None)
    if isinstance(value, dict) and value and all(type(score) in (int, float) for score in value.values()):
        return "beir"
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, dict) and "timestamps" in first:
        raise MeasureError(f"{source}: these look like captions with their moments, not a run; {SWAPPED}")
    if isinstance(first, dict) and not any(name in first for name in RUN_FIELDS):
        _refuse_qrels(first, source)
    is_segment = isinstance(first, list) and len(first) == 2 and {*map(type, first)} == {int}
    return "didemo" if is_segment and isinstance(value, list) else "ranking"


def _refuse_neighbours(record: dict[str, Any], source: str, wanted: str) -> None:
    """Refuse a file that is known to be something else."""
    for fields, what in NEIGHBOURS.items():
        if {*fields} <= {*record}:
            raise MeasureError(f"{source}: this is {what}, not {wanted}")


def _refuse_others(there: dict[str, Any], source: str, wanted: str) -> None:
    """Refuse records of none of the formats, saying what they are; what only lacks a field is told by its reader."""
    _refuse_neighbours(there, source, wanted)
    if there and not {"query_id", "desc_id", "qid"} & {*there}:
        fields = ", ".join(list(there)[:6]) + (", …" if len(there) > 6 else "")
        raise MeasureError(f"{source}: is JSON, whose records have the fields {fields}; no format of {wanted} has them")


def _refuse_table(first: str, cells: list[str], source: str, wanted: str) -> None:
    """Refuse text that is no lines of TREC's, but a table or markup."""
    if len(cells) > 1 and not re.search(r"\s", first.replace("\t", "")) and not re.search(r"\d", first):
        names = ", ".join(cell.strip() for cell in cells[:6]) + (", …" if len(cells) > 6 else "")
        raise MeasureError(f"{source}: is a table with the columns {names}; no format of {wanted} has them")


def _markup(first: str) -> str:
    found = re.match(r"<[!?]?(doctype\s+)?([\w:.-]+)", first, re.IGNORECASE)
    name = found[2].lower() if found else "markup"
    return "a web page (HTML)" if name == "html" else f"XML ({first if len(first) <= 40 else first[:37] + '...'})"


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
