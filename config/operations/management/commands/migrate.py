"""manage.py migrate: Django's own command, which first compares the database with what it is about to change."""

from typing import Any

from django.core.management.commands import migrate

from base.commands import ReeljudgeCommand
from config.operations import schema


class Command(ReeljudgeCommand, migrate.Command):
    help = "Bring the database to this version's tables. A database that this version cannot upgrade is left as it is."

    def handle(self, *arguments: Any, **options: Any) -> None:
        schema.must_be_upgradable()
        super().handle(*arguments, **options)
