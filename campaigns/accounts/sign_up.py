"""Signing up by an invitation."""

from __future__ import annotations

from allauth.account.models import EmailAddress
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User

from base.transactions import all_or_nothing
from campaigns.models import Invitation


def sign_up(invitation: Invitation, username: str, password: str) -> User:
    """Make an account and its membership, both or neither.

    The address that the invitation was sent to is confirmed: nobody else has its link.

    Raises
    ------
    Gone
        If the invitation has ended.
    """
    hashed = make_password(password)  # slow on purpose, so it is done before anything is locked
    return _sign_up(invitation, username, hashed)


@all_or_nothing
def _sign_up(invitation: Invitation, username: str, hashed: str) -> User:
    user = User.objects.create(username=username, password=hashed)
    invitation.accept(user)
    confirm_address(user, invitation.address)
    return user


def confirm_address(user: User, address: str) -> None:
    """Store a confirmed mail address of the person, unless there is none or somebody has confirmed it already."""
    if address and not EmailAddress.objects.filter(email=address.lower(), verified=True).exists():
        EmailAddress.objects.create(user=user, email=address.lower(), verified=True, primary=True)
