"""A view of the examination of measures: of which runs of those that the member may see, on which release, by what."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.http import urlencode

from base.errors import BadValue
from base.text import abbreviated
from campaigns.models import Membership
from releases.models import Release
from reports.figures.files import figure_file
from runs.measures import HEADLINE, USUAL
from runs.models import Inquiry, Run
from runs.reliability.figures import BY_KEY, FIGURES, NOTHING, ReliabilityFigure
from runs.reliability.inquiries import MOST_RUNS, Rows, comparable, inquiry_about


@dataclass(frozen=True)
class ReliabilityOptions:
    """Some runs on a release under a convention, and a figure about a measure."""

    release: Release
    convention: str
    known: list[Run]
    runs: list[Run]
    chosen: bool  # whether the address names the runs
    measure: str
    figure: ReliabilityFigure

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
        """Return the query of the address of these options, with some others."""
        same: dict[str, Any] = {"release": self.release.version, "convention": self.convention}
        same |= {"run": [run.number for run in self.runs] if self.chosen else []}
        return urlencode(same | {"measure": self.measure, "figure": self.figure.key} | other, doseq=True)


def reliability_options(
    member: Membership,
    release: int | None = None,
    convention: str = "",
    run: Collection[int] = (),
    measure: str = "",
    figure: str = "",
) -> ReliabilityOptions | None:
    """Return what a page shows of a release, by default the newest; None if no release has scores yet.

    Raise BadValue for a run that is not there for the member, or a measure that was not examined.
    """
    releases = member.campaign.releases.filter(scoring_reference__isnull=False).select_related("campaign")
    found = get_object_or_404(releases, version=release) if release is not None else releases.order_by("version").last()
    if found is None:
        return None
    convention = convention or USUAL
    known = comparable(list(Run.objects.seen_by(member)), found, convention)
    if strange := {*run} - {each.number for each in known}:
        right = "the number of a run with scores on this release that you may see"
        raise BadValue("run", str(min(strange)), right)
    runs = [each for each in known if each.number in run] if run else known[:MOST_RUNS]
    inquiry = inquiry_about(runs, found, convention)
    examined = inquiry.findings["measures"] if inquiry and inquiry.findings else [HEADLINE]
    if (measure := measure or HEADLINE) not in examined:
        raise BadValue("measure", abbreviated(measure), f"one of {', '.join(examined)}")
    return ReliabilityOptions(found, convention, known, runs, bool(run), measure, BY_KEY[figure or FIGURES[0].key])


def examination_file(options: ReliabilityOptions | None, kind: str) -> HttpResponse:
    """Answer with the chosen figure as a file; not found before its runs were examined."""
    if not (options and options.findings) or not (options.rows or kind == "csv"):
        raise Http404
    rows = options.rows

    def specify() -> dict[str, Any]:
        from runs.drawing import about_measures

        return about_measures(options.figure.key, rows)

    return figure_file(kind, rows, specify, f"{options.release.campaign.name}-{options.figure.key}")
