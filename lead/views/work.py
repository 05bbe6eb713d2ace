"""Work: the jobs of a campaign, of a corpus, and of the whole site; trying one again, and cancelling one."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from campaigns import access
from campaigns.pages import campaign_page
from jobs.models import Job, in_words
from jobs.queue import CANCELLED, JobQuerySet

ON_A_PAGE = 25
TABS = {
    "": "All",
    Job.State.RUNNING: "Running",
    Job.State.FAILED: "Failed",
    CANCELLED: "Cancelled",
    Job.State.WAITING: "Waiting",
    Job.State.DONE: "Ended this week",
}


@require_safe
def campaign(request: HttpRequest, name: str) -> HttpResponse:
    """The jobs of a campaign and of its corpus."""
    member = access.membership(request, name)
    return campaign_page(request, member, _template(request), **_listed(request, access.jobs(member)))


@require_safe
def corpus(request: HttpRequest, name: str) -> HttpResponse:
    found = access.corpus(request, name=name)
    listed = _listed(request, access.jobs_of_corpus(request, found))
    return render(request, _template(request), {"corpus": found} | listed)


@require_safe
def site(request: HttpRequest) -> HttpResponse:
    """All jobs for those who run the site; for everybody else their own, such as those of their drafts."""
    return render(request, _template(request), _listed(request, access.jobs_of_site(request)))


@require_POST
def try_again(request: HttpRequest, pk: int) -> HttpResponse:
    """Have a job done once more that failed or waits, from its beginning. Doing it twice is harmless."""
    job = get_object_or_404(access.jobs_to_try_again(request).not_done(), pk=pk)
    job.try_again()
    return _back(request, job)


@require_POST
def cancel(request: HttpRequest, pk: int) -> HttpResponse:
    """End a job that waits or runs. Doing it twice is harmless."""
    job = get_object_or_404(access.jobs_to_change(request), pk=pk)
    job.end()
    return _back(request, job)


def _template(request: HttpRequest) -> str:
    return "lead/_work.html" if request.headers.get("hx-request") else "lead/work.html"


def _listed(request: HttpRequest, jobs: JobQuerySet) -> dict[str, Any]:
    """Return a page of the jobs with what the person may do with each, and how many there are in each state."""
    current = jobs.current()
    cancelled = current.cancelled()
    numbers = current.numbers() | {CANCELLED: cancelled.count()}
    numbers[Job.State.FAILED] -= numbers[CANCELLED]
    chosen = request.GET.get("state", "")
    chosen = chosen if chosen in TABS else ""
    listed = current.filter(state=chosen).exclude(pk__in=cancelled.values("pk")) if chosen else current
    listed = cancelled if chosen == CANCELLED else listed
    page = Paginator(listed.in_order(), ON_A_PAGE).get_page(request.GET.get("page"))
    keys = [job.pk for job in page]
    return {
        "page": page,
        "tabs": [
            (state, words, numbers.get(state, sum(numbers.values())), state == chosen) for state, words in TABS.items()
        ],
        "waits": [(lane, in_words(seconds)) for lane, seconds in Job.objects.waits().items() if seconds >= 1],
        "is_working": bool(numbers[Job.State.RUNNING] or numbers[Job.State.WAITING]),
        "to_try_again": set(access.jobs_to_try_again(request).filter(pk__in=keys).values_list("pk", flat=True)),
        "to_cancel": set(access.jobs_to_change(request).filter(pk__in=keys).values_list("pk", flat=True)),
    }


def _back(request: HttpRequest, job: Job) -> HttpResponse:
    """Return to the page of this site that the button was on."""
    back = request.POST.get("back", "")
    if url_has_allowed_host_and_scheme(back, allowed_hosts=None) and back.startswith("/"):
        return HttpResponseRedirect(back)
    return redirect(job.address or "site-work")
