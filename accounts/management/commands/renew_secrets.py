"""manage.py renew_secrets: encrypt all secrets of the database by the present SECRET_KEY."""

from typing import Any

from allauth.mfa.models import Authenticator
from django.db import transaction

from base.commands import ReeljudgeCommand
from base.database import renewed
from base.errors import ReeljudgeError, WrongState
from base.transactions import locked
from campaigns.webhooks import renew_secrets

ENCRYPTED = ("secret", "seed")  # fields of what allauth stores


class Command(ReeljudgeCommand):
    help = (
        "Encrypt the secrets of second factors and of webhooks by the present SECRET_KEY, after which a former one is "
        "not needed any more and can be taken out of SECRET_KEY_FALLBACKS."
    )

    @transaction.atomic
    def handle(self, **options: Any) -> None:
        rows = list(locked(Authenticator.objects.exclude(type=Authenticator.Type.WEBAUTHN)))
        for row in rows:
            try:
                row.data |= {name: renewed(row.data[name]) for name in ENCRYPTED if name in row.data}
            except WrongState as fault:
                raise ReeljudgeError(
                    f"second factor of {row.user.get_username()}: unreadable; expected its key in SECRET_KEY or "
                    "SECRET_KEY_FALLBACKS, else remove it by remove_second_factor"
                ) from fault
            row.save(update_fields=["data"])
        self.stdout.write(f"{len(rows) + renew_secrets()} secrets are encrypted by the present SECRET_KEY")
