"""Runs from whatever a researcher has in hand: a file in any format of the field, a dict, or a data frame."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import RUN_FORMATS, check_name
from .checks import Checks, Known, find_faults
from .columns import PREDICTION, Columns, columns_of_frame
from .csv_tables import read_side_file
from .detection import refuse_qrels_at_a_glance, run_is_trec
from .dicts import IdRun, is_by_id, run_from_dict
from .errors import Faults, MeasureError
from .files import STANDARD_INPUT, read_beginning, read_bytes, source_name
from .json_files import no_collecting
from .json_runs import read_video_index, run_as_ranking, run_as_tvretrieval, run_columns
from .tables import Run
from .trec import run_as_trec, trec_run

RUN_WRITERS: dict[str, Callable[[Run], str]] = {
    "ranking": run_as_ranking,
    "tvretrieval": run_as_tvretrieval,
    "trec": run_as_trec,
}


def as_run(source: Any, lenient: bool = True) -> Run:
    """A run from a run, a path, a dict or a data frame; as `as_qrels`, with a score for the grade, in rank order."""
    if isinstance(source, Run):
        return source
    if isinstance(source, IdRun):
        return source.table
    if isinstance(source, str | Path):
        return read_run(source, lenient=lenient)
    if is_by_id(source):
        return IdRun(source, lenient).table
    if isinstance(source, Mapping):
        return run_from_dict(source, lenient=lenient)
    return Run.build(columns_of_frame(source, "run", PREDICTION), checks=Checks(lenient))


def run_source(source: Any, lenient: bool = True) -> Run | IdRun:
    """As `as_run`, but a run by moment id stays as it is until somebody needs its times."""
    if isinstance(source, IdRun):
        return source
    return IdRun(source, lenient) if is_by_id(source) else as_run(source, lenient)


def read_run(
    path: str | Path,
    format: str | None = None,
    videos: str | Path | None = None,
    moments: str | Path | None = None,
    task: str | None = None,
    lenient: bool = True,
) -> Run:
    """A run from a file.

    Parameters
    ----------
    path
        The file; gzip is unpacked; ``-`` is standard input.
    format
        One of `RUN_FORMATS`; None: told from the content.
    videos
        Video index file, for runs that name videos by number: ``{video: [duration, index]}``, with or
        without the split above it.
    moments
        Side file for TREC runs; None: times are read from the moment ids.
    task
        Which list of a TVRetrieval submission to read: VCMR (default), SVMR or VR.
    lenient
        Predictions that stand twice, end before they start, or lie before 0 are kept, counted and warned of, as
        every published evaluator keeps them; False: the first is an error.

    Raises
    ------
    MeasureError
        Naming file, line (or query and prediction) and field of the first mistake.

    Warns
    -----
    MeasureWarning
        Where scores do not fall along a list, records without predictions were passed over, or rows counted.
    """
    columns, name = _run_columns(path, format, videos, moments, task)
    return Run.build(columns, name, Checks(lenient))


def check_run_file(
    path: str | Path, known: Known, format: str | None = None, videos: str | Path | None = None, task: str | None = None
) -> tuple[Run | None, Faults]:
    """A run from a file in which nothing is wrong, or None; and what is wrong with it.

    known: the queries and videos that the run may name.
    path, format, videos, task: see `read_run`.
    Returns the run, and its faults: the first hundred are kept, and all are counted. A fault of the file's structure,
    such as broken JSON, hides those behind it.
    """
    faults = Faults()
    try:
        columns, name = _run_columns(path, format, videos, None, task, faults)
        find_faults(columns, known, faults)
        return (None if faults.count else Run.build(columns, name)), faults
    except MeasureError as fault:
        if not faults.count:
            faults.add(fault)
        return None, faults


def _run_columns(
    path: str | Path,
    format: str | None,
    videos: str | Path | None,
    moments: str | Path | None,
    task: str | None,
    faults: Faults | None = None,
) -> tuple[Columns, str]:
    """The columns of a run and its name: that of the file, or in TREC's format the tag of its lines."""
    check_name("run format", format, RUN_FORMATS)
    source = source_name(path)
    with no_collecting():
        times = read_side_file(moments) if moments else None
        names = read_video_index(videos) if videos else None
        data = read_bytes(path)
        if format == "trec" or (format is None and run_is_trec(data, source)):
            return trec_run(data, source, times, faults)
        columns = run_columns(data, source, format, names, task, faults)
    return columns, "run" if str(path) == STANDARD_INPUT else Path(path).name.split(".")[0] or "run"


def look_at_run(path: str | Path, format: str | None = None) -> None:
    """Say at once what is plainly wrong with a run, without reading more than its beginning. Raises MeasureError if the
    file is not there, is empty or binary, or is something else than a run.
    """
    if str(path) == STANDARD_INPUT:
        return
    data, source = read_beginning(path), source_name(path)
    if format == "trec" or (format is None and run_is_trec(data, source)):
        return
    refuse_qrels_at_a_glance(data, source)
