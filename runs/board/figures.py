"""The figures of a leaderboard: all pairs of runs, the probability of each place, slices of the queries, and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.http import Http404, HttpResponse
from django.urls import reverse
from numpy.typing import NDArray

from metrics import Measure
from reports.figures.files import figure_file, files_at
from reports.figures.numbers import Rows
from reports.hours import EVER, total, worked_on_days
from runs.board.options import BoardOptions, Queries, board_options
from runs.board.table import Board, board, falls
from runs.models import RunQuerySet, Scoring, ScoringReference

MOST_RUNS = 12  # that a figure shows, the best ones
FOLLOWED = 3  # runs, over releases
DRAWS, SEED = 2000, 0  # of the queries, with replacement
Values = NDArray[np.float64]


@dataclass(frozen=True)
class BoardSubject:
    """The runs, the release and the options of a leaderboard that figures are about."""

    runs: RunQuerySet
    reference: ScoringReference
    options: BoardOptions

    @property
    def measure(self) -> Measure:
        return self.options.sort or self.options.measures[0]

    def board(self, **other: Any) -> Board:
        """Return the leaderboard of the measure that sorts, a row for each run, with some other options."""
        options = replace(self.options, measures=[self.measure], sort=self.measure, baseline=None, seeds=False)
        options = replace(options, **other)
        return board(self.runs, self.reference, options)


@dataclass(frozen=True)
class BoardFigure:
    """One figure; `rows` are the lines of its CSV file."""

    key: str
    title: str
    caption: str
    rows: Callable[[BoardSubject], Rows]
    size: tuple[int, int]  # of its drawing, in pixels
    is_wide: bool = False


def wins(subject: BoardSubject) -> Rows:
    """Return for every two runs on which share of the queries the better placed one scores higher, by a sign test."""
    names, values = _by_query(subject.board())
    return [
        {"run": names[other], "against": names[one], **_compared(values[:, one], values[:, other])}
        for other in range(len(names))
        for one in range(other)
    ]


def _compared(one: Values, other: Values) -> dict[str, Any]:
    from scipy.special import bdtr  # slow to import

    both = ~np.isnan(one) & ~np.isnan(other)
    won, lost = int((one > other)[both].sum()), int((one < other)[both].sum())
    queries = max(1, int(both.sum()))
    p = min(1.0, 2 * float(bdtr(min(won, lost), won + lost, 0.5))) if won + lost else 1.0
    return {"queries": int(both.sum()), "wins": won / queries, "losses": lost / queries, "p": round(p, 6)}


def places(subject: BoardSubject) -> Rows:
    """Return how often each run has each place if the queries are drawn again; equal runs share the better place."""
    names, values = _by_query(subject.board())
    known = ~np.isnan(values)
    drawn = np.random.default_rng(SEED).multinomial(len(values), np.full(len(values), 1 / len(values)), DRAWS)
    with np.errstate(invalid="ignore"):
        means = (drawn @ np.nan_to_num(values)) / (drawn @ known)
    means = np.where(np.isnan(means), -np.inf, np.round(means, 9))
    place = (means[:, None, :] > means[:, :, None]).sum(axis=2)
    return [
        {"run": name, "place": at + 1, "probability": float(share)}
        for name, column in zip(names, place.T, strict=True)
        for at, share in enumerate(np.bincount(column, minlength=len(names)) / DRAWS)
        if share
    ]


def _by_query(found: Board) -> tuple[list[str], Values]:
    """Return the best runs, and their values: floats of shape (queries, runs), of which the higher is the better."""
    rows = [row for row in found.rows if row.cells[0].value is not None][:MOST_RUNS]
    if len(rows) < 2:
        raise Http404
    sign = 1 if falls(found.options.measures[0]) else -1
    values = np.stack([found.values[row.run.pk] for row in rows], axis=1).astype(np.float64)
    return [row.name for row in rows], sign * values


def slices(subject: BoardSubject) -> Rows:
    """Return the score of each run on all queries and on each part of them, the best run first."""
    whole = subject.board(split="", length="", relevant="", plain=True)
    order = {row.run.pk: place for place, row in enumerate(whole.rows) if row.cells[0].value is not None}
    return [
        {"slice": words, "queries": part.queries, "run": row.name}
        | {"value": row.cells[0].value, "low": row.cells[0].low, "high": row.cells[0].high}
        for words, part in [("all", whole), *_parts(subject)]
        for row in sorted(part.rows, key=lambda row: order.get(row.run.pk, MOST_RUNS))
        if order.get(row.run.pk, MOST_RUNS) < MOST_RUNS
    ]


def _parts(subject: BoardSubject) -> Iterator[tuple[str, Board]]:
    known, none = Queries(subject.reference), dict.fromkeys(("split", "length", "relevant"), "")
    for split in known.splits:
        yield f"split {split}", subject.board(**none | {"split": split})
    for field, bands in (("length", known.lengths), ("relevant", known.amounts)):
        for name, band in bands.items():
            words = band.words.partition(": ")[2]
            yield words if field == "length" else f"{words} relevant", subject.board(**none | {field: name})


def cost(subject: BoardSubject) -> Rows:
    """Return the scores of the best runs on each release, by the hours of judging up to it."""
    best = [row.run for row in subject.board().rows[:FOLLOWED]]
    release = subject.reference.release
    references = ScoringReference.objects.filter(release__campaign=release.campaign_id).order_by("release__version")
    rows: Rows = []
    for reference in references.select_related("release__campaign"):
        again = board_options(reference, subject.options.convention.name, [str(subject.measure)])
        found = board(subject.runs.filter(pk__in=[run.pk for run in best]), reference, again)
        hours = float(total(worked_on_days(release.campaign, EVER, reference.release.at).values()).hours)
        rows += [
            {"release": reference.release.version, "hours": round(hours, 2), "run": row.name}
            | {"value": row.cells[0].value, "low": row.cells[0].low, "high": row.cells[0].high}
            for row in found.rows
            if row.cells[0].value is not None
        ]
    return rows


FIGURES = {
    figure.key: figure
    for figure in (
        BoardFigure(
            "places",
            "Probability of each place",
            f"The queries are drawn {DRAWS:,} times with replacement. A run that can have one place only is decided.",
            places,
            (536, 400),
        ),
        BoardFigure(
            "wins",
            "Every two runs",
            "Share of the queries on which the column’s run scores higher than the row’s. *: sign test, 5 %.",
            wins,
            (536, 400),
        ),
        BoardFigure(
            "slices",
            "Parts of the queries",
            "Scores with 95 % intervals on all queries and on parts of them. Plain means of the judged queries.",
            slices,
            (1104, 320),
            is_wide=True,
        ),
        BoardFigure(
            "cost",
            "Score and hours of judging",
            "The best three runs on each release, by the hours judged up to it. Bands: 95 % intervals.",
            cost,
            (536, 320),
        ),
    )
}


def plots_of(subject: BoardSubject, address: str) -> list[dict[str, Any]]:
    """Return the figures as pages show them; `address` is the query of the leaderboard's address."""
    campaign = subject.reference.release.campaign
    scored = Scoring.objects.filter(release=subject.reference.release, run__in=subject.runs)
    if scored.count() < 2:
        return []
    several = ScoringReference.objects.filter(release__campaign=campaign).count() > 1
    figures = [figure for figure in FIGURES.values() if several or figure.key != "cost"]
    where = {figure.key: reverse("leaderboard-figure", args=[campaign.name, figure.key, "KIND"]) for figure in figures}
    return [{"figure": each, "files": files_at(where[each.key], address)} for each in figures]


def board_figure_file(subject: BoardSubject, key: str, kind: str) -> HttpResponse:
    """Answer with a figure of a leaderboard as a file; not found without two runs with scores."""
    if key not in FIGURES:
        raise Http404
    rows, name = FIGURES[key].rows(subject), f"{subject.reference.release.campaign.name}-{key}"
    about = (key, FIGURES[key].size, rows, subject.measure.spelling)
    return figure_file(kind, rows, name, "runs.drawing.specification", *about)
