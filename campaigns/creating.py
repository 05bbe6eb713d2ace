"""Who may create campaigns: the holder of the first account, and whoever was given the permission."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser, Permission, User
from django.db.models import Q, QuerySet

from base.errors import WrongState
from campaigns.models import Membership
from campaigns.models.membership import PERMISSION
from corpus.models import Corpus


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


def let_create(user: User) -> None:
    """Give somebody the permission. Doing it twice is harmless."""
    user.user_permissions.add(_permission())


def let_create_no_longer(user: User) -> None:
    """Take the permission away. Doing it twice is harmless.

    Raises
    ------
    WrongState
        If the person holds the first account, which may do so without it.
    """
    if user.is_superuser:
        raise WrongState(f"{user.get_username()} holds the first account, which may always create campaigns.")
    user.user_permissions.remove(_permission())


def _permission() -> Permission:
    app, codename = PERMISSION.split(".")
    return Permission.objects.get(content_type__app_label=app, codename=codename)


def may_let_create(lead: Membership, person: Membership) -> bool:
    """Return whether the lead may let a person create campaigns.

    Whoever may create campaigns decides about others who see all of this one. Annotators must stay blind.
    """
    return may_create_campaigns(lead.user) and person.role in Membership.SEES_ALL and not person.has_left
