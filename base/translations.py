"""The words of the pages and their translations: found in the source, kept in locale/, compiled for Django."""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from babel.messages import Catalog
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.conf import settings
from django.utils.translation.template import templatize

MARKS = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "pgettext": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
}
CODE = ("annotate", "base", "campaigns", "judging", "lead", "templates")


def in_source() -> Catalog:
    """Every text that is marked for translation, with the files that it is in."""
    found = Catalog(charset="utf-8")
    for file in _files():
        for _, text, _, context in extract("python", BytesIO(_as_code(file)), keywords=MARKS):
            found.add(text, locations=[(file.relative_to(settings.BASE_DIR).as_posix(), 0)], context=context)
    return found


def translated(language: Path) -> Catalog:
    """What a folder in locale/ holds."""
    with _words(language).open("rb") as file:
        return read_po(file, locale=language.name)


def languages() -> list[Path]:
    """The folders of locale/ that have translations."""
    return sorted(file.parent.parent for file in _locale().glob("*/LC_MESSAGES/django.po"))


def update(language: Path) -> Catalog:
    """Bring a language's file in line with the source: new texts empty, those that are gone left out."""
    catalog = translated(language)
    catalog.update(in_source(), no_fuzzy_matching=True)
    catalog.obsolete.clear()
    with _words(language).open("wb") as file:
        write_po(file, catalog, width=110, include_lineno=False, sort_by_file=True)
    return catalog


def compile_all() -> None:
    """Make of each language's file the one that Django reads; whoever reads it meanwhile gets a whole one."""
    for language in languages():
        made = _words(language).with_suffix(f".{os.getpid()}")
        with made.open("wb") as file:
            write_mo(file, translated(language))
        made.replace(made.with_suffix(".mo"))


def _locale() -> Path:
    return Path(settings.LOCALE_PATHS[0])


def _words(language: Path) -> Path:
    return language / "LC_MESSAGES" / "django.po"


def _files() -> Iterator[Path]:
    for folder in CODE:
        for file in sorted((settings.BASE_DIR / folder).rglob("*")):
            if file.suffix in (".py", ".html") and "migrations" not in file.parts:
                yield file


def _as_code(file: Path) -> bytes:
    """Python as it is; a template as calls on one line, so that it needs no indentation."""
    text = file.read_text(encoding="utf-8")
    return (text if file.suffix == ".py" else " ".join(templatize(text).split())).encode()
