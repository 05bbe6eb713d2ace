"""What an address asks about the measures: which runs of those that the member may see, on which release, by what."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import Http404, HttpResponse, QueryDict
from django.utils.http import urlencode

from base.errors import BadValue
from base.request_fields import one_of, whole
from campaigns.models import Membership
from releases.models import Release
from reports.figures.files import figure_file
from runs.measures import NDCG, USUAL
from runs.models import Inquiry, Run
from runs.reliability.figures import BY_KEY, FIGURES, NOTHING, Figure
from runs.reliability.inquiries import CONVENTIONS, MOST_RUNS, Rows, comparable, inquiry_about

HEADLINE = NDCG[4]  # NDCG@20 at IoU 0.5


@dataclass(frozen=True)
class Choices:
    """Some runs on a release under a convention, and a figure about a measure."""

    release: Release
    convention: str
    known: list[Run]
    runs: list[Run]
    chosen: bool  # whether the address names the runs
    measure: str
    figure: Figure

    @cached_property
    def inquiry(self) -> Inquiry | None:
        return inquiry_about(self.runs, self.release, self.convention)

    @property
    def findings(self) -> Any:
        """What the examination of these runs found; None before it has ended."""
        return self.inquiry.findings if self.inquiry else None

    @cached_property
    def rows(self) -> Rows:
        """The numbers of the figure; none if there is nothing to show."""
        return self.figure.rows(self.findings, self.measure) if self.findings else []

    @property
    def tells(self) -> str:
        """What the figure shows, in words."""
        return self.figure.tells(self.findings, self.measure) if self.rows else NOTHING

    def address(self, **other: str) -> str:
        """Return the query of an address that asks the same but for what is said."""
        same: dict[str, Any] = {"release": self.release.version, "convention": self.convention}
        same |= {"run": [run.number for run in self.runs] if self.chosen else []}
        return urlencode(same | {"measure": self.measure, "figure": self.figure.key} | other, doseq=True)


def choices_of(params: QueryDict, member: Membership) -> Choices | None:
    """Read an address or a form; None if no release has scores yet.

    Raise BadValue if it names something in a way that nobody can understand, or a run that is not there for the member.
    """
    releases = member.campaign.releases.filter(yardstick__isnull=False).select_related("campaign")
    if version := params.get("release", ""):
        releases = releases.filter(version=whole("release", version, "the number of a release"))
    release = releases.order_by("version").last()
    if release is None and version:
        raise Http404
    if release is None:
        return None
    convention = one_of("convention", params.get("convention", USUAL), CONVENTIONS)
    known = comparable(list(Run.objects.seen_by(member)), release, convention)
    named = {whole("run", number, "the number of a run") for number in params.getlist("run")}
    if strange := named - {run.number for run in known}:
        right = "the number of a run with scores on this release that you may see"
        raise BadValue("run", str(min(strange)), right)
    runs = [run for run in known if run.number in named] if named else known[:MOST_RUNS]
    inquiry = inquiry_about(runs, release, convention)
    examined = inquiry.findings["measures"] if inquiry and inquiry.findings else [HEADLINE]
    measure = one_of("measure", params.get("measure", HEADLINE), examined)
    figure = BY_KEY[one_of("figure", params.get("figure", FIGURES[0].key), list(BY_KEY))]
    return Choices(release, convention, known, runs, bool(named), measure, figure)


def examination_file(choices: Choices | None, kind: str) -> HttpResponse:
    """Answer with the figure that is asked about as a file; not found before its runs were examined."""
    if not (choices and choices.findings) or not (choices.rows or kind == "csv"):
        raise Http404
    rows = choices.rows

    def specify() -> dict[str, Any]:
        from runs.drawing import about_measures

        return about_measures(choices.figure.key, rows)

    return figure_file(kind, rows, specify, f"{choices.release.campaign.name}-{choices.figure.key}")
