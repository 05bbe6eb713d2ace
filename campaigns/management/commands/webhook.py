"""manage.py webhook: make a campaign's webhook, test it, list deliveries, or remove it."""

from argparse import ArgumentParser
from typing import Any

from base.commands import ReeljudgeCommand
from base.errors import ReeljudgeError
from base.text import printable
from campaigns.events import Happened
from campaigns.models import Campaign, Webhook
from campaigns.webhooks import deliveries

SHOWN = 20


class Command(ReeljudgeCommand):
    help = (
        "Have another site told what happens in a campaign. Without options, list its webhooks and what they were sent."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("campaign")
        parser.add_argument("--add", metavar="ADDRESS", help="make one; its secret is printed once")
        parser.add_argument("--events", nargs="+", choices=Happened.values, default=Happened.values)
        parser.add_argument("--test", type=int, metavar="NUMBER", help="send one a test")
        parser.add_argument("--disable", type=int, metavar="NUMBER", help="tell one nothing any more")
        parser.add_argument("--enable", type=int, metavar="NUMBER")
        parser.add_argument("--remove", type=int, metavar="NUMBER")

    def handle(self, **options: Any) -> None:
        campaign = Campaign.objects.named(options["campaign"])
        webhooks = Webhook.objects.filter(campaign=campaign).select_related("campaign").order_by("pk")
        if options["add"]:
            return self._add(campaign, options["add"], options["events"])
        if options["test"] is not None:
            self._test(self._one(webhooks, options["test"]))
            self.stdout.write("The test is on its way. This command without options says what came of it.")
        elif options["disable"] is not None:
            self._one(webhooks, options["disable"]).enable(False)
        elif options["enable"] is not None:
            self._one(webhooks, options["enable"]).enable(True)
        elif options["remove"] is not None:
            self._one(webhooks, options["remove"]).delete()
        else:
            for webhook in webhooks:
                self._tell(webhook)
        return None

    def _add(self, campaign: Any, address: str, events: list[str]) -> None:
        made, secret = deliveries.make(campaign, address, set(events), by=None)
        self.stdout.write(f"webhook {made.pk}, secret {secret}")

    def _test(self, webhook: Webhook) -> None:
        deliveries.test(webhook)

    def _one(self, webhooks: Any, number: int) -> Webhook:
        if found := webhooks.filter(pk=number).first():
            return Webhook.objects.select_related("campaign").get(pk=found.pk)
        numbers = ", ".join(str(each.pk) for each in webhooks) or "none"
        raise ReeljudgeError(f"webhook {number}: not one of this campaign; expected one of {numbers}")

    def _tell(self, webhook: Webhook) -> None:
        off = "" if webhook.enabled else ", disabled"
        self.stdout.write(printable(f"webhook {webhook.pk}: {webhook.address}: {', '.join(webhook.events)}{off}"))
        for sent in webhook.deliveries.all()[:SHOWN]:
            outcome = "taken" if sent.delivered else sent.error or "waits"
            line = f"  {sent.at:%Y-%m-%d %H:%M} {sent.event}: {outcome}, sent {sent.tries} times"
            self.stdout.write(printable(line))
