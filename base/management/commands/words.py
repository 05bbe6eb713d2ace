"""manage.py words: collect the texts of the pages from the source, update locale/, and compile it for Django."""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from babel.messages import Catalog
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.conf import settings
from django.core.management.base import CommandParser
from django.utils.translation.template import templatize

from base.commands import ReeljudgeCommand
from base.errors import ReeljudgeError

KEYWORDS = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
}
CODE = ("annotate", "base", "campaigns", "corpus", "judging", "lead", "reports", "templates")


class Command(ReeljudgeCommand):
    help = "Compile the translations in locale/. With --update, first add the texts that are new in the source."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--update", action="store_true", help="rewrite locale/*/LC_MESSAGES/django.po")

    def handle(self, *, update: bool, verbosity: int, **options: Any) -> None:
        if not settings.IS_CHECKOUT:
            raise ReeljudgeError("words: the translations of a wheel are compiled already; expected a checkout")
        for language in languages():
            catalog = updated(language) if update else translated(language)
            done = sum(bool(message.id and all(_strings(message.string))) for message in catalog)
            if verbosity:
                self.stdout.write(f"{language.name}: {done} of {len(catalog)} texts translated")
        compile_all()


def _strings(translation: object) -> list[str]:
    """Return a translation, or all its plural forms, as a list of texts."""
    forms = translation if isinstance(translation, tuple | list) else [translation]
    return [str(form or "") for form in forms]


def in_source() -> Catalog:
    """Return every text that is marked for translation, with the files that contain it."""
    found = Catalog(charset="utf-8")
    for file in _files():
        for _, text, _, context in extract("python", BytesIO(_as_code(file)), keywords=KEYWORDS):
            found.add(text, locations=[(file.relative_to(settings.BASE_DIR).as_posix(), 0)], context=context)
    return found


def translated(language: Path) -> Catalog:
    """Return the translations in one folder of locale/."""
    with _words(language).open("rb") as file:
        return read_po(file, locale=language.name)


def languages() -> list[Path]:
    """Return the folders of locale/ that have translations."""
    return sorted(file.parent.parent for file in Path(settings.LOCALE_PATHS[0]).glob("*/LC_MESSAGES/django.po"))


def updated(language: Path) -> Catalog:
    """Add new texts of the source to a language's file, untranslated, and remove those that are gone; return all."""
    catalog = translated(language)
    catalog.update(in_source(), no_fuzzy_matching=True)
    catalog.obsolete.clear()
    with _words(language).open("wb") as file:
        write_po(file, catalog, width=110, include_lineno=False, sort_by_file=True)
    return catalog


def compile_all() -> None:
    """Compile each language's file for Django. A process that reads meanwhile gets the old file or the new one."""
    for language in languages():
        made = _words(language).with_suffix(f".{os.getpid()}")
        with made.open("wb") as file:
            write_mo(file, translated(language))
        made.replace(made.with_suffix(".mo"))


def _words(language: Path) -> Path:
    return language / "LC_MESSAGES" / "django.po"


def _files() -> Iterator[Path]:
    for folder in CODE:
        for file in sorted((settings.BASE_DIR / folder).rglob("*")):
            if file.suffix in (".py", ".html") and "migrations" not in file.parts:
                yield file


def _as_code(file: Path) -> bytes:
    """Return a Python file as it is, and a template as one line of function calls that Babel can read."""
    text = file.read_text(encoding="utf-8")
    return (text if file.suffix == ".py" else " ".join(templatize(text).split())).encode()
