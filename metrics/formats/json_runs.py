"""Runs in JSON, read and written: TVR-Ranking's object, predictions by video index, TVRetrieval's submission."""

from collections.abc import Iterable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from . import TASKS
from .annotations import without_split
from .columns import PREDICTION, Columns
from .errors import Faults, MeasureError, Place, setting, show
from .files import read_bytes
from .json_files import Records, parse_json, query_number, read_records, write_json
from .lists import Names, columns_of, one_by_one, texts_of
from .tables import Run

Index = Mapping[str, int]
RANK = "moment_rank"  # of SPR's proposals, from 0, which have no score


def ranking_run(records: Records, faults: Faults | None) -> Columns:
    """TVR-Ranking's own: an object from query id to its predictions."""
    found = records.only()
    for query, predictions in found.items():
        place = Place(records.source, f"query {query!r}")
        place.query(query)
        place.many(predictions, "the value")
    return _lists(found, records.source, None, faults)


def run_as_ranking(run: Run) -> str:
    """TVR-Ranking's object from query id to predictions."""
    found = {
        query: [
            {"video_name": video, "timestamp": [start, end], "model_scores": score} for video, start, end, score in rows
        ]
        for query, rows in run.rows(run.scores)
    }
    return write_json(found)


def tvretrieval_run(records: Records, task: str | None, faults: Faults | None) -> Columns:
    """TVRetrieval's submission: its own video index, and one list a task."""
    place, found = Place(records.source, "submission"), records.only()
    index = place.need(found, "video2idx")
    task = task or next((known for known in TASKS if known in found), TASKS[0])
    if not isinstance(index, dict):
        raise place.fail(f"video2idx is {show(index)}; it must be an object from video to number")
    names = _numbered_videos(index, f"{place}: video2idx")
    queries = place.many(place.need(found, task), task)
    return predictions_run(Records(records.source, queries), names, faults)


def run_as_tvretrieval(run: Run) -> str:
    """TVRetrieval's submission, with a video index of its own."""
    index = {name: number for number, name in enumerate(run.names)}
    return write_json({"video2idx": index, "VCMR": _as_predictions(run, index)})


def predictions_run(records: Records, names: Names | None, faults: Faults | None) -> Columns:
    """A list of queries, each with its predictions: [video, start, end, score], or objects."""
    found: dict[str, list[Any]] = {}
    texts: dict[str, Any] = {}
    for place, record in records:
        query = place.query(place.need(record, "query_id", "desc_id", "qid"))
        if query in found:
            raise place.fail(f"query {query!r} stands twice")
        found[query] = place.many(place.need(record, "predictions"), "predictions")
        texts[query] = record.get("desc", record.get("query"))
    columns = _lists(found, records.source, names, faults)
    columns.texts = texts_of(texts)
    return columns


def run_as_predictions(run: Run, index: Index) -> str:
    """A list of queries with predictions [video index, start, end, score]."""
    return write_json(_as_predictions(run, index))


def _as_predictions(run: Run, index: Index) -> list[dict[str, Any]]:
    lacking = [name for name in run.names if name not in index]
    if lacking:
        raise MeasureError(f"video {lacking[0]!r} of the run is not in the video index file")
    return [
        {
            "query_id": query_number(query),
            "desc": run.texts.get(query, ""),
            "predictions": [[index[video], start, end, score] for video, start, end, score in rows],
        }
        for query, rows in run.rows(run.scores)
    ]


class PairWindows(NamedTuple):
    """The windows that a system of single videos predicts for one query and one video, best first.

    windows: start and end in seconds, and score.
    """

    query: str
    video: str
    windows: list[tuple[float, float, float]]


def pairs_as_qvhighlights(pairs: Iterable[Mapping[str, Any]]) -> str:
    """Pairs of a query and a video as QVHighlights' JSON Lines, in which a query may stand with several videos.

    pairs: each with `qid`, `query`, `vid` and `duration`.
    """
    return "".join(write_json(dict(each) | {"qid": query_number(str(each["qid"]))}) for each in pairs)


