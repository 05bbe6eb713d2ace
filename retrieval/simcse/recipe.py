"""What a SimCSE model is made from: captions, a base model and the numbers of the recipe, and the hash of all three."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass

import numpy as np

from base.errors import BadValue, ReeljudgeError

FEWEST_CAPTIONS = 20


@dataclass(frozen=True)
class Recipe:
    """The numbers of the unsupervised recipe of Gao, Yao and Chen (SimCSE, EMNLP 2021), with theirs as defaults.

    Attributes
    ----------
    epochs, batch_size
        How often each caption is seen, and with how many others, which are its negatives.
    learning_rate
        Of AdamW, falling linearly to 0.
    temperature
        By which cosines are divided before the softmax.
    max_tokens
        The tokens of a caption that are read in training.
    held_out
        Captions that are not trained on, for the report; at most a fifth of all.
    seed
        Of the held-out captions, of the order, and of dropout.
    """

    epochs: int = 1
    batch_size: int = 64
    learning_rate: float = 3e-5
    temperature: float = 0.05
    max_tokens: int = 32
    held_out: int = 1000
    seed: int = 1

    def check(self) -> None:
        """Raise BadValue if a number makes no sense."""
        for field, least, most in (
            ("epochs", 1, 100),
            ("batch_size", 2, 4096),
            ("max_tokens", 3, 512),
            ("held_out", 2, 100_000),
            ("seed", 0, 2**63 - 1),
        ):
            value = getattr(self, field)
            if not least <= value <= most:
                raise BadValue(f"--{field.replace('_', '-')}", f"{value}", f"{least} to {most}")
        for field, most_allowed in (("learning_rate", 1.0), ("temperature", 10.0)):
            number = getattr(self, field)
            if not (math.isfinite(number) and 0 < number <= most_allowed):
                right = f"more than 0, at most {most_allowed:g}"
                raise BadValue(f"--{field.replace('_', '-')}", f"{number:g}", right)


@dataclass(frozen=True)
class Captions:
    """Distinct captions, sorted, and split into those to train on and those that are held out."""

    training: list[str]
    held_out: list[str]

    @property
    def all(self) -> list[str]:
        return self.training + self.held_out


def split(captions: list[str], recipe: Recipe) -> Captions:
    """Split the distinct captions by the recipe's seed. The order in which they come changes nothing.

    Raises
    ------
    ReeljudgeError
        If there are too few.
    """
    distinct = sorted({caption.strip() for caption in captions} - {""})
    if len(distinct) < FEWEST_CAPTIONS:
        raise ReeljudgeError(
            f"{len(distinct)} distinct captions; expected at least {FEWEST_CAPTIONS} to train on and to hold out"
        )
    held = min(recipe.held_out, len(distinct) // 5)
    order = np.random.default_rng([recipe.seed, 0]).permutation(len(distinct))
    return Captions(
        training=[distinct[place] for place in sorted(order[held:])],
        held_out=[distinct[place] for place in sorted(order[:held])],
    )


def origin(base: str, captions: Captions, recipe: Recipe) -> str:
    """Return the SHA-256 of all that the weights follow from; `base` is the base model's fingerprint."""
    ingredients = {"base": base, "recipe": asdict(recipe), "captions": captions.all}
    return hashlib.sha256(json.dumps(ingredients, sort_keys=True).encode()).hexdigest()
