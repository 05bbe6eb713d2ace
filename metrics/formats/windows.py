"""Lists of windows in one video: QVHighlights' files and those after it, Lighthouse's predictions, and Ego4D's NLQ.

QV-M2, Soccer-GMR and the data sets that Lighthouse ships have QVHighlights' format. A query whose list of windows is
empty has nothing to find, and a query of a run without windows is answered with silence.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .annotations import CLIP_SECONDS, LONGEST_VIDEO, floats
from .arrays import Floats
from .columns import MOMENT, PREDICTION, Columns, Rows
from .errors import MeasureError, Place, show
from .json_files import Records, query_number, write_json
from .tables import Qrels, Run, Table, one_video

WINDOWS, SALIENCY, EXISTENCE = "pred_relevant_windows", "pred_saliency_scores", "pred_exist_score"
EGO4D = {"version": "1.0", "challenge": "ego4d_nlq_challenge"}
EGO4D_ID = "clip_uid/annotation_uid/query_idx"


def qvhighlights_qrels(records: Records) -> Columns:
    """QVHighlights' annotations: relevant windows, of which there may be none, and the saliency of clips."""
    rows = Rows(records.source, MOMENT)
    for place, record in records:
        query = rows.new_query(place, record, "qid")
        rows.tell(query, record.get("query"))
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


def qrels_as_qvhighlights(qrels: Qrels) -> str:
    """QVHighlights' annotations, a line a query: every moment of grade 1 or more is a relevant window.

    Raises MeasureError for a query whose moments lie in several videos. A query without moments has no video; an empty
    name stands there.
    """
    lines = []
    for query, rows in qrels.rows(qrels.grades):
        video = one_video("qrels", query, rows)
        windows = [[start, end] for _, start, end, grade in rows if grade > 0]
        found = _head(qrels, query, video) | {"relevant_windows": windows}
        if query in qrels.saliency:
            judged = qrels.saliency[query]
            clips = np.flatnonzero(judged.any(axis=1)).tolist() or [0][: len(judged)]
            levels = judged[clips].astype(np.int64).tolist()
            found |= {"duration": CLIP_SECONDS * len(judged), "relevant_clip_ids": clips, "saliency_scores": levels}
        lines.append(write_json(found))
    return "".join(lines)


def _head(table: Table, query: str, video: str) -> dict[str, Any]:
    return {"qid": query_number(query), "query": table.texts.get(query, ""), "vid": video}


def qvhighlights_run(records: Records) -> Columns:
    """QVHighlights' submission: windows with scores, and the saliency of every clip; Soccer-GMR's has besides, as
    `pred_exist_score`, how sure the system is that there is something to find.
    """
    rows = Rows(records.source, PREDICTION)
    for place, record in records:
        query = rows.new_query(place, record, "qid")
        rows.tell(query, record.get("query"))
        _add_windows(rows, place, query, record)
    return rows.columns()


def _add_windows(rows: Rows, place: Place, query: str, record: Any) -> None:
    for window in place.many(record.get(WINDOWS, []), WINDOWS):
        if not isinstance(window, list) or len(window) < 3:
            raise place.fail(f"{WINDOWS} has {show(window)}; it must be [start, end, score]")
        rows.add_span(place, query, record.get("vid", query), window, window[2])
    if SALIENCY in record:
        saliency = floats(place, SALIENCY, record[SALIENCY], 1)
        if saliency.size:
            rows.saliency[query] = saliency
    if EXISTENCE in record:
        rows.existence[query] = float(floats(place, EXISTENCE, [record[EXISTENCE]], 1)[0])


def run_as_qvhighlights(run: Run) -> str:
    """QVHighlights' submission, a line a query. Raises MeasureError for a query with predictions in several videos."""
    lines = []
    for query, rows in run.rows(run.scores):
        found = _head(run, query, one_video(run.name, query, rows) or query)
        lines.append(write_json(found | _predicted(run, query, rows)))
    return "".join(lines)


