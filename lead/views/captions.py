"""The captions of a corpus: rewording its descriptions, what waits for a lead, what was replaced, and the cast list."""

from __future__ import annotations

import csv

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from base.errors import ReeljudgeError, WrongState
from base.forms import valid_data
from base.problem_documents import refusal_as_message
from campaigns import access
from campaigns.pages import while_working
from corpus.models import Corpus
from judging.pool.rewording import PAIRS, WORDS, accept_caption, ask_for_rewording, count_waiting, jobs_of, state_of
from lead.forms.campaign import CaptionForm, RewordingForm
from retrieval.models import CastName, Rewording
from retrieval.rewriting.cast_file import NAMES_ON_A_PAGE, draft_cast, names_of, save_names
from retrieval.rewriting.counting import counted, rows

ON_A_PAGE = 25
SHOWN = {"": "All", "open": "To be confirmed", "confirmed": "Confirmed"}


@require_safe
def index(request: HttpRequest, corpus: int) -> HttpResponse:
    """How far the corpus is reworded, the ways to go on, and what the substitutions so far have cost."""
    found = access.corpus_to_reword(request, corpus)
    return corpus_page(request, found, "lead/captions.html", **state_of(found))


@require_safe
def work(request: HttpRequest, corpus: int) -> HttpResponse:
    """The bars of the work under way; the page asks for them again while there is any."""
    found = access.corpus_to_reword(request, corpus)
    jobs = jobs_of(found)
    return while_working(corpus_page(request, found, "lead/_captions_work.html", **jobs), jobs["is_working"])


@require_POST
def start(request: HttpRequest, corpus: int) -> HttpResponse:
    """Ask for a substitution by the cast list or by the chat endpoint."""
    found = access.corpus_to_reword(request, corpus)
    data = valid_data(RewordingForm(request.POST))
    with refusal_as_message(request):
        ask_for_rewording(found, data["by"], access.signed_in(request), data["again"])
    return redirect("captions", corpus=corpus)


@require_safe
def queue(request: HttpRequest, corpus: int) -> HttpResponse:
    """The descriptions that wait for a lead: before, after, why, and a form to accept each."""
    found = access.corpus_to_reword(request, corpus)
    waiting = Rewording.objects.filter(corpus=found).queued().order_by("pk")
    page = Paginator(waiting, ON_A_PAGE).get_page(request.GET.get("page"))
    return corpus_page(request, found, "lead/caption_queue.html", page=page)


@require_POST
def accept(request: HttpRequest, corpus: int, pk: int) -> HttpResponse:
    """Make the text the caption, and go back to where the next one stands now."""
    found = access.corpus_to_reword(request, corpus)
    row = get_object_or_404(Rewording, corpus=found, pk=pk)
    data = valid_data(CaptionForm(request.POST))
    with refusal_as_message(request):
        if accept_caption(row, access.signed_in(request), data["caption"]):
            messages.success(request, f"Accepted. {count_waiting(found):,} still wait.")
    place = f"?page={data['page'] or 1}#waiting-{data['place'] or 1}"
    return redirect(f"{reverse('caption-queue', args=[corpus])}{place}")


@require_safe
def replaced(request: HttpRequest, corpus: int) -> HttpResponse:
    """What was replaced, how often, as in Table 3 of TVR-Ranking."""
    found = access.corpus_to_reword(request, corpus)
    known = counted(found)
    counts = known.figures.replaced if known.figures else None
    return corpus_page(
        request,
        found,
        "lead/replaced.html",
        counted=known,
        counts=counts,
        words=counts.words[:WORDS] if counts else [],
        pairs=counts.pairs[:PAIRS] if counts else [],
        **jobs_of(found),
    )


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


def corpus_page(
    request: HttpRequest, corpus: Corpus, template: str, /, status: int = 200, **context: object
) -> HttpResponse:
    """Render a page about a corpus, which is not part of any campaign."""
    return render(request, template, {"corpus": corpus} | context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
def cast_list(request: HttpRequest, corpus: int) -> HttpResponse:
    """The names, most frequent first, and a form to say who they are. Saving stores the whole page or nothing."""
    found = access.corpus_to_reword(request, corpus)
    state = request.GET.get("show", "")
    names = names_of(found, state)
    page = Paginator(names, NAMES_ON_A_PAGE).get_page(request.GET.get("page"))
    if request.method != "POST":
        return _page(request, found, page, state)
    mine = _posted(found, request.POST)
    try:
        save_names(found, mine)
    except ReeljudgeError as fault:
        rest = str(fault).splitlines()[1:] or [str(fault)]
        page.object_list = mine
        return _page(request, found, page, state, status=400, problems=rest)
    messages.success(request, "Saved. Names that are confirmed are replaced when the corpus is reworded.")
    return redirect(f"{reverse('cast', args=[corpus])}?show={state}&page={page.number}")


@require_POST
def start_drafting(request: HttpRequest, corpus: int) -> HttpResponse:
    """Have a worker draft the list. Drafting again keeps what the lead said."""
    draft_cast.ask(access.corpus_to_reword(request, corpus))
    return redirect("captions", corpus=corpus)


def _page(
    request: HttpRequest, corpus: Corpus, page: Page[CastName], state: str, status: int = 200, **context: object
) -> HttpResponse:
    context |= {"page": page, "names": page.object_list, "state": state, "filters": SHOWN.items()}
    return corpus_page(request, corpus, "lead/cast.html", status, **context)


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
