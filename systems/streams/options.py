"""The numbers that XML, ReLoCLNet and CONQUER are made with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..errors import BadOption
from ..options import Bounds, Training


@dataclass(frozen=True)
class Streams(Training):
    """What the three have, with TVR-Ranking's defaults (appendix C.1) or else those of the papers.

    Lengths of moments are those of XML for clips of 1.5 s; nothing is suppressed.

    Attributes
    ----------
    stride, decay_every
        It has no meaning here.
    warmup
        Steps in which the learning rate rises to its value.
    hidden
        Size of the vectors that stand for words and clips.
    heads
        Heads of the attention.
    words
        Size of learned word vectors, where queries come without vectors of their tokens.
    dropout
        Share of the features and of the vectors that is dropped in training.
    kernel
        Clips that ConvSE sees at a time, an odd number.
    ranking
        Weight of the hinge loss between queries and videos.
    video
        Weight of the contrastive loss between queries and videos.
    span
        Weight of the loss of start and end.
    frame
        Weight of ReLoCLNet's contrastive loss between a query and the clips of its video.
    margin
        Of the hinge loss.
    hard_after
        Steps after which the negatives of the hinge loss are among the hardest.
    hardest
        Negatives that count as the hardest, because their scores are the highest.
    closeness
        A moment's score is P(start) · P(end) · exp(closeness · the video's score).
    candidates
        Videos with the highest scores, which are searched for moments.
    """

    longest: int = 16
    iterations: int = 10_000
    learning_rate: float = 1e-4
    patience: int = 10
    warmup: int = 100
    hidden: int = 256
    heads: int = 4
    words: int = 100
    dropout: float = 0.1
    kernel: int = 5
    ranking: float = 1.0
    video: float = 0.03
    span: float = 0.01
    frame: float = 0.0
    margin: float = 0.1
    hard_after: int = 1000
    hardest: int = 20
    closeness: float = 20.0
    candidates: int = 100

    bounds: ClassVar[dict[str, Bounds]] = {
        "warmup": (0, 10_000_000),
        "hidden": (2, 16_384),
        "heads": (1, 64),
        "words": (1, 16_384),
        "dropout": (0, 0.95),
        "kernel": (1, 99),
        "ranking": (0, 1000),
        "video": (0, 1000),
        "span": (0, 1000),
        "frame": (0, 1000),
        "margin": (0, 2),
        "hard_after": (0, 10_000_000),
        "hardest": (1, 65_536),
        "closeness": (0, 1000),
        "candidates": (1, 100_000),
    }

    def rate(self, step: int) -> float:
        """Return the learning rate of a step: it rises to its value, then falls to 0 at the last step, as XML's."""
        rising = (step + 1) / max(1, self.warmup)
        falling = (self.iterations - step) / max(1, self.iterations - self.warmup)
        return self.learning_rate * min(1.0, rising, falling)

    def check(self) -> None:
        super().check()
        if self.hidden % self.heads or self.hidden % 2:
            raise BadOption("hidden", f"{self.hidden}", f"an even multiple of the {self.heads} heads")
        if self.kernel % 2 == 0:
            raise BadOption("kernel", f"{self.kernel}", "an odd number of clips")


@dataclass(frozen=True)
class Reloclnet(Streams):
    """What ReLoCLNet has: a loss between queries and clips."""

    frame: float = 0.03


@dataclass(frozen=True)
class Conquer(Reloclnet):
    """What CONQUER has; weights of losses and `hard_after` are those of its first stage, a ReLoCLNet.

    Attributes
    ----------
    candidates
        Videos of the first stage, which are searched for moments.
    closeness
        A moment's score is P(start) · P(end) · P(video) · exp(closeness · the video's score in the first stage).
    first_iterations
        Steps in which the first stage is trained; `iterations` are those of CONQUER itself.
    others
        Videos that are no answer, which are read beside the one that is, in training.
    pool
        Videos that the first stage ranks highest, from which `others` are drawn.
    choice
        Weight of the loss of choosing among these videos, beside that of start and end.
    """

    candidates: int = 10
    closeness: float = 0.0
    first_iterations: int = 10_000
    others: int = 3
    pool: int = 100
    choice: float = 0.05

    bounds: ClassVar[dict[str, Bounds]] = {
        "first_iterations": (1, 10_000_000),
        "others": (1, 1000),
        "pool": (1, 100_000),
        "choice": (0, 1000),
    }
