"""manage.py doctor: look at all that this installation needs, with a line about each."""

from typing import Any

from django.core.management import CommandError

from base.commands import ReeljudgeCommand
from base.text import printable
from config.operations import doctor


class Command(ReeljudgeCommand):
    requires_system_checks = ()  # they are among the checks
    help = "Check settings, database, Redis, store, clock, disk, mail, workers and backups. Exit code 2 for an error."

    def handle(self, **options: Any) -> None:
        wrong = 0
        for check, level, words in doctor.look():
            self.stdout.write(f"{level:<8} {check:<13} {printable(words)}")
            wrong += level == doctor.ERROR
        if wrong:
            raise CommandError(f"{wrong} thing(s) are wrong", returncode=2)
