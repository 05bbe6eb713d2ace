"""Qrels and runs as columns: the only shape in which the measures see them.

Rows of one query stand together and keep the order of the file. Build them through `Qrels.build` and
`Run.build`, which check every value and name the first wrong one, or from dicts.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from .arrays import Bools, Floats, Ints, data_frame
from .checks import Checks, check_qrels, check_run, rises, times, warn
from .columns import Columns, Flaw, Sampling
from .errors import MeasureError, MeasureWarning, show
from .moment_ids import as_word
from .plausibility import renamed_videos

VALUES = {"grades": "relevance", "scores": "score", "rank": "rank"}  # columns of a data frame, by the field


@dataclass(frozen=True, eq=False, kw_only=True)
class Table:
    """Rows of (query, video, start, end); rows offsets[i] to offsets[i+1] belong to queries[i]. Seconds.

    names: the videos, each once; video: int64 number of each row's video in `names`.
    texts: wording of a query, where the file gives it.
    durations: length of a query's video in seconds, where the file gives it.
    saliency: of a query's two-second clips, where the file gives it: judged, floats of shape (clips,
    annotators); predicted, of shape (clips,).
    flaws: rows that make no sense, which scoring refuses or counts.
    """

    queries: tuple[str, ...]
    offsets: Ints
    names: tuple[str, ...]
    video: Ints
    start: Floats
    end: Floats
    texts: Mapping[str, str] = field(default_factory=dict)
    durations: Mapping[str, float] = field(default_factory=dict)
    saliency: Mapping[str, Floats] = field(default_factory=dict)
    flaws: tuple[Flaw, ...] = ()

    def sound(self, lenient: bool | None) -> Self:
        """The table; raises MeasureError for its first flaw or, if flaws are to be kept, warns of each."""
        for flaw in self.flaws:
            if not lenient:
                raise MeasureError(flaw.error)
            warnings.warn(flaw.note, MeasureWarning, stacklevel=5)
        return self

    def __len__(self) -> int:
        return len(self.queries)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.start)} moments, {len(self)} queries>"

    @property
    def videos(self) -> list[str]:
        """Name of every row's video."""
        return [self.names[number] for number in self.video.tolist()]

    def rows(self, values: Any) -> Iterator[tuple[str, list[tuple[str, float, float, Any]]]]:
        """Each query with its rows: video, start and end in seconds, and its value of an array of shape (rows,)."""
        rows = list(zip(self.videos, self.start.tolist(), self.end.tolist(), values.tolist(), strict=True))
        for query, here in self.slices():
            yield query, rows[here]

    def slices(self) -> Iterator[tuple[str, slice]]:
        """Each query with its rows as a slice."""
        return zip(self.queries, map(slice, self.offsets[:-1].tolist(), self.offsets[1:].tolist()), strict=True)

    def to_frame(self) -> Any:
        """A pandas data frame with a row for each moment, which `as_qrels` and `as_run` take.

        Its columns are query_id, video_name, start and end (seconds), and the relevance of qrels, the score of a run or
        the rank of a pool.

        Raises
        ------
        MeasureError
            Where pandas is not installed.
        """
        queries = [self.queries[number] for number in self.query_of_row().tolist()]
        columns = {"query_id": queries, "video_name": self.videos, "start": self.start, "end": self.end}
        values = {name: getattr(self, field) for field, name in VALUES.items() if hasattr(self, field)}
        return data_frame(columns | values)

    def query_of_row(self) -> Ints:
        """Number of the query of every row: int64 of shape (rows,)."""
        return np.repeat(np.arange(len(self.queries), dtype=np.int64), np.diff(self.offsets))

    def of_rows(self, rows: Ints | Bools) -> Self:
        """The table of some of its rows, in the order of their queries, all of which stay."""
        sizes = np.bincount(self.query_of_row()[rows], minlength=len(self))
        names = ("video", "start", "end", *(name for name in VALUES if hasattr(self, name)))
        return replace(self, offsets=_offsets(sizes), **{name: getattr(self, name)[rows] for name in names})

    def of_queries(self, kept: Bools) -> Self:
        """The table of some of its queries: bool of shape (queries,)."""
        part, listed = self.of_rows(kept[self.query_of_row()]), zip(self.queries, kept.tolist(), strict=True)
        queries = tuple(query for query, is_kept in listed if is_kept)
        return replace(part, queries=queries, offsets=_offsets(np.diff(part.offsets)[kept]))

    @cached_property
    def stamps(self) -> list[str]:
        """Every row's moment id; what a query holds twice gets ``#2``, ``#3``… behind it."""
        start, end = (np.rint(times * 1000).astype(np.int64).tolist() for times in (self.start, self.end))
        words = [as_word(name) for name in self.names]
        columns = zip(self.query_of_row().tolist(), self.video.tolist(), start, end, strict=True)
        seen: dict[tuple[int, str], int] = {}
        stamps = []
        for query, video, begin, finish in columns:
            key = (query, f"{words[video]}@{begin}-{finish}")
            seen[key] = seen.get(key, 0) + 1
            stamps.append(key[1] if seen[key] == 1 else f"{key[1]}#{seen[key]}")
        return stamps


