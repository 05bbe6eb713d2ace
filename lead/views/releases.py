"""Releases: the state that the next one freezes, with its figures and files, and each release in tabs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from base.forms import valid_data
from base.text import csv_lines, rendered
from campaigns import access
from campaigns.models import Campaign, Membership
from campaigns.pages import campaign_page, while_working
from judging.consensus import RULE
from judging.models import Candidate, Kind
from judging.pool.ranking import RankingPlan
from judging.review.frontier import frontier
from lead.forms.campaign import DifferenceForm, ReleaseForm, ReleasePageForm, TrainingSetForm
from lead.forms.judging import SubjectForm
from lead.views.agreement import plot_of
from releases.archive import ReleaseArchive
from releases.data_card import EARLY, LICENCES
from releases.difference import HEADER, changes, compare
from releases.downloads import (
    export_file,
    file_within_release,
    ready_release,
    release_file,
    signature_file,
    training_set_file,
)
from releases.exports import FILES
from releases.freezing import freeze, freeze_release
from releases.models import Release
from releases.publishing.hub import publishing_commands
from releases.training import USUAL_DEPTHS, ask_for_training_set, make_training_set
from reports.campaign_summaries import FIGURES, WORKING, current_summaries
from reports.figures.catalogue import DRAWN, OF_WORK, TABLES, WHOLE_POSTER
from reports.figures.files import files_at, subject_of
from runs.pools.enlarging import open_runs

USUAL_LICENCE = "CC-BY-4.0"
NOW_TABS = {"figures": "Figures", "files": "Files"}
RELEASE_TABS = {
    "card": "Card",
    "figures": "Figures",
    "files": "Files",
    "methods": "Methods",
    "verify": "Verify",
    "publish": "Publish",
    "changes": "Changes",
}
FOOTNOTE = re.compile(r"\[\^(\d+)\]:?")
HEADER_OF_CARD = re.compile(r"\A---\n.*?\n---\n", re.S)  # for dataset hubs


@require_safe
def index(request: HttpRequest, name: str, version: int | None = None) -> HttpResponse:
    """A release in tabs, or without a version the present state, which the next release freezes."""
    member = access.membership(request, name)
    releases = list(member.campaign.releases.select_related("by", "campaign")[:50])
    release = get_object_or_404(member.campaign.releases, version=version) if version else None
    job = freeze_release.jobs([release]).first() if release and not release.is_ready else None
    tabs = (RELEASE_TABS if release.is_ready else {}) if release else NOW_TABS
    tab = valid_data(ReleasePageForm(request.GET, tabs=tabs))["tab"] or next(iter(tabs), "")
    newest = next(iter(releases), None)
    known = _about_release(release, tab) if release else _about_now(member, tab, request.GET, newest)
    known |= {"releases": releases, "release": release, "job": job, "tabs": tabs, "tab": tab}
    known["part"] = f"lead/_{'release' if release else 'now'}_{tab}.html"
    page = campaign_page(request, member, "lead/releases.html", **known)
    return while_working(page, known["is_working"]) if request.headers.get("hx-request") else page


def _bar(held: int, beyond: int, unfinished: int, is_frozen: bool) -> list[dict[str, Any]]:
    """Return the parts of all queries: in the release, finished but left out, and unfinished; 1,000 are the whole."""
    words = "in it" if is_frozen else "ready", "finished, left out", "unfinished"
    numbers, total = (held, beyond, unfinished), max(1, held + beyond + unfinished)
    starts = (0, held, held + beyond)
    looks = ("closed", "begun", "new")
    return [
        {"look": look, "number": number, "words": text, "start": 1000 * start / total, "width": 1000 * number / total}
        for look, number, text, start in zip(looks, numbers, words, starts, strict=True)
    ]


def _about_now(member: Membership, tab: str, query: Any, newest: Release | None) -> dict[str, Any]:
    """Return what the page shows of the present state: its bar, and its figures or its files; `newest` is frozen."""
    campaign, found = member.campaign, frontier(member.campaign)
    is_freezing = query.get("drawer") == "freeze" and member.may_review
    pool = campaign.queries.pool()
    unfinished = pool.exclude(pk__in=pool.finished().values("pk")).count()
    known: dict[str, Any] = {
        "bar": _bar(found.sample, found.beyond, unfinished, is_frozen=False),
        "frontier": found,
        "unfinished": unfinished,
        "drawer": is_freezing,
        "is_working": False,
    }
    known |= _of_freezing(campaign, newest) if is_freezing else {}
    return known | (_figures(campaign, query) if tab == "figures" else _files(campaign))


def _of_freezing(campaign: Campaign, newest: Release | None) -> dict[str, Any]:
    """Return what the form that freezes a release needs; what the newest release says is proposed."""
    return {
        "licences": LICENCES.items(),
        "newest": newest,
        "chosen": newest.licence if newest else USUAL_LICENCE,
        "runs": open_runs(campaign),
        "next_early": EARLY if campaign.batches > 1 else "",
    }


def _figures(campaign: Campaign, query: Any) -> dict[str, Any]:
    """Return the figures of the present state."""
    subject = subject_of(campaign, valid_data(SubjectForm(query))["query"])
    kept = current_summaries(campaign, FIGURES, WORKING)
    numbers, known = kept[FIGURES], {name: each.counts for name, each in kept.items() if each.counts}
    has_any = bool(numbers.counts and numbers.counts["splits"]["all"]["queries"])
    figures = [each for each in (*DRAWN, *OF_WORK, *TABLES) if has_any and each.summary in known]
    plots = [plot_of(each, known[each.summary], subject) for each in figures]
    return {
        "numbers": numbers,
        "counts": numbers.counts,
        "drawings": [plot for plot in plots if plot["figure"].drawn],
        "tables": [plot for plot in plots if not plot["figure"].drawn],
        "large": next((plot for plot in plots if plot["figure"].key == query.get("figure")), None),
        "poster": files_at(reverse("figure", args=[campaign.name, f"{WHOLE_POSTER.key}.KIND"])),
        "query": subject.query,
        "study": campaign.queries.filter(kind=Kind.STUDY).count(),
        "plan": RankingPlan(),
    }


def _files(campaign: Campaign) -> dict[str, Any]:
    """Return the files of the present state, and the pseudo training sets, each with its job unless that is done."""
    sets = campaign.training_sets.all()
    jobs = {job.row: job for job in make_training_set.jobs(sets).not_done()}
    return {
        "files": FILES,
        "rule": RULE,
        "settled": Candidate.objects.in_pool(campaign).settled().exists(),
        "sets": [(row, jobs.get(row.pk)) for row in sets],
        "is_working": any(not job.has_failed for job in jobs.values()),
        "depths": [depth for depth in USUAL_DEPTHS if depth not in {row.depth for row in sets}],
    }


def _about_release(release: Release, tab: str) -> dict[str, Any]:
    """Return what the page shows of a release, which is read from its file."""
    if not release.is_ready:
        return {"is_working": True}
    about = release.estimates or {"sample": release.counts.get("queries", 0), "beyond": 0}
    unfinished = 0 if release.with_unfinished else len(release.unfinished)
    is_whole = release.with_finished or release.with_unfinished
    beyond = 0 if is_whole else about["beyond"]
    known: dict[str, Any] = {
        "bar": _bar(release.counts.get("queries", 0), beyond, unfinished, is_frozen=True),
        "is_working": False,
        "early": EARLY if release.is_early else "",
        "command": settings.COMMAND,
    }
    if tab in OF_ROWS:
        return known | OF_ROWS[tab](release)
    with release.file.open("rb") as file:
        return known | OF_FILE[tab](release, ReleaseArchive(file))


def _figures_of_release(release: Release, archive: ReleaseArchive) -> dict[str, Any]:
    titles = {figure.key: figure.title for figure in DRAWN}
    keys = [name[8:-4] for name in archive.names if name.startswith("figures/") and name.endswith(".svg")]
    return {"drawn": [(key, titles.get(key, key)) for key in keys]}


def _files_of_release(release: Release, archive: ReleaseArchive) -> dict[str, Any]:
    """Return the files by their folder, those outside folders first."""
    folders: dict[str, list[tuple[str, str, int]]] = {"": []}
    for path, size in sorted(archive.sizes.items()):
        folder, _, name = path.rpartition("/")
        folders.setdefault(folder, []).append((path, name, size))
    return {"folders": folders.items(), "n_files": len(archive.sizes)}


def _methods(release: Release, archive: ReleaseArchive) -> dict[str, Any]:
    text = FOOTNOTE.sub(r"(\1)", archive.read("methods.md").decode())
    return {"text": rendered(text), "latex": archive.read("methods.tex").decode()}


def _publish(release: Release, archive: ReleaseArchive) -> dict[str, Any]:
    file = f"{release.campaign.name}-v{release.version}.zip"
    return {"lines": "\n".join(publishing_commands(archive.manifest, file))}


def _changes(release: Release) -> dict[str, Any]:
    """Return the difference to the release before; nothing for the first one."""
    ready = release.campaign.releases.filter(state=Release.State.READY, version__lt=release.version)
    old = ready.order_by("version").last()
    return {"old": old, "found": compare(old, release)} if old else {}


OF_FILE = {
    "card": lambda release, archive: {"text": rendered(HEADER_OF_CARD.sub("", archive.read("README.md").decode()))},
    "figures": _figures_of_release,
    "files": _files_of_release,
    "methods": _methods,
    "publish": _publish,
}
OF_ROWS: dict[str, Callable[[Release], dict[str, Any]]] = {"verify": lambda release: {}, "changes": _changes}


@require_POST
def make(request: HttpRequest, name: str) -> HttpResponse:
    lead = access.lead(request, name)
    release = freeze(lead.campaign, lead, **valid_data(ReleaseForm(request.POST)))
    return redirect("release", name, release.version)


@require_safe
def download(request: HttpRequest, name: str, version: int) -> FileResponse:
    return release_file(access.membership(request, name), version)


@require_safe
def signature(request: HttpRequest, name: str, version: int) -> HttpResponse:
    return signature_file(access.membership(request, name), version)


@require_safe
def file_of_release(request: HttpRequest, name: str, version: int, file: str) -> HttpResponse:
    """Answer with a file of a release's zip."""
    member = access.membership(request, name)
    access.count_file(request)
    return file_within_release(member, version, file)


