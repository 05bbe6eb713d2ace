"""Changes of a draft: what the form of each step holds is stored with it, and its jobs are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q

from base.errors import WrongState
from campaigns.uploads import remove
from corpus.models import Corpus
from drafts.builder import check_draft, make_campaign
from drafts.forms import CorpusForm, FilmsForm, QueriesForm, ReadingForm
from drafts.models import Draft, Upload
from drafts.reading import PASTED, ask_to_read, read_files
from drafts.sources import draw_queries, store_corpus
from drafts.uploads import refuse_if_kept, store_text
from jobs.models import Job
from jobs.registry import Kind

KINDS = (check_draft, make_campaign, store_corpus, draw_queries, read_files)  # of a draft's jobs
MOST_DRAFTS = 50  # of one person at a time


def begin_draft(owner: User, pool_depth: int | None = None, corpus: Corpus | None = None) -> Draft:
    """Begin another draft; with a depth, of a leaderboard that is judged again.

    With a corpus that is stored, films can be added to it by the draft.

    Raise WrongState if the person has as many drafts as one can have.
    """
    if Draft.objects.unfinished().filter(owner=owner).count() >= MOST_DRAFTS:
        raise WrongState(f"You have {MOST_DRAFTS} drafts. Finish or remove some first.")
    return Draft.objects.create(owner=owner, pool_depth=pool_depth, corpus=corpus)


def change_corpus(draft: Draft, form: CorpusForm) -> None:
    data = form.cleaned_data
    if data["corpus"]:
        draft.change(corpus=data["corpus"])
        return
    draft.change(corpus=None, corpus_name=data["corpus_name"])
    if data["pasted"]:
        store_text(draft, Upload.Purpose.MOMENTS, PASTED, data["pasted"])
    change_reading(draft, form)


def change_reading(draft: Draft, form: ReadingForm) -> None:
    """Store how the file of moments is read, and have it read so."""
    draft.change(**{name: form.cleaned_data[name] for name in ("format", "kind", "columns", "leaves_out_unusable")})
    ask_to_read(draft)


def change_films(draft: Draft, form: FilmsForm) -> None:
    data = form.cleaned_data
    on_server = data["films"] == Draft.Media.FOLDER
    folder = f"{data['root'].rstrip('/')}/{data['below']}".rstrip("/") if on_server else ""
    rate = data.get("frame_rate") if on_server else None
    draft.change(media=data["films"], media_folder=folder, frame_rate=rate)


def root_and_below(draft: Draft) -> tuple[str, str]:
    """Return the folder of the settings in which the draft's films are, and where below it; empty if they are not."""
    for root in settings.MEDIA_FOLDERS:
        if f"{draft.media_folder}/".startswith(f"{root.rstrip('/')}/"):
            return root, draft.media_folder.removeprefix(root.rstrip("/")).strip("/")
    return "", ""


def change_queries(draft: Draft, form: QueriesForm) -> None:
    data = form.cleaned_data
    fields = {"split": data["split"], "reuses": data.get("reuses"), "pool_depth": data["pool_depth"]}
    draft.change(selection=form.selection, **fields)
    if data["pasted"]:
        store_text(draft, Upload.Purpose.QUERIES, PASTED, data["pasted"])
    ask_to_read(draft)


CHANGES: dict[str, Callable[[Draft, Any], None]] = {
    "corpus": change_corpus,
    "films": change_films,
    "queries": change_queries,
    "settings": lambda draft, form: draft.change(name=form.cleaned_data["name"], settings=form.stored()),
    "people": lambda draft, form: draft.change(people=form.cleaned_data["people"]),
}


def ask_to_check(draft: Draft) -> Job:
    draft.change()
    return check_draft.ask(draft)


def ask_to_make(draft: Draft) -> None:
    """Ask for the campaign. Doing it twice is harmless.

    Raise WrongState if the draft was not checked, or the check found something wrong.
    """
    if not draft.campaign and not draft.is_ready:
        raise WrongState("Check the draft first: something has changed, or is wrong.")
    make_campaign.ask(draft)


def jobs_of(draft: Draft, *kinds: Kind[...]) -> list[Job]:
    """Return the jobs under way, and those that failed since the draft was last changed."""
    jobs = Job.objects.filter(kind__in=[kind.code for kind in kinds], row=draft.pk)
    failed = Q(state=Job.State.FAILED, ended__gte=draft.touched)
    return list(jobs.filter(failed | Q(pk__in=jobs.unfinished())).order_by("pk"))


def remove_file(upload: Upload) -> None:
    """Remove a file of a draft, which has to be checked again. Raise WrongState if a corpus has it."""
    refuse_if_kept(upload.draft, upload.purpose)
    upload.draft.change()
    remove(upload)
    ask_to_read(upload.draft)
