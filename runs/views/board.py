"""The leaderboard as a page, as files and for everybody, asking for one more measure, the split held back, the order of
systems once a leaderboard is judged again, and differences of runs that leads watch.
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

from base.problem_documents import refusal_as_message
from base.request_fields import one_of, text_in, whole_in
from base.templatetags.page_parts import Heading
from campaigns.models import Campaign, Membership
from campaigns.pages import campaign_page
from judging.review.frontier import frontier
from metrics import CONVENTIONS, parse_measure
from releases.models import Release
from reports.figures.numbers import rows_as_csv
from runs import access
from runs.board.choices import Choices, Queries, choices_of, known_measures, measure_named, yardstick_of
from runs.board.files import FILES, caption
from runs.board.held_back import (
    FEW_QUERIES,
    MEASURES,
    change_held_back,
    entered_runs,
    entries_closed,
    held_by,
    held_rows,
    score_held_back,
    splits_of,
)
from runs.board.table import Board, Cell, Row, board
from runs.estimates.watches import Cost, Look, begin, cost_of, estimate_difference, last_look, watches_of
from runs.measures import NAMES, NDCG, USUAL
from runs.models import Run, RunQuerySet, Watch, Yardstick
from runs.pools.enlarging import open_runs
from runs.rejudging import HEADLINE, IN_GRADES, OF_BENCHMARK, new_order
from runs.scoring import ask_for_measure, jobs_on, remove_measure

WIDE = 0.02  # the least half of the width of a watched difference's picture


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponse:
    """The runs of a campaign in one table. Any measure can be a column, and a click sorts by it."""
    member = access.participant(request, name)
    yardstick = yardstick_of(member, request.GET)
    if yardstick is None:
        return campaign_page(request, member, "runs/no_board.html", release=member.campaign.releases.newest())
    choices, queries = choices_of(request.GET, yardstick), Queries(yardstick)
    found = board(Run.objects.seen_by(member), yardstick, choices, queries.chosen(request.GET))
    context: dict[str, Any] = {
        "board": found,
        "headings": _headings(request, choices),
        "queries": queries,
        "conventions": [CONVENTIONS[each] for each in NAMES],
        "columns": [(m, m in choices.measures) for m in known_measures(choices.convention.name, yardstick)],
        "releases": _releases(member),
        "caption": caption(found),
        "formats": list(FILES),
        "rows": [(row, _with_tops(found, row)) for row in found.rows],
        "jobs": jobs_on(found.release),
    }
    return campaign_page(request, member, "runs/leaderboard.html", **context)


@login_not_required
@require_safe
def public(request: HttpRequest, name: str) -> HttpResponse:
    """The leaderboard of the runs that everybody may see, without a word of queries or videos."""
    campaign, runs = access.public_board(request, name), Run.objects.listed().filter(campaign__name=name)
    yardstick = Yardstick.objects.filter(release__campaign=campaign).order_by("release__version").last()
    found = board(runs, yardstick, choices_of(QueryDict(), yardstick), None) if yardstick else None
    held = held_by(campaign)
    context: dict[str, Any] = {
        "about": campaign,
        "board": found,
        "headings": [Heading(m.spelling, is_number=True) for m in found.choices.measures] if found else [],
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
            change_held_back(lead, request.POST)
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


def _held(held: Yardstick | None, runs: RunQuerySet) -> dict[str, Any]:
    """Return what pages show of the scores on the split that is held back."""
    return {
        "held_rows": held_rows(held, runs) if held else [],
        "held_headings": [Heading(parse_measure(name).spelling, is_number=True) for name in MEASURES],
    }


@require_safe
def rejudged(request: HttpRequest, name: str) -> HttpResponse:
    """How the order of systems changes, by the benchmark's own measure and in grades; or how far judging is."""
    member = access.participant(request, name)
    benchmark, own = access.benchmark(member), request.GET.get("own", HEADLINE)
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


def _of_new_order(own: str) -> list[Heading]:
    """Return the columns of the page: a score and a place on the benchmark, and the same by each measure in grades."""
    graded = [f"{parse_measure(each).spelling} in grades" for each in IN_GRADES]
    scores = [f"{parse_measure(own).spelling} on the benchmark", *graded]
    pairs = [Heading(words, is_number=True) for each in scores for words in (each, "Place")]
    return [Heading("Run"), *pairs]


@require_safe
def rejudged_csv(request: HttpRequest, name: str) -> HttpResponse:
    """The order of the same address as a file."""
    member = access.participant(request, name)
    access.benchmark(member)
    access.count_file(request)
    found = new_order(member, request.GET.get("own", HEADLINE))
    if found is None:
        raise Http404
    answer = HttpResponse("".join(rows_as_csv(found.lines())), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}-v{found.release.version}-judged-again.csv"'
    return answer


@require_safe
def download(request: HttpRequest, name: str, format: str) -> HttpResponse:
    """The leaderboard of the same address as a file."""
    member = access.participant(request, name)
    yardstick = yardstick_of(member, request.GET)
    if yardstick is None or format not in FILES:
        raise Http404
    access.count_file(request)
    mask = Queries(yardstick).chosen(request.GET)
    found = board(Run.objects.seen_by(member), yardstick, choices_of(request.GET, yardstick), mask)
    answer = HttpResponse(FILES[format].write(found), content_type=FILES[format].content_type)
    answer["Content-Disposition"] = f'attachment; filename="{name}-v{found.release.version}.{format}"'
    return answer


