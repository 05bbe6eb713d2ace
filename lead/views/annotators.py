"""Annotators: their table in several views, one annotator's page, invitations, limits, hours and pay."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from base.forms import valid_data
from base.problem_documents import refusal_as_message
from base.sites import site_address
from base.templatetags.page_parts import Heading
from campaigns import access, mails
from campaigns.access import let_create, let_create_no_longer, may_create_campaigns, may_let_create
from campaigns.forms import InvitationsForm, LinkForm
from campaigns.invitations import LINKS, invite_all, link_of, make_link, must_send_mails, named_links, write_links
from campaigns.models import Membership
from campaigns.models.invitation import DECISIONS
from campaigns.pages import campaign_page
from judging.consensus import GRADES
from judging.quality import check_results
from judging.quality.exam import LONGEST_REASON
from judging.review import decisions
from judging.review.frontier import frontier
from judging.review.reopening import OFF
from judging.settings import SteeringForm
from lead.forms.campaign import BY_PACE, STEPS, ApplicantForm, CreatesForm, MemberForm, PeriodForm
from lead.views.agreement import named_people, plot_of
from reports.campaign_summaries import AGREEMENT, WORKING, current_summaries
from reports.figures.catalogue import DRIFT, LEARNING
from reports.figures.numbers import FigureSubject, annotator_of, week_name
from reports.hours import Rates
from reports.lists import list_page
from reports.pay import Period, approve, days_of, may_be_approved, pay_of, sum_of, unusual, write_csv
from reports.steering import outlook, steered
from reports.tables.annotators import OF_VIEWS, annotator_rows, annotators_listing, far_off, funnel
from reports.tables.examinees import examination
from reports.tables.people import DAYS_SHOWN, invited_rows, last_days, practised

VIEWS = {"progress": "Progress", "quality": "Quality", "pay": "Pay", "limits": "Limits", "order": "Order of work"}
OF_QUERIES = ("priority", "share")  # the steps that are about queries, not about annotators who are ticked
VERBS = {code: form.title for code, form in STEPS.items()} | {"reopen": "Reopen judgements"}
PAIRS_ON_A_PAGE = 50
Known = dict[str, Any]


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponseBase:
    lead, drawer = access.lead(request, name), request.GET.get("drawer", "")
    known = _invitations(request, lead) if drawer == "invitations" else {}
    return _index(request, lead, **known or (_step(lead, drawer, request.GET) if drawer in VERBS else {}))


def _index(request: HttpRequest, lead: Membership, status: int = 200, **drawer: Any) -> HttpResponseBase:
    """Render the table in the view that the address names, with a drawer or without."""
    view = request.GET.get("view", "")
    view = view if view in VIEWS else "progress"
    known = {"views": VIEWS, "view": view} | drawer
    if view == "pay":
        data = valid_data(PeriodForm(request.GET))
        known |= _pay(lead, _period(data), data["sort"])
    if view not in OF_VIEWS:
        known |= {"steered": steered(lead.campaign), "frontier": frontier(lead.campaign)} if view == "order" else {}
        return campaign_page(request, lead, "lead/annotators.html", status, **known)
    rows, summaries = annotator_rows(lead.campaign)
    steps, asking = funnel(lead.campaign, rows)
    verbs = [{"code": code, "label": label} for code, label in VERBS.items() if code not in OF_QUERIES]
    known |= {"kept": summaries[AGREEMENT], "steps": steps, "asking": asking, "list_verbs": verbs}
    return list_page(request, lead, "lead/annotators.html", annotators_listing(view), rows, status, **known)


@require_POST
def tick(request: HttpRequest, name: str) -> HttpResponse:
    """Open the drawer of what is to be done with the annotators that were ticked."""
    lead, data = access.lead(request, name), request.POST
    choices = annotators_listing("progress").choices(QueryDict(data.get("view", "")))
    rows = choices.chosen(annotator_rows(lead.campaign)[0]) if data.get("which") == "all" else []
    who = ",".join(str(row.worker) for row in rows) or ",".join(data.getlist("row"))
    query = QueryDict(mutable=True)
    query.update({"view": choices.params.get("view", ""), "drawer": data.get("verb", ""), "who": who})
    return redirect(f"{reverse('annotators', args=[name])}?{query.urlencode()}")


def _step(lead: Membership, what: str, data: QueryDict, form: SteeringForm | None = None) -> Known:
    """Return the drawer of a step: who is chosen, its form, and what it would lead to once it is filled in."""
    who = data.get("who", "")
    chosen = lead.campaign.memberships.reachable().filter(worker__in=re.findall("[0-9]{1,9}", who))
    known: Known = {"drawer": what, "title": VERBS[what], "chosen": list(chosen.select_related("user"))}
    if what not in STEPS:
        return known
    is_filled = bool(data.keys() & STEPS[what].base_fields.keys() - {"who"})
    form = form or STEPS[what](lead, data if is_filled else None)
    form.initial = {"who": who}
    if "," in who and "who" in form.fields:
        form.fields["who"].widget.choices.append((who, f"The {len(known['chosen'])} annotators that are ticked"))
    found = outlook(lead.campaign, form.apply) if form.is_valid() and form.has_outlook else None
    return known | {"form": form, "found": found}


@require_POST
def steer(request: HttpRequest, name: str, what: str) -> HttpResponseBase:
    """Do what the drawer of a step has shown."""
    lead = access.lead(request, name)
    if what not in STEPS:
        raise Http404
    form = STEPS[what](lead, request.POST)
    if not form.is_valid():
        return _index(request, lead, status=400, **_step(lead, what, request.POST, form))
    with refusal_as_message(request):
        messages.success(request, form.apply())
    view = request.GET.get("view", "")
    return redirect(f"{reverse('annotators', args=[name])}{f'?view={view}' if view in VIEWS else ''}")


def _invitations(request: HttpRequest, lead: Membership, **forms: Any) -> Known:
    """Return the drawer of invitations: who asks to join, who is invited, links to hand out, and the forms."""
    site, invited = site_address(request), []
    for row in invited_rows(lead.campaign):
        own = row.invitation if row.is_open else None
        invited.append((row, link_of(own, site) if own and own.by_hand else None))
    known = {"people_form": InvitationsForm(lead.campaign), "link_form": LinkForm(auto_id="link_%s")}
    return known | {"drawer": "invitations", "invited": invited} | forms


@require_POST
def invite(request: HttpRequest, name: str) -> HttpResponseBase:
    """Make a link for whoever has it, and show it, this once: only its hash is kept."""
    lead = access.lead(request, name)
    form = LinkForm(request.POST, auto_id="link_%s")
    if not form.is_valid():
        return _index(request, lead, 400, **_invitations(request, lead, link_form=form))
    made = make_link(lead, site_address(request), **form.cleaned_data)
    return _index(request, lead, **_invitations(request, lead, link=made.link, invitation=made.invitation))


@require_POST
def invite_people(request: HttpRequest, name: str) -> HttpResponseBase:
    """Invite each person of a list, by mail or by links to hand out; if one line is wrong, nobody."""
    lead = access.lead(request, name)
    form = InvitationsForm(lead.campaign, request.POST)
    if not form.is_valid():
        return _index(request, lead, 400, **_invitations(request, lead, people_form=form))
    data = form.cleaned_data
    made = invite_all(lead, data["people"], data["way"], data["hours"], data["language"], site_address(request))
    what = "Give each person their own." if data["way"] == LINKS else "The mails are on their way."
    messages.success(request, f"{'Links made' if data['way'] == LINKS else 'Invited'}: {len(made)}. {what}")
    return _to_invitations(name)


def _to_invitations(name: str) -> HttpResponse:
    return redirect(f"{reverse('annotators', args=[name])}?drawer=invitations")


@require_safe
def links_csv(request: HttpRequest, name: str) -> HttpResponse:
    lead = access.lead(request, name)
    access.count_file(request)
    answer = HttpResponse(content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}-links.csv"'
    write_links(answer, named_links(lead.campaign, site_address(request)))
    return answer


@require_POST
def decide(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Let somebody join who asks to, or not."""
    lead = access.lead(request, name)
    applicant, action = access.applicant(lead, pk), valid_data(ApplicantForm(request.POST))["action"]
    with refusal_as_message(request):
        DECISIONS[action](applicant, lead)
        messages.success(
            request, f"{applicant.user.get_username()} {'has joined' if action == 'approve' else 'does not join'}."
        )
    return _to_invitations(name)


