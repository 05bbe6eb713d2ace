"""Qrels from whatever a researcher has in hand: a file in any format of the field, a dict, or a data frame."""

from collections.abc import Callable, Mapping
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from . import GRADED_QRELS, HIGHEST_GRADE, QRELS_FORMATS, annotations, check_name
from .beir import beir_qrels, qrels_as_beir, split_of
from .checks import Checks
from .columns import MOMENT, Columns, columns_of_frame
from .csv_tables import Times, csv_qrels, read_side_file
from .detection import format_of_records, qrels_format
from .dicts import IdQrels, in_hand, is_by_id, qrels_from_dict
from .files import STANDARD_INPUT, is_release, read_part, text_of
from .json_files import Records, no_collecting
from .json_qrels import jsonl_qrels, nested_qrels, qrels_as_jsonl, qrels_as_nested, qrels_records
from .tables import Qrels
from .trec import qrels_as_trec, trec_qrels
from .trecvid import qrels_as_xinfap, xinfap_qrels
from .windows import ego4d_qrels, qrels_as_ego4d, qrels_as_qvhighlights, qvhighlights_qrels

TEXT_READERS: dict[str, Callable[[str, str], Columns]] = {"csv": csv_qrels, "charades": annotations.charades_qrels}
RECORD_READERS: dict[str, Callable[[Records], Columns]] = {
    "jsonl": jsonl_qrels,
    "nested": nested_qrels,
    "tvr": annotations.tvr_qrels,
    "qvhighlights": qvhighlights_qrels,
    "didemo": annotations.didemo_qrels,
    "axiou": annotations.axiou_qrels,
    "activitynet": partial(annotations.captions_qrels, unit=annotations.in_seconds),
    "tacos": partial(annotations.captions_qrels, unit=annotations.in_frames),
    "ego4d": ego4d_qrels,
}
QRELS_OF_RELEASE = "qrels.jsonl"
QRELS_WRITERS: dict[str, Callable[[Qrels], str]] = {
    "jsonl": qrels_as_jsonl,
    "nested": qrels_as_nested,
    "trec": qrels_as_trec,
    "qvhighlights": qrels_as_qvhighlights,
    "ego4d": qrels_as_ego4d,
    "xinfap": qrels_as_xinfap,
    "beir": qrels_as_beir,
}


def as_qrels(source: Any, lenient: bool | None = None, highest: int = HIGHEST_GRADE) -> Qrels:
    """Qrels from whatever holds them: what `calc` and all other functions take as qrels.

    Parameters
    ----------
    source : Qrels, path, LoadedRelease, dict or data frame
        A file or a release is read by `read_qrels`. A dict is ``{query: [(video, start, end, grade), …]}``,
        TVR-Ranking's ``{query: [{"video_name", "timestamp", "relevance"}, …]}``, or by moment id
        ``{query: {"video@startms-endms": grade}}``. A list of ir_measures' `Qrel` is taken as such a dict. A frame
        (pandas, polars, Arrow) has the columns query_id (or qid, query),
        video_name (or video), start, end (seconds) or timestamp (lists of both), and relevance (or grade, label); or a
        moment_id (or docno, doc_id) for video and times.
    lenient : bool, default None
        See `read_qrels`.
    highest : int, default 4
        The highest grade of the scale.

    Returns
    -------
    Qrels

    Raises
    ------
    MeasureError
        For what cannot be read, naming where the first mistake is.

    See Also
    --------
    as_run : The same for runs.
    read_qrels : Reads a file, also in a format that is named.

    Examples
    --------
    >>> as_qrels({"1": [{"video_name": "a", "timestamp": [0, 10], "relevance": 4}]}).grades.tolist()
    [4]
    >>> as_qrels({"1": {"a@0-10000": 4}}).end.tolist()
    [10.0]

    A moment that stands twice is counted, or an error:

    >>> twice = {"1": [("a", 0, 10, 4), ("a", 0, 10, 4)]}
    >>> as_qrels(twice).grades.tolist()
    [4, 4]
    >>> as_qrels(twice, lenient=False)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    MeasureError: qrels: query '1', moment 2: moment 'a@0-10000' stands twice in its query
    """
    source = qrels_source(source, lenient, highest)
    return source if isinstance(source, Qrels) else source.table


def qrels_source(source: Any, lenient: bool | None = None, highest: int = HIGHEST_GRADE) -> Qrels | IdQrels:
    """As `as_qrels`, but qrels by moment id stay as they are until somebody needs their times."""
    if isinstance(source, Qrels | IdQrels):
        return source
    if isinstance(source, str | PathLike):
        return read_qrels(source, lenient=lenient, highest=highest)
    source = in_hand(source, "qrels", MOMENT)
    if is_by_id(source):
        return IdQrels(source, lenient, highest)
    if isinstance(source, Mapping):
        return qrels_from_dict(source, lenient, highest)
    return Qrels.build(columns_of_frame(source, "qrels", MOMENT), Checks(lenient, highest))


def read_qrels(
    path: str | PathLike[str],
    format: str | None = None,
    moments: str | Path | None = None,
    lenient: bool | None = None,
    highest: int = HIGHEST_GRADE,
) -> Qrels:
    """Qrels from a file.

    Parameters
    ----------
    path : path
        The file; gzip is unpacked; ``-`` is standard input. Also a release, as its zip, its folder or a
        `LoadedRelease`, and a folder in BEIR's layout with one split.
    format : str, default None
        One of `QRELS_FORMATS`; None: told from the content.
    moments : path, default None
        Side file for qrels by moment id (trec, xinfap, beir); None: times are read from the ids.
    lenient : bool, default None
        Whether moments that stand twice, have two grades or one above `highest`, end before they start, or lie before 0
        are kept, counted and warned of; False: the first is an error. None: they are kept, and a convention that
        refuses them, such as `paper`, refuses the qrels when a run is scored on them; the annotation files of published
        data sets and releases are taken as they are.
    highest : int, default 4
        The highest grade of the scale.

    Returns
    -------
    Qrels

    Raises
    ------
    MeasureError
        Naming file, line (or query and moment) and field of the first mistake.

    Warns
    -----
    MeasureWarning
        Saying what was counted.

    See Also
    --------
    as_qrels : Takes dicts and data frames, too.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "qrels.jsonl")
    ...     _ = path.write_text('{"query_id": 1, "video_name": "a", "timestamp": [0, 5], "relevance": 4}')
    ...     read_qrels(path).grades.tolist()
    [4]
    """
    check_name("qrels format", format, QRELS_FORMATS)
    with no_collecting():
        format, columns = _columns(path, format, read_side_file(moments) if moments else None)
    as_published = True if format not in GRADED_QRELS or is_release(path) else None
    return Qrels.build(columns, Checks(as_published if lenient is None else lenient, highest))


def _columns(path: str | PathLike[str], format: str | None, times: Times | None) -> tuple[str, Columns]:
    if not is_release(path) and Path(path).is_dir():
        path = split_of(Path(path))
    source, data = read_part(path, QRELS_OF_RELEASE)
    format = format or qrels_format(data, source)
    if format == "trec":
        return format, trec_qrels(data, source, times)
    if format == "xinfap":
        return format, xinfap_qrels(text_of(data, source), source, times)
    if format == "beir":
        folder = None if str(path) == STANDARD_INPUT else Path(path).resolve().parent.parent
        return format, beir_qrels(text_of(data, source), source, times, folder)
    if format in TEXT_READERS:
        return format, TEXT_READERS[format](text_of(data, source), source)
    records = qrels_records(data, source, format)
    format = format or format_of_records(records)
    return format, RECORD_READERS[format](records)