@require_safe
def changes_file(request: HttpRequest, name: str, version: int) -> StreamingHttpResponse:
    """Answer with all changes between the release `?from=` and this one, as CSV."""
    member = access.membership(request, name)
    access.count_file(request)
    new = ready_release(member.campaign, version)
    data = valid_data(DifferenceForm({"from": request.GET.get("from"), "to": version}))
    old = ready_release(member.campaign, data["from"])
    rows = ((change.what, change.query, change.moment, change.before, change.after) for change in changes(old, new))
    answer = StreamingHttpResponse(csv_lines(HEADER, rows), content_type="text/csv; charset=utf-8")
    filename = f"{name}-v{old.version}-v{new.version}.csv"
    answer["Content-Disposition"] = f'attachment; filename="{filename}"'
    return answer


@require_safe
def download_export(request: HttpRequest, name: str, file: str) -> StreamingHttpResponse:
    member = access.membership(request, name)
    access.count_file(request)
    return export_file(member, file)


@require_POST
def start_training_set(request: HttpRequest, name: str) -> HttpResponse:
    lead = access.lead(request, name)
    ask_for_training_set(lead.campaign, **valid_data(TrainingSetForm(request.POST)))
    return redirect(f"{reverse('releases', args=[name])}?tab=files#training-sets")


@require_safe
def training_set(request: HttpRequest, name: str, depth: int) -> FileResponse:
    return training_set_file(access.membership(request, name), depth)
