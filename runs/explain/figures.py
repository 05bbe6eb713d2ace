"""The figures of a run, and of runs beside each other: their numbers, what they tell, and their files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpResponse
from django.urls import reverse

from base.errors import BadValue, NotFound
from metrics import CONVENTIONS, Qrels, calc, parse_measure
from metrics import Run as Predictions
from reports.figures.files import figure_file, files_at
from reports.figures.numbers import Rows
from runs.board.standing import Standing
from runs.explain.cases import case_of
from runs.explain.queries import ExplanationOptions, ScoredQuery, address_of, scored_queries
from runs.measures import HEADLINE, USUAL
from runs.models import ScoringReference
from runs.tables import read_table

DEEPEST = 100  # ranks of which a figure shows how much is judged


@dataclass(frozen=True)
class RunFigure:
    """A figure with its words. `rows` are the lines of its CSV file; None if there is nothing to draw."""

    title: str
    others: tuple[int, int]  # how few and how many runs it takes beside the run
    size: tuple[int, int]  # of its drawing, in pixels
    rows: Callable[[ExplanationOptions, str], Rows | None]


def _by_query(options: ExplanationOptions, query: str) -> Rows | None:
    lines = scored_queries(options)
    if lines is None:
        return None
    texts = dict(options.run.campaign.queries.pool().values_list("query_id", "text"))
    lines = sorted(lines, key=lambda line: -(line.value or 0.0))
    return [
        {"place": n, "query": line.query, "text": texts.get(line.query, ""), "x": line.value, "y": line.other}
        | {"address": address_of(options, line.query)}
        for n, line in enumerate(lines, 1)
    ]


def _judged(options: ExplanationOptions, query: str) -> Rows | None:
    qrels = read_table(Qrels, options.reference.table)
    predictions = read_table(Predictions, options.run.table, name=options.run.name)
    names = [f"Judged@{rank}" for rank in range(1, DEEPEST + 1)]
    found = calc(names, qrels, predictions).aggregate()
    return [{"rank": rank, "judged": value} for rank, value in enumerate(found.values(), 1) if value is not None]


def _gain(options: ExplanationOptions, query: str) -> Rows | None:
    """Return the cumulated gain of each run at each rank, and that of the ideal ranking."""
    case = case_of(options, query)
    if case is None or not case.sides[0].ideals:
        return None
    ideals, cutoff = case.sides[0].ideals, options.measure.cutoff or len(case.sides[0].ideals)
    curves = [("ideal", [*ideals, *ideals[-1:] * (cutoff - len(ideals))])]
    curves += [(side.run.name, [rank.counts or 0.0 for rank in side.ranks]) for side in case.sides]
    return [
        {"run": name, "rank": rank, "gain": round(value if name == "ideal" else sum(values[:rank]), 6)}
        for name, values in curves
        for rank, value in enumerate(values, 1)
    ]


FIGURES = {
    "queries": RunFigure("Queries", (0, 1), (536, 256), _by_query),
    "scatter": RunFigure("Query by query", (1, 1), (400, 360), _by_query),
    "judged": RunFigure("How much is judged", (0, 3), (536, 256), _judged),
    "gain": RunFigure("Gain by rank", (0, 3), (536, 256), _gain),
}


def run_figure_file(
    options: ExplanationOptions | None, against: Sequence[int], key: str, kind: str, query: str = ""
) -> HttpResponse:
    """Answer with a figure of a run; not found if one of its runs has no scores.

    Raise BadValue unless the figure takes as many other runs as `against` names.
    """
    if key not in FIGURES:
        raise NotFound("There is no such figure.")
    figure = FIGURES[key]
    least, most = figure.others
    if not least <= len(against) <= most:
        found = ", ".join(map(str, against)) or "empty"
        raise BadValue("against", found, "the number of one other run" if least == most else f"at most {most} runs")
    if options is None or (rows := figure.rows(options, query)) is None:
        raise Http404
    lines = [{name: value for name, value in row.items() if name != "address"} for row in rows]
    filename = f"{options.run.campaign.name}-runs-{'-'.join(str(run.number) for run in options.runs)}-{key}"
    about = (key, figure.size, rows, [run.name for run in options.runs], options.measure.spelling)
    return figure_file(kind, lines, filename, "runs.drawing.specification", *about)


def plot_of(options: ExplanationOptions, key: str, tells: str, **more: str) -> dict[str, Any]:
    """Return a figure as pages show it: its title, what it tells in words, and where its files are."""
    where = reverse("run-figure", args=[options.run.campaign.name, options.run.number, key, "KIND"])
    address = options.address(run=None, against=[run.number for run in options.others], **more)
    figure = FIGURES[key]
    files = files_at(where, address)
    return {"key": key, "title": figure.title, "size": figure.size, "tells": tells, "files": files}


def tell_scatter(options: ExplanationOptions, lines: Sequence[ScoredQuery]) -> str:
    """Return in words on how many queries a run is better than another."""
    better = sum((line.difference or 0) > 0 for line in lines)
    worse = sum((line.difference or 0) < 0 for line in lines)
    ties = len(lines) - better - worse
    [other] = options.others
    return f"{options.run} scores higher on {better:,} queries and {other} on {worse:,}; they tie on {ties:,}."


def tell_queries(lines: Sequence[ScoredQuery]) -> str:
    """Return in words how the values of a run are spread over the queries."""
    values = sorted(line.value or 0.0 for line in lines)
    nothing = sum(value == 0 for value in values)
    middle = values[len(values) // 2] if values else 0.0
    words = f"{nothing:,} of {len(values):,} queries score 0"
    return f"{words}; half of them score {middle:.2f} or more." if middle else f"{words}."


def plots_of_run(standing: Standing, reference: ScoringReference) -> dict[str, Any]:
    """Return the figures of a run's page, beside the best run unless it is that."""
    own = ExplanationOptions(standing.row.run, (), reference, CONVENTIONS[USUAL], parse_measure(HEADLINE))
    options = own if standing.is_best else own.beside(standing.best.run)
    lines = scored_queries(options) or []
    plots = [plot_of(options, "queries", tell_queries(lines)), plot_of(own, "judged", "")]
    plots += [] if standing.is_best else [plot_of(options, "scatter", tell_scatter(options, lines))]
    return {"plots": {plot["key"]: plot for plot in plots}}
