"""The leaderboard with its tabs, as files and for everybody; a further measure, the held-back split, and the
differences of runs that leads watch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST, require_safe

from base.forms import refusal_at_field, valid_data
from base.problem_documents import refusal_as_message
from base.templatetags.page_parts import Heading
from campaigns.models import Campaign, Membership
from campaigns.pages import campaign_page, while_working
from judging.review.frontier import frontier
from metrics import CONVENTIONS, parse_measure
from reports.figures.files import csv_file
from runs import access
from runs.board.figures import BoardSubject, board_figure_file, plots_of
from runs.board.files import FILES
from runs.board.held_back import (
    FEW_QUERIES,
    MEASURES,
    entered_runs,
    entries_closed,
    held_by,
    held_rows,
    hold_back,
    open_scores,
    score_held_back,
    splits_of,
)
from runs.board.options import Queries, board_options, board_reference, known_measures, measure_named, runs_of
from runs.board.standing import as_table
from runs.board.table import board
from runs.estimates.watches import begin, estimate_difference, watched
from runs.forms import BoardForm, MeasureForm, OpenScoresForm, RejudgedForm, SplitForm, WatchForm
from runs.measures import NAMES, NDCG, USUAL
from runs.models import Benchmark, Run, RunQuerySet, ScoringReference
from runs.pools.enlarging import open_runs
from runs.rejudging import HEADLINE, IN_GRADES, OF_BENCHMARK, new_order
from runs.scoring import ask_for_measure, jobs_on, remove_measure


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponse:
    """The order of the runs; tabs have all runs, watched differences, the held-back split, and a benchmark's order."""
    member, view = access.participant(request, name), request.GET.get("view", "")
    if view not in TABS:
        raise Http404
    return TABS[view](request, member)


def _page(request: HttpRequest, member: Membership, view: str, status: int = 200, **context: Any) -> HttpResponse:
    campaign = member.campaign
    tabs = {"": "Scores", "figures": "Figures", "runs": "All runs"}
    tabs |= {"differences": "Comparisons"} if member.may_review else {}
    tabs |= {"held-back": "Held-back split"} if member.may_review or campaign.held_back else {}
    tabs |= {"again": "Judged again"} if Benchmark.objects.filter(campaign=campaign).exists() else {}
    context |= {"tabs": tabs.items(), "view": view}
    return campaign_page(request, member, "runs/leaderboard.html", status, **context)


def _board_page(
    request: HttpRequest, member: Membership, params: dict[str, Any], form: MeasureForm | None = None, status: int = 200
) -> HttpResponse:
    reference = board_reference(member, params.pop("release", None))
    if reference is None:
        return _page(request, member, "", release=member.campaign.releases.newest())
    jobs = list(jobs_on(reference.release).not_done())
    at_work = any(job.is_unfinished for job in jobs)
    if request.headers.get("hx-request"):
        bar = campaign_page(request, member, "runs/_at_work.html", jobs=jobs, at_work=at_work)
        return while_working(bar, at_work)
    options = board_options(reference, **params | {"seeds": params.get("seeds") or "together"})
    found = board(Run.objects.seen_by(member), reference, options)
    context = as_table(found) | {"queries": Queries(reference), "jobs": jobs, "at_work": at_work}
    context |= {"conventions": [CONVENTIONS[each] for each in NAMES], "formats": list(FILES)}
    context["columns"] = [(m, m in options.measures) for m in known_measures(options.convention.name, reference)]
    context["releases"] = member.campaign.releases.filter(scoring_reference__isnull=False).only("version")
    context["mine"] = next((row for row in context["rows"] if any(r.by_id == member.pk for r in row["row"].runs)), None)
    context["form"] = form or MeasureForm(initial={"convention": options.convention.name})
    return _page(request, member, "", status, **context)


@login_not_required
@require_safe
def public(request: HttpRequest, name: str) -> HttpResponse:
    """The leaderboard of the runs that everybody may see, without a word of queries or videos."""
    campaign, runs = access.public_board(request, name), Run.objects.listed().filter(campaign__name=name)
    reference = ScoringReference.objects.filter(release__campaign=campaign).order_by("release__version").last()
    held = held_by(campaign)
    context: dict[str, Any] = {
        "frame": "base.html",
        "is_public": True,
        "about": campaign,
        "citations": runs.exclude(citation="").order_by("name"),
        "held": held,
        **_held(held, runs),
        **(as_table(board(runs, reference, board_options(reference))) if reference else {}),
    }
    return render(request, "runs/leaderboard.html", context)


