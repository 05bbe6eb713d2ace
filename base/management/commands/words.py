"""The pages' translations: compiled for Django, or first brought in line with the source."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from base import translations


class Command(BaseCommand):
    help = "Compiles the translations in locale/; with --update, first adds the texts that are new in the source."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--update", action="store_true", help="rewrite locale/*/LC_MESSAGES/django.po")

    def handle(self, *, update: bool, verbosity: int, **options: Any) -> None:
        for language in translations.languages():
            words = translations.update(language) if update else translations.translated(language)
            done = sum(bool(message.id and all(_strings(message.string))) for message in words)
            if verbosity:
                self.stdout.write(f"{language.name}: {done} of {len(words)} texts translated")
        translations.compile_all()


def _strings(said: object) -> list[str]:
    """A text, or its forms of number."""
    return [str(each or "") for each in said] if isinstance(said, tuple | list) else [str(said or "")]
