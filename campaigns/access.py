"""Finding campaigns and their members for a person who may see them; anybody else gets a 404.

Every view gets its campaign and its person through these functions, or through those of `judging.access`.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AnonymousUser, Permission, User
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404

from base.errors import WrongState
from base.transactions import all_or_nothing
from campaigns.models import Applicant, Campaign, LogEntry, Membership, Webhook, log, spend
from campaigns.models.membership import PERMISSION
from corpus.models import Corpus, Moment
from jobs.models import Job
from jobs.queue import JobQuerySet, key_of


def corpora(request: HttpRequest) -> QuerySet[Corpus]:
    """Return the corpora of the campaigns that the person leads or follows as a researcher.

    To those who may create campaigns they are all but the corpora of campaigns in which they annotate.
    """
    user = signed_in(request)
    led = Campaign.objects.led_by(user).values("corpus")
    return Corpus.objects.filter(Q(pk__in=led) | Q(pk__in=corpora_open_to(user).values("pk")))


def corpus(request: HttpRequest, **which: Any) -> Corpus:
    """Return a corpus that the person may see, by its `name` or its `pk`."""
    return get_object_or_404(corpora(request), **which)


def moment(corpus: Corpus, pk: int) -> Moment:
    return get_object_or_404(Moment.objects.select_related("video"), video__corpus=corpus, pk=pk)


def corpora_to_reword(request: HttpRequest) -> QuerySet[Corpus]:
    """Return the corpora that the person may reword: those of the campaigns that they lead, and those open to them."""
    user = signed_in(request)
    led = Membership.objects.leads().filter(user=user).values("campaign__corpus")
    return Corpus.objects.filter(Q(pk__in=led) | Q(pk__in=corpora_open_to(user).values("pk")))


def corpus_to_reword(request: HttpRequest, pk: int) -> Corpus:
    return get_object_or_404(corpora_to_reword(request), pk=pk)


def signed_in(request: HttpRequest) -> User:
    """Return the signed-in user, on pages for everybody with an account."""
    assert isinstance(request.user, User)
    return request.user


def count_file(request: HttpRequest, kind: str = "") -> None:
    """Count a list, a table or a figure that somebody downloads; not the JSON that pages draw figures from.

    Raises TooManyRequests if there were more than the settings allow.
    """
    if kind != "json":
        spend(signed_in(request).pk, "FILE_RATE", "You have downloaded many files in a short time.")


def wants_csv(request: HttpRequest) -> bool:
    """Return whether a list is wanted as a file, which is counted. For the error see `count_file`."""
    wants = request.GET.get("format") == "csv"
    if wants:
        count_file(request)
    return wants


def creator(request: HttpRequest) -> User:
    """Return the signed-in user, who may create campaigns."""
    user = signed_in(request)
    if not may_create_campaigns(user):
        raise Http404
    return user


def membership(request: HttpRequest, name: str, *roles: str) -> Membership:
    """Return the person's active membership of the campaign in one of the roles; by default, of who sees all of it.

    These are leads and, unless grades are held back from them, researchers.
    """
    found = participant(request, name, *roles)
    if not roles and not found.sees_grades:
        raise Http404
    return found


def participant(request: HttpRequest, name: str, *roles: str) -> Membership:
    """Return the membership like `membership`, but also that of a researcher from whom grades are held back.

    It is the door of the pages of runs, which know nothing of the split that is held back.
    """
    return get_object_or_404(
        Membership.objects.select_related("campaign__corpus"),
        campaign__name=name,
        user=request.user,
        state=Membership.State.ACTIVE,
        role__in=roles or Membership.SEES_ALL,
    )


def lead(request: HttpRequest, name: str) -> Membership:
    return membership(request, name, Membership.Role.LEAD)


def annotator(request: HttpRequest, name: str) -> Membership:
    return membership(request, name, Membership.Role.ANNOTATOR)


def anybody(request: HttpRequest, name: str) -> Membership:
    """Return the person's membership in any role, also while it is paused. Learning stays possible then."""
    memberships = Membership.objects.select_related("campaign__corpus")
    states = Membership.MAY_LEARN
    return get_object_or_404(memberships, campaign__name=name, user=request.user, state__in=states)


def learner(request: HttpRequest, name: str) -> Membership:
    """Return the person's membership as an annotator, also while it is paused. Learning stays possible then."""
    return get_object_or_404(learners(request).select_related("campaign"), campaign__name=name)


def learners(request: HttpRequest) -> QuerySet[Membership]:
    """Return the person's memberships as an annotator, also those that are paused."""
    return Membership.objects.annotators().filter(user=request.user.pk, state__in=Membership.MAY_LEARN)


def own(request: HttpRequest, name: str) -> Membership:
    """Return the person's membership as an annotator in any state, because former annotators see their hours too."""
    memberships = Membership.objects.select_related("campaign")
    role = Membership.Role.ANNOTATOR
    return get_object_or_404(memberships, campaign__name=name, user=request.user, role=role)


def person(lead: Membership, worker: int) -> Membership:
    """Return the member with that worker number in the lead's campaign, in any role and state."""
    return get_object_or_404(lead.campaign.memberships.select_related("user"), worker=worker)


