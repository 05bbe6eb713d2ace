"""manage.py remove_second_factor: help somebody who has lost the phone and the recovery codes."""

from argparse import ArgumentParser
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.db import transaction

from base.commands import ReeljudgeCommand, user_named


class Command(ReeljudgeCommand):
    help = (
        "Remove a person's apps, passkeys and recovery codes, and end all sessions and tokens. "
        "Be sure that it is that person."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user")

    @transaction.atomic
    def handle(self, **options: Any) -> None:
        user = user_named(options["user"])
        removed, _ = Authenticator.objects.filter(user=user).delete()
        if not removed:
            self.stdout.write(f"{user.get_username()} has no second factor")
            return
        for session in UserSession.objects.filter(user=user):
            session.end()
        user.tokens.all().delete()
        self.stdout.write(f"{user.get_username()}: the password alone is enough to sign in now")
