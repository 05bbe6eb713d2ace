"""Receiving files in pieces, so that an upload goes on where it broke off.

The row says how many bytes have arrived. A piece is written at that place, and counts once the row says so: what a
crash leaves behind the place is written over.

A POST announces a file and tells how much of it is there. Each PATCH brings the piece at `Upload-Offset`, at most a
mebibyte. After a break, a GET or the same POST tells where to go on.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, QuerySet, Sum
from django.db.models.functions import Now

from base.errors import BadValue, ReeljudgeError, TooLarge, TooManyRequests
from base.text import abbreviated, printable, storable
from base.transactions import locked
from campaigns.models.draft import ArrivingFile
from systems.errors import FULL

Arriving = TypeVar("Arriving", bound=ArrivingFile)
MIB = 2**20
UNFINISHED_FOR = timedelta(days=7)  # since the last piece
LOOK_AGAIN = 60  # seconds after which a file of the same person may be finished


class NoRoom(ReeljudgeError):
    """The disk of the uploads is full, or nearly so."""

    status = 507
    title = "There is no room"


def must_be_a_files_name(name: str) -> None:
    if not 0 < len(name) <= 255 or not storable(name) or "/" in name or printable(name) != name:
        raise BadValue("name", abbreviated(name), "the name of a file, with at most 255 characters")


def must_be_of_size(name: str, size: int, most: int, advice: str) -> None:
    """Refuse an empty file, and one of more than so many MiB; the advice ends the message. Sizes are in bytes."""
    if size < 1:
        raise BadValue("size", str(size), "at least one byte")
    if size > most * MIB:
        raise TooLarge(f"{name}: {size / MIB:,.0f} MiB; expected at most {most:,} MiB{advice}")


def must_have_room(size: int, person: int, freed: int = 0) -> None:
    """Refuse a file that is announced if there is no room for it together with all that were announced before.

    Call this in a transaction, after deleting what the file replaces, whose bytes on the disk are `freed`. The lock has
    two of one person come one by one.
    Raises NoRoom if the disk has too little room; TooManyRequests if the unfinished files of the person, by the primary
    key of the user, are larger than the settings allow.
    """
    locked(User.objects.filter(pk=person)).get()
    kinds = [kind.unfinished() for kind in ArrivingFile.__subclasses__()]
    own = sum(_total(files.filter(person=person), "size") for files in kinds)
    if own + size > settings.UPLOAD_MIB_UNFINISHED * MIB:
        raise TooManyRequests(
            f"You have announced {own // MIB:,} MiB of files that are not finished; with this one there would be more "
            f"than {settings.UPLOAD_MIB_UNFINISHED:,}. Finish or delete one.",
            LOOK_AGAIN,
        )
    _must_be_free(size - freed + sum(_total(files, F("size") - F("received")) for files in kinds))


def _total(files: QuerySet[Any, Any], bytes_of: Any) -> int:
    return int(files.aggregate(total=Sum(bytes_of))["total"] or 0)


def _must_be_free(size: int) -> None:
    root = Path(settings.UPLOAD_ROOT)
    root.mkdir(0o700, parents=True, exist_ok=True)
    left = shutil.disk_usage(root).free - settings.UPLOAD_LEAVE_MIB * MIB
    if size > left:
        raise NoRoom(
            f"The disk has room for {max(0, left) // MIB:,} MiB more, and {-(-size // MIB):,} are needed. Whoever "
            "runs this site can make room, or name a larger disk in UPLOAD_ROOT."
        )


def append(upload: Arriving, offset: int, piece: bytes, sha256: str = "") -> Arriving:
    """Write a piece at its place, and return the upload with what has arrived.

    If the place is not the one where the upload goes on, nothing is written: the piece arrived already, or one before
    it is missing. The caller sees that at `received`. Raises BadValue if the piece is not the one whose checksum was
    sent with it, or is longer than the rest of the file; NoRoom if the disk is full, or has too little room for the
    piece.
    """
    if sha256 and hashlib.sha256(piece).hexdigest() != sha256.lower():
        raise BadValue("Upload-Checksum", abbreviated(sha256), "the SHA-256 of the piece; send it again")
    if offset != upload.received:
        return upload
    if offset + len(piece) > upload.size:
        raise BadValue("body", f"{len(piece):,} bytes", f"at most {upload.size - offset:,}, the rest of the file")
    _must_be_free(len(piece))
    _write(upload.path, offset, piece, last=offset + len(piece) == upload.size)
    # Of two that write at one place, one counts. Their bytes are the same unless somebody uploads two files as one.
    here = type(upload)._default_manager.filter(pk=upload.pk, received=offset)
    here.update(received=offset + len(piece), touched=Now())
    upload.refresh_from_db(fields=["received"])
    return upload


def _write(path: Path, offset: int, piece: bytes, last: bool) -> None:
    try:
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        with os.fdopen(handle, "wb") as out:
            out.seek(offset)
            out.write(piece)
            if last:  # A piece that comes late must not cut off the pieces after it, which count already.
                out.truncate()
            out.flush()
            os.fsync(handle)
    except OSError as fault:
        if fault.errno in FULL:
            raise NoRoom("The disk is full. What has arrived is kept: go on when there is room again.") from fault
        raise


def remove(upload: ArrivingFile) -> None:
    """Delete the row of an upload with its file, and what was found in it.

    Both stay if the caller's transaction does not succeed.
    """
    paths = [upload.path, *found_in(upload)]
    upload.delete()
    for path in paths:
        transaction.on_commit(partial(path.unlink, missing_ok=True))


def found_in(upload: ArrivingFile) -> tuple[Path, Path]:
    """Return where a summary of what reading the file found is kept, and where all that is wrong with it."""
    return upload.path.with_name(f"{upload.token}.reading"), upload.path.with_name(f"{upload.token}.faults")
