"""The captions of a corpus: rewording its descriptions, what waits for a lead, and what was replaced."""

from __future__ import annotations

import csv
from io import StringIO

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from base.errors import WrongState
from base.problem_documents import refusal_as_message
from base.request_fields import one_of, whole_in
from campaigns import doors
from corpus.models import Corpus
from judging.pool.rewording import PAIRS, WORDS, By, accept_caption, ask_for_rewording, count_waiting, jobs_of, state_of
from retrieval.models import Rewording
from retrieval.rewriting.counting import counted, rows

ON_A_PAGE = 25


@require_safe
def index(request: HttpRequest, corpus: int) -> HttpResponse:
    """How far the corpus is reworded, the ways to go on, and what the substitutions so far have cost."""
    found = doors.corpus_to_reword(request, corpus)
    return corpus_page(request, found, "lead/captions.html", **state_of(found))


@require_safe
def work(request: HttpRequest, corpus: int) -> HttpResponse:
    """The bars of the work under way; the page asks for them again while there is any."""
    found = doors.corpus_to_reword(request, corpus)
    jobs = jobs_of(found)
    answer = corpus_page(request, found, "lead/_captions_work.html", **jobs)
    if not jobs["is_working"]:
        answer["HX-Refresh"] = "true"
    return answer


@require_POST
def start(request: HttpRequest, corpus: int) -> HttpResponse:
    """Ask for a substitution by the cast list or by the chat endpoint."""
    found = doors.corpus_to_reword(request, corpus)
    by = one_of("by", request.POST.get("by", ""), By.values)
    with refusal_as_message(request):
        ask_for_rewording(found, by, doors.signed_in(request), again="again" in request.POST)
    return redirect("captions", corpus=corpus)


@require_safe
def queue(request: HttpRequest, corpus: int) -> HttpResponse:
    """The descriptions that wait for a lead: before, after, why, and a form to accept each."""
    found = doors.corpus_to_reword(request, corpus)
    waiting = Rewording.objects.filter(corpus=found).queued().order_by("pk")
    page = Paginator(waiting, ON_A_PAGE).get_page(request.GET.get("page"))
    return corpus_page(request, found, "lead/caption_queue.html", page=page)


@require_POST
def accept(request: HttpRequest, corpus: int, pk: int) -> HttpResponse:
    """Make the text the caption, and go back to where the next one stands now."""
    found = doors.corpus_to_reword(request, corpus)
    row = get_object_or_404(Rewording, corpus=found, pk=pk)
    page, place = whole_in(request.POST, "page", "1"), whole_in(request.POST, "place", "1")
    with refusal_as_message(request):
        if accept_caption(row, doors.signed_in(request), request.POST.get("caption", "")):
            messages.success(request, f"Accepted. {count_waiting(found):,} still wait.")
    return redirect(f"{reverse('caption-queue', args=[corpus])}?page={page}#waiting-{place}")


@require_safe
def replaced(request: HttpRequest, corpus: int) -> HttpResponse:
    """What was replaced, how often, as in Table 3 of TVR-Ranking."""
    found = doors.corpus_to_reword(request, corpus)
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
    found = doors.corpus_to_reword(request, corpus)
    known = counted(found)
    if known.figures is None:
        raise WrongState("The captions are being counted. Ask for the file again when that has ended.")
    out = StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows(known.figures.replaced))
    answer = HttpResponse(out.getvalue(), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="corpus-{found.pk}-replaced.csv"'
    return answer


def corpus_page(
    request: HttpRequest, corpus: Corpus, template: str, /, status: int = 200, **context: object
) -> HttpResponse:
    """Render a page about a corpus, which is not part of any campaign."""
    return render(request, template, {"corpus": corpus} | context, status=status)
