"""The leaderboard as a page and as files, and asking for one more measure."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST, require_safe

from base.request_fields import one_of, text_in
from base.templatetags.page_parts import Heading
from campaigns.models import Membership
from campaigns.pages import campaign_page
from metrics import CONVENTIONS
from releases.models import Release
from runs import access
from runs.board.choices import Choices, Queries, choices_of, known_measures, measure_named, yardstick_of
from runs.board.files import FILES, caption
from runs.board.table import Board, board
from runs.measures import NAMES
from runs.scoring import ask_for_measure, jobs_on, newest_release


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponse:
    """The runs of a campaign in one table. Any measure can be a column, and a click sorts by it."""
    member = access.membership(request, name)
    yardstick = yardstick_of(member, request.GET)
    if yardstick is None:
        return campaign_page(request, member, "runs/no_board.html", release=newest_release(member.campaign))
    choices, queries = choices_of(request.GET, yardstick), Queries(yardstick)
    found = board(member, yardstick, choices, queries.chosen(request.GET))
    tops = [_top(found, n) for n in range(len(choices.measures))]
    context: dict[str, Any] = {
        "board": found,
        "headings": _headings(request, choices),
        "queries": queries,
        "conventions": [CONVENTIONS[each] for each in NAMES],
        "columns": [(m, m in choices.measures) for m in known_measures(choices.convention.name, yardstick)],
        "releases": _releases(member),
        "caption": caption(found),
        "formats": list(FILES),
        "rows": [(row, list(zip(row.cells, tops, strict=True))) for row in found.rows],
        "jobs": jobs_on(found.release),
    }
    return campaign_page(request, member, "runs/leaderboard.html", **context)


@require_safe
def download(request: HttpRequest, name: str, format: str) -> HttpResponse:
    """The leaderboard of the same address as a file."""
    member = access.membership(request, name)
    yardstick = yardstick_of(member, request.GET)
    if yardstick is None or format not in FILES:
        raise Http404
    found = board(member, yardstick, choices_of(request.GET, yardstick), Queries(yardstick).chosen(request.GET))
    answer = HttpResponse(FILES[format].write(found), content_type=FILES[format].content_type)
    answer["Content-Disposition"] = f'attachment; filename="{name}-v{found.release.version}.{format}"'
    return answer


@require_POST
def ask_for(request: HttpRequest, name: str) -> HttpResponse:
    """Have all runs scored by one more measure, and lead to the leaderboard that shows it."""
    member = access.membership(request, name)
    yardstick = yardstick_of(member, request.GET)
    if yardstick is None:
        raise Http404
    convention = one_of("convention", request.POST.get("convention"), list(NAMES))
    measure = measure_named(text_in(request.POST, "measure", 80))
    ask_for_measure(yardstick.release, measure)
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


def _top(found: Board, column: int) -> float:
    """Return the largest number of a column, to which its bars are drawn."""
    cells = [row.cells[column] for row in found.rows]
    return max((max(cell.value or 0, cell.high or 0) for cell in cells), default=0) or 1
