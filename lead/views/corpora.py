"""Corpora: how large one is, its moments, and a clip of each."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from corpus.clips import FOR_CORPUS_PAGE, clips_of
from corpus.counting import figures_of
from corpus.models import Clip, Corpus, Moment
from judging import doors
from judging.pool.clips import prepare_clip
from reports.tables.moments import moments_page


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    found = doors.corpora(request).order_by("name")
    return render(request, "lead/corpora.html", {"corpora": found})


@require_safe
def detail(request: HttpRequest, name: str) -> HttpResponse:
    """The size of a corpus in the columns of the paper's tables, and its moments."""
    corpus = doors.corpus(request, name)
    counted = figures_of(corpus)
    known = {
        "corpus": corpus,
        "figures": counted.figures,
        "job": counted.job,
        "may_reword": doors.corpora_to_reword(request).filter(pk=corpus.pk).exists(),
        "page": moments_page(corpus, request.GET),
    }
    return render(request, "lead/corpus.html", known)


@require_safe
def moment(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """One moment with all that is known of it, and its clip if it was cut for this page."""
    corpus = doors.corpus(request, name)
    found = _moment(corpus, pk)
    clip = Clip.objects.filter(video=found.video, start=found.start, end=found.end, audience=FOR_CORPUS_PAGE).first()
    return render(request, "lead/corpus_moment.html", {"corpus": corpus, "moment": found, "clip": clip})


@require_POST
def cut(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Ask for the clip of a moment. Asking twice is harmless."""
    found = _moment(doors.corpus(request, name), pk)
    prepare_clip(clips_of([found], FOR_CORPUS_PAGE)[found.pk])
    return redirect("corpus-moment", name, pk)


def _moment(corpus: Corpus, pk: int) -> Moment:
    return get_object_or_404(Moment.objects.select_related("video"), video__corpus=corpus, pk=pk)
