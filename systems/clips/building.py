"""Building an index of clips: first its plan, then its shards, each in one go, by any job on any machine.

Whichever shard is written last, the index then measures which share of the clips nearest to some queries it finds, and
looks at as many groups of clips as it takes. A query that is farther from all groups than clips are, as those of
another network can be, is searched by a setting of its own, unless queries of the right kind were given.
"""

from __future__ import annotations

import hashlib
import math
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import numpy as np

from ..data import Rows, Videos, starts_of
from ..errors import SystemsError
from ..storage import digest, write, write_json
from ..windows import clips_in
from . import codes, index
from .index import REFINED, ClipIndex, Plan, Setting


def plan_index(
    folder: Path,
    kind: str,
    clip_seconds: float,
    sample: Rows,
    clips: int,
    shards: int = 1,
    *,
    queries: Rows | None = None,
    nearest: int = 200,
    target: float = 0.95,
) -> Plan:
    """Begin an index in a folder: learn what its codes need, and store its plan, which voids the shards that are there.

    kind: `flat` or `ivf-pq`.
    sample: vectors to learn from, `codes.wanted_sample` of about `clips` clips: shape (vectors, d).
    queries: some, by which recall is measured: shape (queries, d). None: clips of the sample are held out for it.
    nearest, target: how many clips a search looks for, and which share of them it is to find; it may reach less.
    Raises SystemsError for a value that makes no sense, a sample that is too small, or a full disk.
    """
    plan = Plan(kind, sample.shape[1], clip_seconds, shards, nearest=nearest, target=target)
    plan.check()
    if queries is not None and (not len(queries) or queries.shape[1:] != sample.shape[1:]):
        raise SystemsError(f"queries of shape {queries.shape}; expected some, of {plan.dimensions} dimensions")
    if kind != "flat":
        folder.mkdir(parents=True, exist_ok=True)
        held = codes.learn(sample, clips, folder / index.LEARNED)
        if queries is not None:
            drawn = np.random.default_rng(len(queries)).permutation(len(queries))
            held = queries[np.sort(drawn[: codes.HELD_OUT])]
        plan = replace(plan, learned=digest(folder / index.LEARNED), given=queries is not None)
        write(folder / index.QUERIES, partial(np.save, arr=np.asarray(held, np.float32)))
    write_json(folder / index.PLAN, {"format": index.FORMAT, "version": index.VERSION, **asdict(plan)})
    return plan


def write_shard(folder: Path, number: int, blocks: Iterable[Videos]) -> None:
    """Write one shard of a planned index, from 1 on; it replaces the one that was there, if all goes well.

    blocks: its videos, some at a time; one block is in memory at a time.
    Raises SystemsError for a number beyond the plan, vectors that do not fit it or are not finite, or a full disk.
    """
    plan = index.read_plan(folder)
    if not 1 <= number <= plan.shards:
        raise SystemsError(f"{folder}: shard {number}; expected 1 to {plan.shards}, as planned")
    for left_behind in folder.glob(f".shard-{number:04}-*"):  # by jobs that were killed
        shutil.rmtree(left_behind, ignore_errors=True)
    new = Path(tempfile.mkdtemp(prefix=f".shard-{number:04}-", dir=folder))
    try:
        new.chmod(0o755)
        _fill(new, number, blocks, plan, folder / index.LEARNED)
        _replace(index.shard_folder(folder, number), new)
    except OSError as fault:
        raise SystemsError(f"{folder}: shard {number} cannot be stored ({fault})") from fault
    finally:
        shutil.rmtree(new, ignore_errors=True)
    if plan.learned:
        try:
            index.read_shards(folder, plan)
        except SystemsError:
            return  # others are still to be written
        index.store_settings(folder, plan, _measured(folder, plan))


