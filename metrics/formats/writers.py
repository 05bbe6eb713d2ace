"""Writing qrels and runs in the formats that are read."""

import csv
import io
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .arrays import Floats
from .errors import MeasureError
from .moment_ids import as_word
from .tables import Qrels, Run, Table

Index = Mapping[str, int]


def run_as_ranking(run: Run) -> str:
    """TVR-Ranking's object from query id to predictions."""
    found = {
        query: [
            {"video_name": video, "timestamp": [start, end], "model_scores": score}
            for video, start, end, score in rows
        ]
        for query, rows in _grouped(run, run.scores)
    }
    return _json(found)


def run_as_predictions(run: Run, index: Index) -> str:
    """A list of queries with predictions [video index, start, end, score]."""
    return _json(_predictions(run, index))


def run_as_tvretrieval(run: Run) -> str:
    """TVRetrieval's submission, with a video index of its own."""
    index = {name: number for number, name in enumerate(run.names)}
    return _json({"video2idx": index, "VCMR": _predictions(run, index)})


def run_as_trec(run: Run) -> str:
    """TREC lines; times finer than a millisecond need the side file.

    Scores are kept where they fall strictly, in float32 as trec_eval reads them; a query whose scores do not
    has its ranks for scores, so that its order survives. A query without predictions has no line.
    """
    lines = []
    for i, query in enumerate(run.queries):
        here = slice(int(run.offsets[i]), int(run.offsets[i + 1]))
        scores = run.scores[here]
        if not falls(scores):
            scores = np.arange(scores.size, 0, -1, dtype=np.float64)
        for rank, (stamp, score) in enumerate(zip(run.stamps[here], scores.tolist(), strict=True), 1):
            lines.append(f"{as_word(query)} Q0 {stamp} {rank} {score!r} {as_word(run.name)}")
    return "\n".join(lines) + "\n"


def falls(scores: Floats) -> bool:
    """Whether scores fall strictly from rank to rank, even in float32."""
    with np.errstate(over="ignore"):
        single = scores.astype(np.float32)
    return bool(np.isfinite(single).all() and (single[1:] < single[:-1]).all())


def qrels_as_jsonl(qrels: Qrels) -> str:
    """TVR-Ranking's JSON Lines: one judged pair a line."""
    lines: list[str] = []
    for query, rows in _grouped(qrels, qrels.grades):
        for video, start, end, grade in rows:
            pair = {
                "pair_id": len(lines),
                "query_id": _number_if_it_is(query),
                "query": qrels.texts.get(query, ""),
                "video_name": video,
                "timestamp": [start, end],
                "relevance": grade,
            }
            lines.append(json.dumps(pair, ensure_ascii=False, allow_nan=False))
    return "\n".join(lines) + "\n"


def qrels_as_nested(qrels: Qrels) -> str:
    """A list of queries with their relevant_moment."""
    found = [
        {
            "query_id": _number_if_it_is(query),
            "query": qrels.texts.get(query, ""),
            "relevant_moment": [
                {"video_name": video, "timestamp": [start, end], "relevance": grade}
                for video, start, end, grade in rows
            ],
        }
        for query, rows in _grouped(qrels, qrels.grades)
    ]
    return _json(found)


def qrels_as_trec(qrels: Qrels) -> str:
    """TREC lines; times finer than a millisecond need the side file. A query without moments has no line."""
    rows = zip(qrels.query_of_row().tolist(), qrels.moments, qrels.grades.tolist(), strict=True)
    return "".join(f"{as_word(qrels.queries[query])} 0 {moment} {grade}\n" for query, moment, grade in rows)


def side_file(table: Table) -> str:
    """Exact times of every moment id, as CSV: moment_id, video, start, end (seconds)."""
    ids = table.moments if isinstance(table, Qrels) else table.stamps
    rows = dict.fromkeys(zip(ids, table.videos, table.start.tolist(), table.end.tolist(), strict=True))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["moment_id", "video", "start", "end"])
    seen: dict[str, tuple[str, float, float]] = {}
    for moment, video, start, end in rows:
        if seen.setdefault(moment, (video, start, end)) != (video, start, end):
            raise MeasureError(
                f"moment id {moment!r} stands for two spans that differ by less than a millisecond; "
                "TREC ids cannot tell them apart"
            )
        writer.writerow([moment, video, repr(start), repr(end)])
    return out.getvalue()


def _predictions(run: Run, index: Index) -> list[dict[str, Any]]:
    lacking = [name for name in run.names if name not in index]
    if lacking:
        raise MeasureError(f"video {lacking[0]!r} of the run is not in the video index file")
    return [
        {
            "query_id": _number_if_it_is(query),
            "desc": run.texts.get(query, ""),
            "predictions": [[index[video], start, end, score] for video, start, end, score in rows],
        }
        for query, rows in _grouped(run, run.scores)
    ]


def _grouped(table: Table, values: Any) -> list[tuple[str, list[tuple[str, float, float, Any]]]]:
    rows = list(zip(table.videos, table.start.tolist(), table.end.tolist(), values.tolist(), strict=True))
    bounds = table.offsets.tolist()
    return [(query, rows[bounds[i] : bounds[i + 1]]) for i, query in enumerate(table.queries)]


def _number_if_it_is(query: str) -> int | str:
    return int(query) if query.isascii() and query.isdigit() and str(int(query)) == query else query


def _json(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n"


RUN_WRITERS: dict[str, Callable[[Run], str]] = {
    "ranking": run_as_ranking,
    "tvretrieval": run_as_tvretrieval,
    "trec": run_as_trec,
}
QRELS_WRITERS: dict[str, Callable[[Qrels], str]] = {
    "jsonl": qrels_as_jsonl,
    "nested": qrels_as_nested,
    "trec": qrels_as_trec,
}
