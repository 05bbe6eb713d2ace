"""Storing what the form of each step says with its draft, and asking for the draft's jobs."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import User

from base.errors import WrongState
from campaigns.models import Draft, Upload
from campaigns.uploads import store_text
from jobs.models import Job
from lead.making.building import check_draft, make_campaign
from lead.making.forms import CorpusForm, FilmsForm, NewSettingsForm, PeopleForm, QueriesForm

MOST_DRAFTS = 50  # of one person at a time


def begin_draft(owner: User) -> Draft:
    """Begin another draft.

    Raises
    ------
    WrongState
        If the person has as many as one can have.
    """
    if Draft.objects.unfinished().filter(owner=owner).count() >= MOST_DRAFTS:
        raise WrongState(f"You have {MOST_DRAFTS} drafts. Finish or remove some first.")
    return Draft.objects.create(owner=owner)


def say_corpus(draft: Draft, form: CorpusForm) -> None:
    said = form.cleaned_data
    if said["corpus"]:
        draft.change(corpus=said["corpus"])
        return
    names = ("corpus_name", "format", "kind")
    draft.change(corpus=None, columns=said["columns"], **{name: said[name] for name in names})
    if said["pasted"]:
        store_text(draft, Upload.Purpose.MOMENTS, "pasted.txt", said["pasted"])


def say_films(draft: Draft, form: FilmsForm) -> None:
    said = form.cleaned_data
    on_server = said["films"] == Draft.Media.FOLDER
    folder = f"{said['root'].rstrip('/')}/{said['below']}".rstrip("/") if on_server else ""
    rate = said.get("frame_rate") if on_server else None
    draft.change(media=said["films"], media_folder=folder, frame_rate=rate)


def root_and_below(draft: Draft) -> tuple[str, str]:
    """Return the folder of the settings in which the draft's films are, and where below it; empty if they are not."""
    for root in settings.MEDIA_FOLDERS:
        if f"{draft.media_folder}/".startswith(f"{root.rstrip('/')}/"):
            return root, draft.media_folder.removeprefix(root.rstrip("/")).strip("/")
    return "", ""


def say_queries(draft: Draft, form: QueriesForm) -> None:
    draft.change(split=form.cleaned_data["split"], selection=form.selection)
    if form.cleaned_data["pasted"]:
        store_text(draft, Upload.Purpose.QUERIES, "pasted.txt", form.cleaned_data["pasted"])


def say_settings(draft: Draft, form: NewSettingsForm) -> None:
    draft.change(name=form.cleaned_data["name"], settings=form.stored())


def say_people(draft: Draft, form: PeopleForm) -> None:
    draft.change(people=form.cleaned_data["people"])


def ask_to_check(draft: Draft) -> Job:
    draft.change()
    return check_draft.ask(draft)


def ask_to_make(draft: Draft) -> None:
    """Ask for the campaign. Doing it twice is harmless.

    Raises
    ------
    WrongState
        If the draft was not checked, or the check found something wrong.
    """
    if not draft.campaign and not draft.is_ready:
        raise WrongState("Check the draft first: something has changed, or is wrong.")
    make_campaign.ask(draft)
