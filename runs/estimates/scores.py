"""Scores over all ranked queries of a release, estimated from those that are judged."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from metrics import CONVENTIONS, Estimate, parse_measure
from metrics.analysis.predictions import highest, without_grades
from metrics.analysis.sampling import FEWEST, Design, Values
from runs.measures import NAMES
from runs.models import Score, Scoring, ScoringReference
from runs.tables import unpacked_values


def sample_of(scoring: Scoring) -> Sample:
    """Return the sample of the release on which a run was scored."""
    return Sample(ScoringReference.objects.select_related("release__campaign").get(release=scoring.release_id))


def scores_of(scoring: Scoring, sample: Sample) -> Iterator[tuple[Score, Estimate | None]]:
    """Yield the scores of a scoring, each with the estimate over all ranked queries where there is one.

    Scores by further measures that a lead has removed are left out.
    """
    scores = scoring.scores.order_by("pk")
    further = set(sample.reference.measures)
    for score in scores if sample.is_part else scores.defer("values", "predicted"):
        if score.measure not in further and score.measure not in NAMES.get(score.convention, []):
            continue
        values = sample.values(score) if sample.is_part else None
        yield score, sample.estimate(values) if values else None


class Sample:
    """The judged queries of a release that are a random sample of its ranked queries.

    Intervals are of all queries of their kind, as those of queries that are judged in full are.
    """

    def __init__(self, reference: ScoringReference) -> None:
        self.reference = reference
        self.ranked = len(reference.ranked)
        self.judged = sum(bool(row[1]) for row in reference.ranked)

    @property
    def is_part(self) -> bool:
        """Whether scores can be estimated: the sample is random, and some ranked queries are not judged."""
        return not self.flaw and FEWEST <= self.judged < self.ranked

    @property
    def flaw(self) -> str:
        """Why the sample is not random; empty if it is."""
        return self.reference.flaw

    @property
    def share(self) -> float:
        """The share of the ranked queries that are judged."""
        return self.judged / self.ranked

    @cached_property
    def design(self) -> Design:
        return Design(np.array([row[1] for row in self.reference.ranked]), [row[2] for row in self.reference.ranked])

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        """The place of each query of the sample among the judged ones; -1 if none of its pairs has a grade."""
        places = [-1 if row[0] is None else row[0] for row in self.reference.ranked if row[1]]
        return np.array(places, dtype=np.int64)

    def values(self, score: Score) -> Values | None:
        """Return what a run scores, ready to be estimated; None if it has no prediction, or no query counts."""
        if score.predicted is None:
            return None
        measure, convention = parse_measure(score.measure), CONVENTIONS[score.convention]
        judged = np.append(unpacked_values(score.values).astype(np.float64), without_grades(measure, convention))
        predicted = unpacked_values(score.predicted).astype(np.float64)
        return self.design.values(judged[self._places], predicted, highest(measure, convention))

    def estimate(self, values: Values) -> Estimate:
        """Estimate a score or a difference."""
        return self.design.estimate(values, future=True)
