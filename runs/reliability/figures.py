"""The figures about measures: their rows, which are also the lines of CSV files, and what they say in words.

The words are for somebody who has not read the paper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from base.templatetags.figures import decimals
from base.text import percent
from metrics import parse_measure
from metrics.analysis.noise import axiou_error, success_error

NOTHING = "There is nothing to draw: it needs two queries and two runs."
Rows = list[dict[str, Any]]
Found = dict[str, Any]  # what `findings.examine` returns
TRUE_IOU = 0.5
NOISES = (0.05, 0.1, 0.2)
THETAS = np.round(np.arange(0.04, 0.98, 0.02), 2)


@dataclass(frozen=True)
class ReliabilityFigure:
    """One figure: `made` and `tells` take the findings and the measure that the page is about."""

    key: str
    tab: str  # its title in a word or two
    title: str
    paper: str  # where the paper has it
    caption: str | Callable[[Found], str]
    tells: Callable[[Found, str], str]
    made: Callable[[Found, str], Rows] | None = None  # its rows; None if they are found under its key

    def rows(self, found: Found, measure: str) -> Rows:
        return self.made(found, measure) if self.made else list(found["rows"][self.key])


def spelt(measure: str) -> str:
    """Return a measure's name as the papers spell it."""
    return parse_measure(measure).spelling


def tell_scores(found: Found, measure: str) -> str:
    ranked = sorted(of_measure(found, "scores", measure), key=lambda row: -row["mean"])
    first, second = ranked[:2]
    best: dict[str, Any] = {}
    for row in found["rows"]["scores"]:
        if row["measure"] not in best or row["mean"] > best[row["measure"]]["mean"]:
            best[row["measure"]] = row
    others = sum(row["system"] != first["system"] for row in best.values())
    sentence = f"By {spelt(measure)}, {first['system']} leads with {first['mean']:.3f}, before {second['system']} with "
    return f"{sentence}{second['mean']:.3f}. {others} of {len(best)} measures put another system first."


def tell_agreement(found: Found, measure: str) -> str:
    pairs = [row for row in found["rows"]["agreement"] if row["measure"] < row["other"] and row["tau"] is not None]
    mine = [row["tau"] for row in pairs if measure in (row["measure"], row["other"])]
    if not mine:
        return f"{spelt(measure)} ties all systems, or there is no other measure."
    least = min(pairs, key=lambda row: row["tau"])
    return (
        f"{spelt(measure)} agrees with the other measures by τ = {sum(mine) / len(mine):.2f} on average. "
        f"{spelt(least['measure'])} and {spelt(least['other'])} agree least: τ = {least['tau']:.2f}."
    )


def tell_stability(name: str, found: Found, measure: str) -> str:
    sizes = sorted({row["size"] for row in found["rows"][name]})
    half = min(sizes, key=lambda size: abs(size - found["queries"] / 2))
    at_half = {row["measure"]: row["mean"] for row in found["rows"][name] if row["size"] == half}
    known = {each: mean for each, mean in at_half.items() if mean is not None}
    if measure not in known:
        return NOTHING
    steadiest = max(known, key=lambda each: known[each])
    return (
        f"With {half} of {found['queries']} queries {spelt(measure)} repeats its order of the systems by "
        f"τ = {known[measure]:.2f} on average; the steadiest is {spelt(steadiest)} with {known[steadiest]:.2f}."
    )


