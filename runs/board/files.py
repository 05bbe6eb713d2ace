"""A leaderboard as a file: CSV, LaTeX, Markdown or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from base.text import csv_lines, harmless, percent, with_minus
from metrics.analysis.comparison import BEGIN, END, LATEX
from metrics.analysis.intervals import ENOUGH
from runs.board.table import LEVEL, Board, BoardRow, Cell

NUMBERS = ("value", "low", "high", "spread", "deviation", "difference", "p", "plain")


FEW = f"or one for bounded means where fewer than {ENOUGH} queries deviate"

# Bias: of three sets of systems on TVR-Ranking's ratings, if the first rating of each pair stands for the consensus.
ONE_RATING = (
    "Each pair has one rating: the intervals are of queries only, and leave out what other annotators would have said. "
    "On TVR-Ranking's ratings, scores from one rating are too low by .008 to .029."
)


class File(NamedTuple):
    """A format: what is written, and its type."""

    write: Callable[[Board], str]
    content_type: str


def as_csv(board: Board) -> str:
    """A line for each run and measure."""
    header = ["release", "convention", "run", "system", "seeds", "measure", "queries", *NUMBERS, "judged"]
    lines: list[list[object]] = []
    for row in board.rows:
        named = [harmless(row.name), harmless(row.run.system), len(row.runs)]
        for measure, cell in zip(board.options.measures, row.cells, strict=True):
            numbers = ["" if (number := getattr(cell, name)) is None else repr(number) for name in NUMBERS]
            judged = "" if row.judged is None else repr(row.judged)
            about = [board.release.version, board.options.convention.name, *named, str(measure), board.queries]
            lines.append([*about, *numbers, judged])
    return "".join(csv_lines(header, lines))


def as_json(board: Board) -> str:
    return json.dumps(numbers_of(board), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def numbers_of(board: Board) -> dict[str, Any]:
    """Return what a leaderboard says, as JSON has it."""
    rows = [
        {
            "name": row.name,
            "system": row.run.system,
            "runs": [{"number": run.number, "name": run.name, "sha256": run.sha256} for run in row.runs],
            "judged": {board.options.judged: row.judged},
            "scores": {str(m): _numbers(cell) for m, cell in zip(board.options.measures, row.cells, strict=True)},
        }
        for row in board.rows
    ]
    return _about(board) | {"rows": rows}


def _about(board: Board) -> dict[str, Any]:
    return {
        "campaign": board.release.campaign.name,
        "release": board.release.version,
        "sha256": board.release.sha256,
        "convention": board.options.convention.name,
        "queries": board.queries,
        "sample": {"judged": board.sample.judged, "ranked": board.sample.ranked, "flaw": board.sample.flaw},
        "estimated": board.is_estimated,
        "baseline": board.baseline.name if board.baseline else None,
        "level": LEVEL,
    }


def _numbers(cell: Cell) -> dict[str, float]:
    return {name: number for name in NUMBERS if (number := getattr(cell, name)) is not None}


def as_markdown(board: Board) -> str:
    header, *rows = _cells(board, "**{}**")
    lines = [header, ["---", *["--:"] * (len(header) - 1)], *rows]
    table = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines]
    return "\n".join([*table, "", caption(board), ""])


def as_latex(board: Board) -> str:
    header, *rows = ([cell.translate(LATEX) for cell in line] for line in _cells(board, f"{BEGIN}{{}}{END}"))
    bold = [[cell.replace(BEGIN, r"\textbf{").replace(END, "}") for cell in line] for line in rows]
    body = [" & ".join(line) + r" \\" for line in bold]
    lines = [f"% {caption(board)}", rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}", r"\hline"]
    lines += [" & ".join(header) + r" \\", r"\hline", *body, r"\hline", r"\end{tabular}", ""]
    return "\n".join(lines)


def _cells(board: Board, best: str) -> Iterable[list[str]]:
    """Yield the rows of a printed table, the header first; the best of each column is marked."""
    yield ["Run", *(measure.spelling for measure in board.options.measures), board.options.judged]
    for row in board.rows:
        judged = "–" if row.judged is None else f"{row.judged * 100:.1f} %"
        yield [_name(row), *(_printed(cell, best) for cell in row.cells), judged]


def _name(row: BoardRow) -> str:
    seeds = f" ({len(row.runs)} seeds)" if len(row.runs) > 1 else ""
    return " ".join(row.name.split()) + seeds


def _printed(cell: Cell, best: str) -> str:
    if cell.value is None:
        return "–"
    number = with_minus(f"{cell.value:.4f}")
    sign = ("▲" if (cell.difference or 0) > 0 else "▼") if cell.is_significant else ""
    return (best.format(number) if cell.is_best else number) + sign + _width(cell)


def _width(cell: Cell) -> str:
    if cell.deviation is not None:
        return f" ± {cell.deviation:.4f}"
    interval = "" if cell.low is None else f" [{cell.low:.4f}, {cell.high:.4f}]"
    return interval + ("" if cell.spread is None else f" ±{cell.spread:.4f}")


def caption(board: Board) -> str:
    """Return what one must know to read the numbers."""
    part = " (a part of them)" if board.is_part else ""
    sentences = [
        f"{board.release.campaign}, release {board.release.version}, convention {board.options.convention.name}, "
        f"{board.queries:,} queries{part}.",
        *_about_sample(board),
        "±: half the width of the 95 % bootstrap interval over annotators; with seeds, the standard deviation.",
    ]
    if board.has_one_rating:
        sentences.append(ONE_RATING)
    if board.baseline:
        sentences.append(
            f"▲ ▼: significantly better or worse than {' '.join(board.baseline.name.split())} "
            f"(paired t-test, Holm, {LEVEL:g})."
        )
    return " ".join(sentences)


def _about_sample(board: Board) -> Iterator[str]:
    """Say what the scores are of: all ranked queries, judged or estimated, or those that are judged."""
    sample = board.sample
    if board.is_estimated:
        yield (
            f"Estimated from {percent(sample.share)} of the queries ({sample.judged:,} judged of {sample.ranked:,} "
            f"ranked). Brackets: 95 % interval of the estimate, {FEW}."
        )
        return
    if sample.flaw:
        yield f"Plain means: the judged queries are not a random sample, because {sample.flaw}."
    elif sample.is_part:
        yield f"Plain means of the judged queries; {sample.ranked:,} are ranked."
    elif sample.ranked:
        yield "Judged in full."
    yield f"Brackets: 95 % bootstrap interval over queries, {FEW}."


FILES = {
    "csv": File(as_csv, "text/csv; charset=utf-8"),
    "tex": File(as_latex, "application/x-tex; charset=utf-8"),
    "md": File(as_markdown, "text/markdown; charset=utf-8"),
    "json": File(as_json, "application/json"),
}
