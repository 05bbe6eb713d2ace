"""What waits for a lead of a campaign, and the digest: that and what happened since yesterday, also by a daily mail."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.formats import date_format

from base.database import counts_for
from base.dates import start_of_day
from base.errors import WrongState
from campaigns import access, mails
from campaigns.invitations import must_send_mails
from campaigns.models import Applicant, Campaign, Membership
from jobs.queue import Lane
from jobs.registry import Report, each_hour, kind
from judging.models import Assignment, Batch, Flag, Kind, Question, Review, Revision, Sitting
from judging.work.claiming import STUCK_AFTER, stuck_batches, without_annotators
from reports.tables.people import idle_annotators
from reports.tables.queries import number_of, numbers_in_states, numbers_of_states, with_states

SENT_FROM = 6  # o'clock, in the time zone of the pages
DONE = (Batch.State.SETTLED, Batch.State.REVIEWED)


@dataclass(frozen=True)
class Need:
    """Something to do, or that happened: how much of it there is, in words, and where."""

    number: int
    one: str
    many: str
    address: str

    @property
    def words(self) -> str:
        return f"{self.number:,} {self.one if self.number == 1 else self.many}"


def needs(campaign: Campaign, failed_jobs: int, counts: dict[str, int] | None = None) -> list[Need]:
    """Everything of which there is at least one; `counts` are those of the campaign, if they are known."""
    counts = counts or counts_of(campaign.pk)
    pages = {
        name: reverse(name, args=[campaign.name])
        for name in ("campaign", "campaign-work", "people", "queue", "reviews", "exam")
    }
    listed = [
        Need(failed_jobs, "job failed", "jobs failed", f"{pages['campaign-work']}?state=failed"),
        Need(counts["asking"], "person asks to join", "people ask to join", pages["people"]),
        Need(counts["paused"], "annotator is paused", "annotators are paused", pages["people"]),
        Need(
            counts["stuck"],
            "contested batch has had no annotator for a day",
            "contested batches have had no annotator for a day",
            f"{pages['campaign']}?show=stuck",
        ),
        Need(
            counts["waiting"],
            "batch has nobody left who may judge it",
            "batches have nobody left who may judge them",
            f"{pages['campaign']}?show=waiting",
        ),
        Need(
            counts["idle"],
            "annotator has been idle for three days",
            "annotators have been idle for three days",
            pages["people"],
        ),
        Need(counts["failed"], "examinee failed the exam", "examinees failed the exam", pages["exam"]),
        Need(
            counts["unmarked"],
            "examinee waits for others or for your grades",
            "examinees wait for others or for your grades",
            pages["exam"],
        ),
        Need(counts["questions"], "question to answer", "questions to answer", pages["queue"]),
        Need(counts["flags"], "flag to look at", "flags to look at", pages["queue"]),
        Need(counts["to_review"], "batch to review", "batches to review", pages["reviews"]),
    ]
    return [need for need in listed if need.number]


def _what_needs_the_lead() -> dict[str, Any]:
    annotators = Membership.objects.annotators().filter(campaign=OuterRef("pk"))
    last = Sitting.objects.filter(member=OuterRef("pk")).order_by("-round").values("result")[:1]
    failed = annotators.annotate(last=Subquery(last)).filter(last=Sitting.Result.FAILED, qualified=None)
    unmarked = Sitting.objects.waiting().filter(ended__lt=Now() - STUCK_AFTER, member__qualified=None)
    rows: dict[str, QuerySet[Any]] = {
        "asking": Applicant.objects.waiting().filter(invitation__campaign=OuterRef("pk")),
        "idle": idle_annotators().filter(campaign=OuterRef("pk")),
        "paused": annotators.filter(state=Membership.State.PAUSED),
        "stuck": stuck_batches().filter(campaign=OuterRef("pk")),
        "waiting": without_annotators().filter(kind=Kind.POOL, campaign=OuterRef("pk")),
        "failed": failed.filter(state=Membership.State.ACTIVE),
        "unmarked": unmarked.filter(member__campaign=OuterRef("pk"), member__state=Membership.State.ACTIVE),
        "questions": Question.objects.waiting(OuterRef("pk")),
        "flags": Flag.objects.waiting(OuterRef("pk")),
        "to_review": Batch.objects.to_review().filter(campaign=OuterRef("pk")),
    }
    return {name: number_of(own) for name, own in rows.items()}


counts_of = counts_for(Campaign, _what_needs_the_lead)


OF_STATES = "state "  # begins the names of the numbers of queries in states


def _what_the_desk_counts() -> dict[str, Any]:
    states = {f"{OF_STATES}{state}": number for state, number in numbers_of_states("waiting").items()}
    return _what_needs_the_lead() | states


_on_the_desk = counts_for(Campaign, _what_the_desk_counts)


def counts_on_the_desk(campaign: Campaign) -> tuple[dict[str, int], dict[str, int]]:
    """Return how much of each kind waits for a lead, and how many queries are in each state.

    To count the queries that wait for somebody who may judge them takes as long as all the rest, and mostly no batch
    does.
    """
    counts = _on_the_desk(campaign.pk)
    states = {name.removeprefix(OF_STATES): n for name, n in counts.items() if name.startswith(OF_STATES)}
    waiting = numbers_in_states(campaign.pk)["waiting"] if counts["waiting"] else 0
    return counts, with_states(states) | {"waiting": waiting}


@dataclass(frozen=True)
class Digest:
    """What happened in a campaign since the beginning of yesterday, and what waits."""

    since: datetime
    happened: list[Need]
    waits: list[Need]


def digest_of(lead: Membership) -> Digest:
    """Return the digest as it stands now. Yesterday is that of the time zone of the pages."""
    since = start_of_day(later=-1)
    failed = access.jobs(lead).failed().count()
    return Digest(since, _happened(lead.campaign, since), needs(lead.campaign, failed))


def _happened(campaign: Campaign, since: datetime) -> list[Need]:
    """Everything of which there is at least one."""
    pages = {name: reverse(name, args=[campaign.name]) for name in ("campaign", "people", "agreement-judgements")}
    pool = Assignment.objects.filter(batch__campaign=campaign, batch__kind=Kind.POOL)
    first = Revision.objects.filter(number=1, at__gte=since, judgement__assignment__in=pool)
    submitted = pool.filter(state=Assignment.State.SUBMITTED, submitted__gte=since)
    settled = Batch.objects.filter(state__in=DONE, pk__in=submitted.order_by().values("batch"))
    reviewed = Review.objects.in_force().filter(batch__campaign=campaign, at__gte=since)
    flags = Flag.objects.filter(assignment__in=pool, at__gte=since)
    questions = Question.objects.filter(annotator__campaign=campaign, at__gte=since)
    joined = campaign.memberships.filter(joined__gte=since)
    listed = [
        Need(first.count(), "judgement", "judgements", pages["agreement-judgements"]),
        Need(settled.count(), "batch was settled", "batches were settled", pages["campaign"]),
        Need(reviewed.count(), "batch was reviewed", "batches were reviewed", pages["campaign"]),
        Need(flags.count(), "clip was flagged", "clips were flagged", reverse("queue", args=[campaign.name])),
        Need(questions.count(), "question came", "questions came", reverse("queue", args=[campaign.name])),
        Need(joined.count(), "person joined", "people joined", pages["people"]),
    ]
    return [each for each in listed if each.number]


def have_mailed(lead: Membership, site: str) -> None:
    """Send the lead the digest each morning from now on, or no longer. Doing it twice is harmless.

    `site` is the address of this site, to which the mails lead; empty for no mails. Raises WrongState if this site
    sends no mails, or if the lead has confirmed no address.
    """
    if site:
        must_send_mails()
        if not mails.address_of(lead.user):
            raise WrongState("Confirm a mail address first; it stands under your name, at the top of the page.")
    Membership.objects.filter(pk=lead.pk).update(digest_site=site)


def _wanted() -> QuerySet[Membership]:
    """Return the leads who want today's digest and have not had it."""
    had = Q(digest_sent__gte=timezone.localdate())
    return Membership.objects.leads().exclude(digest_site="").exclude(had)


