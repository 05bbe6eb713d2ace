"""What a comparison of runs found, and its tables as text, Markdown, LaTeX and data frames; and runs of one system
under several seeds, taken together.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from html import escape
from typing import Any, NamedTuple

import numpy as np

from ..formats.arrays import data_frame
from ..formats.errors import MeasureError
from ..measures.measure import Measure, Names
from ..measures.results import Scores, listed

LETTERS = "abcdefghijklmnopqrstuvwxyz"
BEGIN, END = "\x02", "\x03"  # of what is raised or bold in a table; no name holds them
# What LaTeX reads as something else. A name such as \input{/etc/passwd} must stay a name.
LATEX = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$"}
    | {"≥": r"$\geq$", "±": r"$\pm$", "−": "$-$", "▲": r"$^\triangle$", "▼": r"$^\triangledown$"}
)
SEED = r"[-_./]?seed[-_.=]?\d+|[-_.]\d+$"
LEAST = 1e-4  # a lower p is not printed


@dataclass(frozen=True)
class Interval:
    """A mean with its interval: bootstrap, or for bounded means where fewer than 10 queries deviate."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Difference:
    """A run beside another on one measure, over the queries that count for both.

    Attributes
    ----------
    difference, low, high
        Mean of run less other, and its bootstrap interval; NaN where no query counts for both.
    effect
        Cohen's d for paired samples: the mean difference over the sample standard deviation of the
        differences. NaN for fewer than two queries; 0 where all differences are 0, and infinite where they
        are all the same otherwise.
    p, corrected
        p values before and after Holm's correction.
    """

    measure: Measure
    run: str
    other: str
    difference: float
    low: float
    high: float
    effect: float
    p: float
    corrected: float


COLUMNS = tuple(field.name for field in fields(Difference))


