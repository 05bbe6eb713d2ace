"""The overview of a campaign: how far, how good, what blocks, who works, when it ends and for how much."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from base.forms import valid_data
from base.problem_documents import refusal_as_message
from base.sites import site_address
from campaigns import access, mails
from campaigns.models import Campaign, Membership
from campaigns.pages import campaign_page, while_working
from judging.review.frontier import Frontier, frontier, reach
from lead.desk import checklist, jobs_of, reused, tiles
from lead.forms.campaign import DigestForm, HoursForm
from lead.marks import panels
from lead.views.agreement import alpha_of, plot_of
from reports.campaign_summaries import AGREEMENT, PROGRESS, SEVERITY, CurrentSummary, current_summaries
from reports.digest import happened, have_mailed, needs
from reports.figures.catalogue import OVERVIEW, SEVERITIES
from reports.figures.files import csv_file, files_at
from reports.figures.numbers import FigureSubject
from reports.steering import blockers
from reports.tables.judgements import widest_pairs
from runs.board.options import board_options, board_reference
from runs.board.standing import as_table
from runs.board.table import board
from runs.estimates.planning import MOST_HOURS, next_hours
from runs.models import Run

BLOCKERS_SHOWN, CLIPS_SHOWN = 20, 5


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponse:
    """The overview. To a researcher it shows neither what needs a lead nor pay."""
    member = access.participant(request, name)
    if not member.sees_grades:
        return redirect("leaderboard", name)
    found = frontier(member.campaign)
    known = _known(member, found)
    if request.GET.get("drawer") == "hours":
        known |= _hours(request, member, found, known["kept"].counts)
        if access.wants_csv(request):
            return csv_file(known["by_hour"], f"{name}-hours")
    elif request.GET.get("drawer") == "blockers":
        known |= _blockers(member.campaign, found)
    elif member.may_review:
        known |= {"since": happened(member.campaign), "address": mails.address_of(member.user)}
    return campaign_page(request, member, "lead/campaign.html", **known)


def _known(member: Membership, found: Frontier) -> dict[str, Any]:
    campaign, jobs = member.campaign, jobs_of(member)
    kept = current_summaries(campaign, PROGRESS, AGREEMENT)
    numbers = tiles(campaign, found, kept, with_pay=member.may_review)
    pictures = _pictures(campaign, found, kept) if len(numbers) > 1 else []
    known = {"jobs": jobs, "frontier": found, "kept": kept[PROGRESS], "tiles": numbers, "pictures": pictures}
    known["reused"] = reused(campaign)
    if member.may_review:
        known["needs"] = needs(campaign, jobs["n_failed"], found=found)
        known["checklist"] = [] if pictures else checklist(campaign)
    return known


def _pictures(campaign: Campaign, found: Frontier, kept: dict[str, CurrentSummary]) -> list[dict[str, Any]]:
    """Return the pictures with what they show in words, and the addresses of their files."""
    words = {"burn-up": f"{found.sample + found.beyond:,} of {found.queries:,} queries are finished."}
    words["today"] = "Today's judgements of each annotator."
    subject = FigureSubject(campaign)
    return [
        {
            "figure": each,
            "words": words.get(each.key) or each.tells(each.rows(kept[each.summary].counts, subject)),
            "caption": each.captioned(kept[each.summary].counts, subject),
            "files": files_at(reverse("figure", args=[campaign.name, f"{each.key}.KIND"])),
        }
        for each in OVERVIEW
    ]


def _blockers(campaign: Campaign, found: Frontier) -> dict[str, Any]:
    """Return who and what holds finished queries back, and how many each of them frees."""
    listed = blockers(campaign, found)
    known = {"rows": listed[:BLOCKERS_SHOWN], "more": len(listed[BLOCKERS_SHOWN:])}
    return {"drawer": "blockers", "reach": reach(campaign), "most": listed[0].freed if listed else 0, **known}


@require_safe
def meeting(request: HttpRequest, name: str) -> HttpResponse:
    """Six screens for a meeting: progress, agreement, people, disputed clips, the order of systems, and the price."""
    member = access.membership(request, name)
    campaign, found = member.campaign, frontier(member.campaign)
    kept = current_summaries(campaign, PROGRESS, AGREEMENT, SEVERITY)
    numbers = tiles(campaign, found, kept, with_pay=member.may_review)
    known: dict[str, Any] = {"tiles": numbers, "kept": kept[PROGRESS], "is_begun": len(numbers) > 1}
    if known["is_begun"]:
        known |= alpha_of(campaign, kept[AGREEMENT].counts) | {"clips": widest_pairs(campaign, CLIPS_SHOWN)}
        known["pictures"] = {each["figure"].key.replace("-", "_"): each for each in _pictures(campaign, found, kept)}
        known["severities"] = plot_of(SEVERITIES, kept[SEVERITY].counts, FigureSubject(campaign))
    if reference := board_reference(member):
        options = board_options(reference, seeds="together")
        known |= as_table(board(Run.objects.seen_by(member), reference, options))
    return campaign_page(request, member, "lead/meeting.html", **known)


def _hours(request: HttpRequest, member: Membership, found: Frontier, counts: Any) -> dict[str, Any]:
    """Return what the chosen hours of judging buy, with a picture and its numbers."""
    hours = valid_data(HoursForm(request.GET))["hours"] or 1
    numbers = next_hours(member, found, counts, with_pay=member.may_review)
    known = [each for each in numbers if each.values]
    rows = [{"hours": hour} | {each.title: each.values[hour] for each in known} for hour in range(MOST_HOURS + 1)]
    listed = [(each, each.at(0), each.at(hours)) for each in known]
    words = "; ".join(f"{each.title}: {now} now, {then} after {hours} hours" for each, now, then in listed)
    drawn = panels([(each.title, each.values) for each in known], hours, words)
    unknown = [each for each in numbers if each.why]
    return {"drawer": "hours", "hours": hours, "bought": listed, "unknown": unknown, "drawn": drawn, "by_hour": rows}


@require_safe
def jobs(request: HttpRequest, name: str) -> HttpResponse:
    """The bars of the jobs under way; asks for itself again while there are any."""
    member = access.membership(request, name)
    found = jobs_of(member)
    return while_working(campaign_page(request, member, "lead/_jobs.html", jobs=found), bool(found["unfinished"]))


@require_POST
def mail_digest(request: HttpRequest, name: str) -> HttpResponse:
    """Send the lead who asks a summary each morning, or no longer."""
    lead = access.lead(request, name)
    wanted = valid_data(DigestForm(request.POST))["wanted"] == "yes"
    with refusal_as_message(request):
        have_mailed(lead, site_address(request) if wanted else "")
        messages.success(request, "You get a mail each morning." if wanted else "You get no more such mails.")
    return redirect("campaign", name)
