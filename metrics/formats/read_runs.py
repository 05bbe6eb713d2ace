"""Reading runs: TVR-Ranking's object, predictions by video index, TVRetrieval's submission, or TREC."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import published
from .errors import MeasureError
from .files import Place, Record, json_lines, looks_like_json, looks_like_json_lines, parse_json, read_text
from .rows import Rows, show
from .tables import Run
from .trec import Times, read_side_file, read_trec_run

FORMATS = ("ranking", "predictions", "tvretrieval", "trec", "qvhighlights", "stal", "didemo", "axiou")
TASKS = ("VCMR", "SVMR", "VR")
Names = Mapping[int, str]


def read_run(
    path: str | Path,
    format: str | None = None,
    videos: str | Path | None = None,
    moments: str | Path | None = None,
    task: str | None = None,
) -> Run:
    """A run from a file.

    Parameters
    ----------
    path
        The file; gzip is unpacked.
    format
        One of `FORMATS`; None: told from the content.
    videos
        Video index file, for runs that name videos by number: ``{video: [duration, index]}``, with or
        without the split above it.
    moments
        Side file for TREC runs; None: times are read from the moment ids.
    task
        Which list of a TVRetrieval submission to read: VCMR (default), SVMR or VR.

    Raises
    ------
    MeasureError
        Naming file, line (or query and prediction) and field of the first mistake.
    """
    text, source = read_text(path), str(path)
    times: Times | None = read_side_file(moments) if moments else None
    names = read_video_index(videos) if videos else None
    if format not in (None, *FORMATS):
        raise MeasureError(f"unknown run format {format!r}; there are {', '.join(FORMATS)}")
    if format == "trec" or (format is None and not looks_like_json(text)):
        return read_trec_run(text, source, times)
    data = _lines(text, source) if looks_like_json_lines(text) else parse_json(text, source)
    name = Path(path).name.split(".")[0] or "run"
    format = format or _detect(data, source)
    if format == "tvretrieval":
        return _from_submission(data, source, name, task)
    if format == "ranking":
        return _from_ranking(data, source, name)
    records = [data] if isinstance(data, dict) else data
    if not isinstance(records, list):
        raise MeasureError(f"{source}: is {show(records)}; this format is a list of queries with predictions")
    if format == "predictions":
        return _from_predictions(records, source, name, names)
    placed = [(Place(source, f"record {n}"), record) for n, record in enumerate(records, 1)]
    return READERS[format](placed, source, name)


def read_video_index(path: str | Path) -> Names:
    """Names of videos by their number, from a video index file."""
    source = str(path)
    data = parse_json(read_text(path), source)
    if not isinstance(data, dict):
        raise MeasureError(
            f"{source}: is {show(data)}; a video index is an object from video to [duration, index]"
        )
    if data and all(isinstance(value, dict) for value in data.values()):
        data = {video: entry for split in data.values() for video, entry in split.items()}
    names: dict[int, str] = {}
    for video, entry in data.items():
        number = entry[1] if isinstance(entry, list) and len(entry) == 2 else entry
        if type(number) is not int:
            raise MeasureError(f"{source}: video {video!r} has {show(entry)}; it must be [duration, index]")
        if names.setdefault(number, video) != video:
            raise MeasureError(
                f"{source}: videos {names[number]!r} and {video!r} have the same index {number}"
            )
    return names


def _lines(text: str, source: str) -> list[Any]:
    return [record for _, record in json_lines(text, source)]


def _detect(data: Any, source: str) -> str:
    if isinstance(data, list):
        first = data[0] if data else None
        if isinstance(first, list):
            return "axiou"
        there = first if isinstance(first, dict) else {}
        if "pred_relevant_windows" in there or "pred_saliency_scores" in there:
            return "qvhighlights"
        if "segments" in there:
            return "didemo"
        return "stal" if "pred_segments" in there else "predictions"
    if not isinstance(data, dict):
        raise MeasureError(
            f"{source}: is {show(data)}; a run is an object of queries or a list of predictions"
        )
    if "video2idx" in data:
        return "tvretrieval"
    if "pred_relevant_windows" in data:
        return "qvhighlights"
    return "predictions" if "predictions" in data else "ranking"


def _from_ranking(data: Any, source: str, name: str) -> Run:
    """TVR-Ranking's own: an object from query id to its predictions."""
    if not isinstance(data, dict):
        raise MeasureError(
            f"{source}: is {show(data)}; this format is an object from query id to predictions"
        )
    spots: list[str] = []
    rows = Rows(source, lambda i: spots[i])
    for query, predictions in data.items():
        place = Place(source, f"query {query!r}")
        rows.queries[place.query(query)] = None
        for n, record in enumerate(place.many(predictions, "the value"), 1):
            here = Place(source, f"query {query!r}, prediction {n}")
            spots.append(here.spot)
            start, end = here.span(record)
            rows.add(
                query, here.need(record, "video_name"), start, end, here.need(record, "model_scores", "score")
            )
    return Run.build(rows, name)


def _from_submission(data: Any, source: str, name: str, task: str | None) -> Run:
    """TVRetrieval's submission: its own video index, and one list a task."""
    place = Place(source, "submission")
    index = place.need(data, "video2idx")
    there = [known for known in TASKS if known in data]
    task = task or (there[0] if there else TASKS[0])
    names: dict[int, str] = {}
    for video, number in (index if isinstance(index, dict) else {}).items():
        number = number[1] if isinstance(number, list) and len(number) == 2 else number
        if type(number) is not int:
            raise place.fail(f"video2idx: video {video!r} has {show(number)}; it must be an integer")
        names[number] = video
    return _from_predictions(place.many(place.need(data, task), task), source, name, names)


def _from_predictions(records: list[Any], source: str, name: str, names: Names | None) -> Run:
    """A list of queries, each with its predictions [video, start, end, score]."""
    numbers: list[tuple[str, int]] = []
    rows = Rows(source, lambda i: f"query {numbers[i][0]!r}, prediction {numbers[i][1]}")
    for n, record in enumerate(records, 1):
        place = Place(source, f"record {n}")
        query = place.query(place.need(record, "query_id", "desc_id", "qid"))
        if query in rows.queries:
            raise place.fail(f"query {query!r} stands twice")
        rows.queries[query] = None
        rows.tell(query, record.get("desc", record.get("query")))
        for k, prediction in enumerate(place.many(place.need(record, "predictions"), "predictions"), 1):
            numbers.append((query, k))
            if not isinstance(prediction, list) or len(prediction) < 4:
                raise rows.fail(
                    len(numbers) - 1, f"is {show(prediction)}; it must be [video, start, end, score]"
                )
            video, start, end, score = prediction[:4]
            rows.add(query, _video(rows, video, names), start, end, score)
    return Run.build(rows, name)


def _video(rows: Rows, video: Any, names: Names | None) -> str:
    row = len(rows.query)
    if isinstance(video, str):
        return video
    if not (type(video) is int or (type(video) is float and video.is_integer())):
        raise rows.fail(row, f"video is {show(video)}; it must be an index or a name")
    if names is None:
        raise rows.fail(row, f"video {video} is an index: give the video index file with --videos")
    if int(video) not in names:
        raise rows.fail(row, f"video index {video} is not in the video index file")
    return names[int(video)]


READERS: dict[str, Callable[[list[Record], str, str], Run]] = {
    "qvhighlights": published.qvhighlights_run,
    "stal": published.stal_run,
    "didemo": published.didemo_run,
    "axiou": published.axiou_run,
}
