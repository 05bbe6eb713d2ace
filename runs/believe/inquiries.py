"""Asking for an examination of the measures, which a job makes once for the same runs, release and convention."""

from __future__ import annotations

from collections.abc import Sequence

from base.errors import BadValue
from base.transactions import all_or_nothing
from jobs.models import Job
from jobs.registry import Report, kind
from metrics import MeasureError, Qrels, convention_named
from metrics import Run as Predictions
from releases.archive import ReleaseArchive
from releases.models import Release
from runs.believe.findings import Subject, examine
from runs.measures import AXIOU, NDCG, measures_of
from runs.models import Inquiry, Run, Scoring
from runs.tables import read_table
from runs.yardsticks import judged_in, yardstick_of

MOST_RUNS = 30
CONVENTIONS = ("paper", "released", "spr")  # of graded qrels with several systems
HITS = [f"Success_IoU(iou={iou})@{cutoff}" for cutoff in (1, 5, 10) for iou in (0.3, 0.5, 0.7)]
EXAMINED = [*NDCG, *HITS, *AXIOU]  # TVR-Ranking's measures, and the twelve of AxIoU's experiments


def comparable(runs: Sequence[Run], release: Release, convention: str) -> list[Run]:
    """Return those of the runs that have a score on the release under the convention."""
    rows = Scoring.objects.filter(release=release, run__in=runs).values_list("run", "refusals")
    scored = {run for run, refusals in rows if convention not in refusals}
    return [run for run in runs if run.pk in scored]


def inquiry_about(runs: Sequence[Run], release: Release, convention: str) -> Inquiry | None:
    return Inquiry.objects.filter(release=release, convention=convention, runs=_numbers(runs)).first()


@all_or_nothing
def ask_to_examine(runs: Sequence[Run], release: Release, convention: str) -> Inquiry:
    """Ask for the job that examines the measures on these runs, unless that is known or under way.

    Raises
    ------
    BadValue
        For fewer than two runs, or more than 30.
    """
    if not 2 <= len(runs) <= MOST_RUNS:
        raise BadValue("run", f"{len(runs)} runs", f"from 2 to {MOST_RUNS}")
    inquiry, _ = Inquiry.objects.get_or_create(release=release, convention=convention, runs=_numbers(runs))
    job = job_of(inquiry)
    if inquiry.findings is None and not (job and job.is_unfinished):
        examine_measures.ask(inquiry)
    return inquiry


def job_of(inquiry: Inquiry | None) -> Job | None:
    return examine_measures.jobs(inquiry).first() if inquiry else None


@kind(
    "examine-measures",
    "Examine measures",
    of=Inquiry,
    owner="release.campaign",
    person="keeper",
    subject="release {0.release.version}, runs {0.runs}",
    page=("believe", "release.campaign.name"),
    by_members=True,
    refusals=(MeasureError,),
)
def examine_measures(inquiry: Inquiry, report: Report) -> None:
    """Examine the measures, and store what was found.

    Raises
    ------
    MeasureError
        If the runs cannot be compared, for instance because no query counts for all of them.
    """
    if inquiry.findings is not None:
        return
    inquiry.findings = examine(_subject(inquiry), report)
    inquiry.save(update_fields=["findings"])


def _subject(inquiry: Inquiry) -> Subject:
    runs = inquiry.compared.order_by("number")
    known = {str(measure) for measure in measures_of(inquiry.convention)}
    with inquiry.release.file.open("rb") as file:
        judged = judged_in(ReleaseArchive(file))
    return Subject(
        measures=[measure for measure in measures_of("paper") if str(measure) in known & {*EXAMINED}],
        convention=convention_named(inquiry.convention),
        runs=[read_table(Predictions, run.table, name=run.name) for run in runs],
        qrels=read_table(Qrels, yardstick_of(inquiry.release).table),
        judged=judged,
    )


def _numbers(runs: Sequence[Run]) -> str:
    return ",".join(str(number) for number in sorted(run.number for run in runs))
