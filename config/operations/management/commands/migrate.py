"""manage.py migrate: Django's own command, which first compares the database with what it is about to change."""

from typing import Any

from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS

from base.commands import ReeljudgeCommand
from config.operations import schema


class Command(ReeljudgeCommand, migrate.Command):
    help = "Bring the database to this version's tables. A database that this version cannot upgrade is left as it is."

    def handle(self, *arguments: Any, **options: Any) -> None:
        schema.must_be_upgradable()
        is_whole = not (options["check_unapplied"] or options["plan"] or options["app_label"])
        if is_whole and options["database"] == DEFAULT_DB_ALIAS:
            schema.note_oldest()  # before: if it fails half-way, versions that work with the rest go on
        super().handle(*arguments, **options)
        if is_whole and options["database"] == DEFAULT_DB_ALIAS:
            schema.note_oldest()  # the table may be new
