"""What a measure is: a definition, a value with parameters, how these are read, and how the papers spell it."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import index
from typing import Any, Literal, SupportsIndex, get_args, overload

import numpy as np

from ..formats import check_name
from ..formats.arrays import Floats
from ..formats.errors import MeasureError, show
from .conventions import Family, Options
from .ground import Plan
from .names import FORMULAS, NUMBER, PAPER_SPELLINGS, published_name
from .scene import Scene

Read = Callable[[str], str]
EXAMPLES = {"iou": "0.5", "p": "uniform"}
OF_LISTS = ("gain", "p")  # parameters whose values are a number for each grade or rank
NO_CUTOFF = 10**9
DEEPEST = 999_999  # ranks
Names = Literal["grammar", "paper"]
Value = str | float | Iterable[float]  # of a parameter
Score = Callable[[Scene, Options, "Measure", Plan], Floats]


def thresholds_of(value: str) -> tuple[float, ...]:
    """Thresholds from ``0.5``, ``0.5+0.7`` or ``0.5:0.05:0.95``."""
    if ":" not in value:
        return tuple(float(part) for part in value.split("+"))
    low, step, high = (float(part) for part in value.split(":"))
    return tuple(round(low + i * step, 10) for i in range(round((high - low) / step) + 1))


def read_iou(value: str) -> str:
    """A threshold, a sum of thresholds or a range of them, in its one spelling."""
    if not re.fullmatch(rf"{NUMBER}(\+{NUMBER})*|{NUMBER}:{NUMBER}:{NUMBER}", value):
        raise ValueError("it must be a number from 0 to 1, a sum such as 0.5+0.7, or a range such as 0.5:0.05:0.95")
    if ":" in value and not float(value.split(":")[1]) >= 0.001:
        raise ValueError("the step of a range must be at least 0.001")
    thresholds = thresholds_of(value)
    if not thresholds or min(thresholds) < 0 or max(thresholds) > 1:
        raise ValueError("a threshold must lie between 0 and 1")
    between = ":" if ":" in value else "+"
    return between.join(repr(float(part)) for part in value.split(between))


def one_of(*words: str, or_numbers: bool = False) -> Read:
    """A function that reads a word from a list or, if asked for, numbers such as 0+1+3."""

    def read(value: str) -> str:
        if value in words:
            return value
        if or_numbers and re.fullmatch(rf"{NUMBER}(\+{NUMBER})+", value):
            return "+".join(repr(float(part)) for part in value.split("+"))
        more = " or numbers such as 0+1+3" if or_numbers else ""
        raise ValueError(f"it must be one of {', '.join(words)}{more}")

    return read


def read_abandonment(value: str) -> str:
    """An abandonment distribution by name, or probabilities that sum to at most 1."""
    read = one_of("uniform", "geometric", "err", or_numbers=True)({"rbp": "geometric"}.get(value, value))
    if "+" in read and sum(float(part) for part in read.split("+")) > 1 + 1e-9:
        raise ValueError("the probabilities must not sum to more than 1")
    return read


def whole(low: int, high: int) -> Read:
    """A function that reads an integer between two bounds."""

    def read(value: str) -> str:
        if not re.fullmatch(r"\d{1,9}", value) or not low <= int(value) <= high:
            raise ValueError(f"it must be an integer from {low} to {high}")
        return str(int(value))

    return read


def below_one(value: str) -> str:
    """A number from 0 up and below 1."""
    if not re.fullmatch(NUMBER, value) or not 0 <= float(value) < 1:
        raise ValueError("it must be a number from 0 up and below 1")
    return repr(float(value))


def read_score(value: str) -> str:
    """A finite number."""
    if not re.fullmatch(rf"-?{NUMBER}", value):
        raise ValueError("it must be a number")
    return repr(float(value))


def read_targets(value: str) -> str:
    """A number of moments, or that number and more: ``3+``."""
    if not re.fullmatch(r"[1-9]\d{0,5}\+?", value):
        raise ValueError("it must be a number of moments from 1 up, such as 2 or 3+")
    return value


PARAMS: dict[str, Read] = {
    "iou": read_iou,
    "gain": one_of("linear", "exp", "binary", or_numbers=True),
    "discount": one_of("log2", "zipf", "none"),
    "rel": whole(1, 100),
    "lb": below_one,
    "p": read_abandonment,
    "phi": below_one,
    "task": one_of("VCMR", "SVMR"),
    "type": one_of("v", "t", "vt"),
    "length": one_of("short", "middle", "long"),
    "max_rank": whole(1, 10**9),
    "level": whole(1, 4),
    "above": read_score,
    "targets": read_targets,
}


@dataclass(frozen=True)
class Definition:
    """What all measures of one name have in common.

    score: computes floats of shape (units, thresholds), NaN where a query has nothing to find.
    params, required, defaults: names of the parameters that the measure takes and of those that it needs; values of
    those that may be left out.
    readers: how the values of some parameters are read, where this differs from other measures.
    cutoff: whether a measure needs a cutoff, may have one, or takes none.
    aggregate: over the queries that count the values are aggregated by their `mean`, lower `median`, sample standard
    deviation (`std`), or to an F1 of the decisions that are not true negatives (`f1`), for each threshold; then the
    thresholds are averaged.
    share: values lie in [0, 1] and may be printed as percentages.
    any_video: the names of videos do not matter.
    """

    name: str
    family: Family
    score: Score
    params: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    defaults: tuple[tuple[str, str], ...] = ()
    readers: Mapping[str, Read] = field(default_factory=dict, compare=False)
    cutoff: Literal["required", "optional", "none"] = "required"
    aggregate: Literal["mean", "median", "std", "f1"] = "mean"
    share: bool = True
    any_video: bool = False

    @cached_property
    def help(self) -> str:
        """How a measure is written, and its formula."""
        params = [key if key in self.required else f"{key}=…" for key in self.params]
        cutoff = {"required": " @ K", "optional": " [@ K]", "none": ""}[self.cutoff]
        written = f"{self.name}({', '.join(params)})" if params else self.name
        return f"{written}{cutoff}\n\n{FORMULAS[self.name]}\n\nFor example {example(self)}; docs/measures.md says more."

    @property
    def needs(self) -> str:
        """What of a prediction the measure looks at: its `ids`, its video and `times`, its times `alone`, or nothing
        but its `saliency`.
        """
        kinds = {"plain": "ids", "highlight": "saliency"}
        return "alone" if self.any_video else kinds.get(self.family, "times")

    @property
    def is_of_ranks(self) -> bool:
        """Whether less is better."""
        return self.aggregate in ("median", "std")


@dataclass(frozen=True, eq=False, repr=False)
class Measure:
    """A measure with its parameters, as a value.

    Each definition has a value of its name: `nDCG_IoU`, `AxIoU`, and so on. Calling a measure gives it parameters, and
    ``@`` gives it a cutoff; neither changes the measure itself. A measure prints as it is parsed, and equals its text.
    One that still lacks a parameter or a cutoff is refused where it is used.

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

    Raises
    ------
    MeasureError
        For a parameter that the measure does not have, and for a value or a cutoff out of its range.

    See Also
    --------
    parse_measure : Reads a measure from its text, also in a paper's spelling.

    References
    ----------
    MacAvaney, Macdonald and Ounis, Streamlining evaluation with ir-measures, 2022 (the grammar).

    Examples
    --------
    >>> from reeljudge import AxIoU, nDCG_IoU, parse_measure
    >>> measure = nDCG_IoU(iou=0.5) @ 20
    >>> measure, measure.thresholds, measure.cutoff
    (nDCG_IoU(iou=0.5)@20, (0.5,), 20)
    >>> measure == "nDCG_IoU(iou=0.5)@20" == parse_measure("NDCG@20, IoU≥0.5")
    True

    A call replaces what it names, and keeps the rest. A list is several measures:

    >>> measure(iou=0.7, gain=[0, 1, 3, 7, 15])
    nDCG_IoU(iou=0.7,gain=0.0+1.0+3.0+7.0+15.0)@20
    >>> AxIoU @ [1, 5, 10]
    [AxIoU@1, AxIoU@5, AxIoU@10]
    >>> nDCG_IoU(iou=[0.3, 0.5]) @ [10, 20]
    [nDCG_IoU(iou=0.3)@10, nDCG_IoU(iou=0.5)@10, nDCG_IoU(iou=0.3)@20, nDCG_IoU(iou=0.5)@20]

    The average over thresholds is one measure:

    >>> nDCG_IoU(iou="0.3+0.5") @ 10
    nDCG_IoU(iou=0.3+0.5)@10
    """

    name: str
    params: tuple[tuple[str, str], ...]
    cutoff: int | None
    definition: Definition

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", self.definition.help)  # what help() shows of a value

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, *, gain: Value = ..., p: Value = ..., **params: str | float
    ) -> "Measure": ...

    @overload
    def __call__(self, **params: Value) -> "MeasureList": ...

    def __call__(self, **params: Value) -> "Measure | MeasureList":
        """The measure with other parameters: numbers or words. A list is several measures, but for `gain` and `p`,
        whose values are a number for each grade or rank. An average over thresholds is written ``iou="0.5+0.7"``.
        """
        key = next((key for key, value in params.items() if key not in OF_LISTS and is_list(value)), None)
        if key is None:
            return self._or_refuse(lambda: self.with_params(params))
        values: Any = params[key]
        return MeasureList(flat(self(**params | {key: value}) for value in values))

    @overload
    def __matmul__(self, cutoff: SupportsIndex) -> "Measure": ...

    @overload
    def __matmul__(self, cutoff: Iterable[SupportsIndex]) -> "MeasureList": ...

    def __matmul__(self, cutoff: SupportsIndex | Iterable[SupportsIndex]) -> "Measure | MeasureList":
        """The measure with another cutoff; a list of measures for several."""
        if isinstance(cutoff, Iterable) and not isinstance(cutoff, str):
            return MeasureList([self]) @ cutoff
        return self._or_refuse(lambda: self.cut_at(cutoff))

    def with_params(self, params: Mapping[str, Value]) -> "Measure":
        """As a call; raises ValueError that says what is wrong with which parameter."""
        given = dict(self.params)
        for key, value in params.items():
            if key not in self.definition.params:
                there = ", ".join(self.definition.params) or "none"
                raise ValueError(f"has no parameter {key!r}; its parameters: {there}")
            text = _text(value)
            try:
                given[key] = self.definition.readers.get(key, PARAMS[key])(text)
            except ValueError as problem:
                raise ValueError(f"has {key}={text}: {problem}") from None
        ordered = ((key, given[key]) for key in self.definition.params if key in given)
        plain = set(self.definition.defaults)  # default values are not printed
        return replace(self, params=tuple(pair for pair in ordered if pair not in plain))

    def cut_at(self, cutoff: object) -> "Measure":
        """The measure with a cutoff; raises ValueError that says what is wrong with it."""
        if self.definition.cutoff == "none":
            raise ValueError(f"takes no cutoff, as in {example(self.definition)}")
        try:
            rank = 0 if isinstance(cutoff, bool) else index(cutoff)  # type: ignore[arg-type]
        except TypeError:
            rank = 0
        if not 1 <= rank <= DEEPEST:
            right = f"needs a cutoff from 1 to {DEEPEST}, not {show(cutoff)}"
            raise ValueError(f"{right}, as in {example(self.definition)}")
        return replace(self, cutoff=rank)

    def complete(self) -> "Measure":
        """The same measure; raises MeasureError if it lacks a parameter or a cutoff that it needs."""
        return self._or_refuse(self.lacking_nothing)

    def lacking_nothing(self) -> "Measure":
        """The same measure; raises ValueError that says what it lacks."""
        given = dict(self.params)
        lacking = [key for key in self.definition.required if key not in given]
        if self.definition.cutoff == "required" and not self.cutoff:
            lacking.append("a cutoff")
        if lacking:
            raise ValueError(f"needs {lacking[0]}, as in {example(self.definition)}")
        return self

    def _or_refuse(self, make: "Callable[[], Measure]") -> "Measure":
        try:
            return make()
        except ValueError as problem:
            raise MeasureError(f"measure {str(self)!r} {problem}") from None

    @cached_property
    def _written(self) -> str:
        params = ",".join(f"{key}={value}" for key, value in self.params)
        return self.name + (f"({params})" if params else "") + (f"@{self.cutoff}" if self.cutoff else "")

    def __str__(self) -> str:
        return self._written

    def __repr__(self) -> str:
        return self._written

    def __eq__(self, other: object) -> bool:
        return self._written == str(other) if isinstance(other, Measure | str) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._written)

    @property
    def spelling(self) -> str:
        """The measure as its paper spells it, where it does, and it has no parameter beyond the threshold.

        >>> from reeljudge import Success_IoU
        >>> (Success_IoU(iou=0.7) @ 5).spelling
        'R@5,0.7'
        """
        pattern = PAPER_SPELLINGS.get(self.name)
        if not pattern or [key for key, _ in self.params] != ["iou"]:
            return str(self)
        return pattern.format(k=self.cutoff, iou=self.param("iou"))

    def named(self, convention: str, names: Names) -> str:
        """The name in the `grammar`, or that of a `paper`: see `name_in`. Raises MeasureError for other names."""
        check_name("names", names, get_args(Names))
        return self.name_in(convention) if names == "paper" else str(self)

    def name_in(self, convention: str) -> str:
        """The name that the evaluator of a convention prints, or else a paper's spelling.

        >>> from reeljudge import mAP_IoU
        >>> mAP_IoU(iou=0.75).name_in("qvhighlights")
        'MR-full-mAP@0.75'
        """
        return published_name(str(self), convention, self.spelling)

    def param(self, key: str) -> str | None:
        """The value of a parameter as text, or None."""
        return dict(self.params).get(key)

    def number(self, key: str, default: int) -> int:
        """The value of a parameter as an integer, or a default."""
        value = self.param(key)
        return default if value is None else int(value)

    def real(self, key: str, default: float) -> float:
        """The value of a parameter as a float, or a default."""
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


class MeasureList(list[Measure]):
    """Several measures; a cutoff or parameters apply to each.

    >>> from reeljudge import AxIoU
    >>> (AxIoU @ [1, 5])(rel=2)
    [AxIoU(rel=2)@1, AxIoU(rel=2)@5]
    """

    def __call__(self, **params: Value) -> "MeasureList":
        """The measures with other parameters."""
        return MeasureList(flat(measure(**params) for measure in self))

    def __matmul__(self, cutoff: SupportsIndex | Iterable[SupportsIndex]) -> "MeasureList":
        """The measures with another cutoff or, one after the other, with several."""
        cutoffs = cutoff if isinstance(cutoff, Iterable) and not isinstance(cutoff, str) else [cutoff]
        return MeasureList(measure @ each for each in cutoffs for measure in self)


def flat(measures: Iterable[Measure | MeasureList]) -> Iterator[Measure]:
    """The measures and those of the lists among them."""
    for each in measures:
        yield from each if isinstance(each, MeasureList) else [each]


def is_list(value: Value) -> bool:
    """Whether a parameter's value is several."""
    return isinstance(value, Iterable) and not isinstance(value, str)


def example(definition: Definition) -> str:
    """A measure of the definition that lacks nothing, such as ``nDCG_IoU(iou=0.5)@10``."""
    inside = ",".join(f"{key}={EXAMPLES[key]}" for key in definition.required)
    return definition.name + (f"({inside})" if inside else "") + ("" if definition.cutoff == "none" else "@10")


def _text(value: object) -> str:
    """A parameter's value as the grammar writes it."""
    if isinstance(value, str):
        return re.sub(r"\s+", "", value)
    if isinstance(value, Iterable):
        return "+".join(map(_text, value))
    return repr(round(float(value), 10)) if isinstance(value, float | np.floating) else str(value)
