"""Where a draft's corpus and queries come from: its files and films, the corpus that is stored, and what is drawn."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from base.errors import ReeljudgeError
from base.transactions import locked
from campaigns.uploads import remove
from corpus.errors import BadLines, CorpusError, Reason
from corpus.films import MediaFolder, is_remote, media_at
from corpus.importers.formats import FORMATS
from corpus.importers.interface import Source
from corpus.importers.lengths import misfits
from corpus.importers.load import reveal, staged
from corpus.importers.recognition import names_in, proposed, recognised
from corpus.importers.rows import MomentRow
from corpus.models import Corpus
from corpus.reading import durations_in, moments_in, value_in
from drafts.models import Draft, Upload
from jobs.errors import JobLeft
from jobs.queue import Lane
from jobs.registry import Report, kind
from judging.models import Batch
from judging.pool.clips import retry_clips
from judging.pool.selection import Counts, Selection, select
from retrieval.models import Rewording

MOST_SHOWN = 100  # films
LISTED = 10  # problems
NAMED = 5  # of the videos without a film
LARGEST_LIST_OF_LINES = 64 * 2**20  # bytes of a text with one query a line
EXAMPLES = 10  # of each split
MOST_STRATA = 50  # that are shown


def source_of(draft: Draft, with_films: bool = True) -> Source:
    """Return what to import: as the draft says and, where it says nothing, as the file looks.

    Raise CorpusError if the file is missing or has not arrived as a whole, or the folder of films is not allowed.
    """
    file = whole(draft, Upload.Purpose.MOMENTS)
    if file is None:
        raise CorpusError("the file of moments: none; expected an uploaded file, or pasted lines")
    durations, seems = whole(draft, Upload.Purpose.DURATIONS), value_in(recognised, file)
    format = FORMATS[draft.format or seems]
    columns = draft.columns or proposed(value_in(names_in, file, format=format.name))
    return Source(
        file=file,
        format=format.name,
        kind=draft.kind if format.kinds else "",
        durations=_durations(durations) if durations else None,
        media=media_of(draft) if with_films else None,
        columns=columns if format.takes_columns else {},
        leaves_out_unusable=draft.leaves_out_unusable,
    )


def _durations(file: Path) -> dict[str, float]:
    try:
        return durations_in(file)
    except CorpusError as fault:
        raise CorpusError(str(fault).replace(f"--durations {file}", "the file of durations")) from fault


def whole(draft: Draft, purpose: str) -> Path | None:
    """Return the file that was uploaded for a purpose, or None if there is none.

    Raise CorpusError if it has not arrived as a whole.
    """
    upload = draft.upload_for(purpose)
    if upload and not upload.is_whole:
        raise CorpusError(f"{upload}: {upload.percent} % has arrived; choose the same file again to go on")
    return upload.path if upload else None


def media_of(draft: Draft) -> MediaFolder | None:
    """Return where the films are, or None if there are none for now."""
    if draft.media == Draft.Media.FOLDER:
        return media_at(allowed_folder(draft.media_folder), draft.frame_rate)
    if draft.media == Draft.Media.UPLOAD and draft.uploads.filter(purpose=Upload.Purpose.FILM).exists():
        return UploadedFilms(draft)
    return None


def partial_films(draft: Draft) -> list[str]:
    """Return what is to be said of the films that have not arrived as a whole."""
    partial = draft.uploads.filter(purpose=Upload.Purpose.FILM).partial()
    return [
        f"{film.name}: {film.percent} % has arrived; choose the same file again to go on, or remove it"
        for film in partial[:MOST_SHOWN]
    ]


class UploadedFilms(MediaFolder):
    """The films of a draft. A video is found by the name that its film had; the files themselves are named by us."""

    def __init__(self, draft: Draft) -> None:
        films = draft.uploads.filter(purpose=Upload.Purpose.FILM).whole().order_by("pk")
        self.folder = str(draft.folder.resolve())
        self.frame_rate = None
        self.index = {Path(film.name).stem: film.path.name for film in films.select_related("draft")}


def allowed_folder(folder: str) -> str:
    """Return the folder or prefix if it lies in one that MEDIA_FOLDERS names, also after symbolic links were followed.

    Raise CorpusError if it lies elsewhere, or is a folder that is not there. The message is the same, so that nobody
    learns what this server has.
    """
    for root in settings.MEDIA_FOLDERS:
        if is_remote(folder):
            if is_remote(root) and f"{folder.rstrip('/')}/".startswith(f"{root.rstrip('/')}/"):
                return folder
        elif not is_remote(root):
            path = Path(folder).resolve()
            if path.is_relative_to(Path(root).resolve()) and path.is_dir():
                return str(path)
    raise CorpusError(f"{folder}: is not there; expected a folder below one that the setting MEDIA_FOLDERS names")


def must_be_here(draft: Draft) -> None:
    """Leave the work to another machine if this one does not have the draft's uploads.

    Raise JobLeft if it has none of them.
    """
    if draft.uploads.filter(received__gt=0).exists() and not draft.folder.is_dir():
        raise JobLeft(f"the uploads are not in {settings.UPLOAD_ROOT} on this machine")


@contextmanager
def queries_file(draft: Draft) -> Iterator[Path]:
    """Give the file from which `judging.pool.queries` reads the queries.

    Raise CorpusError if there is none, it has not arrived as a whole, or its text is not UTF-8.
    """
    file = whole(draft, Upload.Purpose.QUERIES)
    if file is None:
        raise CorpusError("none; expected an uploaded file, or one query a line")
    if file.suffix != ".txt" or _first_sign(file) in ("[", "{"):
        yield file
        return
    with tempfile.TemporaryDirectory() as folder:
        yield _numbered(file, Path(folder) / "queries.jsonl")


def _first_sign(file: Path) -> str:
    with file.open("rb") as content:
        return content.read(1024).decode("utf-8-sig", "replace").lstrip()[:1]


def _numbered(file: Path, to: Path) -> Path:
    """Write each line of a text as a query that is numbered from 1. Lines keep their places, for messages."""
    if file.stat().st_size > LARGEST_LIST_OF_LINES:
        raise CorpusError(f"over {LARGEST_LIST_OF_LINES:,} bytes; expected less, or one JSON object a line")
    try:
        texts = [line.strip() for line in file.read_text(encoding="utf-8-sig").split("\n")]
    except UnicodeDecodeError as fault:
        raise CorpusError(f"not UTF-8 at byte {fault.start + 1}; expected one query a line in UTF-8") from fault
    number = 0
    with to.open("w") as out:
        for text in texts:
            number += bool(text)
            out.write(json.dumps({"query_id": number, "query": text}) + "\n" if text else "\n")
    return to


def faults_of_films(source: Source, report: Report) -> Iterator[str]:
    """Yield what is wrong with the films of a source whose moments are right. Without films nothing is."""
    if source.media is None:
        return
    lengths = _lengths(source)
    missing = [video for video in lengths if not source.media.place(video)]
    if missing:
        yield f"Videos without a film, whose clips will be missing: {len(missing):,} ({_some(missing)})."
    if spare := sorted(source.media.index.keys() - set(map(source.media.name_of, lengths))):
        yield f"Films with the name of no video: {len(spare):,} ({_some(spare)})."
    known_lengths = {video: length for video, length in lengths.items() if length and source.media.place(video)}
    films = len(known_lengths)
    found = misfits(known_lengths, source.media, lambda n: report(n, films, f"looking at films: {n:,} of {films:,}"))
    yield from map(str, found)


def _lengths(source: Source) -> dict[str, float | None]:
    """Return the seconds of each video as the files tell them; None where only the film does."""
    known = source.durations or {}
    rows = (row for file in source.files for row in moments_in(file, source) if isinstance(row, MomentRow))
    return {row.video: known.get(row.video, row.duration) for row in rows}


def _some(names: list[str]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


@kind(
    "store-corpus", "Store a corpus", of=Draft, person="owner", page=("draft-queries", "token"), refusals=(CorpusError,)
)
def store_corpus(draft: Draft, report: Report) -> None:
    """Store a draft's new corpus, which is the draft's corpus then. Doing it twice is harmless.

    Raise CorpusError, ReeljudgeError if something is wrong. Nothing is stored then.
    """
    must_be_here(draft)
    draft.refresh_from_db()
    if not draft.is_new_corpus:
        return
    if partial := partial_films(draft):
        raise ReeljudgeError("\n".join(partial))
    with corpus_of(draft, report) as corpus, transaction.atomic():
        draft = locked(Draft.objects.filter(pk=draft.pk)).get()
        reveal(corpus, draft.corpus_name)
        draft.change(corpus=corpus)
        for upload in draft.uploads.filter(purpose__in=[Upload.Purpose.MOMENTS, Upload.Purpose.DURATIONS]):
            remove(upload)


@kind("add-films", "Add films", of=Draft, person="owner", page=("corpus", "corpus.name"), refusals=(CorpusError,))
def add_films(draft: Draft, report: Report) -> None:
    """Add a draft's films to its corpus, which is stored already, and ask for the clips that were missing.

    Raise CorpusError if there are no films, and ReeljudgeError if some have not arrived or none belongs to a video.
    """
    must_be_here(draft)
    if partial := partial_films(draft):
        raise ReeljudgeError("\n".join(partial))
    media, corpus = media_of(draft), draft.corpus
    if media is None or corpus is None:
        raise ReeljudgeError("There are no films; upload films, or choose a folder.")
    found = [video for video in corpus.videos.all() if media.place(video.name)]
    if not found:
        raise ReeljudgeError(f"None of {len(media.index):,} films has the name of a video of the corpus {corpus}.")
    corpus.media_folder, corpus.frame_rate = media.folder, media.frame_rate
    corpus.save(update_fields=["media_folder", "frame_rate"])
    media.attach(found, lambda: report(0, len(found), f"{corpus}: films of {len(found):,} videos"))
    batches = Batch.objects.filter(query__campaign__corpus=corpus, state=Batch.State.PREPARING)
    retry_clips(batches.select_related("query__campaign").iterator(chunk_size=100))


@contextmanager
def corpus_of(draft: Draft, report: Report) -> Iterator[Corpus]:
    """Give the draft's corpus. A new one is stored, but not revealed, and deleted unless the caller reveals it."""
    if draft.corpus:
        yield draft.corpus
        return
    if not draft.corpus_name:
        raise ReeljudgeError("The corpus: has no name; expected one, in the first step")
    if Corpus.objects.filter(name=draft.corpus_name).exists():
        raise ReeljudgeError(f"The corpus {draft.corpus_name} exists already; choose it, or another name")

    def sign(rows: int) -> None:
        report(0, 0, f"storing the corpus: {rows:,} moments so far")

    sign(0)
    try:
        with staged(draft.token, source_of(draft), sign) as corpus:
            yield corpus
    except BadLines as fault:
        raise ReeljudgeError(_in_words(fault)) from fault


