"""Pools: the candidates of every ranked query in the order of their caption ranks, and which queries are the sample."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from os import PathLike
from typing import Any, Literal, get_args

import numpy as np

from . import check_name
from .arrays import Bools, Ints
from .dicts import qrels_from_dict
from .errors import MeasureError, Place, setting, show
from .files import read_part
from .json_files import json_lines, no_collecting
from .moment_ids import parse_moment_id
from .tables import Table

Moment = tuple[str, float, float]
Candidates = list[Moment | None]
Empty = Literal["refuse", "skip", "keep"]
POOL_OF_RELEASE = "pool.jsonl"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Pool(Table):
    """The candidates of all ranked queries, judged or not. A query's rows stand in the order of their ranks.

    rank: caption rank of every row, from 0: int64 of shape (rows,).
    sample: bool of shape (queries,): which queries were judged as part of the random sample; None where the pool does
    not say, and all judged queries are taken to be the sample.
    strata: name of each query's stratum; one empty name for all of them where there are none.
    flaw: why the sample is not random; empty where it is.
    """

    rank: Ints
    sample: Bools | None = None
    strata: tuple[str, ...]
    flaw: str = ""

    def part(self, kept: Bools) -> "Pool":
        """The pool of some queries, without a sample: bool of shape (queries,)."""
        strata = tuple(name for name, is_kept in zip(self.strata, kept.tolist(), strict=True) if is_kept)
        return replace(self.of_queries(kept), sample=None, strata=strata)


def as_pool(source: Any, *, empty: Empty = "refuse") -> Pool:
    """A pool from a pool, a path, or a dict.

    Parameters
    ----------
    source : Pool, path, LoadedRelease or dict
        A file or a release as in `read_pool`, or ``{query: [candidate, …]}``, the best rank first. A candidate is a
        moment id or ``(video, start, end)`` in seconds; None keeps a rank free.
    empty : {"refuse", "skip", "keep"}, default "refuse"
        Queries without candidates: an error, left out, or ranked queries of which nothing is predicted.

    Returns
    -------
    Pool

    Raises
    ------
    MeasureError
        For a candidate that is there twice, a query without candidates, and anything that cannot be read.

    See Also
    --------
    estimate : Estimates a score with it.

    Examples
    --------
    >>> pool = as_pool({"1": ["a@0-5000", None, ("b", 0, 5)]})
    >>> pool.videos, pool.rank.tolist()
    (['a', 'b'], [0, 2])
    """
    if isinstance(source, Pool):
        return source
    if isinstance(source, str | PathLike):
        return read_pool(source, empty=empty)
    if not isinstance(source, Mapping):
        raise MeasureError(f"pool: is {show(source)}; it must be a file or a dict from query to its candidates")
    places = {str(query): Place("pool", f"query {str(query)!r}") for query in source}
    moments = {str(query): _candidates(places[str(query)], held) for query, held in source.items()}
    return _with_candidates(_pool("pool", moments), "pool", empty)


def read_pool(path: str | PathLike[str], *, empty: Empty = "refuse") -> Pool:
    """A pool from a file of JSON lines, such as `pool.jsonl` of a release: an object for each ranked query.

    Its fields are `query_id`, `candidates` (moment ids, the best rank first; null keeps a rank free), and, if there are
    any, `sample` (whether the query belongs to the random sample), `stratum`, and `withdrawn` (whether it was withdrawn
    for what judging it showed). Queries stand in the order in which they are judged. So the sample is not random if a
    query of it comes after one that was withdrawn.

    Parameters
    ----------
    path : path
        The file; gzip is unpacked; ``-`` is standard input. Also a release, as its zip, its folder or a
        `LoadedRelease`.
    empty : {"refuse", "skip", "keep"}, default "refuse"
        See `as_pool`. Releases that were frozen before version 0.2.0 may hold such queries.

    Returns
    -------
    Pool

    Raises
    ------
    MeasureError
        Naming the file, the line, and what would be right.

    See Also
    --------
    as_pool : Takes dicts, too.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "pool.jsonl")
    ...     _ = path.write_text('{"query_id": 1, "candidates": ["a@0-5000", "b@0-5000"]}')
    ...     read_pool(path).videos
    ['a', 'b']
    """
    withdrawn, missing = 0, 0
    moments, samples, strata = dict[str, Candidates](), dict[str, bool](), dict[str, str]()
    with no_collecting():
        source, data = read_part(path, POOL_OF_RELEASE)
        for place, record in json_lines(data, source):
            query = place.query(place.need(record, "query_id"))
            if query in moments:
                raise place.fail(f"query {query!r} stands twice; each ranked query needs one line")
            moments[query] = _candidates(place, place.need(record, "candidates"))
            strata[query] = str(record.get("stratum") or "")
            if "sample" in record:
                samples[query] = _truth(place, "sample", record["sample"])
            withdrawn += _truth(place, "withdrawn", record.get("withdrawn", False))
            missing = withdrawn if samples.get(query) else missing
    if samples and len(samples) < len(moments):
        other = next(query for query in moments if query not in samples)
        raise MeasureError(f"{source}: query {other!r} lacks the field sample; all queries have it, or none")
    return _with_candidates(_pool(source, moments, samples, strata, flaw_of(missing)), source, empty)


def _pool(
    source: str,
    moments: Mapping[str, Candidates],
    samples: Mapping[str, bool] | None = None,
    strata: Mapping[str, str] | None = None,
    flaw: str = "",
) -> Pool:
    rows = {query: [(*moment, 0) for moment in held if moment] for query, held in moments.items()}
    ranks = [rank for held in moments.values() for rank, moment in enumerate(held) if moment]
    try:
        table: Table = qrels_from_dict(rows, lenient=False)
    except MeasureError as fault:
        raise MeasureError(f"{source}: {str(fault).removeprefix('qrels: ')}") from None
    shared = {each.name: getattr(table, each.name) for each in fields(Table)}
    sample = np.array([samples[query] for query in moments]) if samples else None
    names = tuple((strata or {}).get(query, "") for query in moments)
    return Pool(**shared, rank=np.array(ranks, dtype=np.int64), sample=sample, strata=names, flaw=flaw)


def _with_candidates(pool: Pool, source: str, empty: Empty) -> Pool:
    """The pool without queries that have no candidates, or as it is."""
    check_name("empty", empty, get_args(Empty))
    sizes = np.diff(pool.offsets)
    without = np.flatnonzero(sizes == 0)
    if not without.size or empty == "keep":
        return pool
    if empty == "refuse" or without.size == sizes.size:
        raise MeasureError(
            f"{source}: {without.size:,} of {sizes.size:,} queries have no candidates (the first is "
            f"{pool.queries[without[0]]!r}), so they are not ranked; {setting('empty', 'skip')} leaves them out, "
            f"and {setting('empty', 'keep')} counts them as ranked"
        )
    sample = None if pool.sample is None else pool.sample[sizes > 0]
    return replace(pool.part(sizes > 0), sample=sample)


def _candidates(place: Place, held: Any) -> Candidates:
    if isinstance(held, str) or not isinstance(held, Iterable):
        raise place.fail(f"candidates are {show(held)}; they must be a list of moment ids")
    return [None if candidate is None else _moment(place, candidate) for candidate in held]


def _moment(place: Place, candidate: Any) -> Moment:
    if isinstance(candidate, str):
        return parse_moment_id(candidate, str(place))
    if isinstance(candidate, tuple | list) and len(candidate) == 3:
        video, start, end = candidate
        return video, start, end
    raise place.fail(f"candidate {show(candidate)} is neither a moment id nor (video, start, end)")


def _truth(place: Place, field: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise place.fail(f"{field} is {show(value)}; it must be true or false")


def flaw_of(withdrawn: int) -> str:
    """Why a sample is not random, of which so many queries were withdrawn for what judging them showed; empty for 0."""
    if not withdrawn:
        return ""
    return f"{'1 query was' if withdrawn == 1 else f'{withdrawn:,} queries were'} withdrawn for what judging showed"


def look_up(pool: Pool, table: Table, values: Any, otherwise: Any) -> Any:
    """For each of the pool's candidates its value in another table, whose array has one for each of its rows.

    Moments are the same if video and times, in whole milliseconds, are. `otherwise` is the value of a candidate that
    the table does not have.
    """
    known = dict(zip(_keys(table), values.tolist(), strict=True))
    return np.array([known.get(key, otherwise) for key in _keys(pool)], dtype=values.dtype)


def _keys(table: Table) -> Iterable[tuple[str, str, int, int]]:
    times = (np.rint(each * 1000).astype(np.int64).tolist() for each in (table.start, table.end))
    queries = [table.queries[number] for number in table.query_of_row().tolist()]
    return zip(queries, table.videos, *times, strict=True)
