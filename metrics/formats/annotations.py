"""The annotation files of TVR, DiDeMo, QVHighlights and AxIoU, and the predictions of their evaluators and STAL's."""

from typing import Any

import numpy as np

from .arrays import Floats
from .captions import floats
from .columns import MOMENT, PREDICTION, Columns, Rows
from .errors import Place, show
from .json_files import Records

SEGMENT_SECONDS = 5  # DiDeMo's times are segments of five seconds
CLIP_SECONDS = 2  # QVHighlights judges saliency in clips of two seconds
LONGEST_VIDEO = 1_000_000  # seconds


def tvr_qrels(records: Records) -> Columns:
    """TVR's annotations: ``{"desc_id", "vid_name", "ts": [s, e] or several of them, "type"}``."""
    rows = Rows(records.source, MOMENT)
    for place, record in records:
        query = rows.new_query(place, record, "desc_id")
        spans = place.many(place.need(record, "ts"), "ts")
        if not spans or not isinstance(spans[0], list):
            spans = [spans]
        if "type" in record:
            rows.types[query] = str(record["type"])
        rows.add_annotations(place, query, place.need(record, "vid_name"), spans)
    return rows.columns()


def didemo_qrels(records: Records) -> Columns:
    """DiDeMo's annotations, times in segments where `num_segments` says so and in seconds otherwise
    (STAL).
    """
    rows = Rows(records.source, MOMENT)
    for place, record in records:
        query = rows.new_query(place, record, "annotation_id", "query_id")
        spans = place.many(place.need(record, "times"), "times")
        if "num_segments" in record:
            spans = [seconds_of_segments(place, f"time {n}", segments) for n, segments in enumerate(spans, 1)]
        video = place.need(record, "video", "video_index")
        rows.add_annotations(place, query, str(video), spans)
    return rows.columns()


def didemo_run(records: Records) -> Columns:
    """DiDeMo's predictions: ``{"annotation_id", "segments": [[first, last], …]}``, the best moment first; its
    first and last segment of 5 s belong to a moment.

    The video is the query's own, so none is named; ranks are the scores.
    """
    rows = Rows(records.source, PREDICTION)
    for place, record in records:
        query = rows.new_query(place, record, "annotation_id", "query_id")
        moments = place.many(place.need(record, "segments"), "segments")
        for rank, moment in enumerate(moments, 1):
            span = seconds_of_segments(place, f"query {query!r}, moment {rank}", moment)
            rows.add_span(place, query, str(record.get("video", query)), span, float(len(moments) - rank))
    return rows.columns()


def seconds_of_segments(place: Place, name: str, segments: Any) -> list[int]:
    """Start and end, in seconds, of a moment from its first to its last segment."""
    whole = isinstance(segments, list) and [type(number) for number in segments] == [int, int]
    if not whole or not 0 <= segments[0] <= segments[1]:
        raise place.fail(f"{name}: is {show(segments)}; it must be [first, last], the numbers of two segments, from 0")
    return [SEGMENT_SECONDS * segments[0], SEGMENT_SECONDS * (segments[1] + 1)]


def qvhighlights_qrels(records: Records) -> Columns:
    """QVHighlights' annotations: relevant windows, and the saliency of clips."""
    rows = Rows(records.source, MOMENT)
    for place, record in records:
        query = rows.new_query(place, record, "qid")
        video = place.need(record, "vid")
        for window in place.many(place.need(record, "relevant_windows"), "relevant_windows"):
            rows.add_span(place, query, video, window, 1)
        if "saliency_scores" in record:
            rows.saliency[query] = _judged_saliency(place, record)
    return rows.columns()


def _judged_saliency(place: Place, record: Any) -> Floats:
    """Levels 0-4 of every clip of the video by each annotator: floats of shape (clips, annotators)."""
    levels = floats(place, "saliency_scores", record["saliency_scores"], 2)
    clips = floats(place, "relevant_clip_ids", place.need(record, "relevant_clip_ids"), 1)
    duration = floats(place, "duration", [place.need(record, "duration")], 1)[0]
    if not 0 <= duration <= LONGEST_VIDEO:
        raise place.fail(f"duration is {duration:g}; it must be seconds from 0 to {LONGEST_VIDEO}")
    count = int(duration / CLIP_SECONDS)
    if len(clips) != len(levels) or ((clips < 0) | (clips >= count) | (clips % 1 != 0)).any():
        raise place.fail(f"relevant_clip_ids must be {len(levels)} clips from 0 to {count - 1}")
    judged = np.zeros((count, levels.shape[1] if len(levels) else 1))
    judged[clips.astype(np.int64)] = levels
    return judged


