"""The numbers that XML, ReLoCLNet and CONQUER are made with."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import BadOption
from ..options import LARGEST, Training, option


@dataclass(frozen=True)
class Streams(Training):
    """What the three have, with TVR-Ranking's defaults (appendix C.1) or else those of the papers.

    Lengths of moments are those of XML for clips of 1.5 s; nothing is suppressed.
    """

    longest: int = 16
    stride: float = option(0.3, "It has no meaning here.")
    iterations: int = 10_000
    learning_rate: float = 1e-4
    decay_every: int = option(0, "It has no meaning here.")
    patience: int = 10
    warmup: int = option(100, "Steps in which the learning rate rises to its value.", 0, 10_000_000)
    hidden: int = option(256, "Size of the vectors that stand for words and clips.", 2, LARGEST)
    heads: int = option(4, "Heads of the attention.", 1, 64)
    words: int = option(
        100, "Size of learned word vectors, where queries come without vectors of their tokens.", 1, LARGEST
    )
    dropout: float = option(0.1, "Share of the features and of the vectors that is dropped in training.", 0, 0.95)
    kernel: int = option(5, "Clips that ConvSE sees at a time, an odd number.", 1, 99)
    ranking: float = option(1.0, "Weight of the hinge loss between queries and videos.", 0, 1000)
    video: float = option(0.03, "Weight of the contrastive loss between queries and videos.", 0, 1000)
    span: float = option(0.01, "Weight of the loss of start and end.", 0, 1000)
    frame: float = option(
        0.0, "Weight of ReLoCLNet's contrastive loss between a query and the clips of its video.", 0, 1000
    )
    margin: float = option(0.1, "Of the hinge loss.", 0, 2)
    hard_after: int = option(
        1000, "Steps after which the negatives of the hinge loss are among the hardest.", 0, 10_000_000
    )
    hardest: int = option(20, "Negatives that count as the hardest, because their scores are the highest.", 1, 65_536)
    closeness: float = option(
        20.0, "A moment's score is P(start) · P(end) · exp(closeness · the video's score).", 0, 1000
    )
    candidates: int = option(100, "Videos with the highest scores, which are searched for moments.", 1, 100_000)

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
    """What CONQUER has; weights of losses and `hard_after` are those of its first stage, a ReLoCLNet."""

    candidates: int = option(10, "Videos of the first stage, which are searched for moments.")
    closeness: float = option(
        0.0, "A moment's score is P(start) · P(end) · P(video) · exp(closeness · the video's score in the first stage)."
    )
    first_iterations: int = option(
        10_000, "Steps in which the first stage is trained; iterations are those of CONQUER itself.", 1, 10_000_000
    )
    others: int = option(3, "Videos that are no answer, which are read beside the one that is, in training.", 1, 1000)
    pool: int = option(100, "Videos that the first stage ranks highest, from which others are drawn.", 1, 100_000)
    choice: float = option(
        0.05, "Weight of the loss of choosing among these videos, beside that of start and end.", 0, 1000
    )
