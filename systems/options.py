"""The options of systems: a dataclass for each, whose fields say what they mean and which values they may have."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar, Self

from .errors import BadOption
from .windows import MOST_CLIPS, WIDEST_STRIDE, Scales

LARGEST = 16_384  # the largest of a layer or of a vector
MOST = 10_000_000  # steps, or videos
# Groups of options, in the order of pages: those that matter first, and the others by what they are for.
FIRST, SEARCH, STEPS = "First", "Moments and search", "Steps of training"
LOSSES, INPUTS, NETWORK = "Losses and negatives", "What is read", "Network"
GROUPS = (FIRST, SEARCH, STEPS, LOSSES, INPUTS, NETWORK)
Unfit = Iterator[tuple[tuple[str, ...], str, str]]  # options that do not fit together, what they are, and what is right


def option(group: str, default: Any, meaning: str, *bounds: float, choices: tuple[str, ...] = ()) -> Any:
    """Return the field of an option, whose metadata pages and commands read; it may have a lowest and highest value."""
    least, most = bounds or (None, None)
    about = {"group": group, "meaning": meaning, "least": least, "most": most, "choices": choices}
    return field(default=default, metadata=about)


@dataclass(frozen=True)
class Options:
    """What every system has: a seed, the lengths of moments, and the suppression of its ranking."""

    RETIRED: ClassVar[frozenset[str]] = frozenset()  # options of earlier versions, which stored systems may have

    seed: int = option(FIRST, 1, "Number that all random draws follow from.", 0, 2**63 - 1)
    shortest: int = option(FIRST, 2, "Length of the shortest candidate windows, in clips.", 1, MOST_CLIPS)
    longest: int = option(FIRST, 8, "Length of the longest candidate windows, in clips.", 1, MOST_CLIPS)
    nms: float = option(
        SEARCH, 1.0, "IoU above which a worse moment of a video is dropped; 1 keeps all, as in TVR-Ranking.", 0, 1
    )

    def __init_subclass__(cls) -> None:
        """Let an option of which a subclass changes the default keep its metadata."""
        for known in fields(cls):  # those of the class above
            changed = vars(cls).get(known.name)
            if changed is not None and not isinstance(changed, Field):
                setattr(cls, known.name, field(default=changed, metadata=known.metadata))

    @classmethod
    def known(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a stored system without those that are retired."""
        return {name: value for name, value in values.items() if name not in cls.RETIRED}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Return the options of a stored system; the rest keeps the defaults. Raises BadOption for a wrong one."""
        kept = cls.known(values)
        for fault in cls.faults(kept):
            raise fault
        return cls._made(kept)

    @classmethod
    def _made(cls, values: Mapping[str, Any]) -> Self:
        types: dict[str, Any] = {each.name: type(each.default) for each in fields(cls)}
        return cls(**{name: types[name](value) for name, value in values.items()})

    @classmethod
    def faults(cls, values: Mapping[str, Any]) -> list[BadOption]:
        """Return all that is wrong with values, each by itself and with the others; the rest keeps the defaults."""
        known = {each.name: each for each in fields(cls)}
        faults = []
        for name, value in values.items():
            if name not in known:
                faults.append(BadOption(name, "there is no such option", ", ".join(known)))
            elif wrong := _wrong(known[name], value):
                faults.append(BadOption(name, *wrong))
        named = {fault.name for fault in faults}
        made = cls._made({name: value for name, value in values.items() if name not in named})
        return faults + [BadOption(names[0], *wrong) for names, *wrong in made.unfit() if not named & set(names)]

    def unfit(self) -> Unfit:
        """Yield what is wrong with values that are possible by themselves."""
        if self.shortest > self.longest:
            found = f"{self.shortest} clips, and the longest windows have {self.longest}"
            yield ("shortest", "longest"), found, "at most as many"

    @property
    def steps(self) -> int:
        """The steps of a training that does not end early; 0 for what is not trained by steps."""
        return 0


def _wrong(option: Field[Any], value: Any) -> tuple[str, str] | None:
    """Return what is wrong with a value by itself, and what would be right."""
    right = type(option.default)
    least, most, choices = (option.metadata[name] for name in ("least", "most", "choices"))
    if type(value) is not right and (right, type(value)) != (float, int):
        return repr(value), f"a value such as {option.default!r}"
    if least is not None and not (math.isfinite(value) and least <= value <= most):
        return f"{value:,.15g}", f"{least:,.15g} to {most:,.15g}"
    return (repr(value), f"one of {', '.join(choices)}") if choices and value not in choices else None


@dataclass(frozen=True)
class Sliding(Options):
    """What systems have that slide windows over videos."""

    stride: float = option(SEARCH, 0.3, "Distance between windows, as a share of their length.", 0, WIDEST_STRIDE)

    @property
    def scales(self) -> Scales:
        return Scales(self.shortest, self.longest, self.stride)

    def unfit(self) -> Unfit:
        yield from super().unfit()
        if not self.stride:
            yield ("stride",), "0", f"more than 0, at most {WIDEST_STRIDE:g}"


@dataclass(frozen=True)
class Training(Options):
    """What every system that is trained by gradients has besides."""

    iterations: int = option(FIRST, 1000, "Steps of training.", 1, MOST)
    batch_size: int = option(FIRST, 128, "Examples of a step.", 1, 65_536)
    optimiser: str = option(STEPS, "adam", "adam, or sgd with momentum.", choices=("adam", "sgd"))
    learning_rate: float = option(FIRST, 1e-3, "Of the optimiser, at its highest.", 1e-9, 10)
    momentum: float = option(STEPS, 0.95, "Of sgd; adam has none.", 0, 0.9999)
    validate_every: int = option(STEPS, 100, "Steps between two validations.", 1, MOST)
    patience: int = option(
        STEPS, 0, "Validations without a better one, after which training ends; 0: never.", 0, 10_000
    )
    validation_videos: int = option(
        STEPS, 0, "Videos that a validation ranks: all answers, and others drawn by the seed; 0: all videos.", 0, MOST
    )

    @property
    def steps(self) -> int:
        return self.iterations

    def rate(self, step: int) -> float:
        """Return the learning rate of a step, of which the first is 0."""
        raise NotImplementedError


@dataclass(frozen=True)
class Contrastive(Training, Sliding):
    """What systems have that are trained with negative moments (STAL, Section 3 and Table 4)."""

    decay_every: int = option(STEPS, 0, "Steps after which the learning rate falls to a tenth; 0: never.", 0, MOST)
    loss: str = option(LOSSES, "nce", "nce (STAL, Eq. 5) or triplet (STAL, Eq. 7).", choices=("nce", "triplet"))
    margin: float = option(LOSSES, 0.1, "Of the loss triplet; nce has none.", 0, 100)
    intra: int = option(LOSSES, 1, "Negatives of each example from its own video.", 0, 1000)
    inter: int = option(LOSSES, 10, "Negatives of each example from other videos, at the same time.", 0, 1000)
    anywhere: int = option(LOSSES, 0, "Negatives of each example from other videos, at any time.", 0, 1000)
    intra_iou: float = option(LOSSES, 0.35, "Highest IoU of a negative from the same video with the moment.", 0, 1)
    hidden: int = option(NETWORK, 256, "Size of the hidden layer.", 1, LARGEST)
    words: int = option(NETWORK, 100, "Size of learned word vectors, for queries without token vectors.", 1, LARGEST)
    language: int = option(NETWORK, 256, "Size of the LSTM's state.", 1, LARGEST)
    embedding: int = option(NETWORK, 100, "Size of the vectors that are compared.", 1, LARGEST)
    dropout: float = option(STEPS, 0.0, "Share of the hidden layer that is dropped in training.", 0, 0.95)

    def rate(self, step: int) -> float:
        falls = step // self.decay_every if self.decay_every else 0
        return self.learning_rate * 0.1**falls

    def unfit(self) -> Unfit:
        yield from super().unfit()
        if not self.intra + self.inter + self.anywhere:
            right = "at least one, from its own video or from others"
            yield ("inter", "intra", "anywhere"), "an example without negatives", right


@dataclass(frozen=True)
class Mcn(Contrastive):
    """What MCN has besides."""

    endpoints: bool = option(INPUTS, True, "Whether the network reads a moment's temporal endpoints.")


@dataclass(frozen=True)
class TefOnly(Contrastive):
    """What TEF-only has: negatives from anywhere, which tell how often a place is the answer among all places.

    Negatives at the same time show what else can be seen then, and TEF-only sees nothing. Those of the own video alone
    do not tell that a place in a short video is one of few.
    """

    RETIRED = frozenset({"endpoints"})

    intra: int = 0
    inter: int = 0
    anywhere: int = 10


@dataclass(frozen=True)
class Indexed(Sliding):
    """What a search by the index of clips has."""

    kind: str = option(
        SEARCH,
        "flat",
        "Kind of the index: flat looks at all clips; ivf-pq is for hundreds of thousands of clips, and needs faiss.",
        choices=("flat", "ivf-pq"),
    )
    clips: int = option(FIRST, 200, "Clips nearest to a query, around which moments are searched.", 1, 100_000)
    recall: float = option(
        SEARCH, 0.95, "Share of the nearest clips that ivf-pq is tuned to find; it reports what it reaches.", 0, 1
    )


@dataclass(frozen=True)
class ZeroShot(Indexed):
    """What a search without training has besides."""

    length_power: float = option(
        SEARCH, 0.5, "Power of a window's length that weighs its score, as means of few clips vary more.", 0, 1
    )


@dataclass(frozen=True)
class TwoStage(Indexed, Contrastive):
    """What a search in two stages has: options of both networks, and those of the index of clips."""

    shards: int = option(SEARCH, 1, "Parts in which the index is built.", 1, 9999)

    @property
    def steps(self) -> int:
        return 2 * self.iterations


@dataclass(frozen=True)
class Prior(Sliding):
    """What the moment prior has besides."""

    bins: int = option(FIRST, 75, "Number of bins of the start, and as many of the end.", 1, 10_000)


@dataclass(frozen=True)
class Streams(Training):
    """What the three have. The defaults are those of XML's public code and of TVR-Ranking's runs of it.

    In their code an end is the clip after the one in which a moment ends, and an XML's moment goes to the end of that
    clip; so their lengths of 2 to 15 clips are 3 to 16.
    """

    RETIRED = frozenset({"stride", "decay_every"})

    shortest: int = 3
    longest: int = 16
    iterations: int = 10_000
    optimiser: str = option(
        STEPS,
        "bertadam",
        "bertadam (Adam with weight decay, without correction of its first steps), adam, or sgd with momentum.",
        choices=("bertadam", "adam", "sgd"),
    )
    learning_rate: float = 1e-4
    patience: int = 10
    warmup: int = option(STEPS, 100, "Steps in which the learning rate rises to its value.", 0, MOST)
    hidden: int = option(NETWORK, 256, "Size of the vectors of words and clips.", 2, LARGEST)
    heads: int = option(NETWORK, 4, "Heads of the attention.", 1, 64)
    words: int = option(NETWORK, 100, "Size of learned word vectors, for queries without token vectors.", 1, LARGEST)
    places: int = option(
        INPUTS, 128, "Clips of a video that are read: XML leaves out later ones, ReLoCLNet takes means.", 1, 10_000
    )
    tokens: int = option(INPUTS, 30, "Words of a query that are read.", 1, 10_000)
    tef: bool = option(INPUTS, True, "Whether a clip's features include its start and end, as shares of the video.")
    unit: bool = option(INPUTS, True, "Whether features get length 1; TVR-Ranking's scripts keep those of pictures.")
    cross: bool = option(NETWORK, True, "Whether each stream looks at the other, if there are two.")
    merge: bool = option(NETWORK, True, "Whether ConvSE reads the streams' mean; else each stream has its own filters.")
    padded: bool = option(
        INPUTS, False, "Whether all videos are padded to places, and padding counts, as in the authors’ code."
    )
    closed: bool = option(
        INPUTS, False, "Whether an end is the clip in which a moment ends; else the next clip, as in the authors’ code."
    )
    dropout: float = option(STEPS, 0.1, "Share of the features and vectors that is dropped in training.", 0, 0.95)
    kernel: int = option(NETWORK, 5, "Clips that ConvSE sees at a time, an odd number.", 1, 99)
    ranking: float = option(LOSSES, 1.0, "Weight of the loss of ranking videos and queries.", 0, 1000)
    ranking_loss: str = option(LOSSES, "hinge", "hinge, or lse: log(1 + exp(difference)).", choices=("hinge", "lse"))
    video: float = option(LOSSES, 0.0, "Weight of ReLoCLNet's contrastive loss of queries and videos.", 0, 1000)
    span: float = option(LOSSES, 0.01, "Weight of the loss of start and end.", 0, 1000)
    frame: float = option(LOSSES, 0.0, "Weight of ReLoCLNet's contrastive loss of queries and clips.", 0, 1000)
    margin: float = option(LOSSES, 0.1, "Of the hinge loss.", 0, 2)
    hard_after: int = option(LOSSES, 1000, "Steps after which ranking negatives are among the hardest.", 0, MOST)
    hardest: int = option(LOSSES, 20, "Number of the hardest negatives, which have the highest scores.", 1, 65_536)
    several: bool = option(
        LOSSES, False, "Whether other answers of a query are no negatives (TVR-Ranking, C.1); in its code they are."
    )
    closeness: float = option(
        SEARCH, 20.0, "A moment's score is P(start) · P(end) · exp(closeness · the video's score).", 0, 1000
    )
    candidates: int = option(SEARCH, 100, "Best videos, which are searched for moments.", 1, 100_000)

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

    def unfit(self) -> Unfit:
        yield from super().unfit()
        if self.hidden % self.heads:
            yield ("hidden", "heads"), f"{self.hidden}", f"a multiple of the {self.heads} heads"
        if self.kernel % 2 == 0:
            yield ("kernel",), f"{self.kernel}", "an odd number of clips"


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
    """What CONQUER has, by default as in TVR-Ranking; loss weights, `tef` and `hard_after` are of its first stage."""

    shortest: int = 1
    longest: int = 24
    batch_size: int = 196
    candidates: int = option(SEARCH, 10, "Videos of the first stage, which are searched for moments.", 1, 100_000)
    similarity: str = option(
        SEARCH,
        "disjoint",
        "How moments are scored: disjoint by the logits of start and end, general by their probabilities times "
        "exp(closeness · the video's score in the first stage), exclusive by these times the video's probability.",
        choices=("disjoint", "general", "exclusive"),
    )
    fusion: bool = option(NETWORK, True, "Whether the query weighs the streams; else their mean is read.")
    inner: int = option(NETWORK, 256, "Size of the feed-forward networks.", 1, LARGEST)
    filters: int = option(NETWORK, 256, "Size of the layers between a head's two.", 1, LARGEST)
    clusters: int = option(NETWORK, 32, "Clusters of words, by which a query weighs the streams.", 1, 1024)
    first_iterations: int = option(FIRST, 10_000, "Steps of the first stage; iterations are those of CONQUER.", 1, MOST)
    others: int = option(LOSSES, 3, "Videos without an answer that are read with the right one in training.", 1, 1000)
    pool: int = option(LOSSES, 100, "Best videos of the first stage, from which others are drawn.", 1, 100_000)
    choice: float = option(LOSSES, 0.05, "Weight of the loss of choosing among these videos, if exclusive.", 0, 1000)

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
