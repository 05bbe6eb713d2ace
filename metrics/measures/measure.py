"""What a measure is: a `Definition`, and a `Measure` with its parameters as a value."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..formats.arrays import Floats
from .conventions import Family, Options
from .ground import Plan
from .scene import Scene
from .spellings import PAPER_SPELLINGS, Read, thresholds_of

NO_CUTOFF = 10**9
Score = Callable[[Scene, Options, "Measure", Plan], Floats]


@dataclass(frozen=True)
class Definition:
    """What all measures of one name have in common.

    Attributes
    ----------
    score
        Computes floats of shape (units, thresholds), NaN where a query has nothing to find.
    params, required, defaults
        Names of the parameters that the measure takes and of those that it needs; values of those that
        may be left out.
    readers
        How the values of some parameters are read, where this differs from other measures.
    cutoff
        Whether a measure needs a cutoff, may have one, or takes none.
    aggregate
        Over the queries that count the values are aggregated by their `mean`, lower `median` or sample
        standard deviation (`std`) for each threshold; then the thresholds are averaged.
    share
        Values lie in [0, 1] and may be printed as percentages.
    """

    name: str
    family: Family
    score: Score
    params: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    defaults: tuple[tuple[str, str], ...] = ()
    readers: Mapping[str, Read] = field(default_factory=dict, compare=False)
    cutoff: Literal["required", "optional", "none"] = "required"
    aggregate: Literal["mean", "median", "std"] = "mean"
    share: bool = True


@dataclass(frozen=True)
class Measure:
    """A measure with its parameters, as a value that compares, hashes and prints. Make one with
    `parse_measure`.

    Attributes
    ----------
    name
        Name of its definition.
    params
        Pairs of key and value, in the order of the definition; what has its default value is left out.
    cutoff
        The rank down to which predictions count, from 1; None for all.
    definition
        The definition of that name.

    Examples
    --------
    >>> from metrics import parse_measure
    >>> measure = parse_measure("nDCG_IoU(iou=0.50) @ 20")
    >>> str(measure), measure.thresholds, measure.cutoff
    ('nDCG_IoU(iou=0.5)@20', (0.5,), 20)
    >>> parse_measure("NDCG@20, IoU≥0.5") == measure
    True
    """

    name: str
    params: tuple[tuple[str, str], ...]
    cutoff: int | None
    definition: Definition = field(compare=False)

    def __str__(self) -> str:
        params = ",".join(f"{key}={value}" for key, value in self.params)
        return self.name + (f"({params})" if params else "") + (f"@{self.cutoff}" if self.cutoff else "")

    def __repr__(self) -> str:
        return str(self)

    @property
    def spelling(self) -> str:
        """The measure as its paper spells it, where it does, and it has no parameter beyond the threshold.

        >>> from metrics import parse_measure
        >>> parse_measure("Success_IoU(iou=0.7)@5").spelling
        'R@5,0.7'
        """
        pattern = PAPER_SPELLINGS.get(self.name)
        if not pattern or [key for key, _ in self.params] != ["iou"]:
            return str(self)
        return pattern.format(k=self.cutoff, iou=self.param("iou"))

    def param(self, key: str) -> str | None:
        return dict(self.params).get(key)

    def number(self, key: str, default: int) -> int:
        value = self.param(key)
        return default if value is None else int(value)

    def real(self, key: str, default: float) -> float:
        value = self.param(key)
        return default if value is None else float(value)

    @property
    def depth(self) -> int:
        """The cutoff, or more than any list is long."""
        return self.cutoff or NO_CUTOFF

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The IoU thresholds that the measure averages over; none for a measure without them."""
        value = self.param("iou") or dict(self.definition.defaults).get("iou")
        return thresholds_of(value) if value else ()
