"""The numbers that a system is made with; a system's own are a subclass with more fields."""

from __future__ import annotations

import inspect
import math
import re
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from .errors import BadOption
from .windows import MOST_CLIPS, WIDEST_STRIDE, Scales

Bounds = tuple[float, float]


@dataclass(frozen=True)
class Options:
    """What every system has: a seed, the windows it chooses from, and the suppression of its ranking.

    The attributes' descriptions here and in the subclasses are also what pages and commands say of an option.

    Attributes
    ----------
    seed
        Number that all random draws follow from.
    shortest
        Length of the shortest candidate windows, in clips.
    longest
        Length of the longest candidate windows, in clips.
    stride
        Distance between the starts of windows, as a share of their length.
    nms
        IoU above which a moment is dropped for a better one of its video; 1 keeps all, as in TVR-Ranking. STAL took 0.6
        for Charades-STA.
    """

    seed: int = 1
    shortest: int = 2
    longest: int = 8
    stride: float = 0.3
    nms: float = 1.0

    bounds: ClassVar[dict[str, Bounds]] = {
        "seed": (0, 2**63 - 1),
        "shortest": (1, MOST_CLIPS),
        "longest": (1, MOST_CLIPS),
        "stride": (0, WIDEST_STRIDE),
        "nms": (0, 1),
    }
    choices: ClassVar[dict[str, tuple[str, ...]]] = {}

    @property
    def scales(self) -> Scales:
        return Scales(self.shortest, self.longest, self.stride)

    def check(self) -> None:
        """Raise BadOption if a value makes no sense."""
        self.scales.check()
        for name, (least, most) in self.table("bounds").items():
            number = getattr(self, name)
            if not (math.isfinite(number) and least <= number <= most):
                raise BadOption(name, f"{number:,.15g}", f"{least:,.15g} to {most:,.15g}")
        for name, words in self.table("choices").items():
            if (word := getattr(self, name)) not in words:
                raise BadOption(name, repr(word), f"one of {', '.join(words)}")

    @classmethod
    def table(cls, name: str) -> dict[str, Any]:
        """Return the `bounds` or the `choices` of this class and of those above it, by option."""
        found: dict[str, Any] = {}
        for each in reversed(cls.__mro__):
            found |= vars(each).get(name, {})
        return found

    @classmethod
    def meanings(cls) -> dict[str, str]:
        """Return what each option means, as the attributes of this class and of those above it are described."""
        found: dict[str, str] = {}
        for each in reversed(cls.__mro__):
            _, _, attributes = inspect.cleandoc(each.__doc__ or "").partition("Attributes\n----------\n")
            for names, meaning in re.findall(r"^(\w.*)\n((?: +.*\n?)+)", attributes, re.MULTILINE):
                found |= dict.fromkeys(names.split(", "), " ".join(meaning.replace("`", "").split()))
        return found


@dataclass(frozen=True)
class Training(Options):
    """What every system that is trained by gradients has besides.

    Attributes
    ----------
    iterations
        Steps of training.
    batch_size
        Examples of a step.
    optimiser
        `adam`, or `sgd` with momentum.
    learning_rate
        Of the optimiser, at its highest.
    momentum
        Of `sgd`; `adam` has none.
    decay_every
        Steps after which the learning rate falls to a tenth, each time; 0: never.
    validate_every
        Steps between two validations.
    patience
        Validations without a better one, after which training ends; 0: it goes on to the last step.
    """

    iterations: int = 1000
    batch_size: int = 128
    optimiser: str = "adam"
    learning_rate: float = 1e-3
    momentum: float = 0.95
    decay_every: int = 0
    validate_every: int = 100
    patience: int = 0

    bounds: ClassVar[dict[str, Bounds]] = {
        "iterations": (1, 10_000_000),
        "batch_size": (1, 65_536),
        "learning_rate": (1e-9, 10),
        "momentum": (0, 0.9999),
        "decay_every": (0, 10_000_000),
        "validate_every": (1, 10_000_000),
        "patience": (0, 10_000),
    }
    choices: ClassVar[dict[str, tuple[str, ...]]] = {"optimiser": ("adam", "sgd")}

    def rate(self, step: int) -> float:
        """Return the learning rate of a step, of which the first is 0."""
        falls = step // self.decay_every if self.decay_every else 0
        return self.learning_rate * 0.1**falls


