"""The script that draws figures in pages: Vega, Vega-Lite and vega-embed, taken from vl-convert, as a static file.

`collectstatic` makes it once for each version of vl-convert. It is not in the repository.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from tempfile import mkstemp
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage, Storage

NAME = "vega.js"
SNIPPET = "window.vegaEmbed = vegaEmbed;"


class VegaFinder(BaseFinder):
    """Finds the script, and makes it if it does not exist yet."""

    def find(self, path: str, find_all: bool = False, **_: Any) -> Any:
        found = str(_made() / NAME) if path == NAME else None
        return ([found] if found else []) if find_all else found

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterable[tuple[str, Storage]]:
        yield NAME, FileSystemStorage(location=_made())


def _made() -> Path:
    """Return the folder with the script of the installed version, made if it does not exist yet."""
    folder = Path(settings.HOME) / "made" / f"vega-{version('vl-convert-python')}"
    if not (folder / NAME).exists():
        import vl_convert  # slow to import, and needed by collectstatic only

        folder.mkdir(parents=True, exist_ok=True)
        # Each process writes a file of its own, since several may be the first.
        handle, unfinished = mkstemp(dir=folder)
        with open(handle, "w", encoding="utf-8") as script:
            script.write(vl_convert.javascript_bundle(SNIPPET))
        Path(unfinished).replace(folder / NAME)
    return folder
