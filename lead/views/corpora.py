"""Corpora: their size, moments and films; and rewording their descriptions into captions without names."""

from __future__ import annotations

import csv
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.text import slugify
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from base.errors import BadValue, ReeljudgeError, WrongState
from base.forms import valid_data
from base.problem_documents import refusal_as_message
from campaigns import access
from campaigns.pages import while_working
from corpus.clips import FOR_CORPUS_PAGE, clip_on_page, clips_of
from corpus.counting import figures_of
from corpus.models import Corpus
from drafts import access as drafts_access
from drafts.changes import begin_draft, change_films
from drafts.forms import FilmsForm
from drafts.sources import add_films
from judging.pool.clips import prepare_clip
from judging.pool.rewording import PAIRS, WORDS, accept_caption, ask_for_rewording, count_waiting, jobs_of, state_of
from lead.forms.campaign import CaptionForm, RewordingForm
from lead.views.drafts import uploads_of
from reports.tables.moments import MOMENTS, moments_of
from retrieval.models import CastName, Rewording
from retrieval.rewriting.cast_file import NAMES_ON_A_PAGE, draft_cast, names_of, save_names
from retrieval.rewriting.counting import counted, rows


@require_safe
def detail(request: HttpRequest, name: str) -> HttpResponseBase:
    """The size of a corpus in the columns of the paper's tables, and its moments."""
    corpus = access.corpus(request, name=name)
    choices, rows = MOMENTS.choices(request.GET), moments_of(corpus)
    if access.wants_csv(request):
        return choices.csv(rows, f"{slugify(name)}-moments")
    counted, may_reword = figures_of(corpus), access.corpora_to_reword(request).filter(pk=corpus.pk).exists()
    known = {
        "corpus": corpus,
        "figures": counted.figures,
        "job": counted.job,
        "may_reword": may_reword,
        "listed": choices.part(rows),
        "may_add_films": may_reword and access.may_create_campaigns(request.user),
        "n_without_films": corpus.videos.filter(media="").count(),
        **(_films_drawer(request, request.GET["films"]) if may_reword and "films" in request.GET else {}),
        **(_moment_drawer(corpus, request.GET["moment"]) if "moment" in request.GET else {}),
    }
    return render(request, "lead/corpus.html", known, status=400 if choices.form.errors else 200)


def _moment_drawer(corpus: Corpus, key: str) -> dict[str, Any]:
    """Return one moment with all that is known of it, and its clip if it was cut for this page."""
    found = access.moment(corpus, int(key) if key.isdecimal() and len(key) < 19 else 0)
    return {"moment": found, "clip": clip_on_page(found)}


def _films_drawer(request: HttpRequest, token: str, form: FilmsForm | None = None) -> dict[str, Any]:
    """Return the form that adds films, which a draft of the person's own takes."""
    draft = drafts_access.open_draft(request, token)
    return {"draft": draft, "form": form or FilmsForm(), **uploads_of(draft)}


@require_POST
def films(request: HttpRequest, pk: int) -> HttpResponse:
    """Begin a draft that takes films for a stored corpus, or add those that it has taken."""
    corpus = access.corpus_to_reword(request, pk)
    address, token = reverse("corpus", args=[corpus.name]), request.POST.get("draft", "")
    if not token:
        draft = begin_draft(access.creator(request), corpus=corpus)
        return redirect(f"{address}?films={draft.token}")
    draft, form = drafts_access.open_draft(request, token), FilmsForm(request.POST)
    if not form.is_valid():
        raise BadValue("folder", str(form.errors.as_text()), "a folder of this server")
    change_films(draft, form)
    add_films.ask(draft)
    messages.success(request, "The films are being added. Clips that were missing are cut then.")
    return redirect(address)


