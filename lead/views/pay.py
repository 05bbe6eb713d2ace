"""Hours and pay by period, as a page and as CSV, and their approval."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from base.problem_documents import refusal_as_message
from base.templatetags.page_parts import Heading
from campaigns.pages import campaign_page
from judging import doors
from reports.hours import Rates
from reports.pay import Period, may_be_approved, pay_of, sum_of, write_csv
from reports.pay import approve as approve_period


@require_safe
def hours(request: HttpRequest, name: str) -> HttpResponse:
    lead, period = doors.lead(request, name), Period.from_params(request.GET)
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
def approve(request: HttpRequest, name: str) -> HttpResponse:
    lead, period = doors.lead(request, name), Period.from_params(request.POST)
    with refusal_as_message(request):
        approved = approve_period(lead, period)
        messages.success(request, f"The hours and the pay from {approved} are approved.")
    return redirect(f"{reverse('hours', args=[name])}?{period.query}")


@require_safe
def as_csv(request: HttpRequest, name: str) -> HttpResponse:
    lead, period = doors.lead(request, name), Period.from_params(request.GET)
    names = request.GET.get("names") == "on"
    file = f"{name}-hours-{period.first}-{period.last}{'-names' if names else ''}.csv"
    answer = HttpResponse(content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{file}"'
    write_csv(answer, lead.campaign, period, names)
    return answer


def _headings(currency: str, several_rates: bool) -> list[Heading]:
    numbers = ("Batches", "Judgements", "Hours reported", "Counted", "Cut", f"Pay, {currency}".rstrip(", "))
    days = [Heading("Days")] if several_rates else []
    return [
        Heading("Worker", is_number=True),
        Heading("Name"),
        *days,
        *(Heading(words, is_number=True) for words in numbers),
    ]
