"""Runs from whatever a researcher has in hand: a file in any format of the field, a dict, or a data frame."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from . import RUN_FORMATS, annotations, check_name, json_runs, windows
from .beir import beir_run, run_as_beir
from .checks import Checks, Known, cut, doubts_about_run, find_faults, usable
from .columns import PREDICTION, Columns, columns_of_frame
from .csv_tables import Times, read_side_file
from .detection import refuse_qrels_at_a_glance, run_format, run_is_trec
from .dicts import IdRun, in_hand, is_by_id, run_from_dict
from .errors import Faults, MeasureError
from .files import STANDARD_INPUT, read_beginning, read_bytes, source_name
from .json_files import Records, no_collecting, read_records
from .tables import Qrels, Run
from .trec import run_as_trec, trec_run
from .trecvid import dres_run, looks_like_xml, run_as_dres, run_as_trecvid, trecvid_run

RECORD_READERS: dict[str, Callable[[Records], Columns]] = {
    "qvhighlights": windows.qvhighlights_run,
    "stal": annotations.stal_run,
    "axiou": annotations.axiou_run,
    "didemo": annotations.didemo_run,
    "lighthouse": windows.lighthouse_run,
    "ego4d": windows.ego4d_run,
    "dres": dres_run,
}
RUN_WRITERS: dict[str, Callable[[Run], str]] = {
    "ranking": json_runs.run_as_ranking,
    "tvretrieval": json_runs.run_as_tvretrieval,
    "trec": run_as_trec,
    "qvhighlights": windows.run_as_qvhighlights,
    "lighthouse": windows.run_as_lighthouse,
    "ego4d": windows.run_as_ego4d,
    "trecvid": run_as_trecvid,
    "dres": run_as_dres,
    "beir": run_as_beir,
}


def as_run(
    source: Any, lenient: bool | None = None, name: str | None = None, moments: str | Path | Qrels | None = None
) -> Run:
    """A run from whatever holds it: what `calc` and all other functions take as a run.

    Parameters
    ----------
    source : Run, path, dict or data frame
        As in `as_qrels`, with a score (or model_scores) for the grade, and `ScoredDoc` for `Qrel`. Lists and rows stand
        in rank order. A run by
        moment id is ranked by its scores, ties by id, descending, as trec_eval ranks it.
    lenient : bool, default None
        See `read_run`.
    name : str, default None
        Name of the run; None: its own, that of its file, or ``run``.
    moments : path or Qrels, default None
        See `read_run`.

    Returns
    -------
    Run

    Raises
    ------
    MeasureError
        For what cannot be read, naming where the first mistake is.

    See Also
    --------
    as_qrels : The same for qrels.
    read_run : Reads a file, also in a format that is named.

    Examples
    --------
    >>> run = as_run({"1": {"a@0-9000": 0.2, "b@0-9000": 0.7}}, name="by id")
    >>> run.name, run.videos
    ('by id', ['b', 'a'])
    """
    source = run_source(source, lenient, name, moments)
    return source if isinstance(source, Run) else source.table


def run_source(
    source: Any, lenient: bool | None = None, name: str | None = None, moments: str | Path | Qrels | None = None
) -> Run | IdRun:
    """As `as_run`, but a run by moment id stays as it is until somebody needs its times."""
    if isinstance(source, Run):
        return source if name in (None, source.name) else replace(source, name=name)
    if isinstance(source, IdRun):
        return source if name in (None, source.name) else IdRun(source.lists, source.lenient, name, source.times)
    if isinstance(source, str | Path):
        return run_source(read_run(source, lenient=lenient, moments=moments), name=name)
    name = name or "run"
    source = in_hand(source, name, PREDICTION)
    if is_by_id(source):
        return IdRun(source, lenient, name, _times_of(moments))
    if isinstance(source, Mapping):
        return run_from_dict(source, name, lenient)
    return Run.build(columns_of_frame(source, name, PREDICTION), name, Checks(lenient))


def run_sources(runs: Any, lenient: bool | None = None, moments: Qrels | None = None) -> list[Run | IdRun]:
    """Several runs under names that differ: a mapping from name to run, or runs that have names of their own."""
    if isinstance(runs, Mapping):
        if any(isinstance(run, list | tuple) for run in runs.values()):
            raise MeasureError("runs is one run; it must be a mapping from name to run, or a list of runs")
        found = [run_source(run, lenient, str(name), moments) for name, run in runs.items()]
    elif isinstance(runs, Sequence) and not isinstance(runs, str):
        found = [run_source(run, lenient, moments=moments) for run in runs]
    else:
        what = f"runs is one {type(runs).__name__}"
        raise MeasureError(f"{what}; it must be a mapping from name to run, or a list of runs")
    if not found:
        raise MeasureError("there is no run; at least one is needed")
    names = [run.name for run in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise MeasureError(f"two runs are called {twice[0]!r}; give a mapping from name to run")
    return found


def read_run(
    path: str | Path,
    format: str | None = None,
    videos: str | Path | None = None,
    moments: str | Path | Qrels | None = None,
    task: str | None = None,
    lenient: bool | None = None,
) -> Run:
    """A run from a file.

    Parameters
    ----------
    path : path
        The file; gzip is unpacked; ``-`` is standard input.
    format : str, default None
        One of `RUN_FORMATS`; None: told from the content.
    videos : path, default None
        Video index file, for runs that name videos by number: ``{video: [duration, index]}``, with or without the split
        above it.
    moments : path or Qrels, default None
        Side file for runs by moment id or shot (trec, trecvid, beir), or qrels that were read with one or from a folder
        in BEIR's layout; None: times are read from the ids.
    task : str, default None
        Which list of a TVRetrieval submission to read: VCMR, SVMR or VR; None: the first that is there.
    lenient : bool, default None
        Whether predictions that stand twice, end before they start, or lie before 0 are kept, counted and warned of, as
        every published evaluator keeps them; False: the first is an error. None: they are kept, and a convention that
        refuses them, such as `paper`, refuses the run when it is scored.

    Returns
    -------
    Run
        Its name is that of the file, or, in TREC's format, the tag of its lines.

    Raises
    ------
    MeasureError
        Naming file, line (or query and prediction) and field of the first mistake.

    Warns
    -----
    MeasureWarning
        Where records without predictions were passed over, or rows counted.

    See Also
    --------
    as_run : Takes dicts and data frames, too.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "run.json")
    ...     _ = path.write_text('{"1": [{"video_name": "a", "timestamp": [0, 5], "score": 0.5}]}')
    ...     read_run(path).scores.tolist()
    [0.5]
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
        columns = usable(columns, known)
        find_faults(columns, known, faults)
        faults.doubts += doubts_about_run(columns, known)
        return (None if faults.count else Run.build(cut(columns, known), name)), faults
    except MeasureError as fault:
        if not faults.count:
            faults.add(fault)
        return None, faults


