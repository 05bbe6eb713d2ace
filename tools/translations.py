"""python -m tools.translations: compile locale/ for Django; with --update, first add new texts of the source.

It is Django's `makemessages` and `compilemessages` without GNU gettext, which not every machine has.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from babel.messages import Catalog
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parents[1]
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
CODE = ("accounts", "annotate", "base", "campaigns", "corpus", "judging", "lead", "reports", "templates", "demo")


def main() -> None:
    if sys.argv[1:] not in ([], ["--update"]):
        sys.exit(__doc__)
    for language in languages() if sys.argv[1:] else ():
        catalog = updated(language)
        done = sum(bool(message.id and all(_strings(message.string))) for message in catalog)
        print(f"{language.name}: {done} of {len(catalog)} texts translated")
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
            found.add(text, locations=[(file.relative_to(ROOT).as_posix(), 0)], context=context)
    return found


def translated(language: Path) -> Catalog:
    """Return the translations in one folder of locale/."""
    with _words(language).open("rb") as file:
        return read_po(file, locale=language.name)


def languages() -> list[Path]:
    """Return the folders of locale/ that have translations."""
    return sorted(file.parent.parent for file in (ROOT / "locale").glob("*/LC_MESSAGES/django.po"))


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
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in (".py", ".html") and "migrations" not in file.parts:
                yield file


def _as_code(file: Path) -> bytes:
    """Return a Python file as it is, and a template as one line of function calls that Babel can read."""
    text = file.read_text(encoding="utf-8")
    return (text if file.suffix == ".py" else " ".join(templatize(text).split())).encode()


if __name__ == "__main__":
    main()
