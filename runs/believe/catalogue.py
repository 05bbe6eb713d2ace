"""The list of the figures about measures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from runs.believe import explanations as words
from runs.believe import numbers
from runs.believe.numbers import TRUE_IOU, Found, Rows


@dataclass(frozen=True)
class Figure:
    """One figure: `rows` and `tells` take the findings and the measure that the page is about."""

    key: str
    tab: str  # its title in a word or two
    title: str
    paper: str  # where the paper has it
    caption: Callable[[Found], str]
    tells: Callable[[Found, str], str]
    rows: Callable[[Found, str], Rows]


FIGURES = [
    Figure(
        "scores",
        "Scores",
        "Scores by system",
        "AxIoU, Figure 5",
        lambda found: (
            "A line is a measure, a point the mean score of a system over all queries. Where lines cross, "
            "measures disagree about who is better."
        ),
        words.tell_scores,
        numbers.sorted_scores,
    ),
    Figure(
        "agreement",
        "Agreement",
        "Agreement of measures",
        "AxIoU, Figure 4",
        lambda found: (
            "Kendall's τ-b of the two orders of the systems that two measures give: 1 is the same order, −1 "
            "the opposite one. An empty cell has a measure that ties all systems."
        ),
        words.tell_agreement,
        numbers.stored("agreement"),
    ),
    Figure(
        "stability-two",
        "Stability",
        "Stability: two subsets of the queries",
        "AxIoU, Figure 6",
        words.caption_subsets("two subsets of the queries are drawn and compared, as the paper describes it"),
        words.tell_stability("stability-two"),
        numbers.stored("stability-two"),
    ),
    Figure(
        "stability-full",
        "Stability by the code",
        "Stability: a subset against all queries",
        "AxIoU, Figure 6, by the authors' code",
        words.caption_subsets(
            "a subset of the queries is drawn and compared with all of them, as the authors' code does"
        ),
        words.tell_stability("stability-full"),
        numbers.stored("stability-full"),
    ),
    Figure(
        "noise",
        "Boundaries",
        "Inexact boundaries",
        "AxIoU, Figure 7",
        words.caption_noise,
        words.tell_noise,
        numbers.stored("noise"),
    ),
    Figure(
        "bias",
        "Bias",
        "Bias and variance on these runs",
        "beside AxIoU, Figure 10",
        lambda found: (
            "The squared error of the figure before, in two parts: how far the mean over all noisy data sets "
            "lies off (bias), and how much a single one scatters around it (variance)."
        ),
        words.tell_bias,
        numbers.stored("noise"),
    ),
    Figure(
        "theory",
        "Theory",
        "Bias and variance in theory",
        "AxIoU, Figure 10",
        lambda found: (
            f"No data: the first prediction of a query has a true IoU of {TRUE_IOU}, and annotators see it with "
            "normal noise of standard deviation γ. A threshold turns small noise into a whole hit or miss."
        ),
        words.tell_theory,
        numbers.theory,
    ),
    Figure(
        "ties",
        "Ties",
        "Queries that tell nothing",
        "AxIoU, Figure 9",
        lambda found: "The share of queries on which all systems have exactly the same score.",
        words.tell_ties,
        numbers.stored("ties"),
    ),
    Figure(
        "select",
        "Selection",
        "Selecting a system",
        "AxIoU, Figure 8",
        lambda found: (
            "Each row selects the best system by one measure on a random half of the queries; the cells say how "
            "good these systems are on the other half, as z-scores within a column. A row that is blue throughout "
            "selects well whatever counts later."
        ),
        words.tell_select,
        numbers.selected,
    ),
    Figure(
        "judging",
        "Judging",
        "Other ways of judging",
        "not in AxIoU",
        lambda found: (
            f"The scores if only half of each query's pairs had been judged (of {found['pairs']:,}), if one "
            f"annotator had graded each pair (each drawn {found['redrawn']} times; a line spans lowest and highest), "
            "and if one annotator had not been there: final grades are made anew of the raw ones. Where two systems "
            "change places, the judgements do not carry their difference."
        ),
        words.tell_judging,
        numbers.judging,
    ),
]
BY_KEY = {figure.key: figure for figure in FIGURES}
