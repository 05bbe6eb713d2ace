"""Somebody uploads a run: what the tests of runs share."""

from __future__ import annotations

import gzip
import json
from io import StringIO
from typing import Any

from campaigns.models import Membership
from campaigns.uploads import append
from jobs.running import work_off
from runs.models import Arrival, Run, Submission
from runs.receiving import announce, describe, submit

Predictions = dict[str, list[tuple[str, float, float, float]]]
GOOD: Predictions = {
    "1": [
        ("secret-video-0", 1.25, 4.5, 9.0),
        ("secret-video-1", 11.0, 15.0, 8.5),
        ("secret-video-5", 50.0, 101.5, -1.0),
    ]
}


def ranking(predictions: Predictions) -> str:
    """The predictions in TVR-Ranking's format."""
    fields = ("video_name", "timestamp", "model_scores")
    rows = {
        query: [dict(zip(fields, (video, [start, end], score), strict=True)) for video, start, end, score in found]
        for query, found in predictions.items()
    }
    return json.dumps(rows)


def packed(content: str | bytes) -> bytes:
    return gzip.compress(content.encode() if isinstance(content, str) else content)


def send(submission: Submission, purpose: str, name: str, content: bytes) -> Arrival:
    """All pieces of a file."""
    file = announce(submission, purpose, name, len(content))
    for start in range(0, len(content), 1 << 20):
        file = append(file, start, content[start : start + (1 << 20)])
    return file


def submitted(
    member: Membership, content: str | bytes, filename: str = "run.json", videos: str = "", **fields: Any
) -> Submission:
    """A submission after a worker has checked it."""
    submission = describe(member, {"name": "bert"} | fields)
    send(submission, "run", filename, content.encode() if isinstance(content, str) else content)
    if videos:
        send(submission, "videos", "videos.json", videos.encode())
    submit(submission)
    assert work_off(StringIO()) == []
    submission.refresh_from_db()
    return submission


def uploaded(member: Membership, predictions: Predictions, **fields: Any) -> Run:
    submission = submitted(member, ranking(predictions), **fields)
    assert submission.run, submission.findings
    return submission.run
