"""The steps by which a campaign is made in the browser, and their files. Each page can be left and come back to."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from django.contrib import messages
from django.db.models import F, Sum
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from base.problem_documents import refusal_as_message
from campaigns.models import Campaign, Draft, Upload
from campaigns.pages import while_working
from campaigns.uploads import announced, begin, most_mib, progress_answer, remove_draft, take_piece
from judging import access
from judging.drafts.builder import check_draft, make_campaign
from judging.drafts.changes import (
    CHANGES,
    KINDS,
    ask_to_check,
    ask_to_make,
    begin_draft,
    change_corpus,
    change_queries,
    jobs_of,
    remove_file,
    root_and_below,
)
from judging.drafts.forms import CorpusForm, FilmsForm, NewSettingsForm, PeopleForm, QueriesForm
from judging.drafts.sources import captions_of, draw_queries, drawn, store_corpus, wrong_at_first_look
from retrieval.rewriting.counting import counted, ready_in
from runs.estimates.planning import PlanForm

page_or_form = require_http_methods(["GET", "HEAD", "POST"])


@page_or_form
def index(request: HttpRequest) -> HttpResponse:
    """The person's drafts, and the button that begins another."""
    user = access.creator(request)
    drafts = Draft.objects.unfinished().filter(owner=user).order_by("-touched")
    if request.method == "POST":
        return redirect("draft-corpus", begin_draft(user).token)
    return render(request, "lead/drafts/index.html", {"drafts": drafts})


@page_or_form
def corpus(request: HttpRequest, token: str) -> HttpResponse:
    draft = access.open_draft(request, token)
    initial = {
        "corpus": draft.corpus_id,
        "columns": "".join(f"{name} = {column}\n" for name, column in draft.columns.items()),
        **{name: getattr(draft, name) for name in ("corpus_name", "format", "kind")},
    }
    form = CorpusForm(draft.owner, request.POST if request.method == "POST" else None, initial=initial)
    if form.is_valid():
        change_corpus(draft, form)
        return redirect("draft-corpus", token) if wrong_at_first_look(draft) else redirect(after(draft, "draft-corpus"))
    wrong = wrong_at_first_look(draft)
    return _page(request, draft, "corpus", form, wrong=wrong)


@page_or_form
def films(request: HttpRequest, token: str) -> HttpResponse:
    draft = access.open_draft(request, token)
    root, below = root_and_below(draft)
    initial = {"films": draft.media, "root": root, "below": below, "frame_rate": draft.frame_rate}
    form = FilmsForm(request.POST if request.method == "POST" else None, initial=initial)
    return _step(request, draft, "films", form)


@require_safe
def plan(request: HttpRequest, token: str) -> HttpResponse:
    """How many queries tell two systems apart, and what judging them takes. It is advice, and stores nothing."""
    draft, given = access.open_draft(request, token), request.GET.dict()
    like = given.get("like")
    if given.pop("of", like) != like:  # the runs are those of the campaign that was chosen before
        given = {name: value for name, value in given.items() if name not in ("run", "other")}
    form = PlanForm(draft, given)
    return _page(request, draft, "plan", form, next=after(draft, "draft-plan"))


@page_or_form
def queries(request: HttpRequest, token: str) -> HttpResponse:
    """Which queries: drawn ones, of which a job shows some beforehand, and those that were uploaded or pasted."""
    draft = access.open_draft(request, token)
    known = counted(draft.corpus) if draft.corpus else None
    form = QueriesForm(draft, ready_in(known), request.POST if request.method == "POST" else None)
    if form.is_valid():
        change_queries(draft, form)
        if "look" in request.POST and form.selection:
            draw_queries.ask(draft)
            return redirect("draft-queries", token)
        return redirect(after(draft, "draft-queries"))
    about = captions_of(draft.corpus) if draft.corpus else {}
    about |= {"counted": known, "drawn": drawn(draft), "working": jobs_of(draft, draw_queries, store_corpus)}
    return _page(request, draft, "queries", form, **about)


@require_POST
def start_storing(request: HttpRequest, token: str) -> HttpResponse:
    """Store the new corpus before the campaign is made, so that its descriptions can be reworded."""
    draft = access.open_draft(request, token)
    store_corpus.ask(draft)
    return redirect("draft-queries", token)


@page_or_form
def campaign_settings(request: HttpRequest, token: str) -> HttpResponse:
    draft = access.open_draft(request, token)
    so_far = Campaign(name=draft.name, **draft.settings)
    form = NewSettingsForm(request.POST if request.method == "POST" else None, instance=so_far)
    return _step(request, draft, "settings", form)


@page_or_form
def people(request: HttpRequest, token: str) -> HttpResponse:
    draft = access.open_draft(request, token)
    initial = {"people": "".join(f"{name} {role}\n" for name, role in draft.people)}
    form = PeopleForm(draft.owner, request.POST if request.method == "POST" else None, initial=initial)
    return _step(request, draft, "people", form)


def _step(request: HttpRequest, draft: Draft, step: str, form: Form | NewSettingsForm) -> HttpResponse:
    """Store what the form of a step holds, and go on to the next one; or show the form, again if something is wrong."""
    if form.is_valid():
        CHANGES[step](draft, form)
        return redirect(after(draft, f"draft-{step}"))
    return _page(request, draft, step, form)


