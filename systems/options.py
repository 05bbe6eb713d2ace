"""The numbers that a system is made with; a system's own are a subclass with more fields."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

from .errors import BadOption
from .windows import MOST_CLIPS, WIDEST_STRIDE, Scales

LARGEST = 16_384  # the largest of a layer or of a vector
# Groups of options, in the order of pages: those that matter first, and the others by what they are for.
FIRST, STEPS, LOSSES, INPUTS = "First", "Steps of training", "Losses and negatives", "What is read"
NETWORK, SEARCH, UNUSED = "Network", "Moments and search", "Unused"
GROUPS = (FIRST, SEARCH, STEPS, LOSSES, INPUTS, NETWORK)


def option(default: Any, meaning: str, *bounds: float, choices: tuple[str, ...] = (), group: str = "") -> Any:
    """Return the field of an option: its default, what pages and commands say of it, what its values may be, and its
    group, of which UNUSED is that of an option without a meaning here, which no page shows.

    A subclass in which an option stands again keeps the bounds, the choices and the group that it does not change.
    """
    rules = {"meaning": meaning, "bounds": bounds, "choices": choices, "group": group}
    return field(default=default, metadata={name: rule for name, rule in rules.items() if rule})


@dataclass(frozen=True)
class Options:
    """What every system has: a seed, the windows it chooses from, and the suppression of its ranking."""

    seed: int = option(1, "Number that all random draws follow from.", 0, 2**63 - 1, group=FIRST)
    shortest: int = option(2, "Length of the shortest candidate windows, in clips.", 1, MOST_CLIPS, group=FIRST)
    longest: int = option(8, "Length of the longest candidate windows, in clips.", 1, MOST_CLIPS, group=FIRST)
    stride: float = option(
        0.3, "Distance between the starts of windows, as a share of their length.", 0, WIDEST_STRIDE, group=SEARCH
    )
    nms: float = option(
        1.0,
        "IoU above which a moment is dropped for a better one of its video; 1 keeps all, as in TVR-Ranking. STAL took "
        "0.6 for Charades-STA.",
        0,
        1,
        group=SEARCH,
    )

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """Return options of these values, checked; the rest keeps the defaults.

        Raises
        ------
        BadOption
            For a field that there is not, or a value of the wrong type or size.
        """
        made, faults = cls._read(values)
        for fault in faults:
            raise fault
        return made

    @classmethod
    def faults(cls, values: Mapping[str, Any]) -> list[BadOption]:
        """Return all that is wrong with values, each by itself and with the others; the rest keeps the defaults."""
        return cls._read(values)[1]

    @classmethod
    def _read(cls, values: Mapping[str, Any]) -> tuple[Self, list[BadOption]]:
        known: dict[str, Any] = {field.name: field.default for field in fields(cls)}
        read: dict[str, Any] = {}
        faults: list[BadOption] = []
        for name, value in values.items():
            right = type(known.get(name))
            number = float(value) if right is float and type(value) is int else value
            if name not in known:
                faults.append(BadOption(name, "there is no such option", ", ".join(known)))
            elif type(number) is not right:
                faults.append(BadOption(name, repr(value), f"a value such as {known[name]!r}"))
            else:
                read[name] = number
        made = cls(**read)
        faults += made.wrong()
        named = {fault.name for fault in faults}
        possible = replace(made, **{name: default for name, default in known.items() if name in named})
        faults += [fault for names, fault in possible.unfit() if not named & set(names)]
        return made, faults

    @property
    def scales(self) -> Scales:
        return Scales(self.shortest, self.longest, self.stride)

    def check(self) -> None:
        """Raise BadOption if a value makes no sense."""
        self.of({each.name: getattr(self, each.name) for each in fields(self)})

    def wrong(self) -> Iterator[BadOption]:
        """Yield what is wrong with values by themselves."""
        for name, (least, most) in self.table("bounds").items():
            number = getattr(self, name)
            if not (math.isfinite(number) and least <= number <= most):
                yield BadOption(name, f"{number:,.15g}", f"{least:,.15g} to {most:,.15g}")
        for name, words in self.table("choices").items():
            if (word := getattr(self, name)) not in words:
                yield BadOption(name, repr(word), f"one of {', '.join(words)}")

    def unfit(self) -> Iterator[tuple[tuple[str, ...], BadOption]]:
        """Yield what is wrong with values that are possible by themselves, with the options that it is about."""
        if self.shortest > self.longest:
            found = f"{self.shortest} clips, and the longest windows have {self.longest}"
            yield ("shortest", "longest"), BadOption("shortest", found, "at most as many")
        if not self.stride:
            yield ("stride",), BadOption("stride", "0", f"more than 0, at most {WIDEST_STRIDE:g}")

    @property
    def steps(self) -> int:
        """The steps of a training that does not end early; 0 for what is not trained by steps."""
        return 0

    @classmethod
    def table(cls, name: str) -> dict[str, Any]:
        """Return the `meaning`, `bounds`, `choices` or `group` of this class and of those above it, by option."""
        found: dict[str, Any] = {}
        for each in cls.__mro__[-2::-1]:
            found |= {its.name: its.metadata[name] for its in fields(each) if name in its.metadata}
        return found


@dataclass(frozen=True)
class Training(Options):
    """What every system that is trained by gradients has besides."""

    iterations: int = option(1000, "Steps of training.", 1, 10_000_000, group=FIRST)
    batch_size: int = option(128, "Examples of a step.", 1, 65_536, group=FIRST)
    optimiser: str = option("adam", "adam, or sgd with momentum.", choices=("adam", "sgd"), group=STEPS)
    learning_rate: float = option(1e-3, "Of the optimiser, at its highest.", 1e-9, 10, group=FIRST)
    momentum: float = option(0.95, "Of sgd; adam has none.", 0, 0.9999, group=STEPS)
    decay_every: int = option(
        0, "Steps after which the learning rate falls to a tenth, each time; 0: never.", 0, 10_000_000, group=STEPS
    )
    validate_every: int = option(100, "Steps between two validations.", 1, 10_000_000, group=STEPS)
    patience: int = option(
        0,
        "Validations without a better one, after which training ends; 0: it goes on to the last step.",
        0,
        10_000,
        group=STEPS,
    )
    validation_videos: int = option(
        0,
        "Videos that a validation ranks: all that answer its queries, and others that are drawn once, by the seed; 0: "
        "all videos.",
        0,
        10_000_000,
        group=STEPS,
    )

    @property
    def steps(self) -> int:
        return self.iterations

    def rate(self, step: int) -> float:
        """Return the learning rate of a step, of which the first is 0."""
        falls = step // self.decay_every if self.decay_every else 0
        return self.learning_rate * 0.1**falls


@dataclass(frozen=True)
class Contrastive(Training):
    """What systems have that are trained with negative moments (STAL, Section 3 and Table 4)."""

    loss: str = option(
        "nce", "nce (STAL, Equation 5) or triplet (STAL, Equation 7).", choices=("nce", "triplet"), group=LOSSES
    )
    margin: float = option(0.1, "Of the loss triplet; nce has none.", 0, 100, group=LOSSES)
    intra: int = option(1, "Negatives of each example from its own video.", 0, 1000, group=LOSSES)
    inter: int = option(10, "Negatives of each example from other videos, at the same time.", 0, 1000, group=LOSSES)
    anywhere: int = option(0, "Negatives of each example from other videos, at any time.", 0, 1000, group=LOSSES)
    intra_iou: float = option(
        0.35, "The IoU with the example's moment that a negative of its video stays below.", 0, 1, group=LOSSES
    )
    hidden: int = option(256, "Size of the hidden layer.", 1, LARGEST, group=NETWORK)
    words: int = option(
        100,
        "Size of learned word vectors, where queries come without vectors of their tokens.",
        1,
        LARGEST,
        group=NETWORK,
    )
    language: int = option(256, "Size of the LSTM's state.", 1, LARGEST, group=NETWORK)
    embedding: int = option(100, "Size of the vectors that are compared.", 1, LARGEST, group=NETWORK)
    dropout: float = option(0.0, "Share of the hidden layer that is dropped in training.", 0, 0.95, group=STEPS)

    def unfit(self) -> Iterator[tuple[tuple[str, ...], BadOption]]:
        yield from super().unfit()
        if not self.intra + self.inter + self.anywhere:
            right = "at least one, from its own video or from others"
            yield ("intra", "inter", "anywhere"), BadOption("inter", "an example without negatives", right)


@dataclass(frozen=True)
class Mcn(Contrastive):
    """What MCN has besides."""

    endpoints: bool = option(True, "Whether it is told a moment's temporal endpoints.", group=INPUTS)


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
class Indexed(Options):
    """What a search by the index of clips has."""

    kind: str = option(
        "flat",
        "Kind of the index: flat looks at all clips; ivf-pq is for hundreds of thousands of them, and needs faiss.",
        choices=("flat", "ivf-pq"),
        group=SEARCH,
    )
    clips: int = option(200, "Clips nearest to a query, around which moments are looked for.", 1, 100_000, group=FIRST)
    recall: float = option(
        0.95,
        "Share of the nearest clips that an index of the kind ivf-pq is tuned to find; it says what it reaches.",
        0,
        1,
        group=SEARCH,
    )


@dataclass(frozen=True)
class ZeroShot(Indexed):
    """What a search without training has besides."""

    length_power: float = option(
        0.5,
        "Power of its length in clips by which a window's difference from its surround is multiplied, because means of "
        "few clips vary more; 0 takes the plain difference.",
        0,
        1,
        group=SEARCH,
    )


@dataclass(frozen=True)
class TwoStage(Indexed, Contrastive):
    """What a search in two stages has: options of both networks, and those of the index of clips."""

    shards: int = option(1, "Parts in which the index is built.", 1, 9999, group=SEARCH)

    @property
    def steps(self) -> int:
        return 2 * self.iterations


@dataclass(frozen=True)
class Prior(Options):
    """What the moment prior has besides."""

    bins: int = option(75, "Number of bins of the start, and as many of the end.", 1, 10_000, group=FIRST)


@dataclass(frozen=True)
class Streams(Training):
    """What the three have. The defaults are those of XML's public code and of TVR-Ranking's runs of it.

    In their code an end is the clip after the one in which a moment ends, and an XML's moment goes to the end of that
    clip; so their lengths of 2 to 15 clips are 3 to 16.
    """

    shortest: int = 3
    longest: int = 16
    stride: float = option(0.3, "It has no meaning here.", group=UNUSED)
    iterations: int = 10_000
    optimiser: str = option(
        "bertadam",
        "bertadam, which is Adam with weight decay and without correction of its first steps, adam, or sgd with "
        "momentum.",
        choices=("bertadam", "adam", "sgd"),
    )
    learning_rate: float = 1e-4
    decay_every: int = option(0, "It has no meaning here.", group=UNUSED)
    patience: int = 10
    warmup: int = option(100, "Steps in which the learning rate rises to its value.", 0, 10_000_000, group=STEPS)
    hidden: int = option(256, "Size of the vectors that stand for words and clips.", 2, LARGEST, group=NETWORK)
    heads: int = option(4, "Heads of the attention.", 1, 64, group=NETWORK)
    words: int = option(
        100,
        "Size of learned word vectors, where queries come without vectors of their tokens.",
        1,
        LARGEST,
        group=NETWORK,
    )
    places: int = option(
        128,
        "Clips of a video that are read: XML leaves out those after them, ReLoCLNet takes means.",
        1,
        10_000,
        group=INPUTS,
    )
    tokens: int = option(30, "Words of a query that are read.", 1, 10_000, group=INPUTS)
    tef: bool = option(
        True, "Whether each clip's start and end, as shares of the video, stand beside its features.", group=INPUTS
    )
    unit: bool = option(
        True, "Whether features have length 1; TVR-Ranking's scripts leave those of pictures as they are.", group=INPUTS
    )
    cross: bool = option(True, "Whether each stream looks at the other, if there are two.", group=NETWORK)
    merge: bool = option(
        True, "Whether ConvSE reads the mean of the streams; else each stream has filters of its own.", group=NETWORK
    )
    padded: bool = option(
        False,
        "Whether all videos are padded to as many clips as places, and what is computed of padding counts in the clips "
        "before it, as in the authors’ code.",
        group=INPUTS,
    )
    closed: bool = option(
        False,
        "Whether an end is learned as the clip in which a moment ends; else as the clip after it, as in the authors’ "
        "code.",
        group=INPUTS,
    )
    dropout: float = option(
        0.1, "Share of the features and of the vectors that is dropped in training.", 0, 0.95, group=STEPS
    )
    kernel: int = option(5, "Clips that ConvSE sees at a time, an odd number.", 1, 99, group=NETWORK)
    ranking: float = option(1.0, "Weight of the loss of ranking videos and queries.", 0, 1000, group=LOSSES)
    ranking_loss: str = option(
        "hinge", "hinge, or lse: log(1 + exp(difference)).", choices=("hinge", "lse"), group=LOSSES
    )
    video: float = option(
        0.0, "Weight of ReLoCLNet's contrastive loss between queries and videos.", 0, 1000, group=LOSSES
    )
    span: float = option(0.01, "Weight of the loss of start and end.", 0, 1000, group=LOSSES)
    frame: float = option(
        0.0, "Weight of ReLoCLNet's contrastive loss between a query and the clips of its video.", 0, 1000, group=LOSSES
    )
    margin: float = option(0.1, "Of the hinge loss.", 0, 2, group=LOSSES)
    hard_after: int = option(
        1000, "Steps after which the negatives of the ranking loss are among the hardest.", 0, 10_000_000, group=LOSSES
    )
    hardest: int = option(
        20, "Negatives that count as the hardest, because their scores are the highest.", 1, 65_536, group=LOSSES
    )
    several: bool = option(
        False,
        "Whether other videos that answer a query are no negatives, as in TVR-Ranking's appendix C.1; in its code they "
        "are.",
        group=LOSSES,
    )
    closeness: float = option(
        20.0, "A moment's score is P(start) · P(end) · exp(closeness · the video's score).", 0, 1000, group=SEARCH
    )
    candidates: int = option(
        100, "Videos with the highest scores, which are searched for moments.", 1, 100_000, group=SEARCH
    )

    @classmethod
    def as_published(cls, queries: int) -> dict[str, int]:
        """Return the options that make a training as long as TVR-Ranking's (appendix C.1), with so many queries.

        4,000 epochs with one moment of each query, 200 with 20 or 100 with 40 are equally many pairs, and so are the 20
        epochs, one or half an epoch between two validations.
        """
        steps = {"iterations": 4000, "validate_every": 20}
        return {name: math.ceil(epochs * queries / cls.batch_size) for name, epochs in steps.items()}

    def rate(self, step: int) -> float:
        """Return the learning rate of a step: it rises to its value, then falls to 0 at the last step, as XML's."""
        rising = (step + 1) / max(1, self.warmup)
        falling = (self.iterations - step) / max(1, self.iterations - self.warmup)
        return self.learning_rate * min(1.0, rising, falling)

    def unfit(self) -> Iterator[tuple[tuple[str, ...], BadOption]]:
        yield from super().unfit()
        if self.hidden % self.heads:
            right = f"a multiple of the {self.heads} heads"
            yield ("hidden", "heads"), BadOption("hidden", f"{self.hidden}", right)
        if self.kernel % 2 == 0:
            yield ("kernel",), BadOption("kernel", f"{self.kernel}", "an odd number of clips")