def _measured(folder: Path, plan: Plan) -> list[Setting]:
    """Return how an index is to look for clips, and what it finds so."""
    try:
        queries: Rows = np.load(folder / index.QUERIES)
    except (OSError, ValueError, EOFError) as fault:
        raise SystemsError(f"{folder / index.QUERIES}: cannot be read ({fault}); plan the index again") from fault
    made = ClipIndex(folder, is_measured=False)
    if not made.clips:
        return [Setting(0.0, codes.FEWEST_LOOKED_AT, REFINED[0], 1.0, 0)]
    if plan.given:
        return [made.tuned(queries, 0.0)]
    assert made.codes is not None
    reach = float(made.codes.away(queries).max())
    return [made.tuned(queries, reach), made.tuned(_moved(queries), 0.0)]


def _moved(clips: Rows) -> Rows:
    """Return clips that are moved, each in a direction of its own, by as much as clips lie around their mean."""
    away = np.random.default_rng(len(clips)).standard_normal(clips.shape)
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    spread = math.sqrt(float(((clips - clips.mean(0)) ** 2).sum(1).mean()))
    return np.asarray(clips + spread * away, np.float32)


def _fill(new: Path, number: int, blocks: Iterable[Videos], plan: Plan, learned: Path) -> None:
    """Write the files of a shard into a new folder."""
    counts, durations = list[int](), list[float]()
    names = list[bytes]()
    checksum = hashlib.sha256()  # of the rows, which are not read again
    coded = codes.empty_index(learned) if plan.learned else None
    with (new / index.ROWS).open("wb") as out:
        for block in blocks:
            rows = _checked(block, plan)
            out.write(rows.data)
            checksum.update(rows.data)
            if coded:
                codes.add(coded, number, rows)
            counts += block.counts.tolist()
            names += [name.encode() for name in block.names]
            durations += block.duration.tolist()
    offsets = starts_of(counts)
    np.save(new / index.OFFSETS, offsets)
    np.save(new / index.NAMES, np.array(names or np.empty(0, "S1"), np.bytes_))
    np.save(new / index.DURATIONS, np.array(durations, np.float64))
    if coded and offsets[-1]:
        codes.write(coded, new / index.CODES)
    written = {
        file.name: {
            "bytes": file.stat().st_size,
            "sha256": checksum.hexdigest() if file.name == index.ROWS else digest(file),
        }
        for file in sorted(new.iterdir())
    }
    content = {"version": index.VERSION, "index": plan.key, "shard": number, "videos": len(names)}
    write_json(new / index.SHARD, {**content, "clips": int(offsets[-1]), "files": written})


def _checked(block: Videos, plan: Plan) -> Rows:
    """Return a block's vectors in the order and type of the file."""
    rows = np.ascontiguousarray(block.clips, "<f4")
    if rows.ndim != 2 or rows.shape[1] != plan.dimensions:
        raise SystemsError(f"vectors of shape {rows.shape}; expected (clips, {plan.dimensions}), as planned")
    if block.clip_seconds != plan.clip_seconds:
        raise SystemsError(f"clips of {block.clip_seconds:g} s; expected {plan.clip_seconds:g} s, as planned")
    wanted = clips_in(block.duration, plan.clip_seconds)
    if (other := np.flatnonzero(block.counts != wanted)).size:
        video = int(other[0])
        raise SystemsError(
            f"video {block.names[video]!r} of {block.duration[video]:g} s has {block.counts[video]} clips; "
            f"expected {wanted[video]}, of {plan.clip_seconds:g} s each"
        )
    if not np.isfinite(rows).all():
        row = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        video = int(np.searchsorted(block.offsets, row, side="right")) - 1
        raise SystemsError(
            f"video {block.names[video]!r}, clip {row - block.offsets[video]}: "
            "the vector has a value that is not a finite number"
        )
    return rows


def _replace(folder: Path, new: Path) -> None:
    """Put a finished shard where it belongs. If this is broken off, the shard counts as missing."""
    old = new.with_name(f"{new.name}.old")
    if folder.exists():
        folder.rename(old)
    new.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
