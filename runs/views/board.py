"""The leaderboard as a page, as files and for everybody; a further measure, the held-back split, and the order of the
systems of a benchmark that is judged again.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from base.forms import refusal_at_field, valid_data
from base.problem_documents import refusal_as_message
from base.templatetags.page_parts import Heading
from campaigns.models import Campaign, Membership
from campaigns.pages import campaign_page
from metrics import CONVENTIONS, parse_measure
from reports.figures.files import csv_file
from runs import access
from runs.board.files import FILES, caption
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
from runs.board.options import BoardOptions, Queries, board_options, board_reference, known_measures, measure_named
from runs.board.table import Board, BoardRow, Cell, board
from runs.forms import BoardForm, MeasureForm, OpenScoresForm, RejudgedForm, SplitForm
from runs.measures import NAMES, USUAL
from runs.models import Run, RunQuerySet, ScoringReference
from runs.rejudging import HEADLINE, IN_GRADES, OF_BENCHMARK, new_order
from runs.scoring import ask_for_measure, jobs_on, remove_measure


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponse:
    """The runs of a campaign in one table. Any measure can be a column, and a click sorts by it."""
    return _board_page(request, access.participant(request, name), valid_data(BoardForm(request.GET)))


def _board_page(
    request: HttpRequest, member: Membership, params: dict[str, Any], form: MeasureForm | None = None, status: int = 200
) -> HttpResponse:
    reference = board_reference(member, params.pop("release", None))
    if reference is None:
        return campaign_page(request, member, "runs/no_board.html", release=member.campaign.releases.newest())
    options = board_options(reference, **params)
    found = board(Run.objects.seen_by(member), reference, options)
    context: dict[str, Any] = {
        "board": found,
        "headings": _headings(request, options, member.campaign),
        "queries": Queries(reference),
        "conventions": [CONVENTIONS[each] for each in NAMES],
        "columns": [(m, m in options.measures) for m in known_measures(options.convention.name, reference)],
        "releases": member.campaign.releases.filter(scoring_reference__isnull=False).only("version"),
        "caption": caption(found),
        "formats": list(FILES),
        "rows": [(row, _with_tops(found, row)) for row in found.rows],
        "jobs": jobs_on(found.release),
        "form": form or MeasureForm(initial={"convention": options.convention.name}),
    }
    return campaign_page(request, member, "runs/leaderboard.html", status, **context)


@login_not_required
@require_safe
def public(request: HttpRequest, name: str) -> HttpResponse:
    """The leaderboard of the runs that everybody may see, without a word of queries or videos."""
    campaign, runs = access.public_board(request, name), Run.objects.listed().filter(campaign__name=name)
    reference = ScoringReference.objects.filter(release__campaign=campaign).order_by("release__version").last()
    found = board(runs, reference, board_options(reference)) if reference else None
    held = held_by(campaign)
    context: dict[str, Any] = {
        "about": campaign,
        "board": found,
        "headings": [Heading(m.spelling, is_number=True) for m in found.options.measures] if found else [],
        "rows": [(row, _with_tops(found, row)) for row in found.rows] if found else [],
        "caption": caption(found) if found else "",
        "citations": runs.exclude(citation="").order_by("name"),
        "held": held,
        **_held(held, runs),
    }
    return render(request, "runs/public_board.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def held_back(request: HttpRequest, name: str) -> HttpResponse:
    """The split that is held back, and the scores on it once a lead has opened them; a lead chooses and opens."""
    if request.method == "POST":
        lead = access.lead(request, name)
        with refusal_as_message(request):
            _change_held_back(lead, request.POST)
        return redirect("held-back", name)
    member = access.participant(request, name)
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
    return campaign_page(request, member, "runs/held_back.html", **context)


def _change_held_back(lead: Membership, data: QueryDict) -> None:
    if "split" in data:
        hold_back(lead, valid_data(SplitForm(data))["split"])
    if "open" in data:
        open_scores(lead, valid_data(OpenScoresForm(data))["open"])


def _held(held: ScoringReference | None, runs: RunQuerySet) -> dict[str, Any]:
    """Return what pages show of the scores on the split that is held back."""
    return {
        "held_rows": held_rows(held, runs) if held else [],
        "held_headings": [Heading(parse_measure(name).spelling, is_number=True) for name in MEASURES],
    }


@require_safe
def rejudged(request: HttpRequest, name: str) -> HttpResponse:
    """How the order of systems changes, by the benchmark's own measure and in grades; or how far judging is."""
    member = access.participant(request, name)
    benchmark, own = access.benchmark(member), _own_measure(request)
    context: dict[str, Any] = {
        "benchmark": benchmark,
        "order": new_order(member, own),
        "own": parse_measure(own),
        "measures": [parse_measure(each) for each in OF_BENCHMARK],
        "headings": _of_new_order(own),
        "convention": USUAL,
        "queries": member.campaign.queries.pool().count(),
        "closed": member.campaign.queries.pool().filter(closed=True).count(),
        "runs": Run.objects.seen_by(member).count(),
        "newest": member.campaign.releases.newest(),
    }
    return campaign_page(request, member, "runs/rejudged.html", **context)


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
        return _remove_measure(request, access.lead(request, name), valid_data(form))
    if form.is_valid():
        with refusal_at_field(form):
            return _ask_for_measure(request, member, form.cleaned_data)
    return _board_page(request, member, {"convention": form.cleaned_data.get("convention", "")}, form, 400)


def _remove_measure(request: HttpRequest, lead: Membership, data: dict[str, Any]) -> HttpResponse:
    measure = measure_named(data["measure"])
    remove_measure(_reference(lead, data["release"]).release, measure, lead)
    messages.success(request, f"{measure} is removed.")
    return redirect(_address(lead.campaign, convention=data["convention"]))


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


def _headings(request: HttpRequest, options: BoardOptions, campaign: Campaign) -> list[Heading]:
    """Return the headings of the table, each a link that sorts by its column and keeps the rest of the address."""

    def sorting(words: str, key: str, is_current: bool, is_number: bool) -> Heading:
        link = _address(campaign, **dict(request.GET.lists()) | {"sort": key})
        return Heading(words, is_number=is_number, address=link, is_current=is_current)

    measures = [sorting(m.spelling, str(m), m == options.sort, True) for m in options.measures]
    judged = Heading(options.judged, is_number=True)
    return [sorting("Run", "run", options.sort is None, False), *measures, judged]


def _with_tops(found: Board, row: BoardRow) -> list[tuple[Cell, float]]:
    """Return the cells of a row, each with the number at which its bar is full."""
    return [(cell, _top(found, n)) for n, cell in enumerate(row.cells)]


def _top(found: Board, column: int) -> float:
    """Return the largest number of a column, to which its bars are drawn."""
    cells = [row.cells[column] for row in found.rows]
    return max((max(cell.value or 0, cell.high or 0) for cell in cells), default=0) or 1
