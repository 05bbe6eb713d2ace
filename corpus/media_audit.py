"""Comparing the files of the store with the clips that name them: lost, truncated, changed and orphaned files.

Nothing is held in memory but a byte for each clip, and files are read only if their checksums are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import PurePath

from django.db.models import Max, QuerySet

from corpus.clips import FOLDER
from corpus.models import Clip
from corpus.stored_files import Stored, files_in, read

FILES_AT_A_TIME = 1000


class Fault(StrEnum):
    LOST = "lost"
    TRUNCATED = "truncated"
    CHANGED = "changed"
    ORPHANED = "orphaned"  # it belongs to no clip


@dataclass(frozen=True)
class Finding:
    """A file that is not as it should be."""

    fault: Fault
    file: str
    clip: int | None = None  # the clip's key
    size: int | None = None  # bytes that are there
    right: int | None = None  # bytes that should be there

    def __str__(self) -> str:
        sizes = "" if self.right is None else f", {self.size:,} of {self.right:,} bytes"
        return f"{self.file}: {self.fault}{sizes}"


def audit_media(audience: str = "", *, checksums: bool = False) -> Iterator[Finding]:
    """Yield what is wrong with the files of all clips, or with those of the clips of one audience.

    Orphaned files are looked for only if no audience is named, because they belong to none. Raises Unavailable if the
    store does not answer.
    """
    clips = Clip.objects.filter(state=Clip.State.READY)
    clips = clips.filter(audience=audience) if audience else clips
    last = clips.aggregate(last=Max("pk"))["last"] or 0  # clips that are cut meanwhile are left out
    seen = bytearray(last + 1)
    files = files_in(FOLDER)
    while some := list(islice(files, FILES_AT_A_TIME)):
        yield from _look_at(some, clips, seen, with_orphans=not audience)
    for pk, name in clips.filter(pk__lte=last).order_by().values_list("pk", "file").iterator():
        if not seen[pk]:
            yield from _look_again(pk, name)
        elif checksums:
            yield from _read(pk, name)


def forget_lost(findings: Iterator[Finding]) -> int:
    """Mark the clips whose files were found lost or damaged as waiting to be cut. Return how many there are."""
    keys = [finding.clip for finding in findings if finding.clip]
    forgotten = 0
    for start in range(0, len(keys), FILES_AT_A_TIME):
        some = Clip.objects.filter(pk__in=keys[start : start + FILES_AT_A_TIME], state=Clip.State.READY)
        forgotten += some.update(state=Clip.State.WAITING, file="", size=None, sha256="")
    return forgotten


def _look_at(files: list[Stored], clips: QuerySet[Clip], seen: bytearray, *, with_orphans: bool) -> Iterator[Finding]:
    """Compare some files with their clips, and note which clips were seen."""
    tokens = {_token(file): file for file in files}
    named = {clip.file.name: clip for clip in clips.filter(token__in=tokens)}
    to_come = Clip.objects.filter(token__in=tokens, state=Clip.State.WAITING)  # perhaps stored at this moment
    cut_now = set(to_come.values_list("token", flat=True)) if with_orphans else set()
    for file in files:
        clip = named.get(file.name)
        if clip:
            if clip.pk < len(seen):
                seen[clip.pk] = True
            if clip.size not in (None, file.size):
                yield from _look_again(clip.pk, file.name)
        elif with_orphans and not (_token(file) in cut_now or _is_a_clips(file)):
            yield Finding(Fault.ORPHANED, file.name, size=file.size)


def _is_a_clips(file: Stored) -> bool:
    return Clip.objects.filter(token=_token(file), file=file.name).exists()


def _token(file: Stored) -> str:
    """Return the token in a file's name, also of a copy that was not finished: `.token.random.part`."""
    return PurePath(file.name).name.lstrip(".").partition(".")[0]


def _look_again(pk: int, name: str) -> Iterator[Finding]:
    """Look at a file that was not there or had another size, and at its clip, which may have changed meanwhile."""
    stored = read(name)
    clip = Clip.objects.filter(pk=pk, file=name, state=Clip.State.READY).first()
    if clip and stored is None:
        yield Finding(Fault.LOST, name, pk)
    elif clip and stored and clip.size not in (None, stored.size):
        yield Finding(Fault.TRUNCATED, name, pk, stored.size, clip.size)


def _read(pk: int, name: str) -> Iterator[Finding]:
    stored = read(name)
    clip = Clip.objects.filter(pk=pk, file=name, state=Clip.State.READY).first()
    if clip and stored and stored.size == clip.size and stored.sha256 != clip.sha256:
        yield Finding(Fault.CHANGED, name, pk)