@each_hour
def ask_for_digests() -> None:
    """Have the digests of this day sent, once it is morning."""
    if settings.MAILS and timezone.localtime().hour >= SENT_FROM:
        for lead in _wanted().select_related("campaign", "user"):
            mail_digest.ask(lead)


@kind(
    "mail-digest",
    "Send the digest",
    lane=Lane.QUICK,
    of=Membership,
    person="user",
    subject="{0.campaign}",
    page=("digest", "campaign.name"),
)
def mail_digest(lead: Membership, report: Report) -> None:
    """Send the lead the digest, if it is still wanted, says anything, and was not sent today.

    The day is noted before the mail goes. So nobody gets two, even if a worker is lost in the middle.
    """
    before, address = lead.digest_sent, mails.address_of(lead.user)
    digest = digest_of(lead)
    if not address or not (digest.happened or digest.waits):
        return
    if not _wanted().filter(pk=lead.pk).update(digest_sent=timezone.localdate()):
        return
    try:
        with translation.override("en"):
            mails.send(address, *in_words(lead, digest))
    except Exception:
        Membership.objects.filter(pk=lead.pk).update(digest_sent=before)  # the job tries again
        raise


def in_words(lead: Membership, digest: Digest) -> tuple[str, str]:
    """Return subject and text of the mail."""
    campaign, site = lead.campaign, settings.SITE_URL or lead.digest_site
    lines = [f"Hello {lead.user.get_username()},", "", f"Since {date_format(digest.since, 'j F')}, 0:00:", ""]
    lines += [f"  {each.words}" for each in digest.happened] or ["  nothing happened."]
    lines += ["", "What waits for you:", ""]
    lines += [f"  {each.words}\n  {site}{each.address}" for each in digest.waits] or ["  nothing."]
    page = site + reverse("digest", args=[campaign.name])
    lines += ["", "As it stands now, and where you can end this mail:", page, ""]
    return f"{' '.join(str(campaign).split())}: since yesterday", "\n".join(lines)
