"""BEIR's layout, a folder with `corpus.jsonl`, `queries.jsonl` and `qrels/SPLIT.tsv`, and its retrievers' results.

Moments are documents. Their ids say video and times, or the corpus does, as `metadata`.
"""

from pathlib import Path
from typing import Any

import numpy as np

from .columns import MOMENT, PREDICTION, Columns, Rows
from .csv_tables import Times, csv_rows
from .errors import MeasureError, Place, show
from .files import read_bytes
from .json_files import Records, json_lines, write_json
from .moment_ids import SHAPE, moment_of, parse_moment_id
from .tables import Qrels, Run
from .trec import falling

HEADER = ("query-id", "corpus-id", "score")
CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels"
METADATA = ("video", "start", "end")


def split_of(folder: Path) -> Path:
    """The file of qrels in a folder of BEIR's; raises MeasureError unless there is exactly one."""
    found = sorted((folder / QRELS).glob("*.tsv"))
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(f"{QRELS}/{file.name}" for file in found)
        raise MeasureError(f"{folder}: has {len(found)} splits; name the file of one: {names}")
    raise MeasureError(f"{folder}: is a directory; a file is needed, or BEIR's layout with {QRELS}/SPLIT.tsv")


def beir_qrels(text: str, source: str, times: Times | None = None, folder: Path | None = None) -> Columns:
    """Qrels of a split: `query-id`, `corpus-id` and `score` between tabs.

    times: of each id, from a side file; None: the ids or the corpus say them. folder: where corpus and queries stand,
    if they do.
    """
    rows = Rows(source, MOMENT)
    for place, row in csv_rows(text, source, HEADER):
        query, moment, grade = (row[name] for name in HEADER)
        if times is None and not SHAPE.fullmatch(moment):
            times = _corpus(folder / CORPUS) if folder and (folder / CORPUS).is_file() else None
        rows.add(place, place.query(query), *_times_of(place, moment, times), place.number(grade, MOMENT.value))
    if folder and (folder / QUERIES).is_file():
        for place, record in json_lines(read_bytes(folder / QUERIES), str(folder / QUERIES)):
            if (query := str(place.need(record, "_id"))) in rows.queries:
                rows.tell(query, record.get("text"))
    columns = rows.columns().with_grades_from_zero()
    columns.times = times or {}
    return columns


def _corpus(path: Path) -> Times:
    """Video, start and end of each document whose metadata tells them."""
    times: Times = {}
    for place, record in json_lines(read_bytes(path), str(path)):
        about = record.get("metadata")
        if isinstance(about, dict) and all(name in about for name in METADATA):
            video, start, end = (about[name] for name in METADATA)
            times[str(place.need(record, "_id"))] = video, start, end
    return times


def _times_of(place: Place, moment: str, times: Times | None) -> tuple[str, float, float]:
    if times is None:
        return parse_moment_id(moment, str(place))
    if moment not in times:
        raise place.fail(f"moment {show(moment)} has no times, neither in a side file nor in the corpus")
    return times[moment]


def qrels_as_beir(qrels: Qrels) -> str:
    """Qrels of a split, as BEIR has them. A query without moments has no line."""
    rows = zip(qrels.query_of_row().tolist(), qrels.moments, qrels.grades.tolist(), strict=True)
    lines = [f"{qrels.queries[query]}\t{moment}\t{grade}\n" for query, moment, grade in rows]
    return "".join(["\t".join(HEADER) + "\n", *lines])


def beir_run(records: Records, times: Times | None = None) -> Columns:
    """What BEIR's retrievers return: ``{query: {moment id: score}}``; by score in float32, ties by id, descending.

    times: of ids that do not say them.
    """
    rows = Rows(records.source, PREDICTION)
    for whole, record in records:
        if not isinstance(record, dict):
            raise whole.fail(f"is {show(record)}; it must be an object from query to moments with scores")
        for query, held in record.items():
            place = Place(records.source, f"query {query!r}")
            rows.queries[place.query(query)] = None
            if not isinstance(held, dict):
                raise place.fail(f"is {show(held)}; it must be an object from moment id to score")
            for moment, score in sorted(held.items(), key=_rank, reverse=True):
                rows.add(place, query, *moment_of(moment, times or {}, str(place)), score)
    return rows.columns()


def _rank(item: tuple[str, Any]) -> tuple[float, str]:
    with np.errstate(over="ignore"):
        return (float(np.float32(item[1])) if type(item[1]) in (int, float) else 0.0), item[0]


def run_as_beir(run: Run) -> str:
    """What BEIR's retrievers return; where scores do not fall strictly in float32, ranks stand in for them."""
    found = {
        query: dict(zip(run.stamps[here], falling(run.scores[here]).tolist(), strict=True))
        for query, here in run.slices()
    }
    return write_json(found)