def _figures(request: HttpRequest, member: Membership) -> HttpResponse:
    """The figures of the leaderboard of the same address."""
    subject = _subject(request, member)
    plots = plots_of(subject, request.GET.urlencode()) if subject else []
    release = subject.reference.release if subject else member.campaign.releases.newest()
    return _page(request, member, "figures", plots=plots, release=release, options=subject and subject.options)


def _subject(request: HttpRequest, member: Membership) -> BoardSubject | None:
    """Return what the figures are about; None if no release has scores yet."""
    params = valid_data(BoardForm(request.GET))
    reference = board_reference(member, params.pop("release"))
    runs = Run.objects.seen_by(member)
    return BoardSubject(runs, reference, board_options(reference, **params)) if reference else None


@require_safe
def figure(request: HttpRequest, name: str, figure: str, format: str) -> HttpResponse:
    """A figure of the leaderboard as its specification, SVG, PDF, or the CSV of its numbers."""
    subject = _subject(request, access.participant(request, name))
    access.count_file(request, format)
    if subject is None:
        raise Http404
    return board_figure_file(subject, figure, format)


def _held_back(request: HttpRequest, member: Membership) -> HttpResponse:
    """The split that is held back, and the scores on it once a lead has opened them."""
    held, entered = held_by(member.campaign), entered_runs(member.campaign)
    context: dict[str, Any] = {
        "held": held,
        "splits": splits_of(member.campaign) if member.may_review else [],
        "entered": entered.count(),
        "own": entered.filter(by=member),
        "closed": entries_closed(member.campaign),
        "few": held and len(held.held_queries) < FEW_QUERIES,
        "at_work": held and score_held_back.jobs(held.release).not_done().exists(),
        **_held(held, Run.objects.seen_by(member)),
    }
    return _page(request, member, "held-back", **context)


def _held(held: ScoringReference | None, runs: RunQuerySet) -> dict[str, Any]:
    """Return what pages show of the scores on the split that is held back."""
    return {
        "held_rows": held_rows(held, runs) if held else [],
        "held_headings": [Heading(parse_measure(name).spelling, is_number=True) for name in MEASURES],
    }


@require_POST
def change_held_back(request: HttpRequest, name: str) -> HttpResponse:
    """Choose the split that is held back, or open or hide the scores on it."""
    lead = access.lead(request, name)
    with refusal_as_message(request):
        if "split" in request.POST:
            hold_back(lead, valid_data(SplitForm(request.POST))["split"])
        if "open" in request.POST:
            open_scores(lead, valid_data(OpenScoresForm(request.POST))["open"])
    return redirect(_address(lead.campaign, view="held-back"))


def _judged_again(request: HttpRequest, member: Membership) -> HttpResponse:
    """How the order of systems changes, by the benchmark's own measure and in grades; or how far judging is."""
    benchmark, own = access.benchmark(member), _own_measure(request)
    pool = member.campaign.queries.pool()
    context: dict[str, Any] = {
        "benchmark": benchmark,
        "order": new_order(member, own),
        "own": parse_measure(own),
        "measures": [parse_measure(each) for each in OF_BENCHMARK],
        "headings": _of_new_order(own),
        "convention": USUAL,
        "queries": pool.count(),
        "closed": pool.filter(closed=True).count(),
        "runs": Run.objects.seen_by(member).count(),
        "newest": member.campaign.releases.newest(),
    }
    return _page(request, member, "again", **context)


def _own_measure(request: HttpRequest) -> str:
    return valid_data(RejudgedForm(request.GET))["own"] or HEADLINE


def _of_new_order(own: str) -> list[Heading]:
    """Return the columns of the page: a score and a place on the benchmark, and the same by each measure in grades."""
    graded = [f"{parse_measure(each).spelling} in grades" for each in IN_GRADES]
    scores = [f"{parse_measure(own).spelling} on the benchmark", *graded]
    pairs = [Heading(words, is_number=True) for score in scores for words in (score, "Place")]
    return [Heading("Run"), *pairs]


@require_safe
def rejudged_csv(request: HttpRequest, name: str) -> HttpResponse:
    """The order of the same address as a file."""
    member = access.participant(request, name)
    access.benchmark(member)
    access.count_file(request)
    found = new_order(member, _own_measure(request))
    if found is None:
        raise Http404
    return csv_file(found.lines(), f"{name}-v{found.release.version}-judged-again")