@dataclass(frozen=True, eq=False, kw_only=True)
class Run(Table):
    """A system's predictions, in the order in which the system ranked them, with its scores.

    existence: how sure the system is that a query has something to find, where the file says it.
    """

    scores: Floats
    name: str = "run"
    existence: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Run {self.name!r}: {len(self.start)} predictions, {len(self)} queries>"

    @classmethod
    def build(cls, columns: Columns, name: str = "run", checks: Checks = Checks()) -> Self:  # noqa: B008
        """Check columns and make a run of them.

        Raises
        ------
        MeasureError
            Naming the first wrong value.

        Warns
        -----
        MeasureWarning
            Of rows that were counted.
        """
        if not columns.queries:
            raise MeasureError(f"{columns.source}: the run is empty: it needs at least one query")
        check_run(columns, checks)
        warn(columns)
        columns = columns.in_order()
        return cls(**_shared(columns), scores=columns.value, name=name, existence=columns.existence)

    @cached_property
    def rising(self) -> tuple[str, ...]:
        """The queries along whose lists the scores rise somewhere."""
        query = self.query_of_row()
        return tuple(self.queries[number] for number in np.unique(query[rises(self.scores, query)]).tolist())

    def by_score(self) -> Self:
        """The run with each list in the order of its scores, the highest first; equal scores keep their order.

        Examples
        --------
        >>> from reeljudge import run_from_dict
        >>> run = run_from_dict({"1": [("a", 0, 5, 0.2), ("b", 0, 5, 0.7), ("c", 0, 5, 0.7)]})
        >>> run.by_score().videos
        ['b', 'c', 'a']
        """
        if not self.rising:
            return self
        return self.of_rows(np.lexsort((-self.scores, self.query_of_row())))

    def with_videos_of(self, qrels: "Qrels") -> Self:
        """The run with the names that the qrels have for its videos, where these differ only by case, Unicode form,
        white space, folder, file extension, or the prefix ``v_``, and only one name of the qrels fits.

        Examples
        --------
        >>> from reeljudge import qrels_from_dict, run_from_dict
        >>> qrels = qrels_from_dict({"1": [("v_abc", 0, 5, 1)]})
        >>> run_from_dict({"1": [("abc.mp4", 0, 5, 0.9), ("def.mp4", 0, 5, 0.8)]}).with_videos_of(qrels).videos
        ['v_abc', 'def.mp4']
        """
        renamed = renamed_videos(self.names, set(qrels.names))
        names = dict.fromkeys(renamed.get(name, name) for name in self.names)
        number = {name: n for n, name in enumerate(names)}
        recode = np.array([number[renamed.get(name, name)] for name in self.names], dtype=np.int64)
        return replace(self, names=tuple(names), video=recode[self.video])

    def of_texts(self, qrels: "Qrels") -> "Run":
        """The run with the ids and the videos of the qrels, for one whose queries are named by their texts, as
        Lighthouse's predictions are.

        Raises
        ------
        MeasureError
            For a text that no query of the qrels has, or that two have, and for a query in several videos.

        Examples
        --------
        >>> from reeljudge import qrels_from_dict, run_from_dict
        >>> qrels = replace(qrels_from_dict({"7": [("film", 0, 5, 1)]}), texts={"7": "He sits."})
        >>> run = run_from_dict({"He sits.": [("He sits.", 1, 5, 0.9)]}).of_texts(qrels)
        >>> run.queries, run.videos
        (('7',), ['film'])
        """
        by_text: dict[str, str] = {}
        for query, text in qrels.texts.items():
            if text in by_text:
                raise MeasureError(f"qrels: queries {by_text[text]!r} and {query!r} have the same text, {show(text)}")
            by_text[text] = query
        if lacking := [text for text in self.queries if text not in by_text]:
            raise MeasureError(f"{self.name}: no query of the qrels has the text {show(lacking[0])}")
        queries = tuple(by_text[text] for text in self.queries)
        videos = {query: one_video("qrels", query, rows) or query for query, rows in qrels.rows(qrels.grades)}
        names = tuple(dict.fromkeys(videos[query] for query in queries))
        numbers = np.array([names.index(videos[query]) for query in queries], dtype=np.int64)
        by_query: dict[str, Any] = {
            name: {by_text[text]: value for text, value in getattr(self, name).items()}
            for name in ("texts", "durations", "saliency", "existence")
        }
        return replace(self, queries=queries, names=names, video=numbers[self.query_of_row()], **by_query)


