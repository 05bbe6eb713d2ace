"""Every measure that there is: its name, parameters, family, and how it is computed on a scene."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from metrics.measures import scores
from metrics.measures.arrays import Floats
from metrics.measures.conventions import Family, Gain, Options
from metrics.measures.scene import Scene

if TYPE_CHECKING:
    from metrics.measures.grammar import Measure

Thresholds = tuple[float, ...]


@dataclass(frozen=True)
class Plan:
    """What all measures of one evaluation need together, so that one pass serves them all."""

    depth: int
    thresholds: Thresholds


Score = Callable[[Scene, Options, "Measure", Plan], Floats]


@dataclass(frozen=True)
class Definition:
    """A measure by name. `score` returns floats of shape (units,), NaN where there is nothing to find."""

    name: str
    family: Family
    score: Score
    params: tuple[str, ...]
    required: tuple[str, ...] = ()
    cutoff: Literal["required", "optional", "none"] = "required"


def options_for(measure: "Measure", options: Options) -> Options:
    """The convention's options with what the measure itself says put in their place."""
    gain = cast("Gain | None", measure.param("gain"))
    return replace(options, gain=gain) if gain else options


def over_thresholds(measure: "Measure", plan: Plan, at: Callable[[int], Floats]) -> Floats:
    """Mean of `at` over the measure's thresholds, given by their numbers in the plan."""
    places = [plan.thresholds.index(iou) for iou in measure.thresholds]
    if len(places) == 1:
        return at(places[0])
    mean: Floats = np.mean([at(place) for place in places], axis=0)
    return mean


def ndcg_iou(scene: Scene, options: Options, measure: "Measure", plan: Plan) -> Floats:
    """Normalised discounted cumulative gain of the matched grades (TVR-Ranking, section 4)."""
    options = options_for(measure, options)

    def all_cutoffs() -> Floats:
        grades = scene.grades(replace(options, gain="linear"), plan.depth, plan.thresholds)
        return scores.ndcg(grades, scene.ideal(options, plan.depth), options.gain)

    table = scene.once(("ndcg", options, plan), all_cutoffs)
    return over_thresholds(measure, plan, lambda place: table[place, :, (measure.cutoff or plan.depth) - 1])


DEFINITIONS = {
    definition.name: definition
    for definition in (Definition("nDCG_IoU", "graded", ndcg_iou, ("iou", "gain"), ("iou",)),)
}
