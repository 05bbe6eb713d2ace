"""The steps by which a campaign is made in the browser, and their files. Each page can be left and come back to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from django.contrib import messages
from django.db.models import F, Sum
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, QueryDict, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from base.problem_documents import refusal_as_message
from campaigns import access
from campaigns.models import Campaign
from campaigns.pages import announced, progress_answer, take_piece, while_working
from drafts import access as drafts_access
from drafts.builder import check_draft, make_campaign
from drafts.changes import (
    CHANGES,
    KINDS,
    ask_to_check,
    ask_to_make,
    begin_draft,
    change_corpus,
    change_queries,
    change_reading,
    jobs_of,
    remove_file,
    root_and_below,
)
from drafts.forms import CorpusForm, FilmsForm, NewSettingsForm, PeopleForm, QueriesForm, ReadingForm, how_it_is_read
from drafts.leaderboard import USUAL_DEPTH
from drafts.models import Draft, Upload
from drafts.reading import (
    READERS,
    ask_to_read,
    is_sound,
    last_reading,
    problems_csv,
    proposed_name,
    read_files,
    reading_of,
)
from drafts.sources import captions_of, draw_queries, drawn, store_corpus
from drafts.uploads import begin, most_mib, remove_draft
from retrieval.rewriting.counting import counted, ready_in
from runs.estimates.planning import PlanForm, costs_of_pools

MOMENTS, QUERIES, BENCHMARK = Upload.Purpose.MOMENTS, Upload.Purpose.QUERIES, Upload.Purpose.BENCHMARK
page_or_form = require_http_methods(["GET", "HEAD", "POST"])


@page_or_form
def index(request: HttpRequest) -> HttpResponse:
    """The person's drafts, and the buttons that begin another, also of a leaderboard that is judged again."""
    user = access.creator(request)
    drafts = Draft.objects.unfinished().filter(owner=user).order_by("-touched")
    if request.method == "POST":
        depth = USUAL_DEPTH if "rejudge" in request.POST else None
        return redirect("draft-corpus", begin_draft(user, depth).token)
    return render(request, "lead/drafts/index.html", {"drafts": drafts})


@page_or_form
def corpus(request: HttpRequest, token: str) -> HttpResponse:
    draft = drafts_access.open_draft(request, token)
    make_form = partial(_corpus_form, request, draft, request.POST if request.method == "POST" else None)
    form = make_form()
    if form.is_valid():
        change_corpus(draft, form)
        is_read = not draft.is_new_corpus or not draft.upload_for(MOMENTS) or is_sound(draft, MOMENTS)
        return redirect(after(draft, "draft-corpus") if is_read else f"{request.path}#found")
    read = _read(draft, MOMENTS, make_form)
    return _page(request, draft, "corpus", read["form"], read=read)


def _corpus_form(request: HttpRequest, draft: Draft, data: QueryDict | None = None) -> CorpusForm:
    found = last_reading(draft, MOMENTS)
    initial = how_it_is_read(draft, found)
    initial["proposed"], given = initial["corpus_name"], request.POST or request.GET
    if (written := given.get("corpus_name")) and written != given.get("proposed"):  # and not saved yet
        initial["corpus_name"] = written[:100]
    return CorpusForm(draft.owner, data, initial=initial, reading=found)


def _read(draft: Draft, purpose: str, make_form: Callable[[], CorpusForm] | None = None) -> dict[str, Any]:
    """Return what a page says of a file: how it is read, and what was found; it is read if it was not yet.

    The form is made last, because a file that is read meanwhile changes its fields.
    """
    jobs = jobs_of(draft, read_files)
    if not jobs and ask_to_read(draft):
        jobs = jobs_of(draft, read_files)
    found = reading_of(draft, purpose)
    form = make_form() if make_form else None
    return {
        "form": form,
        "found": found,
        "jobs": [] if found else jobs,
        "file": (upload := draft.upload_for(purpose)),
        "asks": form.asks(upload) if form and upload else "",
        "address": reverse("draft-reading", args=[draft.token, purpose]),
        "costs": costs_of_pools(draft, found.sizes) if found else [],
    }


