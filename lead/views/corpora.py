"""Corpora: how large one is, its moments with a clip of each, and searching them by their captions."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.text import slugify
from django.views.decorators.http import require_POST, require_safe

from base.forms import valid_data
from campaigns import access
from campaigns.models import Campaign
from campaigns.pages import campaign_page
from corpus.clips import FOR_CORPUS_PAGE, clip_on_page, clips_of
from corpus.counting import figures_of
from corpus.models import Clip
from jobs.models import Job
from judging.pool.clips import clips_found, cut_clip, cut_for_search, prepare_clip
from lead.forms.campaign import CutForm, SearchForm
from reports.tables.moments import MOMENTS, moments_of
from retrieval.search.searching import HITS, Answer, Hit, search


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    found = access.corpora(request).order_by("name")
    return render(request, "lead/corpora.html", {"corpora": found})


@require_safe
def detail(request: HttpRequest, name: str) -> HttpResponseBase:
    """The size of a corpus in the columns of the paper's tables, and its moments."""
    corpus = access.corpus(request, name=name)
    choices, rows = MOMENTS.choices(request.GET), moments_of(corpus)
    if access.wants_csv(request):
        return choices.csv(rows, f"{slugify(name)}-moments")
    counted = figures_of(corpus)
    known = {
        "corpus": corpus,
        "figures": counted.figures,
        "job": counted.job,
        "may_reword": access.corpora_to_reword(request).filter(pk=corpus.pk).exists(),
        "listed": choices.part(rows),
    }
    return render(request, "lead/corpus.html", known, status=400 if choices.form.errors else 200)


@require_safe
def moment(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """One moment with all that is known of it, and its clip if it was cut for this page."""
    corpus = access.corpus(request, name=name)
    found = access.moment(corpus, pk)
    known = {"corpus": corpus, "moment": found, "clip": clip_on_page(found)}
    return render(request, "lead/corpus_moment.html", known)


@require_POST
def cut(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Ask for the clip of a moment. Asking twice is harmless."""
    found = access.moment(access.corpus(request, name=name), pk)
    prepare_clip(clips_of([found], FOR_CORPUS_PAGE)[found.pk])
    return redirect("corpus-moment", name, pk)


@require_safe
def search_page(request: HttpRequest, name: str) -> HttpResponse:
    """The form; with `?q=words`, the nearest moments. It asks for itself again while a job is under way."""
    member = access.membership(request, name)
    words = valid_data(SearchForm(request.GET))["q"]
    answer = search(member.campaign.corpus, words, HITS, member.user_id) if words else Answer()
    rows = _with_clips(answer.hits, member.campaign)
    waits = bool(answer.job and not answer.job.has_failed) or any(job for _, _, job in rows)
    template = "lead/_found.html" if request.headers.get("hx-request") else "lead/search.html"
    return campaign_page(request, member, template, words=words, answer=answer, rows=rows, waits=waits)


def _with_clips(hits: list[Hit], campaign: Campaign) -> list[tuple[Hit, Clip | None, Job | None]]:
    """Return each hit with its clip, and with the job that cuts it unless that has ended."""
    clips = clips_found([hit.moment for hit in hits], campaign)
    to_come = [clip for clip in clips.values() if clip.is_waiting]
    jobs = {job.row: job for job in cut_clip.jobs(to_come).unfinished()}
    found = ((hit, clips.get(hit.moment.pk)) for hit in hits)
    return [(hit, clip, jobs.get(clip.pk) if clip else None) for hit, clip in found]


@require_POST
def cut_found(request: HttpRequest, name: str) -> HttpResponse:
    """Have the clip of a moment cut, and go back to what was found."""
    lead = access.lead(request, name)
    data = valid_data(CutForm(request.POST))
    cut_for_search(access.moment(lead.campaign.corpus, data["moment"]), lead.campaign)
    return redirect(f"{reverse('search', args=[name])}?{urlencode({'q': data['q']})}")