def _differences(request: HttpRequest, member: Membership) -> HttpResponse:
    """The differences that leads watch, each with its last look."""
    lead = access.lead(request, member.campaign.name)
    rows = watched(lead.campaign)
    context: dict[str, Any] = {
        "differences": rows,
        "frontier": frontier(lead.campaign),
        "jobs": list(estimate_difference.jobs([watch for watch, *_ in rows]).not_done()),
        "runs": open_runs(lead.campaign),
        "predictors": lead.campaign.predictors.exclude(ended=None),
        "measures": [parse_measure(each) for each in NDCG],
    }
    return _page(request, lead, "differences", **context)


@require_POST
def watch_difference(request: HttpRequest, name: str) -> HttpResponse:
    """Watch a difference of two runs."""
    lead = access.lead(request, name)
    watch = begin(lead, **valid_data(WatchForm(request.POST)))
    messages.success(request, f"You watch {watch}.")
    return redirect(_address(lead.campaign, view="differences"))


@require_POST
def change_watch(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Look at a difference now, or watch it no longer, by which its looks are forgotten."""
    lead = access.lead(request, name)
    watch = access.watch(lead, pk)
    if "end" in request.POST:
        watch.delete()
        messages.success(request, f"You no longer watch {watch}.")
    else:
        estimate_difference.ask(watch)
    return redirect(_address(lead.campaign, view="differences"))


TABS: dict[str, Callable[[HttpRequest, Membership], HttpResponse]] = {
    "": lambda request, member: _board_page(request, member, valid_data(BoardForm(request.GET))),
    "figures": _figures,
    "runs": lambda request, member: _page(request, member, "runs", runs=runs_of(member).order_by("-number")),
    "differences": _differences,
    "held-back": _held_back,
    "again": _judged_again,
}


@require_safe
def download(request: HttpRequest, name: str, format: str) -> HttpResponse:
    """The leaderboard of the same address as a file."""
    member = access.participant(request, name)
    params = valid_data(BoardForm(request.GET))
    reference = board_reference(member, params.pop("release"))
    if reference is None or format not in FILES:
        raise Http404
    access.count_file(request)
    found = board(Run.objects.seen_by(member), reference, board_options(reference, **params))
    headers = {"Content-Disposition": f'attachment; filename="{name}-v{found.release.version}.{format}"'}
    return HttpResponse(FILES[format].write(found), content_type=FILES[format].content_type, headers=headers)


@require_POST
def ask_for(request: HttpRequest, name: str) -> HttpResponse:
    """Have all runs scored by one more measure, and lead to the leaderboard that shows it; a lead removes one."""
    member, form = access.participant(request, name), MeasureForm(request.POST)
    if "remove" in request.POST:
        lead, data = access.lead(request, name), valid_data(form)
        measure = measure_named(data["measure"])
        remove_measure(_reference(lead, data["release"]).release, measure, lead)
        messages.success(request, f"{measure} is removed.")
        return redirect(_address(lead.campaign, convention=data["convention"]))
    if form.is_valid():
        with refusal_at_field(form):
            return _ask_for_measure(request, member, form.cleaned_data)
    return _board_page(request, member, {"convention": form.cleaned_data.get("convention", "")}, form, 400)


def _ask_for_measure(request: HttpRequest, member: Membership, data: dict[str, Any]) -> HttpResponse:
    """Ask for the measure, and redirect to the leaderboard with the usual columns and the new one."""
    reference, convention = _reference(member, data["release"]), data["convention"]
    measure = measure_named(data["measure"])
    ask_for_measure(reference.release, measure, member)
    reference.refresh_from_db(fields=["measures"])
    messages.success(request, f"The runs are being scored by {measure}. Its column fills as soon as that is done.")
    measures = board_options(reference, convention).measures
    known = known_measures(convention, reference)
    columns = [str(each) for each in dict.fromkeys([*measures, measure]) if each in known]
    return redirect(_address(member.campaign, convention=convention, m=columns))


def _reference(member: Membership, version: int | None) -> ScoringReference:
    found = board_reference(member, version)
    if found is None:
        raise Http404
    return found


def _address(campaign: Campaign, **params: Any) -> str:
    return f"{reverse('leaderboard', args=[campaign.name])}?{urlencode(params, doseq=True)}"
