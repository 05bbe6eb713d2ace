"""The cast list of a corpus: drafted from its capitalised words, completed and confirmed by a lead."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from base.errors import ReeljudgeError
from campaigns import doors
from corpus.models import Corpus
from lead.views.captions import corpus_page
from retrieval.models import CastName
from retrieval.rewriting.cast_file import NAMES_ON_A_PAGE, draft_cast, names_of, save_names

SHOWN = {"": "All", "open": "To be confirmed", "confirmed": "Confirmed"}


@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, corpus: int) -> HttpResponse:
    """The names, most frequent first, and a form to say who they are. Saving stores the whole page or nothing."""
    found = doors.corpus_to_reword(request, corpus)
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
def draft(request: HttpRequest, corpus: int) -> HttpResponse:
    """Have a worker draft the list. Drafting again keeps what the lead said."""
    draft_cast.ask(doors.corpus_to_reword(request, corpus))
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
