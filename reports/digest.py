"""What waits for a lead of a campaign, and the digest: that and what happened since yesterday, also by a daily mail."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Case, CharField, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Concat, Now
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.formats import date_format

from base.database import compiled, counts_for
from base.dates import start_of_day
from base.errors import WrongState
from campaigns import access, mails
from campaigns.invitations import must_send_mails
from campaigns.models import Applicant, Campaign, Membership
from corpus.models import Video
from jobs.models import Job
from jobs.queue import Lane
from jobs.registry import Report, each_hour, kind
from judging.models import Assignment, Batch, Flag, Kind, Question, Review, Revision, Sitting
from judging.review.frontier import Frontier, frontier
from judging.work.claiming import STUCK_AFTER, stuck_batches, without_annotators
from reports.tables.people import is_idle
from reports.tables.queries import number_of

SENT_FROM = 6  # o'clock, in the time zone of the pages
DONE = (Batch.State.SETTLED, Batch.State.REVIEWED)


@dataclass(frozen=True)
class Need:
    """Something to do, or that happened: how much of it there is, in words, and where."""

    number: int
    one: str
    many: str
    address: str
    are_films: bool = False  # without which the campaign can be judged, if a lead decides so
    since: datetime | None = None  # of the oldest, if it is known

    @property
    def age(self) -> str:
        """How long the oldest waits, in minutes, hours or days."""
        minutes = int((timezone.now() - self.since).total_seconds() // 60) if self.since else 0
        ages = ((minutes // size, unit) for size, unit in ((1440, "d"), (60, "h"), (1, "min")))
        return next((f"{number} {unit}" for number, unit in ages if number), "")

    @property
    def count(self) -> str:
        return f"{self.number:,}"

    @property
    def what(self) -> str:
        return self.one if self.number == 1 else self.many

    @property
    def words(self) -> str:
        return f"{self.count} {self.what}"


def needs(campaign: Campaign, failed_jobs: int, found: Frontier | None = None) -> list[Need]:
    """Return all that needs a lead, the most urgent first; `found` is the campaign's frontier, if it is known."""
    found = found or frontier(campaign)
    names = ("campaign", "activity", "annotators", "inbox", "queries", "exam")
    overview, activity, people, inbox, queries, exam = (reverse(name, args=[campaign.name]) for name in names)
    blocked = f"{found.beyond:,} that are finished"
    counts = counts_of(campaign.pk) | {"blocking": found.holding if found.beyond else 0, "jobs": failed_jobs}
    listed = [
        ("films", "film missing", "films missing", reverse("corpus", args=[campaign.corpus.name])),
        ("blocking", f"query blocks {blocked}", f"queries block {blocked}", f"{overview}?drawer=blockers"),
        ("jobs", "job failed", "jobs failed", f"{activity}?view=jobs&state=failed"),
        ("asking", "person asks to join", "people ask to join", f"{inbox}?view=applicants"),
        ("paused", "annotator is paused", "annotators are paused", people),
        (
            "stuck",
            "contested batch has had no annotator for a day",
            "contested batches have had no annotator for a day",
            f"{queries}?show=stuck",
        ),
        (
            "waiting",
            "batch has nobody left who may judge it",
            "batches have nobody left who may judge them",
            f"{queries}?show=waiting",
        ),
        ("idle", "annotator has been idle for three days", "annotators have been idle for three days", people),
        ("failed", "examinee failed the exam", "examinees failed the exam", exam),
        (
            "unmarked",
            "examinee waits for others or for your grades",
            "examinees wait for others or for your grades",
            exam,
        ),
        ("questions", "question to answer", "questions to answer", inbox),
        ("flags", "flag to look at", "flags to look at", inbox),
        ("to_review", "batch to review", "batches to review", f"{queries}?view=batches"),
    ]
    return [
        Need(counts[key], one, many, address, key == "films", counts.get(f"{key}_since"))
        for key, one, many, address in listed
        if counts[key]
    ]