def applicant(lead: Membership, pk: int) -> Applicant:
    """Return somebody who asks, or has asked, to join the lead's campaign."""
    applicants = Applicant.objects.filter(invitation__campaign=lead.campaign).select_related("user")
    return get_object_or_404(applicants, pk=pk)


def webhook(lead: Membership, pk: int) -> Webhook:
    return get_object_or_404(lead.campaign.webhooks, pk=pk)


def annotator_of(member: Membership, worker: int) -> Membership:
    """Return the annotator with that worker number in the member's campaign."""
    memberships = member.campaign.memberships.select_related("campaign", "user")
    return get_object_or_404(memberships, worker=worker, role=Membership.Role.ANNOTATOR)


def jobs(member: Membership) -> JobQuerySet:
    """Return the jobs of the member's campaign and of its corpus that the member may see."""
    owned = Job.objects.owned_by(member.campaign, member.campaign.corpus)
    return _seen(owned, member.user_id, manages=member.may_review)


def jobs_of_corpus(request: HttpRequest, corpus: Corpus) -> JobQuerySet:
    """Return the jobs of a corpus that the person may see, who may see the corpus."""
    manages = corpora_to_reword(request).filter(pk=corpus.pk).exists()
    return _seen(Job.objects.owned_by(corpus), signed_in(request).pk, manages)


def jobs_of_site(request: HttpRequest) -> JobQuerySet:
    """Return all jobs to those who run the site, and to everybody else those that are for this person alone."""
    user = signed_in(request)
    return Job.objects.whole() if user.is_superuser else Job.objects.filter(person=user)


def _seen(jobs: JobQuerySet, user: int, manages: bool) -> JobQuerySet:
    seen = jobs.filter(Q(person=None) | Q(person=user))
    return seen if manages else seen.filter(for_leads=False)


def may_cancel(request: HttpRequest) -> Q:
    """Return the condition on jobs that the person may cancel.

    They are those of the campaigns that the person leads and of the corpora that the person may reword, and those that
    are for this person alone. Those who run the site may cancel all.
    """
    user = signed_in(request)
    if user.is_superuser:
        return ~Q(pk=None)
    led = Campaign.objects.filter(pk__in=Membership.objects.leads().filter(user=user).values("campaign"))
    return Q(owner__in=[*map(key_of, (*led, *corpora_to_reword(request)))], person=None) | Q(person=user)


def may_try_again(request: HttpRequest, cancel: Q | None = None) -> Q:
    """Return the condition on jobs that the person may repeat: those to cancel, and what every member may ask for."""
    followed = [key_of(campaign) for campaign in Campaign.objects.led_by(signed_in(request))]
    return (cancel or may_cancel(request)) | Q(owner__in=followed, person=None, by_members=True)


def may_create_campaigns(user: User | AnonymousUser) -> bool:
    """Return whether the person may create campaigns, upload corpora, and see all corpora of the installation."""
    return user.is_active and user.has_perm(PERMISSION)


def creators() -> QuerySet[User]:
    """Return the people who may create campaigns."""
    app, codename = PERMISSION.split(".")
    given = Q(user_permissions__codename=codename, user_permissions__content_type__app_label=app)
    return User.objects.filter(Q(is_superuser=True) | given)


def corpora_open_to(user: User) -> QuerySet[Corpus]:
    """Return the corpora over which the person may create a campaign, by name.

    Whoever is an annotator over a corpus must not become its lead in another campaign, and so see captions and ranks.
    That holds for annotators who have left, too, because they may be taken back.
    """
    if not may_create_campaigns(user):
        return Corpus.objects.none()
    blind = Membership.objects.annotators().filter(user=user)
    return Corpus.objects.exclude(campaigns__in=blind.values("campaign")).order_by("name")


def campaigns_to_reuse(user: User, corpus: Corpus) -> QuerySet[Campaign]:
    """Return the campaigns over a corpus whose grades the person may reuse in a new one: those that they lead."""
    led = Membership.objects.leads().filter(user=user)
    return Campaign.objects.filter(pk__in=led.values("campaign"), corpus=corpus).order_by("name")


@all_or_nothing
def let_create(user: User, by: Membership | None = None) -> None:
    """Give somebody the permission. Doing it twice is harmless."""
    user.user_permissions.add(_permission())
    log(by, LogEntry.Kind.MEMBER, user.get_username(), after="may create campaigns")


@all_or_nothing
def let_create_no_longer(user: User, by: Membership | None = None) -> None:
    """Take the permission away. Doing it twice is harmless.

    Raises WrongState if the person holds the first account, which may do so without it.
    """
    if user.is_superuser:
        raise WrongState(f"{user.get_username()} holds the first account, which may always create campaigns.")
    user.user_permissions.remove(_permission())
    log(by, LogEntry.Kind.MEMBER, user.get_username(), "may create campaigns", "may no longer create campaigns")


def _permission() -> Permission:
    app, codename = PERMISSION.split(".")
    return Permission.objects.get(content_type__app_label=app, codename=codename)


def may_let_create(lead: Membership, person: Membership) -> bool:
    """Return whether the lead may let a person create campaigns.

    Whoever may create campaigns decides about others who see all of this one. Annotators must stay blind.
    """
    return may_create_campaigns(lead.user) and person.role in Membership.SEES_ALL and not person.has_left
