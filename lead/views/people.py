"""The people of a campaign: who they are, what they did, what the lead can change; invitations; hours and pay."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
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
from campaigns.invitations import LINKS, invite_all, make_link, must_send_mails, named_links, write_links
from campaigns.models import Membership
from campaigns.models.invitation import DECISIONS
from campaigns.pages import campaign_page
from judging.review import decisions
from lead.forms.campaign import ApplicantForm, CreatesForm, MemberForm, PeriodForm
from reports.campaign_summaries import PEOPLE, current_summary
from reports.hours import Rates
from reports.lists import list_page
from reports.pay import Period, approve, may_be_approved, pay_of, sum_of, write_csv
from reports.tables.people import DAYS_SHOWN, PEOPLE_LIST, days_worked, people_rows, practised


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponseBase:
    return _index(request, access.lead(request, name))


def _index(request: HttpRequest, lead: Membership, status: int = 200, **context: object) -> HttpResponseBase:
    counted = current_summary(lead.campaign, PEOPLE)
    known: dict[str, object] = {
        "kept": counted,
        "form": InvitationsForm(lead.campaign),
        "link_form": LinkForm(auto_id="link_%s"),
    }
    rows = people_rows(lead.campaign, counted)
    return list_page(request, lead, "lead/people.html", PEOPLE_LIST, rows, status, **known | context)


@require_safe
def detail(request: HttpRequest, name: str, worker: int) -> HttpResponse:
    lead = access.lead(request, name)
    person = access.person(lead, worker)
    return campaign_page(
        request,
        lead,
        "lead/person.html",
        person=person,
        events=person.events.select_related("by__user"),
        days=days_worked(person),
        practised=practised(person),
        days_shown=DAYS_SHOWN,
        live=person.assignments.live().alone().select_related("batch__query").first(),
        roles=[(role, words) for role, words in Membership.Role.choices if role != person.role],
        may_let_create=may_let_create(lead, person),
        creates=may_create_campaigns(person.user),
    )


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
    return redirect("person", name, worker)


@require_POST
def change(request: HttpRequest, name: str, worker: int) -> HttpResponse:
    """One of the verbs of a membership; pausing may hand over the batch in hand too."""
    lead = access.lead(request, name)
    person, data = access.person(lead, worker), valid_data(MemberForm(request.POST))
    with refusal_as_message(request):
        done = _do(lead, person, data)
        messages.success(request, f"Worker {worker} {done}.")
    if data["back"] == "checks":
        return redirect("checks", name)
    return redirect("home") if person == lead else redirect("person", name, worker)


def _do(lead: Membership, person: Membership, data: dict[str, Any]) -> str:
    if data["verb"] == "role":
        decisions.change_role(person, data["role"], lead, data["reason"])
        return f"is now {data['role']}"
    return decisions.change_member(person, lead, data["verb"], data["reason"], data["hand_over"])


@require_POST
def invite(request: HttpRequest, name: str) -> HttpResponseBase:
    """Make a link for whoever has it, and show it, this once: only its hash is kept."""
    lead = access.lead(request, name)
    form = LinkForm(request.POST, auto_id="link_%s")
    if not form.is_valid():
        return _index(request, lead, status=400, link_form=form)
    made = make_link(lead, site_address(request), **form.cleaned_data)
    return _index(request, lead, link=made.link, invitation=made.invitation)


@require_POST
def invite_people(request: HttpRequest, name: str) -> HttpResponseBase:
    """Invite each person of a list, by mail or by links to hand out; if one line is wrong, nobody."""
    lead = access.lead(request, name)
    form = InvitationsForm(lead.campaign, request.POST)
    if not form.is_valid():
        return _index(request, lead, status=400, form=form)
    data = form.cleaned_data
    made = invite_all(lead, data["people"], data["way"], data["hours"], data["language"], site_address(request))
    if data["way"] == LINKS:
        messages.success(request, f"Links made: {len(made)}. Give each person their own.")
        return redirect("people-links", name)
    messages.success(request, f"Invited: {len(made)}. The mails are on their way.")
    return redirect("people", name)


@require_safe
def links(request: HttpRequest, name: str) -> HttpResponse:
    """The links of named people that a lead hands out, as long as nobody has used them."""
    lead = access.lead(request, name)
    return campaign_page(
        request, lead, "lead/people_links.html", links=named_links(lead.campaign, site_address(request))
    )


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
    return redirect("people", name)


@require_POST
def send_invitation(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Send the mail of an open invitation once more, with the same link."""
    lead = access.lead(request, name)
    invitation = get_object_or_404(lead.campaign.invitations.mailed(), pk=pk)
    must_send_mails()
    mails.ask_for(mails.mail_invitation, invitation, request, invitation.language)
    messages.success(request, f"The mail to {invitation.address} is on its way.")
    return redirect("people", name)


@require_POST
def withdraw_invitation(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    lead = access.lead(request, name)
    get_object_or_404(lead.campaign.invitations, pk=pk).withdraw(lead)
    messages.success(request, "The invitation is withdrawn: its link no longer works.")
    return redirect("people", name)


@require_safe
def hours(request: HttpRequest, name: str) -> HttpResponse:
    lead, period = access.lead(request, name), _period(valid_data(PeriodForm(request.GET)))
    rates = Rates.of(lead.campaign)
    lines = pay_of(lead.campaign, period, rates)
    worked, pay = sum_of(lines)
    parts = [(*days, rates.on(days[0])) for days in rates.stretches(period.first, period.last)]
    return campaign_page(
        request,
        lead,
        "lead/hours.html",
        period=period,
        rates=rates,
        lines=lines,
        parts=parts,
        several_rates=len(parts) > 1,
        headings=_headings(lead.campaign.currency, several_rates=len(parts) > 1),
        worked=worked,
        pay=pay,
        may_approve=may_be_approved(lead.campaign, period),
    )


@require_POST
def approve_hours(request: HttpRequest, name: str) -> HttpResponse:
    lead, period = access.lead(request, name), _period(valid_data(PeriodForm(request.POST)))
    with refusal_as_message(request):
        approved = approve(lead, period)
        messages.success(request, f"The hours and the pay from {approved} are approved.")
    return redirect(f"{reverse('hours', args=[name])}?{period.query}")


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


def _headings(currency: str, several_rates: bool) -> list[Heading]:
    numbers = ("Batches", "Judgements", "Hours reported", "Counted", "Cut", f"Pay, {currency}".rstrip(", "))
    days = [Heading("Days")] if several_rates else []
    return [
        Heading("Worker", is_number=True),
        Heading("Name"),
        *days,
        *(Heading(words, is_number=True) for words in numbers),
    ]