def read_pairs(path: str | Path) -> list[Any]:
    """The objects of QVHighlights' JSON Lines, each with the fields `qid` and `vid`; a pair that stands twice is an
    error.
    """
    seen, pairs = set(), []
    for place, record in read_records(read_bytes(path), str(path)):
        pair = (place.query(place.need(record, "qid")), place.need(record, "vid"))
        if not isinstance(pair[1], str):
            raise place.fail(f"vid is {show(pair[1])}; it must be a text")
        if pair in seen:
            raise place.fail(f"query {pair[0]!r} stands twice with video {pair[1]!r}")
        seen.add(pair)
        pairs.append(record | {"qid": pair[0]})
    return pairs


def read_pair_windows(path: str | Path) -> list[PairWindows]:
    """What Moment-DETR, QD-DETR, CG-DETR, UniVTG or Lighthouse predict: `pred_relevant_windows` of pairs."""
    found = []
    for number, record in enumerate(read_pairs(path), 1):
        place = Place(str(path), f"line {number}")
        windows = place.many(place.need(record, "pred_relevant_windows"), "pred_relevant_windows")
        for window in windows:
            is_list = isinstance(window, list) and len(window) >= 3
            if not is_list or not all(type(each) in (int, float) and isfinite(each) for each in window[:3]):
                raise place.fail(f"pred_relevant_windows has {show(window)}; it must be [start, end, score]")
        each = [(float(start), float(end), float(score)) for start, end, score, *_ in windows]
        found.append(PairWindows(record["qid"], record["vid"], each))
    return found


def read_video_index(path: str | Path) -> Names:
    """Names of videos by their number, from a video index file."""
    source = str(path)
    return _numbered_videos(without_split(parse_json(read_bytes(path), source), source), source)


def _numbered_videos(index: dict[str, Any], source: str) -> Names:
    """Names of videos by number, from an object from video to [duration, number], or to the number alone."""
    names: dict[int, str] = {}
    for video, entry in index.items():
        number = entry[1] if isinstance(entry, list) and len(entry) == 2 else entry
        if type(number) is not int:
            raise MeasureError(f"{source}: video {video!r} has {show(entry)}; it must be [duration, index]")
        if names.setdefault(number, video) != video:
            raise MeasureError(f"{source}: videos {names[number]!r} and {video!r} have the same index {number}")
    return names


def _lists(found: dict[str, list[Any]], source: str, names: Names | None, faults: Faults | None) -> Columns:
    columns = columns_of(found, source, PREDICTION, names)
    return columns or one_by_one(
        found, source, PREDICTION, lambda place, record: _prediction(place, record, names), faults
    )


def _prediction(place: Place, record: Any, names: Names | None) -> tuple[Any, Any, Any, Any]:
    """Video, start, end and score of a prediction, which is a list or an object."""
    if isinstance(record, list):
        if len(record) < 4:
            raise place.fail(f"is {show(record)}; it must be [video, start, end, score]")
        video, start, end, score = record[:4]
        return _video(place, video, names), start, end, score
    start, end = place.span(record)
    video = _video(place, place.need(record, "video_name"), names)
    if RANK in record and type(record[RANK]) is int and not any(name in record for name in PREDICTION.fields):
        return video, start, end, -record[RANK]
    return video, start, end, place.need(record, *PREDICTION.fields)


def _video(place: Place, video: Any, names: Names | None) -> Any:
    if isinstance(video, str):
        return video
    if not (type(video) is int or (type(video) is float and video.is_integer())):
        raise place.fail(f"video is {show(video)}; it must be an index or a name")
    if names is None:
        raise place.fail(f"video {video} is an index: give the video index file by {setting('videos')}")
    if int(video) not in names:
        raise place.fail(f"video index {video} is not in the video index file")
    return names[int(video)]
