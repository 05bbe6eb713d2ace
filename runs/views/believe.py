"""Whether a measure can be believed: a page with one figure of several, each as a file too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST, require_safe

from base.errors import BadValue
from base.request_fields import one_of, whole
from campaigns.models import Membership
from campaigns.pages import campaign_page
from metrics import parse_measure
from releases.models import Release
from reports.figures.csv_files import csv_lines
from runs import doors
from runs.believe.catalogue import BY_KEY, FIGURES, NOTHING, Figure
from runs.believe.inquiries import CONVENTIONS, MOST_RUNS, ask_to_examine, comparable, inquiry_about, job_of
from runs.measures import NDCG, USUAL
from runs.models import Inquiry, Run

HEADLINE = NDCG[4]  # NDCG@20 at IoU 0.5
TYPES = {"svg": "image/svg+xml", "pdf": "application/pdf", "csv": "text/csv; charset=utf-8"}


@dataclass(frozen=True)
class Asked:
    """What an address asks about: which runs of those that the member may see, on which release, by what."""

    release: Release
    convention: str
    known: list[Run]
    runs: list[Run]
    chosen: bool  # whether the address names the runs
    measure: str
    figure: Figure

    @property
    def inquiry(self) -> Inquiry | None:
        return inquiry_about(self.runs, self.release, self.convention)

    def address(self, **other: str) -> str:
        """Return the query of an address that asks the same but for what is said."""
        same: dict[str, Any] = {"release": self.release.version, "convention": self.convention}
        same |= {"run": [run.number for run in self.runs] if self.chosen else []}
        return urlencode(same | {"measure": self.measure, "figure": self.figure.key} | other, doseq=True)


@require_safe
def index(request: HttpRequest, name: str) -> HttpResponse:
    """A figure and what it tells, or how far its examination is, or a button that asks for it."""
    member = doors.membership(request, name)
    asked = _asked(request.GET, member)
    if asked is None:
        return campaign_page(request, member, "runs/no_board.html", title="Can a measure be believed?")
    inquiry = asked.inquiry
    job = job_of(inquiry)
    if request.headers.get("hx-request"):
        return _progress(request, job)
    found = inquiry.findings if inquiry else None
    return campaign_page(
        request,
        member,
        "runs/believe.html",
        asked=asked,
        conventions=[(each, asked.address(convention=each)) for each in CONVENTIONS],
        tabs=[(each, asked.address(figure=each.key)) for each in FIGURES],
        known=[(run, run in asked.runs) for run in asked.known],
        releases=member.campaign.releases.filter(yardstick__isnull=False).only("version"),
        most=MOST_RUNS,
        found=found,
        jobs=[job] if job else [],
        job=job,
        progress=f"{request.path}?{asked.address()}",
        **(_shown(found, asked, member) if found else {}),
    )


@require_safe
def download(request: HttpRequest, name: str, format: str) -> HttpResponse:
    """The figure of the same address as its specification, SVG, PDF, or the CSV of its numbers."""
    member = doors.membership(request, name)
    asked = _asked(request.GET, member)
    inquiry = asked.inquiry if asked else None
    if not (asked and inquiry and inquiry.findings) or format not in ("json", *TYPES):
        raise Http404
    rows = asked.figure.rows(inquiry.findings, asked.measure)
    if format == "json" and rows:
        from runs.believe.drawing import specification

        return JsonResponse(specification(asked.figure.key, rows))
    answer = HttpResponse(_content(asked.figure.key, rows, format), content_type=TYPES.get(format))
    answer["Content-Disposition"] = f'attachment; filename="{name}-{asked.figure.key}.{format}"'
    return answer


@require_POST
def ask(request: HttpRequest, name: str) -> HttpResponse:
    """Ask for the examination, and lead to the page that shows how far it is."""
    member = doors.membership(request, name)
    asked = _asked(request.POST, member)
    if asked is None:
        raise Http404
    ask_to_examine(asked.runs, asked.release, asked.convention)
    return redirect(f"{reverse('believe', args=[name])}?{asked.address()}")


def _asked(said: QueryDict, member: Membership) -> Asked | None:
    """Read an address or a form; None if no release has scores yet.

    Raises
    ------
    BadValue
        If it names something in a way that nobody can understand, or a run that is not there for the member.
    """
    releases = member.campaign.releases.filter(yardstick__isnull=False).select_related("campaign")
    if version := said.get("release", ""):
        releases = releases.filter(version=whole("release", version, "the number of a release"))
    release = releases.order_by("version").last()
    if release is None and version:
        raise Http404
    if release is None:
        return None
    convention = one_of("convention", said.get("convention", USUAL), CONVENTIONS)
    known = comparable(list(Run.objects.seen_by(member)), release, convention)
    named = {whole("run", number, "the number of a run") for number in said.getlist("run")}
    if strange := named - {run.number for run in known}:
        right = "the number of a run with scores on this release that you may see"
        raise BadValue("run", str(min(strange)), right)
    runs = [run for run in known if run.number in named] if named else known[:MOST_RUNS]
    measure = one_of("measure", said.get("measure", HEADLINE), _measures(runs, release, convention))
    figure = BY_KEY[one_of("figure", said.get("figure", FIGURES[0].key), list(BY_KEY))]
    return Asked(release, convention, known, runs, bool(named), measure, figure)


def _measures(runs: list[Run], release: Release, convention: str) -> list[str]:
    """Return the measures that a page can be about: those that were examined."""
    inquiry = inquiry_about(runs, release, convention)
    return inquiry.findings["measures"] if inquiry and inquiry.findings else [HEADLINE]


def _shown(found: Any, asked: Asked, member: Membership) -> dict[str, Any]:
    """What the page says of its figure, and its numbers."""
    figure, rows = asked.figure, asked.figure.rows(found, asked.measure)
    tells = figure.tells(found, asked.measure) if rows else NOTHING
    files = {
        kind: f"{reverse('believe-file', args=[member.campaign.name, kind])}?{asked.address()}"
        for kind in ("json", "svg", "pdf", "csv")
    }
    return {
        "plot": {
            "figure": figure,
            "is_drawn": bool(rows),
            "caption": f"{figure.caption(found)} ({figure.paper})",
            "tells": tells,
            "columns": [name.replace("_", " ") for name in rows[0]] if rows else [],
            "rows": [list(row.values()) for row in rows],
            "files": files,
        },
        "measures": [(each, parse_measure(each).spelling) for each in found["measures"]],
        "orders": [row for row in found["rows"]["orders"] if row["measure"] == asked.measure],
    }


def _content(key: str, rows: Any, format: str) -> bytes:
    if format == "csv":
        return "".join(csv_lines(rows)).encode()
    if not rows:
        raise Http404
    from reports.figures.drawing import pdf_of, svg_of
    from runs.believe.drawing import specification

    return {"svg": svg_of, "pdf": pdf_of}[format](specification(key, rows))


def _progress(request: HttpRequest, job: Any) -> HttpResponse:
    """The bar of the job; the page asks for it again until the job has ended, and is then loaded anew."""
    context = {"progress": request.get_full_path(), "jobs": [job] if job else []}
    answer = render(request, "parts/progress.html", context)
    if job is None or not job.is_unfinished:
        answer["HX-Refresh"] = "true"
    return answer
