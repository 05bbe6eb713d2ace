"""What happened: what leads changed, what was reopened, and the jobs of a campaign, of a corpus, and of the site."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from base.forms import valid_data
from base.problem_documents import refusal_as_message
from base.text import in_words
from campaigns import access
from campaigns.models import Membership
from campaigns.pages import campaign_page
from jobs.models import Job
from jobs.queue import CANCELLED, JobQuerySet
from judging import access as judging_access
from judging.review.actions import undo_reopening
from judging.review.reopening import OFF
from lead.forms.judging import PartForm
from reports.lists import list_page
from reports.tables.history import entries_of, history_listing, reopening_rows, reopenings_of

ON_A_PAGE, REOPENINGS_ON_A_PAGE = 25, 50
TABS = [("", "Changes"), ("reopened", "Reopened"), ("jobs", "Jobs")]
STATES = {
    "": "All",
    Job.State.RUNNING: "Running",
    Job.State.FAILED: "Failed",
    CANCELLED: "Cancelled",
    Job.State.WAITING: "Waiting",
    Job.State.DONE: "Ended this week",
}


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponseBase:
    """What leads changed, for leads; with `?view=reopened` what was reopened, with `?view=jobs` the jobs."""
    member = access.membership(request, name)
    tabs = [key for key, _ in tabs_for(member)]
    tab = request.GET.get("view", "")
    return {"": _changes, "reopened": _reopened, "jobs": _jobs}[tab if tab in tabs else tabs[0]](request, member)


def tabs_for(member: Membership) -> list[tuple[str, str]]:
    """Return the views that the member may see, with words; the first is shown if the address names none."""
    return TABS if member.may_review else TABS[1:]


def _changes(request: HttpRequest, lead: Membership) -> HttpResponseBase:
    listing, rows = history_listing(lead.campaign), entries_of(lead.campaign)
    return list_page(request, lead, "lead/activity.html", listing, rows, tabs=TABS, tab="")


def _reopened(request: HttpRequest, member: Membership) -> HttpResponse:
    page = Paginator(reopenings_of(member.campaign), REOPENINGS_ON_A_PAGE).get_page(request.GET.get("page"))
    rows = reopening_rows(page)
    people = member.campaign.memberships.annotators().select_related("user").order_by("worker")
    known = {"page": page, "reopenings": rows, "people": people, "off": OFF, "part": valid_data(PartForm(request.GET))}
    is_working = any(row.job and not row.job.has_failed for row in rows)
    return _page(request, member, "reopened", "lead/_reopenings.html", is_working=is_working, **known)


def _jobs(request: HttpRequest, member: Membership) -> HttpResponse:
    return _page(request, member, "jobs", "lead/_work.html", **listed_jobs(request, access.jobs(member)))


def _page(request: HttpRequest, member: Membership, tab: str, fragment: str, **known: Any) -> HttpResponse:
    """Return the page on a tab, or the part of it that it asks for again."""
    template = fragment if request.headers.get("hx-request") else "lead/activity.html"
    return campaign_page(request, member, template, tab=tab, tabs=tabs_for(member), **known)


@require_POST
def undo_reopened(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Undo a reopening, as far as nobody has begun to judge again."""
    lead = access.lead(request, name)
    record = judging_access.reopening(lead, pk)
    with refusal_as_message(request):
        at_once = undo_reopening(record, lead).undone_ended
        whole = f"This is being undone, query by query: {record}."
        messages.success(request, f"Undone: {record}, as far as nobody has begun it." if at_once else whole)
    return redirect(f"{reverse('activity', args=[name])}?view=reopened")


@require_safe
def corpus(request: HttpRequest, name: str) -> HttpResponse:
    found = access.corpus(request, name=name)
    listed = listed_jobs(request, access.jobs_of_corpus(request, found))
    return render(request, _template(request), {"corpus": found} | listed)


@require_safe
def site(request: HttpRequest) -> HttpResponse:
    """All jobs for those who run the site; for everybody else their own, such as those of their drafts."""
    return render(request, _template(request), listed_jobs(request, access.jobs_of_site(request)))


@require_POST
def try_again(request: HttpRequest, pk: int) -> HttpResponse:
    """Have a job done once more that failed or waits, from its beginning. Doing it twice is harmless."""
    job = get_object_or_404(Job.objects.not_done(), access.may_try_again(request), pk=pk)
    job.try_again()
    return _back(request, job)


@require_POST
def cancel(request: HttpRequest, pk: int) -> HttpResponse:
    """End a job that waits or runs. Doing it twice is harmless."""
    job = get_object_or_404(Job, access.may_cancel(request), pk=pk)
    job.end()
    return _back(request, job)


def _template(request: HttpRequest) -> str:
    return "lead/_work.html" if request.headers.get("hx-request") else "lead/work.html"


def listed_jobs(request: HttpRequest, jobs: JobQuerySet) -> dict[str, Any]:
    """Return a page of the jobs with what the person may do with each, and how many there are in each state."""
    current = jobs.current()
    cancelled = current.cancelled()
    numbers = current.numbers() | {CANCELLED: cancelled.count()}
    numbers[Job.State.FAILED] -= numbers[CANCELLED]
    chosen = request.GET.get("state", "")
    chosen = chosen if chosen in STATES else ""
    listed = current.filter(state=chosen).exclude(pk__in=cancelled.values("pk")) if chosen else current
    listed = cancelled if chosen == CANCELLED else listed
    cancel = access.may_cancel(request)
    listed = listed.annotate(may_cancel=cancel, may_try_again=access.may_try_again(request, cancel))
    page = Paginator(listed.in_order(), ON_A_PAGE).get_page(request.GET.get("page"))
    whole = sum(numbers.values())
    return {
        "page": page,
        "states": [(key, words, numbers.get(key, whole), key == chosen) for key, words in STATES.items()],
        "waits": [(lane, in_words(seconds)) for lane, seconds in Job.objects.waits().items() if seconds >= 1],
        "is_working": bool(numbers[Job.State.RUNNING] or numbers[Job.State.WAITING]),
    }


def _back(request: HttpRequest, job: Job) -> HttpResponse:
    """Return to the page of this site that the button was on."""
    back = request.POST.get("back", "")
    if url_has_allowed_host_and_scheme(back, allowed_hosts=None) and back.startswith("/"):
        return HttpResponseRedirect(back)
    return redirect(job.address or "site-work")