def _in_words(fault: BadLines) -> str:
    """Return what is wrong with the file of moments, without the server's path of it and the options of commands."""
    missing = {problem.where for problem in fault.problems if problem.reason is Reason.NO_DURATION}
    if len(missing) == len(fault.problems):
        return without_length(fault.wrong)
    lines = [str(problem).replace(f"{problem.file}: ", "") for problem in fault.problems[:LISTED]]
    more = fault.wrong - len(lines)
    return "\n".join(["The corpus was not stored.", *lines, *([f"and {more:,} more problems"] if more else [])])


def without_length(videos: int) -> str:
    """Return the sentence that so many videos have no length."""
    return f"{videos:,} video{'s have' if videos > 1 else ' has'} no length. Upload a file of durations, or the films."


def selection_of(draft: Draft) -> Selection | None:
    """Draw what the draft asks for; return None if it asks for nothing.

    Raise BadValue if so many cannot be drawn, and ReeljudgeError if the corpus is not stored yet.
    """
    if not (wanted := draft.selection):
        return None
    if draft.corpus is None:
        raise ReeljudgeError("can be drawn once the corpus is stored; store it in the step Queries, or draw no queries")
    return select(draft.corpus, Counts(wanted["validation"], wanted["test"]), wanted["seed"], wanted["strata"])


