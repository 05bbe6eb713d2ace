"""The numbers that XML, ReLoCLNet and CONQUER are made with."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import BadOption
from ..options import LARGEST, Training, option


@dataclass(frozen=True)
class Streams(Training):
    """What the three have. The defaults are those of XML's public code and of TVR-Ranking's runs of it.

    In their code an end is the clip after the one in which a moment ends, and an XML's moment goes to the end of that
    clip; so their lengths of 2 to 15 clips are 3 to 16.
    """

    shortest: int = 3
    longest: int = 16
    stride: float = option(0.3, "It has no meaning here.")
    iterations: int = 10_000
    optimiser: str = option(
        "bertadam",
        "bertadam, which is Adam with weight decay and without correction of its first steps, adam, or sgd with "
        "momentum.",
        choices=("bertadam", "adam", "sgd"),
    )
    learning_rate: float = 1e-4
    decay_every: int = option(0, "It has no meaning here.")
    patience: int = 10
    warmup: int = option(100, "Steps in which the learning rate rises to its value.", 0, 10_000_000)
    hidden: int = option(256, "Size of the vectors that stand for words and clips.", 2, LARGEST)
    heads: int = option(4, "Heads of the attention.", 1, 64)
    words: int = option(
        100, "Size of learned word vectors, where queries come without vectors of their tokens.", 1, LARGEST
    )
    places: int = option(
        128, "Clips of a video that are read: XML leaves out those after them, ReLoCLNet takes means of more.", 1, 10_000
    )
    tokens: int = option(30, "Words of a query that are read.", 1, 10_000)
    tef: bool = option(True, "Whether each clip's start and end, as shares of the video, stand beside its features.")
    unit: bool = option(True, "Whether features have length 1; TVR-Ranking's scripts leave those of pictures as they are.")
    cross: bool = option(True, "Whether each stream looks at the other, if there are two.")
    merge: bool = option(True, "Whether ConvSE reads the mean of the streams; else each stream has filters of its own.")
    padded: bool = option(
        False,
        "Whether all videos are padded to `places` clips, and what is computed of padding counts in the last clips, as "
        "in the authors’ code.",
    )
    closed: bool = option(
        False,
        "Whether an end is learned as the clip in which a moment ends; else as the clip after it, as in the authors’ "
        "code.",
    )
    dropout: float = option(0.1, "Share of the features and of the vectors that is dropped in training.", 0, 0.95)
    kernel: int = option(5, "Clips that ConvSE sees at a time, an odd number.", 1, 99)
    ranking: float = option(1.0, "Weight of the loss of ranking videos and queries.", 0, 1000)
    ranking_loss: str = option("hinge", "hinge, or lse: log(1 + exp(difference)).", choices=("hinge", "lse"))
    video: float = option(0.0, "Weight of ReLoCLNet's contrastive loss between queries and videos.", 0, 1000)
    span: float = option(0.01, "Weight of the loss of start and end.", 0, 1000)
    frame: float = option(
        0.0, "Weight of ReLoCLNet's contrastive loss between a query and the clips of its video.", 0, 1000
    )
    margin: float = option(0.1, "Of the hinge loss.", 0, 2)
    hard_after: int = option(
        1000, "Steps after which the negatives of the ranking loss are among the hardest.", 0, 10_000_000
    )
    hardest: int = option(20, "Negatives that count as the hardest, because their scores are the highest.", 1, 65_536)
    several: bool = option(
        False,
        "Whether other videos that answer a query are no negatives of it, as in TVR-Ranking's appendix C.1; in its code "
        "they are.",
    )
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
        if self.hidden % self.heads:
            raise BadOption("hidden", f"{self.hidden}", f"a multiple of the {self.heads} heads")
        if self.kernel % 2 == 0:
            raise BadOption("kernel", f"{self.kernel}", "an odd number of clips")


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
    )
    fusion: bool = option(True, "Whether the query weighs the streams; else their mean is read.")
    inner: int = option(256, "Size of the feed-forward networks.", 1, LARGEST)
    filters: int = option(256, "Size of the layers between a head's two.", 1, LARGEST)
    clusters: int = option(32, "Clusters of words, by which a query weighs the streams.", 1, 1024)
    first_iterations: int = option(
        10_000, "Steps in which the first stage is trained; iterations are those of CONQUER itself.", 1, 10_000_000
    )
    others: int = option(3, "Videos that are no answer, which are read beside the one that is, in training.", 1, 1000)
    pool: int = option(100, "Videos that the first stage ranks highest, from which others are drawn.", 1, 100_000)
    choice: float = option(0.05, "Weight of the loss of choosing among these videos, if exclusive.", 0, 1000)

    @property
    def is_exclusive(self) -> bool:
        return self.similarity == "exclusive"
