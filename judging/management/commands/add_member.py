"""manage.py add_member: give people a role in a campaign, with new accounts if they have none."""

import secrets
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from base.commands import ReeljudgeCommand
from base.errors import ReeljudgeError
from campaigns.models import Campaign, Membership
from judging.review.decisions import change_role


class Command(ReeljudgeCommand):
    help = "Give people a role in a campaign. New accounts get a password, which is printed once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign")
        parser.add_argument("usernames", nargs="+")
        parser.add_argument("--role", choices=Membership.Role.values, default=Membership.Role.ANNOTATOR)

    def handle(self, **options: Any) -> None:
        campaign = Campaign.objects.named(options["campaign"])
        for username in options["usernames"]:
            user, password = _account(username)
            try:
                member = campaign.add_member(user, options["role"])
                change_role(member, options["role"], None, "added again in this role")
            except ReeljudgeError as fault:
                raise ReeljudgeError(f"{username}: {fault}") from fault
            account = f"password {password}" if password else "has an account already"
            self.stdout.write(f"{username}: {member.role}, worker {member.worker}, {account}")


def _account(username: str) -> tuple[User, str]:
    """Return the account, and its password if the account is new."""
    users = get_user_model().objects
    if user := users.filter(username=username).first():
        return user, ""
    if other := users.filter(username__iexact=username).first():
        raise ReeljudgeError(
            f"{username}: there is an account {other.username}; expected this name, or one that differs by more than "
            "capital letters"
        )
    new = User(username=username)
    password = secrets.token_urlsafe(16)
    new.set_password(password)
    try:
        new.full_clean()
    except ValidationError as fault:
        raise ReeljudgeError(f"{username}: {'; '.join(fault.messages)}") from fault
    new.save()
    return new, password