@require_POST
def ask_for(request: HttpRequest, name: str) -> HttpResponse:
    """Have all runs scored by one more measure, and lead to the leaderboard that shows it; a lead removes one."""
    member = access.participant(request, name)
    yardstick = yardstick_of(member, request.POST)
    if yardstick is None:
        raise Http404
    convention = one_of("convention", request.POST.get("convention"), list(NAMES))
    measure = measure_named(text_in(request.POST, "measure", 80))
    if "remove" in request.POST:
        remove_measure(yardstick.release, measure, access.lead(request, name))
        messages.success(request, f"{measure} is removed.")
        return redirect(f"{reverse('leaderboard', args=[name])}?convention={convention}")
    ask_for_measure(yardstick.release, measure, member)
    yardstick.refresh_from_db(fields=["measures"])
    messages.success(request, f"The runs are being scored by {measure}. Its column fills as soon as that is done.")
    measures = choices_of(QueryDict(f"convention={convention}"), yardstick).measures
    known = known_measures(convention, yardstick)
    columns = [str(each) for each in dict.fromkeys([*measures, measure]) if each in known]
    address = urlencode({"convention": convention, "m": columns}, doseq=True)
    return redirect(f"{reverse('leaderboard', args=[name])}?{address}")


def _releases(member: Membership) -> list[Release]:
    return list(member.campaign.releases.filter(yardstick__isnull=False).only("version"))


def _headings(request: HttpRequest, choices: Choices) -> list[Heading]:
    """Return the headings of the table, each a link that sorts by its column and keeps the rest of the address."""

    def sorting(words: str, key: str, is_current: bool, is_number: bool) -> Heading:
        address = request.GET.copy()
        address["sort"] = key
        link = f"?{address.urlencode()}"
        return Heading(words, is_number=is_number, address=link, is_current=is_current)

    measures = [sorting(m.spelling, str(m), m == choices.sort, True) for m in choices.measures]
    judged = Heading(choices.judged, is_number=True)
    return [sorting("Run", "run", choices.sort is None, False), *measures, judged]


def _with_tops(found: Board, row: Row) -> list[tuple[Cell, float]]:
    """Return the cells of a row, each with the number at which its bar is full."""
    return [(cell, _top(found, n)) for n, cell in enumerate(row.cells)]


def _top(found: Board, column: int) -> float:
    """Return the largest number of a column, to which its bars are drawn."""
    cells = [row.cells[column] for row in found.rows]
    return max((max(cell.value or 0, cell.high or 0) for cell in cells), default=0) or 1


@require_http_methods(["GET", "HEAD", "POST"])
def watches(request: HttpRequest, name: str) -> HttpResponse:
    """The differences that leads watch, each with its last look; a POST begins another one."""
    lead = access.lead(request, name)
    if request.method == "POST":
        run, other, predictor = (whole_in(request.POST, field, "0") for field in ("run", "other", "predictor"))
        watch = begin(lead, run, other, text_in(request.POST, "measure", 80), predictor)
        messages.success(request, f"You watch {watch}.")
        return redirect("watches", name)
    jobs = list(estimate_difference.jobs(watches_of(lead.campaign)).not_done())
    context: dict[str, Any] = {
        "rows": _watched(lead.campaign),
        "frontier": frontier(lead.campaign),
        "jobs": jobs,
        "runs": open_runs(lead.campaign),
        "predictors": lead.campaign.predictors.exclude(ended=None),
        "measures": [parse_measure(each) for each in NDCG],
    }
    return campaign_page(request, lead, "runs/watches.html", **context)


@require_POST
def look_at(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Look at a difference now."""
    estimate_difference.ask(access.watch(access.lead(request, name), pk))
    return redirect("watches", name)


@require_POST
def end_watch(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Watch a difference no longer; its looks are forgotten."""
    watch = access.watch(access.lead(request, name), pk)
    watch.delete()
    messages.success(request, f"You no longer watch {watch}.")
    return redirect("watches", name)


def _watched(campaign: Campaign) -> list[tuple[Watch, Look | None, dict[str, str] | None, Cost | None]]:
    """Return the watched differences, with their last look, its picture, and what deciding them costs."""
    found = [(watch, last_look(watch)) for watch in watches_of(campaign)]
    widest = max([WIDE, *(max(abs(look.low), abs(look.high)) for _, look in found if look)])
    of_one = cost_of(campaign, 1) if any(look and look.more for _, look in found) else None
    return [
        (watch, look, _picture(look, widest), of_one.times(look.more) if of_one and look.more else None)
        if look
        else (watch, None, None, None)
        for watch, look in found
    ]


def _picture(look: Look, widest: float) -> dict[str, str]:
    """Return where the ends of the interval and the difference stand, between 0 and 100; no difference is at 50."""
    return {end: f"{50 + 50 * getattr(look, end) / widest:.1f}" for end in ("low", "value", "high")}
