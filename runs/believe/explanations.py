"""What the figures about measures say in words, for somebody who has not read the paper."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from metrics import parse_measure
from metrics.analysis.estimation import axiou_error, success_error
from runs.believe.numbers import TRUE_IOU, Found, of_measure

NOTHING = "There is nothing to draw: it needs two queries and two runs."


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


def tell_stability(name: str) -> Callable[[Found, str], str]:
    def tell(found: Found, measure: str) -> str:
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

    return tell


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
        f"At β = {last['level']:g} s, {share:.0%} of the squared error of {spelt(measure)} is bias: more queries would "
        "not mend it."
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
        f"On {shares[measure]:.0%} of the queries all systems have the same {spelt(measure)}, so these say nothing "
        f"about which is better; with {spelt(most)} it is {shares[most]:.0%}."
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
    half, one = rows["half", -1], rows["one", -1]
    without = [row for (change, _), row in rows.items() if change == "without"]
    moved = sum(row["same"] < row["trials"] for row in without)
    return (
        f"By {spelt(measure)}, half of the pairs keep the order of the systems in {half['same']} of {half['trials']} "
        f"draws{_by(half)}, and one annotator instead of two in {one['same']} of {one['trials']}{_by(one)}. "
        f"Leaving out one of the {len(without)} annotators changes it for {moved} of them."
    )


def _by(row: dict[str, Any]) -> str:
    return "" if row["tau"] is None else f" (mean τ = {row['tau']:.2f})"


def caption_subsets(what: str) -> Callable[[Found], str]:
    def caption(found: Found) -> str:
        return (
            f"{found['trials']:,} times for each size, {what}. τ says how alike the two orders of the systems are. The "
            "higher and the earlier a line rises, the fewer queries its measure needs."
        )

    return caption