@dataclass(frozen=True)
class Comparison:
    """Several runs on several measures, and their tables for a paper.

    Attributes
    ----------
    convention, test, level, baseline
        As the comparison was asked for.
    runs, measures
        In the order in which they were given.
    intervals
        Mean and interval of each run on each measure.
    differences
        Each run beside the baseline or, without a baseline, beside each run after it.

    See Also
    --------
    compare : Makes it.

    Examples
    --------
    >>> from reeljudge import compare
    >>> qrels = {str(n): [("a", 0, 10, 4)] for n in range(4)}
    >>> runs = {"one": {str(n): [("a", 0, 5 + n, 1.0)] for n in range(4)}, "two": qrels}
    >>> found = compare("AxIoU@1", qrels, runs)
    >>> found.intervals["one", "AxIoU@1"].mean
    0.65
    >>> print(found.to_latex())  # doctest: +ELLIPSIS
    % \\usepackage{booktabs}
    \\begin{table}
    \\caption{Convention paper. Letters: significantly better than that run ...}
    \\centering
    \\begin{tabular}{lr}
    \\toprule
    run & AxIoU@1 \\\\
    \\midrule
    a one & 0.6500 [0.2528, 0.8695] \\\\
    b two & 1.0000$^{a}$ [0.3953, 1.0000] \\\\
    \\bottomrule
    \\end{tabular}
    \\end{table}
    ...
    AxIoU@1 & one $-$ two & -0.3500 [-0.7472, +0.4683] & -2.71 & 0.0123 \\\\
    ...
    """

    convention: str
    test: str
    level: float
    baseline: str | None
    runs: tuple[str, ...]
    measures: tuple[Measure, ...]
    intervals: dict[tuple[str, Any], Interval]
    differences: tuple[Difference, ...]

    def superscript(self, run: str, measure: str | Measure) -> str:
        """Letters of the runs that this run is significantly better than."""
        beaten = [
            d.other if d.run == run else d.run
            for d in self.differences
            if d.measure == measure and run in (d.run, d.other) and self._wins(d, run)
        ]
        return "".join(letter(self.runs.index(other)) for other in sorted(beaten, key=self.runs.index))

    def _wins(self, difference: Difference, run: str) -> bool:
        ahead = difference.difference if difference.run == run else -difference.difference
        return difference.corrected < self.level and ahead > 0

    def caption(self) -> str:
        """What the letters, the brackets and the effects of the tables are."""
        against = f"against {_printable(self.baseline)}" if self.baseline else "all pairs"
        test, interval = f"{self.test} test", "bootstrap interval, or one for bounded means where few queries differ"
        if self.test == "estimated":
            test, interval = "t test of the estimated differences", "interval for future queries, estimated"
        return (
            f"Convention {self.convention}. Letters: significantly better than that run "
            f"({test}, {against}, Holm, {self.level:g}). "
            f"Brackets: {1 - self.level:.0%} {interval}. Effect: Cohen's d of paired differences."
        )

    def cells(self, mark: str = " {}", names: Names = "grammar") -> list[list[str]]:
        """Texts: a header, then each run with its letter, means, letters of the runs it beats, and intervals.

        mark: how the letters follow a mean, such as ``<sup>{}</sup>``. names: as in `to_frame`.
        """
        rows = [["run", *(measure.named(self.convention, names) for measure in self.measures)]]
        for i, name in enumerate(self.runs):
            row = [f"{letter(i)} {_printable(name)}"]
            for measure in self.measures:
                interval, better = self.intervals[name, measure], self.superscript(name, measure)
                above = mark.format(better) if better else ""
                row.append(f"{interval.mean:.4f}{above} [{interval.low:.4f}, {interval.high:.4f}]")
            rows.append(row)
        return rows

    def difference_cells(self, names: Names = "grammar") -> list[list[str]]:
        """Texts: a header, then each difference with its interval, effect size and corrected p."""
        rows = [["measure", "run − other", "difference", "effect", "p (Holm)"]]
        for d in self.differences:
            mean = f"{d.difference:+.4f} [{d.low:+.4f}, {d.high:+.4f}]"
            p = f"< {LEAST:.4f}".replace("0.", ".") if d.corrected < LEAST else f"{d.corrected:.4f}"
            rows.append(
                [
                    d.measure.named(self.convention, names),
                    f"{_printable(d.run)} − {_printable(d.other)}",
                    mean,
                    f"{d.effect:+.2f}",
                    p,
                ]
            )
        return rows

    def to_frame(self, differences: bool = False, names: Names = "grammar") -> Any:
        """A pandas data frame with a row for each run and measure.

        Parameters
        ----------
        differences : bool, default False
            Whether it has a row for each difference instead.
        names : {"grammar", "paper"}, default "grammar"
            Whether measures are named in the grammar, or as the convention's evaluator or a paper names them.

        Returns
        -------
        pandas.DataFrame
            Columns run, measure, mean, low, high, better_than (letters); or those of `Difference`.

        Raises
        ------
        MeasureError
            Where pandas is not installed.
        """
        if differences:
            named = [vars(d) | {"measure": d.measure.named(self.convention, names)} for d in self.differences]
            return data_frame(named, list(COLUMNS))
        rows = [
            {"run": name, "measure": measure.named(self.convention, names)}
            | vars(self.intervals[name, measure])
            | {"better_than": self.superscript(name, measure)}
            for name in self.runs
            for measure in self.measures
        ]
        return data_frame(rows)

    def to_markdown(self, names: Names = "grammar") -> str:
        """The tables of runs and of differences, and what their signs mean, in Markdown. names: as in `to_frame`."""
        parts = []
        for header, *rows in (self.cells("<sup>{}</sup>", names), self.difference_cells(names)):
            lines = (header, ["---"] * len(header), *rows)
            parts.append(
                "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
            )
        return "\n\n".join([*parts, self.caption()])

    def to_latex(self, names: Names = "grammar") -> str:
        """The tables of runs and of differences in LaTeX with booktabs and captions. names: as in `to_frame`."""
        differences = (
            f"Differences of means with {1 - self.level:.0%} intervals, effects, and p after Holm's correction."
        )
        tables = [
            _latex_table(self.cells(f"{BEGIN}{{}}{END}", names), self.caption()),
            _latex_table(self.difference_cells(names), differences),
        ]
        return "\n".join([r"% \usepackage{booktabs}", *tables])

    def _repr_html_(self) -> str:
        """The table of runs, for notebooks."""
        header, *rows = ([escape(cell) for cell in row] for row in self.cells())
        head = "".join(f"<th>{cell}</th>" for cell in header)
        body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
        rows_of_all = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
        return f"<table><caption>{escape(self.caption())}</caption>{rows_of_all}</table>"


