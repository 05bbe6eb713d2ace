"""The rows of each figure about measures, which are also the lines of its CSV file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from metrics.analysis.estimation import axiou_error, success_error

Rows = list[dict[str, Any]]
Found = dict[str, Any]  # what `findings.examine` returns
TRUE_IOU = 0.5
NOISES = (0.05, 0.1, 0.2)
THETAS = np.round(np.arange(0.04, 0.98, 0.02), 2)


def stored(name: str) -> Callable[[Found, str], Rows]:
    return lambda found, measure: list(found["rows"][name])


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


def selected(found: Found, measure: str) -> Rows:
    return list(found["rows"]["select"])


def judging(found: Found, measure: str) -> Rows:
    """Return the scores under each change of the judging, with the change in words."""
    rows = of_measure(found, "judging", measure)
    place = {row["system"]: -row["mean"] for row in rows if row["change"] == "all"}
    named = [{"way": way(row), **_without_keys(row)} for row in rows]
    return sorted(named, key=lambda row: place[row["system"]])


def _without_keys(row: dict[str, Any]) -> dict[str, Any]:
    mean = row["mean"]
    return {"system": row["system"], "measure": row["measure"], "mean": mean} | {
        end: row.get(end, mean) for end in ("lowest", "highest")
    }


def way(row: dict[str, Any]) -> str:
    """Return a change of the judging in words."""
    return {"all": "as it was judged", "half": "half of the pairs", "one": "one annotator instead of two"}.get(
        row["change"], f"without annotator {row['annotator']}"
    )
