"""manage.py retry_clips: ask again for clips that are not there."""

from argparse import ArgumentParser
from typing import Any

from base.commands import ReeljudgeCommand
from campaigns.models import Campaign
from corpus.errors import Unavailable
from corpus.media_audit import audit_media, forget_lost
from judging.models import Batch, Example
from judging.pool.clips import prepare_clip, retry_clips


class Command(ReeljudgeCommand):
    refusals = (Unavailable,)
    help = (
        "Ask again, and now, for the clips of a campaign, or of all, that are not there although their videos have"
        " media. A worker then cuts them."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign", nargs="?")
        parser.add_argument(
            "--lost", action="store_true", help="also for clips whose files are lost or damaged (audit --media)"
        )
        parser.add_argument("--checksums", action="store_true", help="with --lost, read every file for it")

    def handle(self, **options: Any) -> None:
        campaign = Campaign.objects.named(options["campaign"]) if options["campaign"] else None
        if options["lost"]:
            found = audit_media(campaign.name if campaign else "", checksums=options["checksums"])
            self.stdout.write(f"{forget_lost(found):,} clips are lost or damaged")
        batches = Batch.objects.select_related("query__campaign").order_by("pk")
        examples = Example.objects.filter(clip__isnull=False).select_related("clip__video")
        if campaign:
            batches, examples = batches.in_campaign(campaign), examples.filter(campaign=campaign)
        clips, of_batches = retry_clips(batches.iterator(chunk_size=100))
        of_examples = sum(prepare_clip(example.clip) for example in examples if example.clip)
        line = f"{clips:,} clips of {of_batches:,} batches"
        more = f", and {of_examples:,} of examples," if of_examples else ""
        self.stdout.write(f"{line}{more} are asked for again")