def qvhighlights_run(records: Records) -> Columns:
    """QVHighlights' submission: windows with scores, and the saliency of every clip."""
    rows = Rows(records.source, PREDICTION)
    for place, record in records:
        query = rows.new_query(place, record, "qid")
        windows = place.many(record.get("pred_relevant_windows", []), "pred_relevant_windows")
        for window in windows:
            if not isinstance(window, list) or len(window) < 3:
                raise place.fail(f"pred_relevant_windows has {show(window)}; it must be [start, end, score]")
            rows.add_span(place, query, record.get("vid", query), window, window[2])
        if "pred_saliency_scores" in record:
            saliency = floats(place, "pred_saliency_scores", record["pred_saliency_scores"], 1)
            if saliency.size:
                rows.saliency[query] = saliency
    return rows.columns()


def stal_run(records: Records) -> Columns:
    """STAL's ranked segments: parallel lists of video indices and [start, end]; without scores, ranks stand
    in.
    """
    rows = Rows(records.source, PREDICTION)
    for place, record in records:
        query = rows.new_query(place, record, "annotation_id", "query_id")
        videos = place.many(place.need(record, "pred_video_indices"), "pred_video_indices")
        spans = place.many(place.need(record, "pred_segments"), "pred_segments")
        if len(videos) != len(spans):
            raise place.fail(f"{len(videos)} pred_video_indices but {len(spans)} pred_segments; they must agree")
        for rank, (video, span) in enumerate(zip(videos, spans, strict=True)):
            rows.add_span(place, query, str(video), span, float(len(spans) - rank))
    return rows.columns()


def axiou_qrels(records: Records) -> Columns:
    """AxIoU's ground truth: ``[[video, sentence], [start, end, duration]]``; the query is both words
    together.
    """
    rows = Rows(records.source, MOMENT)
    for place, record in records:
        query, video = _axiou_query(rows, place, record, 2)
        rows.add_span(place, query, video, record[1], 1)
        _axiou_duration(rows, query, record[1])
    return rows.columns()


def axiou_run(records: Records) -> Columns:
    """AxIoU's predictions: ``[[video, sentence], [[start, end, duration], …] or null, [rating, …]]``.

    Records whose locations and ratings are both null, as SCDM's file holds them beside the real ones, are passed
    over and counted.
    """
    rows = Rows(records.source, PREDICTION)
    null = [place for place, record in records if isinstance(record, list) and record[1:] == [None, None]]
    if null:
        rows.notes.append(f"{len(null)} records are null (the first: {null[0].spot}) and passed over")
    for place, record in records:
        if isinstance(record, list) and record[1:] == [None, None]:
            continue
        query, video = _axiou_query(rows, place, record, 3)
        spans, ratings = record[1] or [], place.many(record[2], "ratings")
        if len(place.many(spans, "locations")) != len(ratings):
            raise place.fail(f"{len(spans)} locations but {len(ratings)} ratings; they must agree")
        for span, rating in zip(spans, ratings, strict=True):
            rows.add_span(place, query, video, span, rating)
            _axiou_duration(rows, query, span)
    return rows.columns()


def _axiou_query(rows: Rows, place: Place, record: Any, parts: int) -> tuple[str, str]:
    whole = isinstance(record, list) and len(record) == parts and isinstance(record[0], list)
    if not whole or [type(word) for word in record[0]] != [str, str]:
        raise place.fail(f"is {show(record)}; it must be [[video, sentence], …] of {parts} parts")
    return rows.new_query(place, {"query": " ".join(record[0])}, "query"), record[0][0]


def _axiou_duration(rows: Rows, query: str, span: list[Any]) -> None:
    if len(span) > 2:
        rows.durations.setdefault(query, span[2])
