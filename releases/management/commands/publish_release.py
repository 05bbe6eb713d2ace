"""manage.py publish_release: print the commands that publish a release on a dataset hub and register a DOI for it."""

from argparse import ArgumentParser
from pathlib import Path
from shlex import quote
from typing import Any

from django.utils import timezone

from base.commands import ReeljudgeCommand
from base.text import printable
from releases.archive import ReleaseArchive


class Command(ReeljudgeCommand):
    help = "Print the commands that publish a release: on a dataset hub, and with a DOI. It sends nothing itself."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--hub", default="ORGANISATION/NAME", help="the name of the data set at the hub")
        parser.add_argument("--prefix", default="10.PREFIX", help="the prefix of your repository at DataCite")
        parser.add_argument("--page", default="https://PAGE", help="the page that the DOI leads to")

    def handle(self, **options: Any) -> None:
        about = ReleaseArchive(options["file"]).manifest
        file, folder = quote(str(options["file"])), quote(f"{about['campaign']}-v{about['version']}")
        hub, tag = quote(options["hub"]), f"v{about['version']}"
        attributes = f'.prefix = "{options["prefix"]}" | .url = "{options["page"]}" | .event = "publish"'
        attributes += f" | .publicationYear = {timezone.localdate().year}"
        for line in (
            "# Unpack it, and check it once more",
            f"unzip -q {file} && python {folder}/verify.py",
            "",
            "# On the hub, once you have signed in with `hf auth login`",
            f"hf repo create {hub} --repo-type dataset",
            f"hf upload {hub} {folder} . --repo-type dataset --commit-message {quote('Release ' + tag)}",
            f"hf repo tag create {hub} {tag} --repo-type dataset",
            "",
            "# A DOI from DataCite",
            f"jq {quote(f'.data.attributes |= ({attributes})')} {folder}/datacite.json |",
            "  curl --user REPOSITORY --header 'Content-Type: application/vnd.api+json' --data @-"
            " https://api.datacite.org/dois",
        ):
            self.stdout.write(printable(line))