@page_or_form
def reading(request: HttpRequest, token: str, purpose: str) -> HttpResponse:
    """What is in a file: the page asks while it is read, and posts how else it is to be read."""
    draft = drafts_access.open_draft(request, token)
    if purpose not in READERS:
        raise Http404
    if request.method == "POST":
        chosen = ReadingForm(request.POST, reading=last_reading(draft, MOMENTS))
        if chosen.is_valid():
            change_reading(draft, chosen)
    read = _read(draft, purpose, partial(_corpus_form, request, draft) if purpose == MOMENTS else None)
    if request.headers.get("HX-Target") == "reading-work" and read["jobs"]:
        about = {"jobs": read["jobs"], "progress": read["address"], "id": "reading-work"}
        if not any(job.has_failed for job in read["jobs"]):
            return render(request, "parts/progress.html", about)
    answer = render(request, "lead/drafts/_reading.html", {"draft": draft, "read": read})
    is_same = read["asks"] and (request.POST or request.GET).get("asks") == read["asks"]
    answer["HX-Retarget"] = answer["HX-Reselect"] = "#found" if is_same else "#reading"  # fields in use stay
    return answer


@require_safe
def problems(request: HttpRequest, token: str) -> HttpResponseBase:
    """All that is wrong with the draft, as CSV: the step, the file, the line and its text, and what was expected."""
    draft = drafts_access.draft(request, token)
    access.count_file(request)
    name = {"Content-Disposition": 'attachment; filename="problems.csv"'}
    return StreamingHttpResponse(problems_csv(draft), content_type="text/csv; charset=utf-8", headers=name)


@page_or_form
def films(request: HttpRequest, token: str) -> HttpResponse:
    draft = drafts_access.open_draft(request, token)
    root, below = root_and_below(draft)
    initial = {"films": draft.media, "root": root, "below": below, "frame_rate": draft.frame_rate}
    form = FilmsForm(request.POST if request.method == "POST" else None, initial=initial)
    return _step(request, draft, "films", form)


@require_safe
def plan(request: HttpRequest, token: str) -> HttpResponse:
    """How many queries tell two systems apart, and what judging them takes. It is advice, and stores nothing."""
    draft, given = drafts_access.open_draft(request, token), request.GET.dict()
    like = given.get("like")
    if given.pop("of", like) != like:  # the runs are those of the campaign that was chosen before
        given = {name: value for name, value in given.items() if name not in ("run", "other")}
    form = PlanForm(draft, given)
    return _page(request, draft, "plan", form, next=after(draft, "draft-plan"))


@page_or_form
def queries(request: HttpRequest, token: str) -> HttpResponse:
    """Which queries: drawn ones, of which a job shows some beforehand, uploaded or pasted ones, or a benchmark's."""
    draft = drafts_access.open_draft(request, token)
    purpose = BENCHMARK if draft.is_rejudging else QUERIES
    known = counted(draft.corpus) if draft.corpus else None
    form = QueriesForm(draft, ready_in(known), request.POST if request.method == "POST" else None)
    if form.is_valid():
        change_queries(draft, form)
        if "look" in request.POST and form.selection:
            draw_queries.ask(draft)
            return redirect(request.path)
        found = reading_of(draft, purpose)
        return redirect(f"{request.path}#found" if found and found.wrong else after(draft, "draft-queries"))
    about = captions_of(draft.corpus) if draft.corpus else {}
    about |= {"counted": known, "drawn": drawn(draft), "working": jobs_of(draft, draw_queries, store_corpus)}
    about |= {"read": _read(draft, purpose)}
    return _page(request, draft, "queries", form, **about)


@require_POST
def start_storing(request: HttpRequest, token: str) -> HttpResponse:
    """Store the new corpus before the campaign is made, so that its descriptions can be reworded."""
    draft = drafts_access.open_draft(request, token)
    store_corpus.ask(draft)
    return redirect("draft-queries", token)


@page_or_form
def campaign_settings(request: HttpRequest, token: str) -> HttpResponse:
    draft = drafts_access.open_draft(request, token)
    so_far = Campaign(name=draft.name or proposed_name(draft), **draft.settings)
    form = NewSettingsForm(request.POST if request.method == "POST" else None, instance=so_far)
    return _step(request, draft, "settings", form)


@page_or_form
def people(request: HttpRequest, token: str) -> HttpResponse:
    draft = drafts_access.open_draft(request, token)
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
    draft = drafts_access.draft(request, token)
    if draft.campaign:
        return redirect("campaign", draft.campaign.name)
    addresses = {step.name: step.address for step in steps(draft, "draft-check")}
    listed = [problem._asdict() | {"address": addresses.get(f"draft-{problem.step}")} for problem in draft.problems]
    return _page(request, draft, "check", problems=listed)


