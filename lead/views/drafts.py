"""The steps by which a campaign is made in the browser, and their files. Each page can be left and come back to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from django.contrib import messages
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
    change_films,
    change_queries,
    change_reading,
    jobs_of,
    remove_file,
    root_and_below,
)
from drafts.forms import (
    PRESETS,
    CorpusForm,
    FilmsForm,
    NewSettingsForm,
    PeopleForm,
    QueriesForm,
    ReadingForm,
    how_it_is_read,
    preset_of,
)
from drafts.leaderboard import USUAL_DEPTH
from drafts.models import Draft, Upload
from drafts.reading import (
    READERS,
    ask_to_read,
    count_without_length,
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
def begin_one(request: HttpRequest) -> HttpResponse:
    """Begin a draft, also of a leaderboard that is judged again; drafts are listed with the campaigns."""
    user = access.creator(request)
    if request.method != "POST":
        return redirect("campaigns")
    return redirect("draft-data", begin_draft(user, USUAL_DEPTH if "rejudge" in request.POST else None).token)


@page_or_form
def data(request: HttpRequest, token: str) -> HttpResponse:
    """Step 1: which corpus, and the films of a new one."""
    draft, given = drafts_access.open_draft(request, token), request.POST if request.method == "POST" else None
    make_form = partial(_corpus_form, request, draft, given)
    form, films = make_form(), _films_form(draft, given)
    if form.is_valid() and films.is_valid():
        change_corpus(draft, form)
        change_films(draft, films)
        is_read = not draft.is_new_corpus or not draft.upload_for(MOMENTS) or is_sound(draft, MOMENTS)
        return redirect(after(draft, "draft-data") if is_read else f"{request.path}#found")
    read = _read(draft, MOMENTS, make_form)
    return _page(request, draft, "data", read["form"], films, read=read)


def _films_form(draft: Draft, given: QueryDict | None) -> FilmsForm:
    root, below = root_and_below(draft)
    return FilmsForm(given, initial={"root": root, "below": below, "frame_rate": draft.frame_rate})


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
        "without_length": count_without_length(draft, found) if found else 0,
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
def queries(request: HttpRequest, token: str) -> HttpResponse:
    """Step 2: drawn queries, of which a job shows some beforehand, uploaded or pasted ones, or a benchmark's."""
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
    plan = None if draft.is_rejudging else _plan(draft, request.GET)
    return _page(request, draft, "queries", form, plan, **about)


def _plan(draft: Draft, query: QueryDict) -> PlanForm:
    """Return how many queries tell two systems apart, and what judging them takes. It is advice, and stores nothing."""
    given = query.dict()
    like = given.get("like")
    if given.pop("of", like) != like:  # the runs are those of the campaign that was chosen before
        given = {name: value for name, value in given.items() if name not in ("run", "other")}
    return PlanForm(draft, given)


@require_POST
def start_storing(request: HttpRequest, token: str) -> HttpResponse:
    """Store the new corpus before the campaign is made, so that its descriptions can be reworded."""
    draft = drafts_access.open_draft(request, token)
    store_corpus.ask(draft)
    return redirect("draft-queries", token)


@page_or_form
def rules(request: HttpRequest, token: str) -> HttpResponse:
    """Step 3: the settings, and who takes part."""
    draft, given = drafts_access.open_draft(request, token), request.POST if request.method == "POST" else None
    *_, preset = PRESETS.get(request.GET.get("preset", ""), ({},))
    so_far = Campaign(name=draft.name or proposed_name(draft), **draft.settings | preset)
    form = NewSettingsForm(given, instance=so_far)
    named = {"people": "".join(f"{name} {role}\n" for name, role in draft.people)}
    people = PeopleForm(draft.owner, given, initial=named)
    if form.is_valid() and people.is_valid():
        CHANGES["settings"](draft, form)
        CHANGES["people"](draft, people)
        return redirect(after(draft, "draft-rules"))
    return _page(request, draft, "rules", form, people, presets=PRESETS, preset=preset_of(so_far))


@require_safe
def create(request: HttpRequest, token: str) -> HttpResponse:
    """Step 4: what the check found, or how far it is; and the button that makes the campaign, if nothing is wrong."""
    draft = drafts_access.draft(request, token)
    if draft.campaign:
        return redirect("campaign", draft.campaign.name)
    listed = [(problem, page, WORDS.get(page)) for problem in draft.problems for page in [PAGES.get(problem.step, "")]]
    return _page(request, draft, "create", problems=listed)


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
    return redirect("draft-create", token)


