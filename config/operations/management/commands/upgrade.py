"""manage.py upgrade: back up, wait for the workers to stop, change the tables, and check what came of it."""

import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import CommandError, call_command
from django.db import DatabaseError
from django.db.models.functions import Now

from base.commands import ReeljudgeCommand
from base.errors import ReeljudgeError, WrongState
from config.operations import backups, schema
from jobs.models import Job
from judging.models import Judgement, Revision

SECONDS_BETWEEN_LOOKS = 1.0


class Command(ReeljudgeCommand):
    help = "Upgrade the database to this version: stop the workers, then run this, then start the new version."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--backup", type=Path, required=True, help="folder for a backup that is made before")
        parser.add_argument("--wait", type=float, default=120, help="seconds until running jobs must have ended")

    def handle(self, **options: Any) -> None:
        schema.must_be_upgradable()
        if not schema.unapplied():
            self.stdout.write("The database is that of this version. Nothing is to be done.")
            return
        _drain(options["wait"])
        backup = backups.back_up(options["backup"])
        self.stdout.write(f"backed up: {backup}")
        before = _kept()
        try:
            call_command("migrate", verbosity=0)
            call_command("audit", stdout=self.stdout)
        except (CommandError, ReeljudgeError, DatabaseError) as fault:
            raise CommandError(_way_back(str(fault), backup), returncode=2) from fault
        if missing := schema.missing() or _lost(before):
            raise CommandError(_way_back(missing, backup), returncode=2)
        self.stdout.write("The database is upgraded. Start the web servers and the workers of this version.")


def _drain(seconds: float) -> None:
    """Wait until no job is running. Raise WrongState if one still is, and name its worker."""
    end = time.monotonic() + seconds
    while worker := Job.objects.running().filter(lease__gt=Now()).values_list("worker", flat=True).first():
        if time.monotonic() > end:
            raise WrongState(
                f"Worker {worker} is still busy. Stop the workers on all machines (systemctl stop 'reeljudge-worker@*' "
                "reeljudge-sweeper); they give their jobs back. Nothing was changed."
            )
        time.sleep(SECONDS_BETWEEN_LOOKS)


def _kept() -> tuple[int, int]:
    return Judgement.objects.count(), Revision.objects.count()


def _lost(before: tuple[int, int]) -> str:
    """Return in words whether there are fewer judgements than before; people may have made more."""
    lost = any(now < then for now, then in zip(_kept(), before, strict=True))
    return f"there were {before[0]} judgements, and there are fewer" if lost else ""


def _way_back(fault: str, backup: Path) -> str:
    words = " ".join(fault.split())
    return (
        f"The upgrade is not well: {words}. To go back, stop the web servers, restore {backup} into an empty "
        "database with this version (docs/backup.md), and start the version from before."
    )
