"""Signing up by an invitation."""

from __future__ import annotations

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User

from base.transactions import all_or_nothing
from campaigns.models import Invitation


def sign_up(invitation: Invitation, username: str, password: str) -> User:
    """Make an account and its membership, both or neither.

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
    return user
