"""Figures as files: their numbers as CSV, their drawings as Vega-Lite, SVG or PDF."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from tempfile import mkstemp
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage, Storage
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.utils.module_loading import import_string

from base.errors import BadValue, NotFound
from campaigns.models import Campaign
from judging.models import Query
from reports.campaign_summaries import current_summary
from reports.figures.catalogue import BY_KEY
from reports.figures.numbers import FigureSubject, Rows, rows_as_csv

TYPES = {"svg": "image/svg+xml", "pdf": "application/pdf", "csv": "text/csv; charset=utf-8"}
KINDS = ("json", *TYPES)
SCRIPT, SNIPPET = "vega.js", "window.vegaEmbed = vegaEmbed;"


def figure_file(kind: str, rows: Rows, filename: str, draw: str, *about: Any) -> HttpResponse:
    """Answer with a figure as a file.

    Parameters
    ----------
    kind
        One of KINDS.
    filename
        Without its ending.
    draw
        The path of the function that returns the Vega-Lite specification. A CSV file does not need its module, which
        is slow to import.
    about
        The arguments of that function.
    """
    if kind not in KINDS:
        raise NotFound(f"There is no such file; expected {', '.join(KINDS)}.")
    if kind == "csv":
        return csv_file(rows, filename)
    specification = import_string(draw)(*about)
    if kind == "json":
        return JsonResponse(specification)
    from reports.figures.drawing import pdf_of, svg_of

    name = {"Content-Disposition": f'attachment; filename="{filename}.{kind}"'}
    return HttpResponse({"svg": svg_of, "pdf": pdf_of}[kind](specification), content_type=TYPES[kind], headers=name)


def files_at(where: str, query: str = "") -> dict[str, str]:
    """Return the address of each file of a figure: KIND, by which `where` ends, stands for its kind."""
    return {kind: where.removesuffix("KIND") + kind + (query and f"?{query}") for kind in KINDS}


def csv_file(rows: Rows, filename: str) -> HttpResponse:
    """Answer with rows as a CSV file; the name is without its ending."""
    name = {"Content-Disposition": f'attachment; filename="{filename}.csv"'}
    return HttpResponse("".join(rows_as_csv(rows)), content_type=TYPES["csv"], headers=name)


def campaign_figure_file(subject: FigureSubject, file: str) -> HttpResponse:
    """Answer with a table or a figure of a campaign, named by its key and kind, such as `figure-5b.svg`."""
    key, _, kind = file.rpartition(".")
    figure = BY_KEY.get(key)
    if figure is None or (kind != "csv" and not figure.drawn):
        raise NotFound("There is no such figure.")
    summary = current_summary(subject.campaign, figure.summary)
    if summary.counts is None:
        raise NotFound("Its numbers are not counted yet.")
    rows = figure.rows(summary.counts, subject)
    return figure_file(kind, rows, f"{subject.campaign.name}-{key}", "reports.figures.drawing.specification", key, rows)


def subject_of(campaign: Campaign, query: str = "", worker: int | None = None) -> FigureSubject:
    """Return what a figure is about: an annotator, or else a query; see `query_of`. An unknown worker raises a 404."""
    if worker is None:
        return FigureSubject(campaign, query=query_of(campaign, query))
    return FigureSubject(campaign, member=get_object_or_404(campaign.memberships, worker=worker))


def query_of(campaign: Campaign, name: str = "") -> Query | None:
    """Return the query with this id, or the first that has a batch. Raise BadValue if there is no such query."""
    pool = campaign.queries.pool().order_by("pk")
    if not name:
        return pool.filter(batches__isnull=False).first()
    found = pool.filter(query_id=name).first()
    if found is None:
        raise BadValue("query", repr(name[:40]), "the id of one of this campaign’s queries")
    return found


class VegaFinder(BaseFinder):
    """Finds the script that draws figures in pages: Vega, Vega-Lite and vega-embed, taken from vl-convert.

    `collectstatic` makes it once for each version of vl-convert. It is not in the repository.
    """

    def find(self, path: str, find_all: bool = False, **_: Any) -> Any:
        found = str(_made() / SCRIPT) if path == SCRIPT else None
        return ([found] if found else []) if find_all else found

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterable[tuple[str, Storage]]:
        yield SCRIPT, FileSystemStorage(location=_made())


def _made() -> Path:
    """Return the folder with the script of the installed version, made if it does not exist yet."""
    folder = Path(settings.HOME) / "made" / f"vega-{version('vl-convert-python')}"
    if not (folder / SCRIPT).exists():
        import vl_convert  # slow to import, and needed by collectstatic only

        folder.mkdir(parents=True, exist_ok=True)
        # Each process writes a file of its own, since several may be the first.
        handle, unfinished = mkstemp(dir=folder)
        with open(handle, "w", encoding="utf-8") as script:
            script.write(vl_convert.javascript_bundle(SNIPPET))
        Path(unfinished).replace(folder / SCRIPT)
    return folder
