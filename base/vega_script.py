"""The script that draws figures in the page: Vega and its kin, out of vl-convert, as a static file.

It is made when static files are collected, once a version, and nothing of it lies in the repository.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage, Storage

NAME = "vega.js"
SNIPPET = "window.vegaEmbed = vegaEmbed;"


class VegaFinder(BaseFinder):
    """Finds the one file, making it where it is not there yet."""

    def find(self, path: str, find_all: bool = False, **_: Any) -> Any:
        found = str(_made() / NAME) if path == NAME else None
        return ([found] if found else []) if find_all else found

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterable[tuple[str, Storage]]:
        yield NAME, FileSystemStorage(location=_made())


def _made() -> Path:
    """The folder of this version's script."""
    folder = Path(settings.HOME) / "made" / f"vega-{version('vl-convert-python')}"
    if not (folder / NAME).exists():
        import vl_convert  # takes its time, and only collecting static files needs it

        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / f"{NAME}.unfinished"
        unfinished.write_text(vl_convert.javascript_bundle(SNIPPET), encoding="utf-8")
        unfinished.replace(folder / NAME)
    return folder
