"""manage.py verify_release: check a release's zip by itself, without a database."""

import re
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from base.commands import ReeljudgeCommand
from base.errors import ReeljudgeError
from base.text import printable
from releases.archive import ReleaseArchive
from releases.checks import MAKERS, report
from releases.publishing.signing import SUFFIX, SignedRelease, checked_comment
from systems.storage import digest

CHECKSUM = re.compile("[0-9a-f]{64}")
NAME = re.compile(r"(.+)-v([0-9]+)(-[0-9a-f]{12})?\.zip")  # as a release is downloaded, or stored
UNKNOWN = "the signature does not say which release it is for, as those of earlier versions"


class Command(ReeljudgeCommand):
    help = "Check a release's zip: checksums, consensus, qrels, counts. Needs no database; exit code 1 if broken."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def create_parser(self, *arguments: Any, **options: Any) -> CommandParser:
        """Let `--version` be that of the release, not Django's."""
        return super().create_parser(*arguments, conflict_handler="resolve", **options)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--sha256", default="", help="the checksum that the file should have")
        parser.add_argument("--signature", type=Path, help="a signature of minisign; by default FILE.minisig")
        parser.add_argument("--key", default="", help="the public key by which the file should be signed")
        parser.add_argument("--campaign", default="", help="the name of the campaign that it should be a release of")
        parser.add_argument("--version", dest="release", type=int, help="the number that the release should have")
        parser.add_argument("--previous", help="the newest release before it, as a zip or its SHA-256; needs --key")

    def handle(self, **options: Any) -> None:
        file, key = options["file"], options["key"]
        for name in ("signature", "previous"):
            if options[name] and not key:
                raise ReeljudgeError(f"--{name}: cannot be checked without a public key; expected --key, too")
        for flaw in self._flaws(file, options):
            raise CommandError(f"{file}: {printable(flaw)}", returncode=1)
        is_whole = report(ReleaseArchive(file), self.stdout.write)
        if not key:
            self.stdout.write(MAKERS)
        if not is_whole:
            raise CommandError("the release is not what it was", returncode=1)

    def _flaws(self, file: Path, options: dict[str, Any]) -> Iterator[str]:
        sha256 = digest(file) if file.is_file() else ""
        if options["sha256"] and sha256 and sha256 != options["sha256"].lower():
            yield f"SHA-256 is {sha256}, not {options['sha256']}"
        signed = None
        if options["key"] and sha256:
            signature = options["signature"] or file.with_name(file.name + SUFFIX)
            comment, flaw = checked_comment(file, signature, options["key"])
            if flaw:
                yield flaw
            self.stdout.write("the signature is right")
            self.stdout.write(f"trusted comment: {printable(comment.replace(chr(9), '  '))}")
            signed = SignedRelease.of_comment(comment)
        manifest = ReleaseArchive(file).manifest
        yield from _wrong_release(file, manifest["campaign"], manifest["version"], options)
        if signed and not signed.sha256:
            if options["campaign"] or options["release"] is not None or options["previous"]:
                yield UNKNOWN
            self.stdout.write(f"warning: {UNKNOWN}")
        elif signed:
            yield from _wrong_signature(signed, manifest, sha256, options["previous"])


def _wrong_release(file: Path, campaign: str, version: int, options: dict[str, Any]) -> Iterator[str]:
    """Compare a release with what was asked for; without that, with the name of its file."""
    found = f"is release {version} of {campaign}"
    name, own = NAME.fullmatch(file.name), (campaign, str(version))
    if options["campaign"] and options["campaign"] != campaign:
        yield f"{found}; expected one of {options['campaign']}"
    if options["release"] is not None and options["release"] != version:
        yield f"{found}; expected release {options['release']}"
    if name and not options["campaign"] and options["release"] is None and name.groups()[:2] != own:
        yield f"{found}, and its name is that of another; if you gave it this name, say --version {version}"


def _wrong_signature(
    signed: SignedRelease, manifest: dict[str, Any], sha256: str, previous: str | None
) -> Iterator[str]:
    right = {"campaign": manifest["campaign"], "version": str(manifest["version"]), "sha256": sha256}
    if previous is not None:
        right["previous"] = previous.lower()
        if previous and not CHECKSUM.fullmatch(right["previous"]):
            if not Path(previous).is_file():
                raise ReeljudgeError(f"--previous {previous}: not found; expected a zip or a SHA-256")
            right["previous"] = digest(Path(previous))
    for name, value in right.items():
        if (found := getattr(signed, name)) != value:
            yield f"by its signature, {name} is {found or 'none'}, not {value}"
