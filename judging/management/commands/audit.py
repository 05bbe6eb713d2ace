"""manage.py audit: check the invariants of one campaign or of all."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from campaigns.lookup import campaign_named
from campaigns.models import Campaign
from judging.audit import audit

MOST_FINDINGS = 10  # printed for each invariant


class Command(BaseCommand):
    help = "Check the invariants of a campaign, or of all if none is named. Exit code 1 if one is broken."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", nargs="?")

    def handle(self, **options: Any) -> None:
        name = options["campaign"]
        campaigns = [campaign_named(name)] if name else list(Campaign.objects.order_by("name"))
        broken = sum([self.one(campaign) for campaign in campaigns])
        if broken:
            raise CommandError(f"{broken} invariant(s) broken", returncode=1)

    def one(self, campaign: Campaign) -> int:
        """Print the audit of one campaign, and return how many invariants are broken."""
        self.stdout.write(campaign.name)
        broken = 0
        for invariant, findings in audit(campaign).items():
            broken += bool(findings)
            self.stdout.write(
                f"  {'ok    ' if not findings else 'BROKEN'} {invariant.number}. {invariant.says}"
            )
            for finding in findings[:MOST_FINDINGS]:
                self.stdout.write(f"           {finding}")
            if len(findings) > MOST_FINDINGS:
                self.stdout.write(f"           … and {len(findings) - MOST_FINDINGS:,} more")
        return broken