@require_POST
def cut(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Ask for the clip of a moment. Asking twice is harmless."""
    found = access.moment(access.corpus(request, name=name), pk)
    prepare_clip(clips_of([found], FOR_CORPUS_PAGE)[found.pk])
    return redirect(f"{reverse('corpus', args=[name])}?moment={pk}")


ON_A_PAGE = 25
SHOWN = {"": "All", "open": "To be confirmed", "confirmed": "Confirmed"}


@require_http_methods(["GET", "HEAD", "POST"])
def captions(request: HttpRequest, corpus: int) -> HttpResponse:
    """One view of the captions: rewording, the cast list, which can be saved, what waits, or what was replaced."""
    found, view = access.corpus_to_reword(request, corpus), request.GET.get("view", "")
    if request.method == "POST":
        return _save_cast(request, found)
    view = view if view in VIEWS else ""
    return _captions_page(request, found, view, **VIEWS[view][1](request, found))


def _captions_page(request: HttpRequest, corpus: Corpus, view: str, status: int = 200, **known: Any) -> HttpResponse:
    part = f"lead/_captions_{view or 'rewording'}.html"
    tabs = [(key, words) for key, (words, _) in VIEWS.items()]
    context = {"corpus": corpus, "part": part, "tab": view, "tabs": tabs} | known
    return render(request, "lead/captions.html", context, status=status)


def _queue(request: HttpRequest, corpus: Corpus) -> dict[str, Any]:
    waiting = Rewording.objects.filter(corpus=corpus).queued().order_by("pk")
    return {"page": Paginator(waiting, ON_A_PAGE).get_page(request.GET.get("page"))}


def _replaced(request: HttpRequest, corpus: Corpus) -> dict[str, Any]:
    """Return what was replaced, how often, as in Table 3 of TVR-Ranking."""
    known = counted(corpus)
    counts = known.figures.replaced if known.figures else None
    listed = {"words": counts.words[:WORDS], "pairs": counts.pairs[:PAIRS]} if counts else {}
    return {"counted": known, "counts": counts, **listed, **jobs_of(corpus)}


def _cast(request: HttpRequest, corpus: Corpus) -> dict[str, Any]:
    """Return a page of the names, most frequent first."""
    state = request.GET.get("show", "")
    page = Paginator(names_of(corpus, state), NAMES_ON_A_PAGE).get_page(request.GET.get("page"))
    return {"page": page, "names": page.object_list, "state": state, "filters": SHOWN.items()}


def _save_cast(request: HttpRequest, corpus: Corpus) -> HttpResponse:
    """Store who the names of a page are: the whole page or nothing."""
    mine, known = _posted(corpus, request.POST), _cast(request, corpus)
    try:
        save_names(corpus, mine)
    except ReeljudgeError as fault:
        known |= {"names": mine, "problems": str(fault).splitlines()[1:] or [str(fault)]}
        return _captions_page(request, corpus, "cast", status=400, **known)
    messages.success(request, "Saved. Names that are confirmed are replaced when the corpus is reworded.")
    place = f"?view=cast&show={known['state']}&page={known['page'].number}"
    return redirect(f"{reverse('captions', args=[corpus.pk])}{place}")


VIEWS: dict[str, tuple[str, Callable[[HttpRequest, Corpus], dict[str, Any]]]] = {
    "": ("Rewording", lambda request, corpus: state_of(corpus)),
    "cast": ("Cast list", _cast),
    "queue": ("To decide", _queue),
    "replaced": ("What was replaced", _replaced),
}


@require_safe
def work(request: HttpRequest, corpus: int) -> HttpResponse:
    """The bars of the work under way; the page asks for them again while there is any."""
    found = access.corpus_to_reword(request, corpus)
    jobs = jobs_of(found)
    return while_working(render(request, "lead/_captions_work.html", {"corpus": found} | jobs), jobs["is_working"])


@require_POST
def start(request: HttpRequest, corpus: int) -> HttpResponse:
    """Ask for a substitution by the cast list or by the chat endpoint."""
    found = access.corpus_to_reword(request, corpus)
    data = valid_data(RewordingForm(request.POST))
    with refusal_as_message(request):
        ask_for_rewording(found, data["by"], access.signed_in(request), data["again"])
    return redirect("captions", corpus=corpus)


@require_POST
def accept(request: HttpRequest, corpus: int, pk: int) -> HttpResponse:
    """Make the text the caption, and go back to where the next one stands now."""
    found = access.corpus_to_reword(request, corpus)
    row = get_object_or_404(Rewording, corpus=found, pk=pk)
    data = valid_data(CaptionForm(request.POST))
    with refusal_as_message(request):
        if accept_caption(row, access.signed_in(request), data["caption"]):
            messages.success(request, f"Accepted. {count_waiting(found):,} still wait.")
    place = f"?view=queue&page={data['page'] or 1}#waiting-{data['place'] or 1}"
    return redirect(f"{reverse('captions', args=[corpus])}{place}")


@require_safe
def replaced_csv(request: HttpRequest, corpus: int) -> HttpResponse:
    found = access.corpus_to_reword(request, corpus)
    known = counted(found)
    if known.figures is None:
        raise WrongState("The captions are being counted. Ask for the file again when that has ended.")
    access.count_file(request)
    attachment = {"Content-Disposition": f'attachment; filename="corpus-{found.pk}-replaced.csv"'}
    answer = HttpResponse(content_type="text/csv; charset=utf-8", headers=attachment)
    csv.writer(answer, lineterminator="\n").writerows(rows(known.figures.replaced))
    return answer


@require_POST
def start_drafting(request: HttpRequest, corpus: int) -> HttpResponse:
    """Have a worker draft the list. Drafting again keeps what the lead said."""
    draft_cast.ask(access.corpus_to_reword(request, corpus))
    return redirect("captions", corpus=corpus)


def _posted(corpus: Corpus, form: QueryDict) -> list[CastName]:
    """Return the names of the page as the form has them. Names of other corpora are passed over."""
    keys = [key for key in form.getlist("name") if key.isascii() and key.isdecimal() and len(key) < 19]
    names = list(CastName.objects.filter(corpus=corpus, pk__in=keys).order_by("-count", "name"))
    for name in names:
        name.phrase = form.get(f"phrase-{name.pk}", "")
        name.same_as = form.get(f"same-as-{name.pk}", "")
        name.stays = f"stays-{name.pk}" in form
        name.confirmed = f"confirmed-{name.pk}" in form or "confirm-all" in form
    return names