class Further(NamedTuple):
    """Annotations after the first: int64 row of their moment, start and end in seconds."""

    row: Ints
    start: Floats
    end: Floats


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Qrels(Table):
    """The judged moments of every query with their grades (0: judged and not relevant).

    ids: ids of the moments, where the file gives them. further: where several annotators marked a moment, the
    annotations after the first. types: type of a query, where the file gives it (TVR: v, t, vt). sampling: how the
    moments were drawn from a pool, where the file says it. times: video, start and end of the moments that ids stand
    for, where a side file or a collection says them.
    """

    grades: Ints
    ids: tuple[str, ...] | None = None
    further: Further | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    sampling: Sampling | None = None
    times: Mapping[str, tuple[str, float, float]] = field(default_factory=dict)

    @property
    def moments(self) -> list[str]:
        """Id of every moment."""
        return self.stamps if self.ids is None else list(self.ids)

    def of_rows(self, rows: Ints | Bools) -> Self:
        kept, further = np.arange(self.start.size)[rows], self.further
        if further is not None:
            number = np.full(self.start.size, -1)
            number[kept] = np.arange(kept.size)
            here = number[further.row] >= 0
            further = Further(number[further.row[here]], further.start[here], further.end[here])
        ids = None if self.ids is None else tuple(self.ids[row] for row in kept.tolist())
        return replace(super().of_rows(rows), ids=ids, further=further)

    @classmethod
    def build(cls, columns: Columns, checks: Checks = Checks()) -> Self:  # noqa: B008
        """Check columns and make qrels of them.

        Raises
        ------
        MeasureError
            Naming the first wrong value.
        """
        if not columns.queries:
            raise MeasureError(f"{columns.source}: the qrels are empty: they need at least one query")
        check_qrels(columns, checks)
        if further := _further(columns):
            times(replace(columns.of_rows(further.row), start=further.start, end=further.end), checks)
        warn(columns)
        columns = columns.in_order()
        return cls(
            **_shared(columns),
            grades=columns.value.astype(np.int64),
            ids=None if columns.ids is None else tuple(columns.ids()),
            further=_further(columns),
            types=columns.types,
            sampling=columns.sampling,
            times=columns.times,
        )


def one_video(source: str, query: str, rows: Sequence[Any]) -> str:
    """The video of a query's rows, empty where there are none; several are an error."""
    videos = list(dict.fromkeys(video for video, *_ in rows))
    if len(videos) > 1:
        more = f"its moments lie in {len(videos)} videos ({videos[0]!r}, {videos[1]!r}, …)"
        raise MeasureError(f"{source}: query {query!r}: {more}; this format has one video a query")
    return str(videos[0]) if videos else ""


def _offsets(sizes: Ints) -> Ints:
    """Where the rows of each query begin, and the last end, of the number of rows of each."""
    return np.append(0, np.cumsum(sizes)).astype(np.int64)


def _shared(columns: Columns) -> dict[str, Any]:
    """The fields of a table, of columns in order."""
    names = ("queries", "names", "texts", "durations", "saliency", "video", "start", "end")
    shared = {name: getattr(columns, name) for name in names}
    sizes = np.bincount(columns.group, minlength=len(columns.queries))
    return shared | {"offsets": _offsets(sizes), "flaws": tuple(columns.flaws)}


def _further(columns: Columns) -> Further | None:
    """The annotations after the first, by the number of their moment's row."""
    if not columns.further:
        return None
    return Further(*(np.array(values) for values in zip(*columns.further, strict=True)))