@require_safe
def progress(request: HttpRequest, token: str) -> HttpResponse:
    """The bar of the job under way; the page asks for it again until the job has ended."""
    draft = drafts_access.draft(request, token)
    context = {"progress": request.path, "jobs": (jobs := jobs_of(draft, *KINDS))}
    is_working = any(job.is_unfinished for job in jobs)
    return while_working(render(request, "parts/progress.html", context), is_working)


@require_POST
def start_check(request: HttpRequest, token: str) -> HttpResponse:
    draft = drafts_access.open_draft(request, token)
    ask_to_check(draft)
    return redirect("draft-check", token)


@require_POST
def make(request: HttpRequest, token: str) -> HttpResponse:
    """Ask for the campaign. Doing it twice is harmless."""
    draft = drafts_access.draft(request, token)
    with refusal_as_message(request):
        ask_to_make(draft)
    return redirect("draft-check", token)


@require_POST
def remove(request: HttpRequest, token: str) -> HttpResponse:
    remove_draft(drafts_access.open_draft(request, token))
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
    """Return the steps. A corpus that is there needs no films, and a leaderboard's own step says what judging takes."""
    done, words = _done(draft), WORDS | ({"draft-queries": "Leaderboard"} if draft.is_rejudging else {})
    left_out = {"draft-films": not draft.is_new_corpus, "draft-plan": draft.is_rejudging}
    names = [name for name in WORDS if not left_out.get(name)]
    return [Step(name, words[name], reverse(name, args=[draft.token]), done[name], name == here) for name in names]


def after(draft: Draft, here: str) -> str:
    """Return the address of the next step."""
    listed = steps(draft, here)
    place = next((number for number, step in enumerate(listed) if step.here), 0)
    return listed[min(place + 1, len(listed) - 1)].address


def _done(draft: Draft) -> dict[str, bool]:
    missing = draft.uploads.values_list("purpose").annotate(bytes=Sum(F("size") - F("received")))
    whole = {purpose for purpose, left in missing if not left}
    return {
        "draft-corpus": not draft.is_new_corpus or bool(draft.corpus_name and is_sound(draft, MOMENTS)),
        "draft-films": draft.media == Draft.Media.FOLDER
        or (draft.media == Draft.Media.UPLOAD and Upload.Purpose.FILM in whole),
        "draft-plan": False,
        "draft-queries": is_sound(draft, BENCHMARK if draft.is_rejudging else QUERIES)
        or bool(draft.selection and not draft.upload_for(QUERIES)),
        "draft-settings": bool(draft.name),
        "draft-people": bool(draft.people),
        "draft-check": draft.is_ready,
    }


@require_POST
def announce(request: HttpRequest, token: str) -> HttpResponse:
    """Begin an upload, or find the one that broke off."""
    draft = drafts_access.open_draft(request, token)
    purpose, name, size = announced(request, Upload.Purpose.values)
    return _answer(begin(draft, purpose, name, size), 201)


@require_http_methods(["GET", "HEAD", "PATCH"])
def piece(request: HttpRequest, token: str, upload: str) -> HttpResponse:
    """Tell how much has arrived, or store the next piece."""
    return take_piece(request, partial(drafts_access.upload, request, token, upload), _answer)


@require_POST
def remove_upload(request: HttpRequest, token: str, upload: str) -> HttpResponse:
    """Remove a file, and lead back to the step that it belongs to."""
    drafts_access.open_draft(request, token)
    found = drafts_access.upload(request, token, upload)
    remove_file(found)
    return redirect(STEPS[Upload.Purpose(found.purpose)], token)


STEPS = {
    Upload.Purpose.MOMENTS: "draft-corpus",
    Upload.Purpose.DURATIONS: "draft-corpus",
    Upload.Purpose.FILM: "draft-films",
    Upload.Purpose.QUERIES: "draft-queries",
    Upload.Purpose.BENCHMARK: "draft-queries",
    Upload.Purpose.RUN: "draft-queries",
}


def _answer(upload: Upload, status: int) -> HttpResponse:
    if upload.is_whole:
        ask_to_read(upload.draft)
    return progress_answer(upload, reverse("upload", args=[upload.draft.token, upload.token]), status)