@dataclass(frozen=True)
class Contrastive(Training):
    """What systems have that are trained with negative moments (STAL, Section 3 and Table 4).

    Attributes
    ----------
    loss
        `nce` (STAL, Equation 5) or `triplet` (STAL, Equation 7).
    margin
        Of the loss `triplet`; `nce` has none.
    intra
        Negatives of each example from its own video.
    inter
        Negatives of each example from other videos, at the same time.
    anywhere
        Negatives of each example from other videos, at any time.
    intra_iou
        The IoU with the example's moment that a negative of its video stays below.
    hidden
        Size of the hidden layer.
    words
        Size of learned word vectors, where queries come without vectors of their tokens.
    language
        Size of the LSTM's state.
    embedding
        Size of the vectors that are compared.
    dropout
        Share of the hidden layer that is dropped in training.
    """

    loss: str = "nce"
    margin: float = 0.1
    intra: int = 1
    inter: int = 10
    anywhere: int = 0
    intra_iou: float = 0.35
    hidden: int = 256
    words: int = 100
    language: int = 256
    embedding: int = 100
    dropout: float = 0.0

    bounds: ClassVar[dict[str, Bounds]] = {
        "margin": (0, 100),
        "intra": (0, 1000),
        "inter": (0, 1000),
        "anywhere": (0, 1000),
        "intra_iou": (0, 1),
        "hidden": (1, 16_384),
        "words": (1, 16_384),
        "language": (1, 16_384),
        "embedding": (1, 16_384),
        "dropout": (0, 0.95),
    }
    choices: ClassVar[dict[str, tuple[str, ...]]] = {"loss": ("nce", "triplet")}

    def check(self) -> None:
        super().check()
        if not self.intra + self.inter + self.anywhere:
            raise BadOption("inter", "0, and so are intra and anywhere", "at least one negative of an example")


@dataclass(frozen=True)
class Mcn(Contrastive):
    """What MCN has besides.

    Attributes
    ----------
    endpoints
        Whether it is told a moment's temporal endpoints.
    """

    endpoints: bool = True


@dataclass(frozen=True)
class TefOnly(Mcn):
    """What TEF-only has: negatives from anywhere, which tell how often a place is the answer among all places.

    Negatives at the same time show what else can be seen then, and TEF-only sees nothing. Those of the own video alone
    do not tell that a place in a short video is one of few.
    """

    intra: int = 0
    inter: int = 0
    anywhere: int = 10


@dataclass(frozen=True)
class TwoStage(Contrastive):
    """What a search in two stages has: options of both networks, and those of the index of clips.

    Attributes
    ----------
    kind
        Kind of the index: `flat` looks at all clips; `ivf-pq` and `hnsw` are for millions of them, and need faiss.
    clips
        Clips that the first stage finds.
    shards
        Parts in which the index is built.
    """

    kind: str = "flat"
    clips: int = 200
    shards: int = 1

    bounds: ClassVar[dict[str, Bounds]] = {"clips": (1, 100_000), "shards": (1, 9999)}
    choices: ClassVar[dict[str, tuple[str, ...]]] = {"kind": ("flat", "ivf-pq", "hnsw")}


@dataclass(frozen=True)
class Prior(Options):
    """What the moment prior has besides.

    Attributes
    ----------
    bins
        Number of bins of the start, and as many of the end.
    """

    bins: int = 75

    bounds: ClassVar[dict[str, Bounds]] = {"bins": (1, 10_000)}


def options_from(kind: type[Options], values: dict[str, Any]) -> Options:
    """Return options of these values, checked; the rest keeps the defaults.

    Raises
    ------
    BadOption
        For a field that there is not, or a value of the wrong type or size.
    """
    known = {field.name: field.default for field in fields(kind)}
    read: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            raise BadOption(name, "there is no such option", ", ".join(known))
        right = type(known[name])
        if right is float and type(value) is int:
            value = float(value)
        if type(value) is not right:
            raise BadOption(name, repr(value), f"a value such as {known[name]!r}")
        read[name] = value
    made = kind(**read)
    made.check()
    return made
