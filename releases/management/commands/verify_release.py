"""manage.py verify_release: check a release's zip by itself, without a database."""

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from base.commands import ReeljudgeCommand
from base.errors import ReeljudgeError
from releases.archive import ReleaseArchive
from releases.checks import report
from releases.publishing.signing import SUFFIX, flaw_of
from systems.storage import digest


class Command(ReeljudgeCommand):
    help = "Check a release's zip: checksums, consensus, qrels, counts. Needs no database; exit code 1 if broken."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--sha256", default="", help="the checksum that the file should have")
        parser.add_argument("--signature", type=Path, help="a signature of minisign; by default FILE.minisig")
        parser.add_argument("--key", default="", help="the public key by which the file should be signed")

    def handle(self, **options: Any) -> None:
        file = options["file"]
        for flaw in filter(None, self._flaws(file, options["sha256"], options["signature"], options["key"])):
            raise CommandError(f"{file}: {flaw}", returncode=1)
        if not report(ReleaseArchive(file), self.stdout.write):
            raise CommandError("the release is not what it was", returncode=1)

    def _flaws(self, file: Path, sha256: str, signature: Path | None, key: str) -> Iterator[str]:
        if signature and not key:
            raise ReeljudgeError("--signature: whose it is cannot be checked; expected --key, too")
        if sha256 and file.is_file() and (found := digest(file)) != sha256.lower():
            yield f"SHA-256 is {found}, not {sha256}"
        if key and file.is_file():
            yield flaw_of(file, signature or file.with_name(file.name + SUFFIX), key)
            self.stdout.write("the signature is right")
