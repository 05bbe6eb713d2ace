"""Examining the measures on some runs of a release, once for the same runs and convention; and a view of that."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.http import urlencode

from base.errors import BadValue
from base.text import abbreviated
from base.transactions import all_or_nothing
from campaigns.models import Membership, spend
from jobs.models import Job
from jobs.registry import Report, kind
from metrics import Convention, Measure, MeasureError, Pool, Qrels, convention_named, scores_of
from metrics import Run as Predictions
from metrics.analysis import meta, records
from metrics.analysis.noise import LEVELS, noise_error
from metrics.analysis.other_judging import Judged, changes, means_on, with_grades
from releases.archive import ReleaseArchive
from releases.models import Release
from reports.figures.files import figure_file
from runs.measures import AXIOU, HEADLINE, NDCG, USUAL, measures_of
from runs.models import Inquiry, Run, Scoring
from runs.references import judged_in, pool_of, reference_of
from runs.reliability.figures import BY_KEY, FIGURES, NOTHING, ReliabilityFigure
from runs.tables import read_table

MOST_RUNS = 30
CONVENTIONS = ("paper", "released", "spr")  # of graded qrels with several systems
HITS = [f"Success_IoU(iou={iou})@{cutoff}" for cutoff in (1, 5, 10) for iou in (0.3, 0.5, 0.7)]
EXAMINED = [*NDCG, *HITS, *AXIOU]  # TVR-Ranking's measures, and the twelve of AxIoU's experiments
SEED = 0
TRIALS = 1000  # pairs of subsets of each size
DATASETS = 20  # noisy ones of each level
REDRAWN = 20  # halves of the pairs, and choices of one annotator
DIGITS = 6
Rows = list[dict[str, Any]]


def comparable(runs: Sequence[Run], release: Release, convention: str) -> list[Run]:
    """Return those of the runs that have a score on the release under the convention."""
    rows = Scoring.objects.filter(release=release, run__in=runs).values_list("run", "refusals")
    scored = {run for run, refusals in rows if convention not in refusals}
    return [run for run in runs if run.pk in scored]


def inquiry_about(runs: Sequence[Run], release: Release, convention: str) -> Inquiry | None:
    return Inquiry.objects.filter(release=release, convention=convention, runs=_numbers(runs)).first()


@all_or_nothing
def ask_to_examine(runs: Sequence[Run], release: Release, convention: str, by: Membership) -> Inquiry:
    """Ask for the job that examines the measures on these runs, unless that is known or under way.

    Raise BadValue for fewer than two runs, or more than 30; TooManyRequests if the member has asked for too many.
    """
    if not 2 <= len(runs) <= MOST_RUNS:
        raise BadValue("run", f"{len(runs)} runs", f"from 2 to {MOST_RUNS}")
    inquiry, _ = Inquiry.objects.get_or_create(release=release, convention=convention, runs=_numbers(runs))
    job = job_of(inquiry)
    if inquiry.findings is None and not (job and job.is_unfinished):
        spend(by.user_id, "EXAMINATION_RATE", "You have asked for many examinations in a short time.")
        examine_measures.ask(inquiry, by=by.user_id)
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
    page=("measures", "release.campaign.name"),
    by_members=True,
    refusals=(MeasureError,),
)
def examine_measures(inquiry: Inquiry, report: Report) -> None:
    """Examine the measures, and store the findings. Raise MeasureError if the runs cannot be compared."""
    if inquiry.findings is not None:
        return
    inquiry.findings = examine(_subject(inquiry), report)
    inquiry.save(update_fields=["findings"])


def _subject(inquiry: Inquiry) -> Subject:
    runs = inquiry.compared.order_by("number")
    known = {str(measure) for measure in measures_of(inquiry.convention)}
    reference = reference_of(inquiry.release)
    with inquiry.release.file.open("rb") as file:
        judged = judged_in(ReleaseArchive(file), reference.held_queries)
    return Subject(
        measures=[measure for measure in measures_of("paper") if str(measure) in known & {*EXAMINED}],
        convention=convention_named(inquiry.convention),
        runs=[read_table(Predictions, run.table, name=run.name) for run in runs],
        qrels=read_table(Qrels, reference.table),
        judged=judged,
        pool=pool_of(reference),
    )


def _numbers(runs: Sequence[Run]) -> str:
    return ",".join(str(number) for number in sorted(run.number for run in runs))


@dataclass(frozen=True)
class Subject:
    """What is examined: measures under a convention, on runs and the release that they are scored on."""

    measures: Sequence[Measure]
    convention: Convention
    runs: Sequence[Predictions]
    qrels: Qrels
    judged: Judged
    pool: Pool | None = None  # candidates in the order of their ranks, if the release holds them

    @property
    def systems(self) -> list[str]:
        return [run.name for run in self.runs]


def examine(subject: Subject, report: Report) -> dict[str, Any]:
    """Return all records by name, and their origin. Raise MeasureError if no query counts for all runs and measures."""
    report(0, 0, "scoring the runs")
    convention = subject.convention.but(unjudged="skip")
    block = meta.score_block(scores_of(subject.measures, subject.qrels, subject.runs, convention))
    rows = {
        "scores": records.scores(subject.systems, subject.measures, block),
        "agreement": records.agreement(subject.measures, block),
        "ties": records.ties(subject.measures, block),
        "select": _selected(subject, block),
        **_stable(subject, block, report),
        **_noisy(subject, convention, report),
        **_judged_otherwise(subject, report),
    }
    made_of = {
        "systems": subject.systems,
        "measures": [*map(str, subject.measures)],
        "convention": subject.convention.name,
        "queries": block.shape[1],
        "pairs": subject.judged.final.size,
        "annotators": len(np.unique(subject.judged.raw.annotator)),
        "trials": TRIALS,
        "datasets": DATASETS,
        "redrawn": REDRAWN,
        "seed": SEED,
    }
    return made_of | {
        "rows": {
            name: [{key: _plain(value) for key, value in row.items()} for row in each] for name, each in rows.items()
        }
    }


def _selected(subject: Subject, block: Any) -> Rows:
    """Select systems on a random half of the queries, and test them on the other."""
    if block.shape[1] < 2:
        return []
    validation, test = (half.mean(axis=1) for half in meta.halves(block, SEED))
    return records.selection(subject.systems, subject.measures, subject.measures, meta.select(validation, test))


def _stable(subject: Subject, block: Any, report: Report) -> dict[str, Rows]:
    queries = block.shape[1]
    sizes = sorted({max(1, queries * tenth // 10) for tenth in range(1, 10)})
    found: dict[str, Rows] = {}
    for model in ("two", "full"):
        report(0, 0, f"drawing subsets of the queries, by the model {model}")
        stable = meta.stability(block, sizes, TRIALS, model, SEED)
        found[f"stability-{model}"] = records.stability(subject.measures, stable)
    return found


def _noisy(subject: Subject, convention: Convention, report: Report) -> dict[str, Rows]:
    def progress(done: int, total: int) -> None:
        report(done, total, f"marking boundaries with noise: {done} of {total}")

    found = noise_error(
        subject.measures, subject.qrels, subject.runs, convention, datasets=DATASETS, seed=SEED, report=progress
    )
    overlaps = [{"level": level, "iou": float(iou)} for level, iou in zip(LEVELS, found.iou, strict=True)]
    return {"noise": records.noise(subject.measures, found), "overlaps": overlaps}


def _judged_otherwise(subject: Subject, report: Report) -> dict[str, Rows]:
    judged, what = subject.judged, (subject.measures, subject.runs, subject.convention)
    full = means_on(with_grades(judged.pairs, judged.final), *what)
    total = (4 if subject.pool else 2) + len(np.unique(judged.raw.annotator))
    scored = records.in_cells({"system": subject.systems, "measure": [*map(str, subject.measures)]}, mean=full)
    rows: dict[str, Rows] = {"judging": [{"change": "all", "annotator": -1} | row for row in scored], "orders": []}
    report(0, total, "judging again: 0")
    for done, each in enumerate(changes(judged, *what, trials=REDRAWN, seed=SEED, pool=subject.pool), 1):
        report(done, total, f"judging again: {done} of {total} ways")
        changed, ordered = records.orders(subject.systems, subject.measures, each, full)
        rows["judging"] += changed
        rows["orders"] += ordered
    return rows


def _plain(value: Any) -> Any:
    """Return a number as JSON has it: None for what does not exist, and no more digits than are true."""
    if not isinstance(value, float):
        return value
    return round(value, DIGITS) if math.isfinite(value) else None


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
    rows, key = options.rows, options.figure.key
    name = f"{options.release.campaign.name}-{key}"
    return figure_file(kind, rows, name, "runs.drawing.about_measures", key, rows)
