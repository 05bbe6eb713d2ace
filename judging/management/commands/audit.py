"""manage.py audit: check the invariants of one campaign or of all, and the files of their clips."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandError

from base.commands import ReeljudgeCommand
from campaigns.models import Campaign
from corpus.errors import Unavailable
from corpus.media_audit import Fault, audit_media
from judging.audit import audit

MOST_FINDINGS = 10  # printed of each kind


class Command(ReeljudgeCommand):
    refusals = (Unavailable,)
    help = "Check the invariants of a campaign, or of all if none is named. Exit code 1 if one is broken."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", nargs="?")
        parser.add_argument("--media", action="store_true", help="also look for the file of each clip")
        parser.add_argument("--checksums", action="store_true", help="read all files of clips and compare checksums")

    def handle(self, **options: Any) -> None:
        name = options["campaign"]
        campaigns = [Campaign.objects.named(name)] if name else list(Campaign.objects.order_by("name"))
        broken = sum([self.one(campaign) for campaign in campaigns])
        if options["media"] or options["checksums"]:
            broken += self.media(name or "", checksums=options["checksums"])
        if broken:
            raise CommandError(f"{broken} invariant(s) broken", returncode=1)

    def one(self, campaign: Campaign) -> int:
        """Print the audit of one campaign, and return how many invariants are broken."""
        self.stdout.write(campaign.name)
        broken = 0
        for says, findings in audit(campaign).items():
            broken += bool(findings)
            self.stdout.write(f"  {'ok    ' if not findings else 'BROKEN'} {says}")
            self._print(Findings(findings))
        return broken

    def media(self, audience: str, *, checksums: bool) -> int:
        """Print what is wrong with the files of clips, and return 1 if any is lost or damaged. Orphans do no harm."""
        wrong, orphans = Findings(), Findings()
        for finding in audit_media(audience, checksums=checksums):
            (orphans if finding.fault == Fault.ORPHANED else wrong).add(finding)
        self.stdout.write("files of clips")
        self.stdout.write(f"  {'BROKEN' if wrong.number else 'ok    '} The file of each clip is there, and whole")
        self._print(wrong)
        if orphans.number:
            self.stdout.write(f"  note   {orphans.number:,} files belong to no clip, and can be deleted")
            self._print(orphans)
        return bool(wrong.number)

    def _print(self, findings: Findings) -> None:
        for finding in findings.first:
            self.stdout.write(f"           {finding}")
        if more := findings.number - len(findings.first):
            self.stdout.write(f"           … and {more:,} more")


class Findings:
    """The first findings of a kind, and how many there are: there may be more than fit into memory."""

    def __init__(self, found: Iterable[object] = ()) -> None:
        self.first: list[object] = []
        self.number = 0
        for finding in found:
            self.add(finding)

    def add(self, finding: object) -> None:
        self.number += 1
        if self.number <= MOST_FINDINGS:
            self.first.append(finding)