@require_POST
def send_invitation(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Send the mail of an open invitation once more, with the same link."""
    lead = access.lead(request, name)
    invitation = get_object_or_404(lead.campaign.invitations.mailed(), pk=pk)
    must_send_mails()
    mails.ask_for(mails.mail_invitation, invitation, request, invitation.language)
    messages.success(request, f"The mail to {invitation.address} is on its way.")
    return _to_invitations(name)


@require_POST
def withdraw_invitation(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    lead = access.lead(request, name)
    get_object_or_404(lead.campaign.invitations, pk=pk).withdraw(lead)
    messages.success(request, "The invitation is withdrawn: its link no longer works.")
    return _to_invitations(name)


def _pay(lead: Membership, period: Period, sort: str) -> Known:
    """Return the hours and the pay of a period, a line for each annotator and rate, and what is unusual about it."""
    rates = Rates.of(lead.campaign)
    rows = pay_of(lead.campaign, period, rates)
    worked, pay = sum_of(rows)
    lines = list(zip(rows, unusual(rows), strict=True))
    if sort == BY_PACE:
        lines.sort(key=lambda line: line[0].pace or 0, reverse=True)
    parts = [(first, last, rates.on(last)) for first, last in rates.stretches(period.first, period.last)]
    return {
        "period": period,
        "rates": rates,
        "lines": lines,
        "parts": parts,
        "several_rates": len(parts) > 1,
        "headings": _headings(lead.campaign.currency, len(parts) > 1, period, sort),
        "worked": worked,
        "pay": pay,
        "may_approve": may_be_approved(lead.campaign, period),
    }


@require_POST
def approve_hours(request: HttpRequest, name: str) -> HttpResponse:
    lead, period = access.lead(request, name), _period(valid_data(PeriodForm(request.POST)))
    with refusal_as_message(request):
        approved = approve(lead, period)
        messages.success(request, f"The hours and the pay from {approved} are approved.")
    return redirect(f"{reverse('annotators', args=[name])}?view=pay&{period.query}")


@require_safe
def hours_csv(request: HttpRequest, name: str) -> HttpResponse:
    lead, data = access.lead(request, name), valid_data(PeriodForm(request.GET))
    period, names = _period(data), data["names"]
    access.count_file(request)
    file = f"{name}-hours-{period.first}-{period.last}{'-names' if names else ''}.csv"
    answer = HttpResponse(content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{file}"'
    write_csv(answer, lead.campaign, period, names)
    return answer


def _period(data: dict[str, Any]) -> Period:
    return Period.between(data["from"], data["to"])


def _headings(currency: str, several_rates: bool, period: Period, sort: str) -> list[Heading]:
    address = f"?view=pay&{period.query}"
    texts = ("Batches", "Judgements", "Hours reported", "Counted", "Cut", f"Pay, {currency}".rstrip(", "))
    numbers = [Heading(words, is_number=True) for words in texts]
    pace = Heading("Seconds a clip", True, address=f"{address}&sort={BY_PACE}", is_current=sort == BY_PACE)
    days = [Heading("Days")] if several_rates else []
    who = Heading("Annotator", address=address, is_current=sort != BY_PACE)
    return [who, *days, *numbers[:2], pace, *numbers[2:]]


@require_safe
def detail(request: HttpRequest, name: str, worker: int) -> HttpResponse:
    """One person: work and limits, agreement, attention checks, the exam. Researchers see agreement and the exam."""
    member = access.membership(request, name)
    person = access.person(member, worker)
    sections = _sections_for(member, person)
    view = request.GET.get("view", "") or next(iter(sections))
    if view not in sections:
        raise Http404
    known: Known = {"person": person, "views": {key: words for key, (words, _) in sections.items()}, "view": view}
    return campaign_page(request, member, "lead/annotator.html", **known | sections[view][1](request, member, person))


def _sections_for(member: Membership, person: Membership) -> dict[str, tuple[str, Callable[..., Known]]]:
    """Return the sections that the member may see of the person."""
    sections: list[tuple[str, str, Callable[..., Known], bool]] = [
        ("work", "Work", _work, member.may_review),
        ("agreement", "Agreement", _agreement, True),
        ("checks", "Attention checks", _checks, member.may_review and person.is_annotator),
        ("exam", "Exam", _exam, person.is_annotator),
    ]
    return {key: (words, section) for key, words, section, is_seen in sections if is_seen}


def _work(request: HttpRequest, lead: Membership, person: Membership) -> Known:
    days = days_of(person, last_days()[0])
    return {
        "days": sorted(days.items(), reverse=True),
        "bars": [days[day].judgements if day in days else 0 for day in last_days()],
        "far_off": far_off(person),
        "events": person.events.select_related("by__user"),
        "invitation": lead.campaign.invitations.filter(used_by=person.user_id).first(),
        "days_shown": DAYS_SHOWN,
        "live": person.assignments.in_turn().select_related("batch__query").first(),
        "roles": [(role, words) for role, words in Membership.Role.choices if role != person.role],
        "may_let_create": may_let_create(lead, person),
        "creates": person.role in Membership.SEES_ALL and may_create_campaigns(person.user),
    }


def _agreement(request: HttpRequest, member: Membership, person: Membership) -> Known:
    kept = current_summaries(member.campaign, AGREEMENT, WORKING)
    subject = FigureSubject(member.campaign, member=person)
    numbers, work = kept[AGREEMENT], kept[WORKING].counts
    own = annotator_of(numbers.counts, person) if numbers.counts else None
    return {
        "numbers": numbers,
        "counts": numbers.counts,
        "own": own,
        "others": named_people(member, own["others"]) if own else [],
        "drift": plot_of(DRIFT, numbers.counts, subject) if own else None,
        "learning": plot_of(LEARNING, work, subject) if own and work else None,
        "grades": GRADES,
        "off": OFF,
        "weeks": [row | {"name": week_name(row["week"])} for row in own["weeks"] if row["week"]] if own else [],
    }


def _checks(request: HttpRequest, lead: Membership, person: Membership) -> Known:
    """Return the pairs behind a number of the checks."""
    show = request.GET.get("pairs", "") or "all"
    if show not in check_results.SELECTIONS:
        raise Http404
    person.campaign = lead.campaign
    # The keys are asked for once, and counted here.
    keys = list(check_results.pairs_behind(person, show).values_list("pk", flat=True))
    page = Paginator(keys, PAIRS_ON_A_PAGE).get_page(request.GET.get("page"))
    page.object_list = check_results.pairs_behind(person, show, list(page.object_list))
    rules = {"window": check_results.WINDOW, "enough": check_results.ENOUGH}
    known = {"kind": show, "kinds": check_results.SELECTIONS, "checks": show != "speed", "page": page, "rules": rules}
    return known | {"recent": check_results.recent_checks(lead.campaign, person).get(person.pk), **practised(person)}


def _exam(request: HttpRequest, member: Membership, person: Membership) -> Known:
    person.campaign = member.campaign
    found, pairs = examination(person)
    events = person.events.select_related("by__user") if member.may_review else []
    return {"examinee": found, "pairs": pairs, "longest": LONGEST_REASON, "events": events}


@require_POST
def creates(request: HttpRequest, name: str, worker: int) -> HttpResponse:
    """Let somebody create campaigns, or no longer."""
    lead = access.lead(request, name)
    person = access.person(lead, worker)
    if not may_let_create(lead, person):
        raise Http404
    may = valid_data(CreatesForm(request.POST))["may"] == "yes"
    with refusal_as_message(request):
        (let_create if may else let_create_no_longer)(person.user, lead)
        who = f"{person.user.get_username()} may {'' if may else 'no longer '}create campaigns."
        messages.success(request, who)
    return redirect("annotator", name, worker)


@require_POST
def change(request: HttpRequest, name: str, worker: int) -> HttpResponse:
    """One of the verbs of a membership; pausing may hand over the batch in hand too."""
    lead = access.lead(request, name)
    person, data = access.person(lead, worker), valid_data(MemberForm(request.POST))
    with refusal_as_message(request):
        if data["verb"] == "role":
            decisions.change_role(person, data["role"], lead, data["reason"])
            done = f"is now {data['role']}"
        else:
            done = decisions.change_member(person, lead, data["verb"], data["reason"], data["hand_over"])
        messages.success(request, f"Worker {worker} {done}.")
    return redirect("home") if person == lead else redirect("annotator", name, worker)