def letter(number: int) -> str:
    """a, b, … z, aa, ab, …"""
    prefix = letter(number // len(LETTERS) - 1) if number >= len(LETTERS) else ""
    return prefix + LETTERS[number % len(LETTERS)]


def _latex_table(cells: list[list[str]], caption: str) -> str:
    header, *rows = map(_latex_row, cells)
    columns = "l" + "r" * (len(cells[0]) - 1)
    begin = [
        r"\begin{table}",
        f"\\caption{{{caption.translate(LATEX)}}}",
        r"\centering",
        f"\\begin{{tabular}}{{{columns}}}",
    ]
    end = [r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    return "\n".join([*begin, r"\toprule", header, r"\midrule", *rows, *end])


def _latex_row(cells: list[str]) -> str:
    row = " & ".join(cell.translate(LATEX) for cell in cells)
    return row.replace(BEGIN, "$^{").replace(END, "}$") + r" \\"


def _printable(name: str) -> str:
    """Return a name in one line, without signs that no printer shows."""
    return "".join(sign if sign.isprintable() else " " for sign in name)


class Spread(NamedTuple):
    """Mean over runs, and sample standard deviation (n − 1); None where no run has a value, or fewer than two have."""

    mean: float | None
    deviation: float | None


class Group(NamedTuple):
    """Runs that differ by their seed only, and the spread of each measure over them."""

    name: str
    runs: tuple[str, ...]
    spreads: dict[Measure, Spread]


def grouped(scores: Mapping[str, Scores] | Sequence[Scores], pattern: str = SEED) -> list[Group]:
    """Put runs together whose names differ only in what a pattern matches.

    Parameters
    ----------
    scores : dict or list of Scores
        Of runs that were scored on the same measures, as `scores_of` returns them.
    pattern : str, default "seed" with a number, or a number at the end
        A regular expression; what it matches is taken out of the names.

    Returns
    -------
    list of Group
        One for each remaining name, in the order of the runs, with `name`, `runs`, and `spreads`: the mean and the
        sample standard deviation of each measure.

    Raises
    ------
    MeasureError
        For a pattern that is no regular expression.

    See Also
    --------
    scores_of : Scores several runs.

    Examples
    --------
    One run alone has no standard deviation:

    >>> from reeljudge import scores_of
    >>> runs = {name: {"1": [("a", 0, end, 1.0)]} for name, end in (("clip-seed1", 5), ("clip-seed2", 6), ("bm25", 9))}
    >>> groups = grouped(scores_of("AxIoU@1", {"1": [("a", 0, 10, 4)]}, runs))
    >>> for group in groups:
    ...     print(group.name, group.spreads["AxIoU@1"])
    clip Spread(mean=0.55, deviation=0.07071067811865474)
    bm25 Spread(mean=0.9, deviation=None)
    """
    found = listed(scores)
    try:
        seed = re.compile(pattern, re.IGNORECASE)
    except (re.error, TypeError) as problem:
        raise MeasureError(f"pattern {pattern!r} is not a regular expression: {problem}") from None
    members: dict[str, list[Scores]] = {}
    for score in found:
        name = seed.sub("", score.run).strip("-_./") or score.run
        members.setdefault(name, []).append(score)
    return [_group(name, group) for name, group in members.items()]


def _group(name: str, scores: list[Scores]) -> Group:
    values = [score.aggregate() for score in scores]
    spreads = {m: _spread([row[m] for row in values]) for m in scores[0].measures}
    return Group(name, tuple(score.run for score in scores), spreads)


def _spread(values: list[float | None]) -> Spread:
    there = [value for value in values if value is not None]
    if not there:
        return Spread(None, None)
    return Spread(float(np.mean(there)), float(np.std(there, ddof=1)) if len(there) > 1 else None)