@dataclass(frozen=True)
class Reloclnet(Streams):
    """What ReLoCLNet has, with the defaults of TVR-Ranking's last script: losses that contrast clips with queries."""

    shortest: int = 2
    longest: int = 15
    batch_size: int = 512
    tef: bool = False
    video: float = 0.03
    frame: float = 0.03
    closeness: float = 30.0


@dataclass(frozen=True)
class Conquer(Reloclnet):
    """What CONQUER has, with the defaults of TVR-Ranking's runs of it; weights of losses, `tef`, `hard_after` and
    `closeness` are those of its first stage, a ReLoCLNet.
    """

    shortest: int = 1
    longest: int = 24
    batch_size: int = 196
    candidates: int = option(10, "Videos of the first stage, which are searched for moments.")
    similarity: str = option(
        "disjoint",
        "How moments are scored: disjoint by the logits of start and end, general by their probabilities times "
        "exp(closeness · the video's score in the first stage), exclusive by these times the video's probability.",
        choices=("disjoint", "general", "exclusive"),
        group=SEARCH,
    )
    fusion: bool = option(True, "Whether the query weighs the streams; else their mean is read.", group=NETWORK)
    inner: int = option(256, "Size of the feed-forward networks.", 1, LARGEST, group=NETWORK)
    filters: int = option(256, "Size of the layers between a head's two.", 1, LARGEST, group=NETWORK)
    clusters: int = option(32, "Clusters of words, by which a query weighs the streams.", 1, 1024, group=NETWORK)
    first_iterations: int = option(
        10_000,
        "Steps in which the first stage is trained; iterations are those of CONQUER itself.",
        1,
        10_000_000,
        group=FIRST,
    )
    others: int = option(
        3, "Videos that are no answer, which are read beside the one that is, in training.", 1, 1000, group=LOSSES
    )
    pool: int = option(
        100, "Videos that the first stage ranks highest, from which others are drawn.", 1, 100_000, group=LOSSES
    )
    choice: float = option(
        0.05, "Weight of the loss of choosing among these videos, if exclusive.", 0, 1000, group=LOSSES
    )

    @classmethod
    def as_published(cls, queries: int) -> dict[str, int]:
        found = super().as_published(queries)
        return found | {"first_iterations": found["iterations"]}

    @property
    def steps(self) -> int:
        return self.first_iterations + self.iterations

    @property
    def is_exclusive(self) -> bool:
        return self.similarity == "exclusive"