def tell_noise(found: Found, measure: str) -> str:
    level = found["rows"]["overlaps"][len(found["rows"]["overlaps"]) // 2]
    errors = {row["measure"]: row["rmse"] for row in found["rows"]["noise"] if row["level"] == level["level"]}
    most, least = max(errors, key=lambda m: errors[m]), min(errors, key=lambda m: errors[m])
    return (
        f"At β = {level['level']:g} s, where noisy and real moments overlap by an IoU of {level['iou']:.2f}, "
        f"{spelt(measure)} moves by {errors[measure]:.3f}; {spelt(most)} moves most ({errors[most]:.3f}) and "
        f"{spelt(least)} least ({errors[least]:.3f})."
    )


def caption_noise(found: Found) -> str:
    overlaps = ", ".join(f"{row['iou']:.2f} at {row['level']:g} s" for row in found["rows"]["overlaps"])
    return (
        "Five simulated raters mark every moment anew: their starts deviate by β seconds, their lengths are "
        f"exponential, and the medians count. The error is that of the mean score, over {found['datasets']} such data "
        f"sets, averaged over the systems. Raters who agree that much with the truth (mean IoU): {overlaps}."
    )


def tell_bias(found: Found, measure: str) -> str:
    rows = of_measure(found, "noise", measure)
    last = rows[-1]
    both = last["bias"] + last["variance"]
    share = last["bias"] / both if both else 0.0
    return (
        f"At β = {last['level']:g} s, {percent(share)} of the squared error of {spelt(measure)} is bias: more queries "
        "would not mend it."
    )


def tell_theory(found: Found, measure: str) -> str:
    hit = success_error(TRUE_IOU, np.array(TRUE_IOU), np.array(0.1))
    return (
        f"With γ = 0.1 the squared error of R@1,θ is {float(hit.mse):.2f} where θ meets the true IoU, and that of "
        f"AxIoU@1 is {float(axiou_error(np.array(0.1)).mse):.2f} whatever the threshold."
    )


def tell_ties(found: Found, measure: str) -> str:
    shares = {row["measure"]: row["all_tied"] for row in found["rows"]["ties"]}
    most = max(shares, key=lambda each: shares[each])
    return (
        f"On {percent(shares[measure])} of the queries all systems have the same {spelt(measure)}, so these say "
        f"nothing about which is better; with {spelt(most)} it is {percent(shares[most])}."
    )


def tell_select(found: Found, measure: str) -> str:
    chosen = {row["validation"]: row["selected"] for row in found["rows"]["select"]}
    if not chosen:
        return NOTHING
    same = sum(system == chosen[measure] for system in chosen.values())
    return (
        f"On one half of the queries {spelt(measure)} selects {chosen[measure]}, as do {same - 1} of the other "
        f"{len(chosen) - 1} measures."
    )


def tell_judging(found: Found, measure: str) -> str:
    rows = {(row["change"], row["annotator"]): row for row in of_measure(found, "orders", measure)}
    half, one, share = rows["half", -1], rows["one", -1], ""
    if estimated := rows.get(("estimated", -1)):
        plain = rows["queries", -1]
        share = (
            f", 30 % of the queries in {plain['same']}{_by(plain)}, corrected by all ranked ones in "
            f"{estimated['same']}{_by(estimated)}"
        )
    without = [row for (change, _), row in rows.items() if change == "without"]
    moved = sum(row["same"] < row["trials"] for row in without)
    return (
        f"By {spelt(measure)}, half of the pairs keep the order of the systems in {half['same']} of {half['trials']} "
        f"draws{_by(half)}{share}, and one annotator instead of two in {one['same']} of {one['trials']}{_by(one)}. "
        f"Leaving out one of the {len(without)} annotators changes it for {moved} of them."
    )


def _by(row: dict[str, Any]) -> str:
    return "" if row["tau"] is None else f" (mean τ = {row['tau']:.2f})"


def caption_subsets(what: str, found: Found) -> str:
    return (
        f"{found['trials']:,} times for each size, {what}. τ says how alike the two orders of the systems are. The "
        "higher and the earlier a line rises, the fewer queries its measure needs."
    )


def of_measure(found: Found, name: str, measure: str) -> Rows:
    return [row for row in found["rows"][name] if row["measure"] == measure]


def sorted_scores(found: Found, measure: str) -> Rows:
    """Return the scores, with the systems in the order of the measure, the best first."""
    place = {row["system"]: -row["mean"] for row in of_measure(found, "scores", measure)}
    return sorted(found["rows"]["scores"], key=lambda row: place[row["system"]])


def theory(found: Found, measure: str) -> Rows:
    rows: Rows = []
    for noise in NOISES:
        hits, axiou = (success_error(TRUE_IOU, THETAS, np.array(noise)), axiou_error(np.full(THETAS.size, noise)))
        for of, error in (("R@1,θ", hits), ("AxIoU@1", axiou)):
            parts = {"squared bias": error.bias, "variance": error.variance, "sum": error.mse}
            rows += [
                {"of": of, "noise": noise, "part": part, "theta": float(theta), "error": round(float(value), 6)}
                for part, values in parts.items()
                for theta, value in zip(THETAS, values, strict=True)
            ]
    return rows


def judging(found: Found, measure: str) -> Rows:
    """Return the scores under each change of the judging, with the change in words."""
    rows = of_measure(found, "judging", measure)
    place = {row["system"]: -row["mean"] for row in rows if row["change"] == "all"}
    named = [
        {"way": way(row), "system": row["system"], "measure": measure, "mean": row["mean"]}
        | {end: row.get(end, row["mean"]) for end in ("lowest", "highest")}
        for row in rows
    ]
    return sorted(named, key=lambda row: place[row["system"]])


def way(row: dict[str, Any]) -> str:
    """Return a change of the judging in words."""
    return WAYS.get(row["change"], f"without annotator {row['annotator']}")


WAYS = {
    "all": "as it was judged",
    "half": "half of the pairs",
    "queries": "30 % of the queries",
    "estimated": "30 % of the queries, corrected",
    "one": "one annotator instead of two",
}


FIGURES = [
    ReliabilityFigure(
        "scores",
        "Scores",
        "Scores by system",
        "AxIoU, Figure 5",
        "A line is a measure, a point the mean score of a system over all queries. Where lines cross, "
        "measures disagree about who is better.",
        tell_scores,
        sorted_scores,
    ),
    ReliabilityFigure(
        "agreement",
        "Agreement",
        "Agreement of measures",
        "AxIoU, Figure 4",
        "Kendall's τ-b of the two orders of the systems that two measures give: 1 is the same order, −1 "
        "the opposite one. An empty cell has a measure that ties all systems.",
        tell_agreement,
    ),
    ReliabilityFigure(
        "stability-two",
        "Stability",
        "Stability: two subsets of the queries",
        "AxIoU, Figure 6",
        partial(caption_subsets, "two subsets of the queries are drawn and compared, as the paper describes it"),
        partial(tell_stability, "stability-two"),
    ),
    ReliabilityFigure(
        "stability-full",
        "Stability by the code",
        "Stability: a subset against all queries",
        "AxIoU, Figure 6, by the authors' code",
        partial(
            caption_subsets, "a subset of the queries is drawn and compared with all of them, as the authors' code does"
        ),
        partial(tell_stability, "stability-full"),
    ),
    ReliabilityFigure("noise", "Boundaries", "Inexact boundaries", "AxIoU, Figure 7", caption_noise, tell_noise),
    ReliabilityFigure(
        "bias",
        "Bias",
        "Bias and variance on these runs",
        "beside AxIoU, Figure 10",
        "The squared error of the figure before, in two parts: how far the mean over all noisy data sets "
        "lies off (bias), and how much a single one scatters around it (variance).",
        tell_bias,
        lambda found, measure: list(found["rows"]["noise"]),
    ),
    ReliabilityFigure(
        "theory",
        "Theory",
        "Bias and variance in theory",
        "AxIoU, Figure 10",
        f"No data: the first prediction of a query has a true IoU of {TRUE_IOU}, and annotators see it with "
        "normal noise of standard deviation γ. A threshold turns small noise into a whole hit or miss.",
        tell_theory,
        theory,
    ),
    ReliabilityFigure(
        "ties",
        "Ties",
        "Queries that tell nothing",
        "AxIoU, Figure 9",
        "The share of queries on which all systems have exactly the same score.",
        tell_ties,
    ),
    ReliabilityFigure(
        "select",
        "Selection",
        "Selecting a system",
        "AxIoU, Figure 8",
        "Each row selects the best system by one measure on a random half of the queries; the cells say how "
        "good these systems are on the other half, as z-scores within a column. A row that is blue throughout "
        "selects well whatever counts later.",
        tell_select,
    ),
    ReliabilityFigure(
        "judging",
        "Judging",
        "Other ways of judging",
        "not in AxIoU",
        lambda found: (
            f"The scores if only half of each query's pairs had been judged (of {found['pairs']:,}), if 30 % of the "
            "queries had been, as plain means and corrected by all of them (where the release has its pool), if one "
            f"annotator had graded each pair (each drawn {found['redrawn']} times; a line spans lowest and highest), "
            "and if one annotator had not been there: final grades are made anew of the raw ones. Where two systems "
            "change places, the judgements do not carry their difference."
        ),
        tell_judging,
        judging,
    ),
]
BY_KEY = {figure.key: figure for figure in FIGURES}

# The score card: what an examination found of each measure in one row, the most reliable first
STEADY = 0.9  # τ between two subsets of the queries, from which an order counts as stable
SHADES = 4  # of cells, from worst to best


class Trait(NamedTuple):
    """A column: what is read of a measure, and whether less of it is better."""

    words: str
    why: str
    of: Callable[[Found, str], float | None]
    less_is_better: bool
    written: Callable[[float], str]


CardCell = tuple[str, int | None]  # words, and a shade from 0 for the worst to SHADES for the best, if it is known


class ScoreCard(NamedTuple):
    """The columns, and a row for each measure: its name, its spelling, and its cells."""

    traits: list[Trait]
    rows: list[tuple[str, str, list[CardCell]]]

    @property
    def advice(self) -> list[str]:
        """The most reliable measure, and the most reliable one of another kind."""
        kinds = [parse_measure(measure).name for measure, *_ in self.rows]
        others = [spelling for kind, (_, spelling, _) in zip(kinds, self.rows, strict=True) if kind != kinds[0]]
        return [self.rows[0][1], *others[:1]]


def _needed(found: Found, measure: str) -> float | None:
    steady = [row["size"] for row in of_measure(found, "stability-two", measure) if (row["mean"] or 0) >= STEADY]
    return min(steady, default=None)


def _moved(found: Found, measure: str) -> float | None:
    rows = of_measure(found, "noise", measure)
    return rows[len(rows) // 2]["rmse"] if rows else None


def _tied(found: Found, measure: str) -> float | None:
    return next((row["all_tied"] for row in of_measure(found, "ties", measure)), None)


def _agreed(found: Found, measure: str) -> float | None:
    rows = found["rows"]["agreement"]
    known = [row["tau"] for row in rows if row["measure"] == measure != row["other"] and row["tau"] is not None]
    return sum(known) / len(known) if known else None


def _kept(found: Found, measure: str) -> float | None:
    half = (row for row in of_measure(found, "orders", measure) if row["change"] == "half")
    return next((row["tau"] for row in half), None)


TRAITS = [
    Trait(
        "Needs queries",
        f"fewest queries of which two draws order the systems alike (τ ≥ {STEADY})",
        _needed,
        True,
        lambda value: f"{value:,.0f}",
    ),
    Trait(
        "Moves with boundaries",
        "error of the score if rough raters mark the boundaries anew",
        _moved,
        True,
        lambda value: decimals(value, 3),
    ),
    Trait("Ties", "queries on which all systems score the same, and that tell nothing", _tied, True, percent),
    Trait(
        "Agrees with the rest",
        "mean τ of its order of the systems with those of the other measures",
        _agreed,
        False,
        lambda value: decimals(value, 2),
    ),
    Trait(
        "Half unjudged",
        "mean τ with its own order, if half of the pairs are not judged",
        _kept,
        False,
        lambda value: decimals(value, 2),
    ),
]


def score_card(found: Found) -> ScoreCard:
    """Return the card of all measures that were examined, by their mean place in all columns."""
    measures = found["measures"]
    places = dict.fromkeys(measures, 0.0)
    cells: dict[str, list[CardCell]] = {measure: [] for measure in measures}
    for trait in TRAITS:
        values: dict[str, Any] = {measure: trait.of(found, measure) for measure in measures}
        known = sorted({value for value in values.values() if value is not None}, reverse=not trait.less_is_better)
        for measure, value in values.items():
            share = known.index(value) / max(1, len(known) - 1) if value is not None else 1.0
            places[measure] += share
            shade = round(SHADES * (1 - share)) if value is not None and len(known) > 1 else None
            cells[measure].append(("–" if value is None else trait.written(value), shade))
    ordered = sorted(measures, key=lambda measure: places[measure])
    return ScoreCard(TRAITS, [(measure, spelt(measure), cells[measure]) for measure in ordered])