@no_collecting()
def _run_columns(
    path: str | Path,
    format: str | None,
    videos: str | Path | None,
    moments: str | Path | Qrels | None,
    task: str | None,
    faults: Faults | None = None,
) -> tuple[Columns, str]:
    """The columns of a run and its name: that of the file, or in TREC's format the tag of its lines."""
    check_name("run format", format, RUN_FORMATS)
    source = source_name(path)
    times = _times_of(moments)
    names = json_runs.read_video_index(videos) if videos else None
    data = read_bytes(path)
    if format == "trecvid" or (format is None and looks_like_xml(data)):
        return trecvid_run(data, source, times), _name_of(path)
    if format == "trec" or (format is None and run_is_trec(data, source)):
        return trec_run(data, source, times, faults)
    records = read_records(data, source)
    own: dict[str, Callable[[Records], Columns]] = {
        "ranking": partial(json_runs.ranking_run, faults=faults),
        "tvretrieval": partial(json_runs.tvretrieval_run, task=task, faults=faults),
        "predictions": partial(json_runs.predictions_run, names=names, faults=faults),
        "beir": partial(beir_run, times=times),
    }
    return (RECORD_READERS | own)[format or run_format(records)](records), _name_of(path)


def _times_of(moments: str | Path | Qrels | None) -> Times | None:
    """Video, start and end of each id that a side file or qrels list; None where they list none."""
    found = moments.times if isinstance(moments, Qrels) else read_side_file(moments) if moments else {}
    return dict(found) or None


def _name_of(path: str | Path) -> str:
    return "run" if str(path) == STANDARD_INPUT else Path(path).name.split(".")[0] or "run"


def look_at_run(path: str | Path, format: str | None = None) -> None:
    """Say at once what is plainly wrong with a run, without reading more than its beginning. Raises MeasureError if the
    file is not there, is empty or binary, or is something else than a run.
    """
    if str(path) == STANDARD_INPUT:
        return
    data, source = read_beginning(path), source_name(path)
    if format or looks_like_xml(data) or run_is_trec(data, source):
        return
    refuse_qrels_at_a_glance(data, source)
