"""manage.py verify_release: check a release's zip by itself, without a database."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from base.commands import ReeljudgeCommand
from base.text import printable
from releases.archive import ReleaseArchive
from releases.verifying import CHECKS, MOST_FAULTS, known_faults, verify

MOST_FINDINGS = 10
LONGEST = 300  # characters of a finding


class Command(ReeljudgeCommand):
    help = "Check a release's zip: checksums, consensus, qrels, counts. Needs no database; exit code 1 if broken."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, **options: Any) -> None:
        release = ReleaseArchive(options["file"])
        self.stdout.write(printable(f"{release.manifest['campaign']}, release {release.manifest['version']}"))
        found = verify(release)
        for check in CHECKS:
            findings = found.get(check.says)
            result = "skipped" if findings is None else "BROKEN " if findings else "ok     "
            self.stdout.write(f"  {result} {check.says}")
            for finding in (findings or [])[:MOST_FINDINGS]:
                self.stdout.write(f"           {printable(finding[:LONGEST])}")
            if findings and len(findings) > MOST_FINDINGS:
                more = len(findings) - MOST_FINDINGS
                self.stdout.write(f"           … and {more:,}{' or more' * (len(findings) == MOST_FAULTS)} others")
        if list(found.values()) == [[]] * len(CHECKS):
            for known in known_faults(release):
                self.stdout.write(f"  known   {printable(known[:LONGEST])}")
        if any(found.values()):
            raise CommandError("the release is not what it was", returncode=1)