def summary_of(found: Selection) -> dict[str, Any]:
    """Return what a draft keeps of a selection: its record, the numbers of each stratum, and the first queries."""
    strata = [[*each, each.training] for each in found.strata]
    return {
        "record": found.record,
        "training": found.training,
        "strata": strata[:MOST_STRATA] if found.by else [],
        "more_strata": max(0, len(strata) - MOST_STRATA),
        "validation": found.validation[:EXAMPLES],
        "test": found.test[:EXAMPLES],
    }


def captions_of(corpus: Corpus) -> dict[str, Any]:
    """Return how far the corpus is reworded: whether that has begun, and how many descriptions are settled or wait."""
    rows = Rewording.objects.filter(corpus=corpus)
    return {"begun": rows.exists(), "settled": rows.settled().count(), "queued": rows.queued().count()}


@kind("draw-queries", "Draw queries", lane=Lane.QUICK, of=Draft, person="owner", page=("draft-queries", "token"))
def draw_queries(draft: Draft, report: Report) -> None:
    """Draw, and store with the draft what was drawn and of what, or why it cannot be drawn."""
    report(0, 0, "drawing queries")
    try:
        found = selection_of(draft)
        drawn_now = summary_of(found) if found else {}
    except (CorpusError, ReeljudgeError) as fault:
        drawn_now = {"fault": str(fault)}
    Draft.objects.filter(pk=draft.pk).update(drawn=drawn_now | {"of": _wanted(draft)})


def drawn(draft: Draft) -> dict[str, Any]:
    """Return what was drawn, unless the draft asks for something else by now."""
    return draft.drawn if draft.selection and draft.drawn.get("of") == _wanted(draft) else {}


def _wanted(draft: Draft) -> list[Any]:
    return [draft.corpus_id, draft.selection]
