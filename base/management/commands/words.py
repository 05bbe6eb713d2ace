"""manage.py words: compile the translations of the pages."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from base import translations
from base.commands import ReeljudgeCommand
from base.errors import ReeljudgeError


class Command(ReeljudgeCommand):
    help = "Compile the translations in locale/. With --update, first add the texts that are new in the source."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--update", action="store_true", help="rewrite locale/*/LC_MESSAGES/django.po")

    def handle(self, *, update: bool, verbosity: int, **options: Any) -> None:
        if not settings.IS_CHECKOUT:
            raise ReeljudgeError("words: the translations of a wheel are compiled already; expected a checkout")
        for language in translations.languages():
            catalog = translations.update(language) if update else translations.translated(language)
            done = sum(bool(message.id and all(_strings(message.string))) for message in catalog)
            if verbosity:
                self.stdout.write(f"{language.name}: {done} of {len(catalog)} texts translated")
        translations.compile_all()


def _strings(translation: object) -> list[str]:
    """Return a translation, or all its plural forms, as a list of texts."""
    forms = translation if isinstance(translation, tuple | list) else [translation]
    return [str(form or "") for form in forms]