def _what_needs_the_lead() -> dict[str, Any]:
    annotators = Membership.objects.annotators().filter(campaign=OuterRef("pk"))
    last = Sitting.objects.filter(member=OuterRef("pk")).order_by("-round").values("result")[:1]
    failed = annotators.annotate(last=Subquery(last)).filter(last=Sitting.Result.FAILED, qualified=None)
    unmarked = Sitting.objects.waiting().filter(ended__lt=Now() - STUCK_AFTER, member__qualified=None)
    rows: dict[str, QuerySet[Any]] = {
        "asking": Applicant.objects.waiting().filter(invitation__campaign=OuterRef("pk")),
        "idle": Membership.objects.filter(is_idle(), campaign=OuterRef("pk")),
        "paused": annotators.filter(state=Membership.State.PAUSED),
        "stuck": stuck_batches().filter(campaign=OuterRef("pk")),
        "waiting": without_annotators().filter(kind=Kind.POOL, campaign=OuterRef("pk")),
        "failed": failed.filter(state=Membership.State.ACTIVE),
        "unmarked": unmarked.filter(member__campaign=OuterRef("pk"), member__state=Membership.State.ACTIVE),
        "questions": Question.objects.waiting(OuterRef("pk")),
        "flags": Flag.objects.waiting(OuterRef("pk")),
        "to_review": Batch.objects.to_review().filter(campaign=OuterRef("pk")),
    }
    missing = number_of(Video.objects.filter(corpus=OuterRef("corpus"), media=""))
    films = Case(When(opens_without_films=False, then=missing), default=0)
    times = {"questions": "at", "flags": "at", "to_review": "query__changed"}
    oldest = {f"{name}_since": Subquery(rows[name].order_by(at).values(at)[:1]) for name, at in times.items()}
    return {name: number_of(own) for name, own in rows.items()} | {"films": films} | oldest


counts_of = counts_for(Campaign, _what_needs_the_lead)


def _header_counts(campaign: int, user: int, is_lead: bool) -> QuerySet[Any, Any]:
    owners = [
        Concat(Value(f"{model} "), Cast(OuterRef(key), CharField())) for model, key in OWNERS_OF_CAMPAIGN_JOBS.items()
    ]
    jobs = Job.objects.filter(Q(person=None) | Q(person=user), owner__in=owners).unfinished().whole()
    waiting: Combinable = number_of(Flag.objects.waiting(OuterRef("pk")))
    if is_lead:
        waiting = waiting + number_of(Question.objects.waiting(OuterRef("pk")))
    else:
        jobs = jobs.filter(for_leads=False)
    return Campaign.objects.filter(pk=campaign).values_list(waiting, number_of(jobs))


OWNERS_OF_CAMPAIGN_JOBS = {"campaign": "pk", "corpus": "corpus"}  # as jobs.queue.key_of names them
_count_in_header = compiled(_header_counts, keys=2)


def counts_in_header(member: Membership) -> dict[str, int]:
    """Return what each page of the campaign shows in its header: the items of the inbox, and the jobs under way."""
    inbox, jobs = _count_in_header(member.campaign_id, member.user_id, member.may_review) or (0, 0)
    return {"inbox": inbox, "jobs": jobs}


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
    return Digest(since, happened(lead.campaign, since), needs(lead.campaign, failed))


def happened(campaign: Campaign, since: datetime | None = None) -> list[Need]:
    """Return what happened since the beginning of yesterday, or another time; everything of which there is one."""
    since = since or start_of_day(later=-1)
    queries, judgements, inbox, people = (
        reverse(name, args=[campaign.name]) for name in ("queries", "judgements", "inbox", "annotators")
    )
    pool = Assignment.objects.filter(batch__campaign=campaign, batch__kind=Kind.POOL)
    submitted = pool.filter(state=Assignment.State.SUBMITTED, submitted__gte=since)
    listed: list[tuple[QuerySet[Any], str, str, str]] = [
        (Revision.objects.filter(number=1, at__gte=since, judgement__assignment__in=pool), "judgement", "judgements",
         judgements),
        (Batch.objects.filter(state__in=DONE, pk__in=submitted.order_by().values("batch")), "batch settled",
         "batches settled", f"{queries}?view=batches"),
        (Review.objects.in_force().filter(batch__campaign=campaign, at__gte=since), "batch reviewed",
         "batches reviewed", f"{queries}?view=batches&show=reviewed"),
        (Flag.objects.filter(assignment__in=pool, at__gte=since), "clip flagged", "clips flagged", inbox),
        (Question.objects.filter(annotator__campaign=campaign, at__gte=since), "question", "questions", inbox),
        (campaign.memberships.filter(joined__gte=since), "person joined", "people joined", people),
    ]  # fmt: skip
    numbers = Campaign.objects.filter(pk=campaign.pk).values_list(*(number_of(rows) for rows, *_ in listed)).get()
    counted = zip(numbers, listed, strict=True)
    return [Need(number, one, many, address) for number, (_, one, many, address) in counted if number]


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
    page=("campaign", "campaign.name"),
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
    page = site + reverse("campaign", args=[campaign.name])
    lines += ["", "As it stands now, and where you can end this mail:", page, ""]
    return f"{' '.join(str(campaign).split())}: since yesterday", "\n".join(lines)
