"""manage.py webhook: make a campaign's webhook, test it, list deliveries, or remove it."""

from argparse import ArgumentParser
from typing import Any

from django.db.models import QuerySet

from base.commands import ReeljudgeCommand
from base.errors import ReeljudgeError
from base.text import printable
from campaigns import webhooks
from campaigns.events import Happened
from campaigns.models import Campaign, Webhook

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
        own = Webhook.objects.filter(campaign=campaign).select_related("campaign").order_by("pk")
        if options["add"]:
            made, secret = webhooks.make(campaign, options["add"], set(options["events"]), by=None)
            self.stdout.write(f"webhook {made.pk}, secret {secret}")
        elif options["test"] is not None:
            webhooks.test(self._one(own, options["test"]))
            self.stdout.write("The test is on its way. This command without options says what came of it.")
        elif options["disable"] is not None:
            self._one(own, options["disable"]).enable(False)
        elif options["enable"] is not None:
            self._one(own, options["enable"]).enable(True)
        elif options["remove"] is not None:
            self._one(own, options["remove"]).delete()
        else:
            for webhook in own:
                self._tell(webhook)

    def _one(self, own: QuerySet[Webhook], number: int) -> Webhook:
        if found := own.filter(pk=number).first():
            return found
        numbers = ", ".join(str(each.pk) for each in own) or "none"
        raise ReeljudgeError(f"webhook {number}: not one of this campaign; expected one of {numbers}")

    def _tell(self, webhook: Webhook) -> None:
        off = "" if webhook.enabled else ", disabled"
        self.stdout.write(printable(f"webhook {webhook.pk}: {webhook.address}: {', '.join(webhook.events)}{off}"))
        for sent in webhook.deliveries.all()[:SHOWN]:
            outcome = "taken" if sent.delivered else sent.error or "waits"
            line = f"  {sent.at:%Y-%m-%d %H:%M} {sent.event}: {outcome}, sent {sent.tries} times"
            self.stdout.write(printable(line))
