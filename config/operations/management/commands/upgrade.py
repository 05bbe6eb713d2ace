"""manage.py upgrade: back up, change the tables, check what came of it, and go back if it is not well."""

import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import DatabaseError
from django.db.models.functions import Now

from base.commands import ReeljudgeCommand
from base.errors import ReeljudgeError, WrongState
from config.operations import backups, schema
from jobs.models import Job

SECONDS_BETWEEN_LOOKS = 1.0


class Command(ReeljudgeCommand):
    help = "Upgrade the database to this version, while the version before goes on or (--pause) while everything rests."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--backup", type=Path, required=True, help="folder for a backup that is made before")
        how = parser.add_mutually_exclusive_group(required=True)
        how.add_argument("--from", dest="before", metavar="VERSION", help="the version that goes on meanwhile")
        how.add_argument(
            "--pause", action="store_true", help="nobody judges meanwhile, so that the backup is restored if it fails"
        )
        parser.add_argument(
            "--wait", type=float, default=120, help="seconds until running jobs must have ended (--pause)"
        )

    def handle(self, **options: Any) -> None:
        schema.must_be_upgradable()
        if not schema.unapplied():
            self.stdout.write("The database is that of this version. Nothing is to be done.")
            return
        if options["pause"]:
            _drain(options["wait"])
        elif not schema.works_with_these_tables(options["before"]):
            raise WrongState(
                f"Version {options['before']} cannot go on with the tables of {settings.VERSION}. Stop the web "
                "servers and the workers on all machines, and upgrade with --pause. Nothing was changed."
            )
        backup = backups.back_up(options["backup"])
        self.stdout.write(f"backed up: {backup}")
        try:
            call_command("migrate", verbosity=0)
            call_command("audit", stdout=self.stdout)
            if missing := schema.missing():
                raise CommandError(missing)
        except (CommandError, ReeljudgeError, DatabaseError) as fault:
            words = f"The upgrade is not well: {' '.join(str(fault).split())}."
            raise CommandError(f"{words} {_go_back(backup, options['pause'])}", returncode=2) from fault
        self.stdout.write("The database is upgraded. Start the web servers and the workers of this version.")


def _drain(seconds: float) -> None:
    """Wait until no job is running. Raise WrongState if one still is, and name its worker."""
    end = time.monotonic() + seconds
    while worker := Job.objects.running().filter(lease__gt=Now()).values_list("worker", flat=True).first():
        if time.monotonic() > end:
            raise WrongState(
                f"Worker {worker} is still busy. Stop the workers on all machines (systemctl stop 'reeljudge-*'); they "
                "give their jobs back. Nothing was changed."
            )
        time.sleep(SECONDS_BETWEEN_LOOKS)


def _go_back(backup: Path, was_paused: bool) -> str:
    """Restore the backup if nobody can have judged since, and return in words where the database is now."""
    if not was_paused:
        return f"The version before goes on with the database as it is; {backup} is from before."
    try:
        backups.restore(backup, replace=True)
    except ReeljudgeError as refusal:
        return f"It could not be taken back: {refusal} The backup is {backup} (docs/backup.md)."
    return "The database is as it was before."