def _predicted(run: Run, query: str, rows: list[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {WINDOWS: [[start, end, score] for _, start, end, score in rows]}
    if query in run.saliency:
        found[SALIENCY] = run.saliency[query].tolist()
    if query in run.existence:
        found[EXISTENCE] = run.existence[query]
    return found


def lighthouse_run(records: Records) -> Columns:
    """What Lighthouse's `predict` returns, one after the other: ``{"query", "pred_relevant_windows",
    "pred_saliency_scores"}``. It names neither query nor video, so that a query's id is its text, and its video has the
    same name; `Run.of_texts` puts those of qrels in their place.
    """
    rows = Rows(records.source, PREDICTION)
    for place, record in records:
        query = rows.new_query(place, record, "query")
        rows.tell(query, query)
        _add_windows(rows, place, query, record)
    return rows.columns()


def run_as_lighthouse(run: Run) -> str:
    """A list of what Lighthouse's `predict` returns; a query is its text, or its id where it has none."""
    found = []
    for query, rows in run.rows(run.scores):
        one_video(run.name, query, rows)
        found.append({"query": run.texts.get(query, query)} | _predicted(run, query, rows))
    return write_json(found)


def ego4d_qrels(records: Records) -> Columns:
    """Ego4D's NLQ annotations: videos, their clips, annotations, and language queries with seconds within the clip.

    A query's id is ``clip_uid/annotation_uid/query_idx``, as predictions name it, and its video is the clip. A query
    without fields, which only keeps the number of its place, is passed over.
    """
    rows = Rows(records.source, MOMENT)
    for place, record in records:
        for clip, annotation, number, query in _language_queries(place, record):
            here = Place(records.source, f"clip {clip!r}, annotation {annotation!r}, query {number}")
            if query == {}:
                continue
            id = rows.new_query(here, {"query": f"{clip}/{annotation}/{number}"}, "query")
            span = [here.need(query, "clip_start_sec"), here.need(query, "clip_end_sec")]
            rows.tell(id, query.get("query"))
            rows.add_span(here, id, clip, span, 1)
    return rows.columns()


def _language_queries(place: Place, record: Any) -> Iterator[tuple[str, str, int, Any]]:
    for video in place.many(place.need(record, "videos"), "videos"):
        for clip in place.many(place.need(video, "clips"), "clips"):
            name = place.query(place.need(clip, "clip_uid"))
            for annotation in place.many(place.need(clip, "annotations"), "annotations"):
                id = place.query(place.need(annotation, "annotation_uid"))
                queries = place.many(place.need(annotation, "language_queries"), "language_queries")
                for number, query in enumerate(queries):
                    yield name, id, number, query


def qrels_as_ego4d(qrels: Qrels) -> str:
    """Ego4D's NLQ annotations, one clip a video. Raises MeasureError for a query that is not named as Ego4D names
    them, or has not one moment in its clip.
    """
    clips: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for query, rows in qrels.rows(qrels.grades):
        clip, annotation, number = _ego4d_id("qrels", query)
        held = [(start, end) for video, start, end, grade in rows if grade > 0 and video == clip]
        if len(held) != 1 or len(rows) != 1:
            raise MeasureError(f"qrels: query {query!r} needs one relevant moment, in its clip, as Ego4D's have")
        queries = clips.setdefault(clip, {}).setdefault(annotation, [])
        queries += [{}] * (number + 1 - len(queries))
        text = {"query": qrels.texts[query]} if query in qrels.texts else {}
        queries[number] = {"clip_start_sec": held[0][0], "clip_end_sec": held[0][1]} | text
    videos = [{"video_uid": clip, "clips": [_clip(clip, annotations)]} for clip, annotations in clips.items()]
    return write_json({"version": "1.0", "videos": videos})


def _clip(clip: str, annotations: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    found = [{"annotation_uid": id, "language_queries": queries} for id, queries in annotations.items()]
    return {"clip_uid": clip, "annotations": found}


def _ego4d_id(source: str, query: str) -> tuple[str, str, int]:
    """Clip, annotation and number of a query's id."""
    clip, _, rest = query.partition("/")
    annotation, _, number = rest.rpartition("/")
    if not (clip and annotation and number.isascii() and number.isdigit() and len(number) < 5):
        raise MeasureError(f"{source}: query {query!r} is not named {EGO4D_ID}, as Ego4D names its queries")
    return clip, annotation, int(number)


def ego4d_run(records: Records) -> Columns:
    """Ego4D's NLQ predictions: ``{"clip_uid", "annotation_uid", "query_idx", "predicted_times": [[start, end], …]}``,
    the best first, under `results`; ranks are the scores.
    """
    rows = Rows(records.source, PREDICTION)
    for place, record in records:
        for n, found in enumerate(place.many(place.need(record, "results"), "results"), 1):
            here = Place(records.source, f"result {n}")
            clip, annotation, number = (here.query(here.need(found, key)) for key in EGO4D_ID.split("/"))
            query = rows.new_query(here, {"query": f"{clip}/{annotation}/{number}"}, "query")
            spans = here.many(here.need(found, "predicted_times"), "predicted_times")
            for rank, span in enumerate(spans):
                rows.add_span(here, query, clip, span, float(len(spans) - rank))
    return rows.columns()


def run_as_ego4d(run: Run) -> str:
    """Ego4D's NLQ predictions. Raises MeasureError for a query that is not named as Ego4D names them, or predictions
    in another video than its clip.
    """
    results = []
    for query, rows in run.rows(run.scores):
        clip, annotation, number = _ego4d_id(run.name, query)
        if any(video != clip for video, *_ in rows):
            raise MeasureError(f"{run.name}: query {query!r} has predictions in other videos than its clip")
        times = [[start, end] for _, start, end, _ in rows]
        key = {"clip_uid": clip, "annotation_uid": annotation, "query_idx": number}
        results.append(key | {"predicted_times": times})
    return write_json(EGO4D | {"results": results})