@require_safe
def check(request: HttpRequest, token: str) -> HttpResponse:
    """What the check found, or how far it is; and the button that makes the campaign, if nothing is wrong."""
    draft = access.draft(request, token)
    if draft.campaign:
        return redirect("campaign", draft.campaign.name)
    return _page(request, draft, "check")


@require_safe
def progress(request: HttpRequest, token: str) -> HttpResponse:
    """The bar of the job under way; the page asks for it again until the job has ended."""
    draft = access.draft(request, token)
    context = {"progress": request.path, "jobs": (jobs := jobs_of(draft, *KINDS))}
    is_working = any(job.is_unfinished for job in jobs)
    return while_working(render(request, "parts/progress.html", context), is_working)


@require_POST
def start_check(request: HttpRequest, token: str) -> HttpResponse:
    draft = access.open_draft(request, token)
    ask_to_check(draft)
    return redirect("draft-check", token)


@require_POST
def make(request: HttpRequest, token: str) -> HttpResponse:
    """Ask for the campaign. Doing it twice is harmless."""
    draft = access.draft(request, token)
    with refusal_as_message(request):
        ask_to_make(draft)
    return redirect("draft-check", token)


@require_POST
def remove(request: HttpRequest, token: str) -> HttpResponse:
    remove_draft(access.open_draft(request, token))
    messages.success(request, "The draft is removed, with what was uploaded for it.")
    return redirect("drafts")


def _page(
    request: HttpRequest, draft: Draft, step: str, form: Form | NewSettingsForm | None = None, **about: object
) -> HttpResponse:
    uploads: dict[str, list[Upload]] = {purpose: [] for purpose in Upload.Purpose.values}
    for upload in draft.uploads.order_by("pk"):
        uploads[upload.purpose].append(upload)
    context = {
        "draft": draft,
        "form": form,
        "steps": steps(draft, f"draft-{step}"),
        "uploads": uploads,
        "jobs": (jobs := jobs_of(draft, check_draft, make_campaign, store_corpus)),
        "progress": reverse("draft-progress", args=[draft.token]),
        "upload_to": reverse("uploads", args=[draft.token]),
        "unfinished": any(job.is_unfinished for job in jobs),
        "most_mib": {purpose: most_mib(purpose) for purpose in Upload.Purpose.values},
    }
    status = 400 if form and form.errors else 200
    return render(request, f"lead/drafts/{step}.html", context | about, status=status)


class Step(NamedTuple):
    """A page of a draft, as the row of steps shows it."""

    name: str  # of its address
    words: str
    address: str
    done: bool
    here: bool


WORDS = {
    "draft-corpus": "Corpus",
    "draft-films": "Films",
    "draft-plan": "Plan",
    "draft-queries": "Queries",
    "draft-settings": "Settings",
    "draft-people": "People",
    "draft-check": "Check and create",
}


def steps(draft: Draft, here: str) -> list[Step]:
    """Return the steps, of which a corpus that is there needs no films."""
    done = _done(draft)
    names = [name for name in WORDS if draft.is_new_corpus or name != "draft-films"]
    return [Step(name, WORDS[name], reverse(name, args=[draft.token]), done[name], name == here) for name in names]


def after(draft: Draft, here: str) -> str:
    """Return the address of the next step."""
    listed = steps(draft, here)
    place = next((number for number, step in enumerate(listed) if step.here), 0)
    return listed[min(place + 1, len(listed) - 1)].address


def _done(draft: Draft) -> dict[str, bool]:
    missing = draft.uploads.values_list("purpose").annotate(bytes=Sum(F("size") - F("received")))
    whole = {purpose for purpose, left in missing if not left}
    return {
        "draft-corpus": not draft.is_new_corpus
        or bool(draft.corpus_name and Upload.Purpose.MOMENTS in whole and not wrong_at_first_look(draft)),
        "draft-films": draft.media == Draft.Media.FOLDER
        or (draft.media == Draft.Media.UPLOAD and Upload.Purpose.FILM in whole),
        "draft-plan": False,
        "draft-queries": Upload.Purpose.QUERIES in whole or bool(draft.selection),
        "draft-settings": bool(draft.name),
        "draft-people": bool(draft.people),
        "draft-check": draft.is_ready,
    }


@require_POST
def announce(request: HttpRequest, token: str) -> HttpResponse:
    """Begin an upload, or find the one that broke off."""
    draft = access.open_draft(request, token)
    purpose, name, size = announced(request, Upload.Purpose.values)
    return _answer(begin(draft, purpose, name, size), 201)


@require_http_methods(["GET", "HEAD", "PATCH"])
def piece(request: HttpRequest, token: str, upload: str) -> HttpResponse:
    """Tell how much has arrived, or store the next piece."""
    return take_piece(request, partial(access.upload, request, token, upload), _answer)


@require_POST
def remove_upload(request: HttpRequest, token: str, upload: str) -> HttpResponse:
    """Remove a file, and lead back to the step that it belongs to."""
    access.open_draft(request, token)
    found = access.upload(request, token, upload)
    remove_file(found)
    return redirect(STEPS[Upload.Purpose(found.purpose)], token)


STEPS = {
    Upload.Purpose.MOMENTS: "draft-corpus",
    Upload.Purpose.DURATIONS: "draft-corpus",
    Upload.Purpose.FILM: "draft-films",
    Upload.Purpose.QUERIES: "draft-queries",
}


def _answer(upload: Upload, status: int) -> HttpResponse:
    return progress_answer(upload, reverse("upload", args=[upload.draft.token, upload.token]), status)
