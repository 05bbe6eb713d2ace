"""The captions of a corpus: rewording its descriptions, what waits for a lead, and what was replaced."""

from __future__ import annotations

import csv
from io import StringIO
from typing import Any

from django.conf import settings
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
from jobs.models import Job
from judging.pool.rewording import By, accept_caption, ask_for_rewording, count_waiting
from retrieval.models import CastName, Rewording, Substitution
from retrieval.rewriting.counting import count_captions, counted
from retrieval.rewriting.drafting import draft_cast
from retrieval.rewriting.models import REWORD, is_under_way
from retrieval.rewriting.replaced import rows

ON_A_PAGE = 25
SUBSTITUTIONS, WORDS, PAIRS = 10, 12, 50  # as many as a page lists


@require_safe
def index(request: HttpRequest, corpus: int) -> HttpResponse:
    """How far the corpus is reworded, the ways to go on, and what the substitutions so far have cost."""
    found = doors.corpus_to_reword(request, corpus)
    return corpus_page(request, found, "lead/captions.html", **state_of(found))


def state_of(corpus: Corpus) -> dict[str, Any]:
    """Return how far a corpus is reworded: what was counted, what waits, what it cost, and the jobs."""
    mine = Rewording.objects.filter(corpus=corpus)
    has_endpoint = bool(settings.CHAT_URL and settings.CHAT_MODEL)
    known = counted(corpus)
    asks = known.figures and has_endpoint and not is_under_way(corpus)
    return {
        "counted": known,
        "settled": mine.settled().count(),
        "queued": mine.queued().count(),
        "confirmed": CastName.objects.filter(corpus=corpus, confirmed=True, stays=False).count(),
        "drafted": CastName.objects.filter(corpus=corpus, confirmed=False).count(),
        "model": settings.CHAT_MODEL if has_endpoint else "",
        "estimate": known.figures.estimate if known.figures and asks else None,
        "substitutions": Substitution.objects.filter(corpus=corpus).order_by("-pk")[:SUBSTITUTIONS],
        **_jobs(corpus),
    }


@require_safe
def work(request: HttpRequest, corpus: int) -> HttpResponse:
    """The bars of the work under way; the page asks for them again while there is any."""
    found = doors.corpus_to_reword(request, corpus)
    jobs = _jobs(found)
    answer = corpus_page(request, found, "lead/_captions_work.html", **jobs)
    if not jobs["is_working"]:
        answer["HX-Refresh"] = "true"
    return answer


def _jobs(corpus: Corpus) -> dict[str, Any]:
    kinds = [REWORD, draft_cast.code, count_captions.code]
    jobs = list(Job.objects.owned_by(corpus).not_done().filter(kind__in=kinds).order_by("pk"))
    return {"jobs": jobs, "is_working": any(not job.has_failed for job in jobs)}


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
        **_jobs(found),
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
