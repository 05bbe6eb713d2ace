"""Unjudged moments: what runs found and nobody has judged, having it judged, and the scores with and without it."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from base.forms import refusal_at_field, valid_data
from base.templatetags.page_parts import Heading
from campaigns.models import Membership
from campaigns.pages import campaign_page, while_working
from metrics import parse_measure
from releases.models import Release
from reports.figures.files import csv_file
from runs import access
from runs.forms import OpeningForm, PoolsForm, ProposalForm
from runs.measures import NDCG, USUAL
from runs.models import Enlargement, Near
from runs.pools.comparing import HEADLINE, Comparison, batches_of, compare_pools, comparison, found_moments
from runs.pools.enlarging import PoolPlan, ask_to_propose, opening_of, prepare_opening, propose_moments

MOST_SHOWN = 100  # moments
USUALLY_TAKEN = 50  # of the first, unless the lead says otherwise


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponse:
    """The moments of an enlargement, the scores by pools on the newest release that has several, and a proposal."""
    return _index(request, access.participant(request, name))


def _index(
    request: HttpRequest,
    member: Membership,
    form: ProposalForm | None = None,
    opening: OpeningForm | None = None,
    number: int | None = None,
    status: int = 200,
) -> HttpResponse:
    enlargements = list(member.campaign.enlargements.select_related("lead__user", "release", "opened_by__user"))
    number = number or valid_data(PoolsForm(request.GET))["enlargement"]
    chosen = next((each for each in enlargements if number in (None, each.number)), None)
    if number and chosen is None:
        raise Http404
    jobs = list(propose_moments.jobs(chosen).not_done()) if chosen else []
    if request.headers.get("hx-request"):
        bar = render(request, "parts/progress.html", {"progress": request.get_full_path(), "jobs": jobs})
        return while_working(bar, any(job.is_unfinished for job in jobs))
    context: dict[str, Any] = {
        "enlargements": [(each, batches_of(each) if each.opened else []) for each in enlargements],
        "enlargement": chosen,
        "jobs": jobs,
        "unfinished": any(job.is_unfinished for job in jobs),
        "progress": request.get_full_path(),
        "form": (form or ProposalForm(member.campaign)) if member.may_review else None,
        **_by_pool(request, member),
        **(_findings(chosen, member, opening) if chosen else {}),
    }
    return campaign_page(request, member, "runs/unjudged.html", status, **context)


def _by_pool(request: HttpRequest, member: Membership) -> dict[str, Any]:
    """What the page shows of the scores by pools."""
    release, measure, compared = _compared(request, member)
    newest = member.campaign.releases.newest()
    return {
        "release": release,
        "newest": newest,
        "compared": compared,
        "headings": _headings(compared.has_reused if compared else False),
        "measure": parse_measure(measure),
        "measures": [parse_measure(each) for each in NDCG],
        "convention": USUAL,
        "comparing": list(compare_pools.jobs(newest).not_done()) if newest else [],
    }


@require_safe
def as_csv(request: HttpRequest, name: str) -> HttpResponse:
    """The scores by pools of the same address as a file."""
    release, measure, compared = _compared(request, access.participant(request, name))
    if release is None or compared is None:
        raise Http404
    access.count_file(request)
    return csv_file(compared.lines(release, measure), f"{name}-v{release.version}-pools")


def _compared(request: HttpRequest, member: Membership) -> tuple[Release | None, str, Comparison | None]:
    """Return the newest release that has several pools, the measure of the address, and the scores by it."""
    measure = valid_data(PoolsForm(request.GET))["measure"] or HEADLINE
    with_pools = Release.objects.filter(campaign=member.campaign, pool_scores__isnull=False)
    release = with_pools.order_by("version").last()
    return release, measure, comparison(member, release, measure) if release else None


def _headings(has_reused: bool) -> list[Heading]:
    """Return the columns of the scores by pools."""
    numbers = ["Before", "After", "First pool", "Enlarged pool", "Difference", "Without its own", "Bias"]
    more = ["With near grades"] if has_reused else []
    return [Heading("Run"), *(Heading(each, is_number=True) for each in [*numbers, *more])]


@require_POST
def propose(request: HttpRequest, name: str) -> HttpResponse:
    """Ask which moments would decide between the chosen runs."""
    lead = access.lead(request, name)
    form = ProposalForm(lead.campaign, request.POST)
    if form.is_valid():
        data = form.cleaned_data
        with refusal_at_field(form):
            made = ask_to_propose(lead, PoolPlan(data["run"], data["depth"], data["iou"]))
            return redirect(f"{reverse('unjudged', args=[name])}?enlargement={made.number}")
    return _index(request, lead, form, status=400)


def _findings(enlargement: Enlargement, member: Membership, form: OpeningForm | None) -> dict[str, Any]:
    """What the page says of the moments, once they are found."""
    if enlargement.found is None:
        return {}
    there = len(enlargement.to_judge(Near.LEAVE))
    return {
        "found": found_moments(enlargement, member, MOST_SHOWN),
        "there": there,
        "near": len(enlargement.moments) - there,
        "more": len(enlargement.moments) - MOST_SHOWN,
        "queries": len({moment["query"] for moment in enlargement.moments}),
        "opening": form or OpeningForm(initial={"taken": min(USUALLY_TAKEN, there)}),
        "batches": batches_of(enlargement) if enlargement.opened else [],
        "action": opening_of(enlargement) if enlargement.opened else None,
    }


@require_POST
def open_first(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """Preview what having the first moments judged would cost. Nothing is opened yet."""
    lead = access.lead(request, name)
    form = OpeningForm(request.POST)
    if form.is_valid():
        with refusal_at_field(form):
            action = prepare_opening(access.enlargement(lead, number), lead, **form.cleaned_data)
            return redirect("action", name, action.pk)
    return _index(request, lead, opening=form, number=number, status=400)
