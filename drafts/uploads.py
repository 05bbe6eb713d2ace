"""The files of a draft: what may be uploaded, and how long it is kept. Their pieces come by `campaigns.uploads`."""

from __future__ import annotations

import os
import re
import shutil
import time
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db.models import QuerySet
from django.db.models.functions import Now

from base.errors import BadValue, TooLarge, WrongState
from base.text import abbreviated
from base.transactions import all_or_nothing, locked
from campaigns.uploads import UNFINISHED_FOR, append, must_be_a_files_name, must_be_of_size, must_have_room, remove
from corpus.models import Corpus
from drafts.models import FILMS, Draft, Upload
from jobs.registry import each_hour
from systems.storage import digest

MOST_UPLOADS = 20_000  # files of one draft
# These files are read whole.
MOST_MIB = dict.fromkeys(set(Upload.Purpose) - {Upload.Purpose.MOMENTS, Upload.Purpose.FILM}, 64)
FORGOTTEN_AFTER = timedelta(days=60)  # since the last change of a draft
NEW_FOLDER = 3600.0  # seconds; a younger one may belong to a draft that is being stored


@all_or_nothing
def begin(draft: Draft, purpose: str, name: str, size: int) -> Upload:
    """Return the upload of a file of this name and size: the unfinished one if there is one, else a new one.

    A purpose other than films and runs has one file; a new upload replaces it. Raises BadValue if the name or the size
    is wrong, or a film's kind is not known; TooLarge if the file is larger than the settings allow; NoRoom or
    TooManyRequests if there is too little room for it; WrongState if the campaign was made of the draft already, or a
    corpus has its films.
    """
    must_be_a_files_name(name)
    _must_be_fine(purpose, name, size)
    draft = locked(Draft.objects.filter(pk=draft.pk)).get()
    refuse_if_kept(draft, purpose)
    if draft.campaign_id:
        raise WrongState("The campaign is made already. Nothing more can be uploaded for it.")
    same = draft.uploads.filter(purpose=purpose, name=name)
    if found := same.filter(size=size).partial().first():
        return found
    replaced = list(same if purpose in Upload.SEVERAL else draft.uploads.filter(purpose=purpose))
    for upload in replaced:
        remove(upload)
    if draft.uploads.count() >= MOST_UPLOADS:
        raise TooLarge(f"uploads: {MOST_UPLOADS:,} already; expected no more files in one draft")
    must_have_room(size, draft.owner_id, freed=sum(upload.received for upload in replaced))
    draft.change(**({"media": Draft.Media.UPLOAD} if purpose == Upload.Purpose.FILM else {}))
    return draft.uploads.create(purpose=purpose, name=name, size=size)


def refuse_if_kept(draft: Draft, purpose: str) -> None:
    """Raise an error if a corpus that is stored has the uploads of this purpose.

    Raises WrongState if the draft's films are those of a corpus.
    """
    if purpose == Upload.Purpose.FILM and (corpus := _corpora_in(draft.folder).first()):
        raise WrongState(f"The films of this draft belong to the corpus {corpus}. Begin another draft for other films.")


def _must_be_fine(purpose: str, name: str, size: int) -> None:
    if purpose == Upload.Purpose.FILM and os.path.splitext(name)[1].lower() not in FILMS:
        raise BadValue("name", abbreviated(name), f"a film: {', '.join(sorted(FILMS))}")
    must_be_of_size(name, size, most_mib(purpose), " (docs/settings.md, UPLOAD_MIB)")


def most_mib(purpose: str) -> int:
    """Return the MiB of the largest file that can be uploaded for a purpose."""
    most: int = settings.UPLOAD_MIB
    return min(most, MOST_MIB.get(Upload.Purpose(purpose), most))


def store_text(draft: Draft, purpose: str, name: str, text: str) -> Upload:
    """Store a pasted text as an upload that is whole."""
    content = text.replace("\r\n", "\n").encode()
    upload = begin(draft, purpose, name, len(content))
    return append(upload, upload.received, content[upload.received :])


def read_whole(upload: Upload) -> str:
    """Return the SHA-256 of the whole file, and store it with the upload."""
    if not upload.sha256:
        upload.sha256 = digest(upload.path)
        upload.save(update_fields=["sha256"])
    return upload.sha256


def remove_draft(draft: Draft) -> None:
    """Delete a draft of which no campaign was made, with all its files."""
    Draft.objects.unfinished().filter(pk=draft.pk).delete()
    if not Draft.objects.filter(pk=draft.pk).exists():
        _remove_folder(draft.folder)


def _remove_folder(folder: Path) -> None:
    """Delete a folder of uploads, unless it holds the films of a corpus."""
    if not _corpora_in(folder).exists():
        shutil.rmtree(folder, ignore_errors=True)


def _corpora_in(folder: Path) -> QuerySet[Corpus]:
    """Return the corpora whose films are in a folder of uploads."""
    return Corpus.objects.filter(media_folder__in={str(folder), str(folder.resolve())})


def keep_films_only(draft: Draft) -> None:
    """Delete the files that a campaign was made of, except its films."""
    for upload in draft.uploads.exclude(purpose=Upload.Purpose.FILM):
        remove(upload)


@each_hour
def forget_uploads() -> None:
    """Delete uploads that nobody finishes, forgotten drafts, and folders whose draft is gone."""
    unfinished = Upload.objects.filter(draft__campaign__isnull=True).partial()
    for upload in unfinished.filter(touched__lt=Now() - UNFINISHED_FOR).select_related("draft"):
        remove(upload)
    for draft in Draft.objects.unfinished().filter(touched__lt=Now() - FORGOTTEN_AFTER):
        remove_draft(draft)
    root = Path(settings.UPLOAD_ROOT)
    for folder in filter(Path.is_dir, root.iterdir() if root.is_dir() else ()):
        ours = re.fullmatch("[0-9a-f]{32}", folder.name)  # named like a token
        old = time.time() - folder.stat().st_mtime > NEW_FOLDER
        if ours and old and not Draft.objects.filter(token=folder.name).exists():
            _remove_folder(folder)