@require_POST
def make(request: HttpRequest, token: str) -> HttpResponse:
    """Ask for the campaign. Doing it twice is harmless."""
    draft = drafts_access.draft(request, token)
    with refusal_as_message(request):
        ask_to_make(draft)
    return redirect("draft-create", token)


@require_POST
def remove(request: HttpRequest, token: str) -> HttpResponse:
    remove_draft(drafts_access.open_draft(request, token))
    messages.success(request, "The draft is removed, with what was uploaded for it.")
    return redirect("campaigns")


def _page(
    request: HttpRequest,
    draft: Draft,
    step: str,
    form: Form | NewSettingsForm | None = None,
    other: Form | None = None,
    **about: object,
) -> HttpResponse:
    """Show a step, which has a second form if `other` is given."""
    context = {
        "draft": draft,
        "form": form,
        "other": other,
        "steps": steps(draft, f"draft-{step}"),
        "jobs": (jobs := jobs_of(draft, check_draft, make_campaign, store_corpus)),
        "progress": reverse("draft-progress", args=[draft.token]),
        "unfinished": any(job.is_unfinished for job in jobs),
        **uploads_of(draft),
    }
    status = 400 if any(each and each.errors for each in (form, other)) else 200
    return render(request, f"lead/drafts/{step}.html", context | about, status=status)


def uploads_of(draft: Draft) -> dict[str, Any]:
    """Return what `parts/uploads.html` needs: the uploads of each purpose, where more go, and how large they may be."""
    uploads: dict[str, list[Upload]] = {purpose: [] for purpose in Upload.Purpose.values}
    for upload in draft.uploads.order_by("pk"):
        uploads[upload.purpose].append(upload)
    return {
        "uploads": uploads,
        "upload_to": reverse("uploads", args=[draft.token]),
        "most_mib": {purpose: most_mib(purpose) for purpose in Upload.Purpose.values},
    }


class Step(NamedTuple):
    """A page of a draft, as the row of steps shows it."""

    name: str  # of its address
    words: str
    address: str
    done: bool
    here: bool


WORDS = {"draft-data": "Data", "draft-queries": "Queries", "draft-rules": "Rules and people", "draft-create": "Create"}
# The page on which a problem of each step of `drafts.builder.Findings` is mended.
PAGES = {
    "corpus": "draft-data",
    "films": "draft-data",
    "queries": "draft-queries",
    "settings": "draft-rules",
    "people": "draft-rules",
}


def steps(draft: Draft, here: str) -> list[Step]:
    """Return the steps. That of a leaderboard that is judged again has its runs in place of queries."""
    done, words = _done(draft), WORDS | ({"draft-queries": "Leaderboard"} if draft.is_rejudging else {})
    return [Step(name, words[name], reverse(name, args=[draft.token]), done[name], name == here) for name in WORDS]


def after(draft: Draft, here: str) -> str:
    """Return the address of the next step."""
    following = [*WORDS][[*WORDS].index(here) + 1 :] or [here]
    return reverse(following[0], args=[draft.token])


def _done(draft: Draft) -> dict[str, bool]:
    return {
        "draft-data": not draft.is_new_corpus or bool(draft.corpus_name and is_sound(draft, MOMENTS)),
        "draft-queries": is_sound(draft, BENCHMARK if draft.is_rejudging else QUERIES)
        or bool(draft.selection and not draft.upload_for(QUERIES)),
        "draft-rules": bool(draft.name),
        "draft-create": draft.is_ready,
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
    """Remove a file, and redirect to the page that it belongs to."""
    draft = drafts_access.open_draft(request, token)
    found = drafts_access.upload(request, token, upload)
    remove_file(found)
    if draft.corpus and found.purpose == Upload.Purpose.FILM:
        return redirect(f"{reverse('corpus', args=[draft.corpus.name])}?films={token}")
    return redirect(STEPS[Upload.Purpose(found.purpose)], token)


STEPS = {
    Upload.Purpose.MOMENTS: "draft-data",
    Upload.Purpose.DURATIONS: "draft-data",
    Upload.Purpose.FILM: "draft-data",
    Upload.Purpose.QUERIES: "draft-queries",
    Upload.Purpose.BENCHMARK: "draft-queries",
    Upload.Purpose.RUN: "draft-queries",
}


def _answer(upload: Upload, status: int) -> HttpResponse:
    if upload.is_whole:
        ask_to_read(upload.draft)
    return progress_answer(upload, reverse("upload", args=[upload.draft.token, upload.token]), status)
