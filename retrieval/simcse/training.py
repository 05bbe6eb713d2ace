"""What a SimCSE model is made from, and its training, which can be stopped and goes on from its checkpoint."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from base.errors import BadValue, ReeljudgeError
from retrieval.encoders import folder_of
from systems.encoders import bundled_folder, cls_pooled
from systems.storage import read_tree, write_tree

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


FEWEST_CAPTIONS = 20
CHECKPOINT = "checkpoint.npz"
SECONDS_BETWEEN_CHECKPOINTS = 60.0
LARGEST_GRADIENT = 1.0  # its norm, beyond which it is scaled down
Progress = Callable[[int, int], None]


def _number(default: Any, least: int, most: int, meaning: str) -> Any:
    return field(default=default, metadata={"bounds": (least, most), "meaning": meaning})


@dataclass(frozen=True)
class Recipe:
    """The numbers of the unsupervised recipe of Gao, Yao and Chen (SimCSE, EMNLP 2021), with theirs as defaults."""

    epochs: int = _number(1, 1, 100, "how often each caption is seen")
    batch_size: int = _number(64, 2, 4096, "captions of a step; each has the others as negatives")
    learning_rate: float = _number(3e-5, 0, 1, "of AdamW, falling to 0")
    temperature: float = _number(0.05, 0, 10, "by which cosines are divided")
    max_tokens: int = _number(32, 3, 512, "tokens of a caption that are read in training")
    held_out: int = _number(1000, 2, 100_000, "captions kept for the report, at most a fifth of all")
    seed: int = _number(1, 0, 2**63 - 1, "of the order, of dropout and of what is held out")

    def check(self) -> None:
        """Raise BadValue if a number makes no sense; one with a fraction must be above its lower bound."""
        for each in fields(self):
            number, (least, most) = getattr(self, each.name), each.metadata["bounds"]
            if isinstance(each.default, float):
                is_right, right = math.isfinite(number) and least < number <= most, f"more than {least}, at most {most}"
            else:
                is_right, right = least <= number <= most, f"{least} to {most}"
            if not is_right:
                found = f"{number:g}" if isinstance(each.default, float) else f"{number}"
                raise BadValue(f"--{each.name.replace('_', '-')}", found, right)


@dataclass(frozen=True)
class Captions:
    """Distinct captions, sorted, and split into those to train on and those that are held out."""

    training: list[str]
    held_out: list[str]

    @property
    def all(self) -> list[str]:
        return self.training + self.held_out


def split(captions: list[str], recipe: Recipe) -> Captions:
    """Split the distinct captions by the recipe's seed, in any order. Raises ReeljudgeError if they are too few."""
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


def load_base(base: str) -> SentenceTransformer:
    """Load a model's transformer afresh, with [CLS] pooling. Nothing is downloaded. Raises ReeljudgeError if the model
    is not on this machine, cannot be loaded, or has no dropout.
    """
    from safetensors import SafetensorError
    from transformers.utils import logging

    logging.disable_progress_bar()
    folder = bundled_folder() if base == "bundled" else folder_of(base)
    if folder is None:
        raise ReeljudgeError(f"--base {base}: not on this machine; expected a model's folder, or 'bundled'")
    try:
        older = folder / "0_Transformer"  # where early versions of sentence-transformers stored it
        model = cls_pooled(str(older if older.is_dir() else folder)).to("cpu")  # as its batches are
    except (OSError, ValueError, SafetensorError) as fault:
        reason = str(fault).partition("\n")[0]
        raise ReeljudgeError(f"--base {base}: cannot be loaded ({reason})") from fault
    if not _has_dropout(model):
        raise ReeljudgeError(f"--base {base}: has no dropout, so a caption's two vectors would be equal")
    return model


def _has_dropout(model: SentenceTransformer) -> bool:
    import torch

    return any(isinstance(part, torch.nn.Dropout) and part.p > 0 for part in model.modules())


def train(
    model: SentenceTransformer,
    captions: list[str],
    recipe: Recipe,
    folder: Path,
    report: Progress = lambda done, total: None,
) -> list[float]:
    """Train the model in place, and return the mean loss of each tenth of the training.

    Each caption passes twice through the model, whose dropout is the noise; the other captions of the batch are the
    negatives. Order and dropout of a step follow from the seed and the step's number alone. A training that was
    stopped goes on from the checkpoint in the folder, and ends with the weights that it would have had without the
    stop, bit for bit on the same kind of processor with as many threads.

    captions: distinct texts, in an order that is always the same.
    folder: where checkpoints are stored; it must be of this training alone.
    report: a function that is called with the number of steps that are done, and of all.
    """
    import torch

    steps = list(_batches(len(captions), recipe))
    longest = model.max_seq_length
    with torch.random.fork_rng(devices=[]):
        loop = _Loop(model, recipe, len(steps))
        losses = loop.resume(folder / CHECKPOINT)
        saved = time.monotonic()
        for step in range(len(losses), len(steps)):
            report(step, len(steps))
            losses.append(loop.step(step, [captions[place] for place in steps[step]]))
            if time.monotonic() - saved >= SECONDS_BETWEEN_CHECKPOINTS:
                loop.save(folder / CHECKPOINT, losses)
                saved = time.monotonic()
    model.eval()
    model.max_seq_length = longest
    report(len(steps), len(steps))
    return [round(float(np.mean(part)), 4) for part in np.array_split(losses, min(10, len(losses)))]


def _batches(captions: int, recipe: Recipe) -> Iterator[list[int]]:
    """Yield the places of the captions of each step. A rest of one caption, which has no negatives, is left out."""
    for epoch in range(recipe.epochs):
        order = np.random.default_rng([recipe.seed, 1, epoch]).permutation(captions)
        for start in range(0, captions, recipe.batch_size):
            places = order[start : start + recipe.batch_size]
            if len(places) > 1:
                yield places.tolist()


class _Loop:
    """The model, its loss and its optimiser."""

    def __init__(self, model: SentenceTransformer, recipe: Recipe, steps: int) -> None:
        import torch
        from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

        self.model, self.recipe, self.steps = model, recipe, steps
        model.max_seq_length = min(recipe.max_tokens, model.max_seq_length or recipe.max_tokens)
        self.loss = MultipleNegativesRankingLoss(model, scale=1 / recipe.temperature)
        self.optimiser = torch.optim.AdamW(model.parameters(), recipe.learning_rate, weight_decay=0.0)

    def step(self, number: int, captions: list[str]) -> float:
        """Do the step of this number, and return its loss."""
        import torch

        self.model.train()
        torch.manual_seed(int(np.random.default_rng([self.recipe.seed, 2, number]).integers(2**63)))
        for group in self.optimiser.param_groups:
            group["lr"] = self.recipe.learning_rate * (1 - number / self.steps)
        features = self.model.preprocess(captions)
        # Copies, because the modules write into the features. Dropout differs between the two passes.
        loss = self.loss([dict(features), dict(features)], torch.empty(0))
        if not torch.isfinite(loss):
            raise ReeljudgeError(
                f"step {number + 1}: the loss is {loss.item()}; expected a number. Try a lower --learning-rate"
            )
        self.optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), LARGEST_GRADIENT)
        self.optimiser.step()
        return float(loss.item())

    def resume(self, file: Path) -> list[float]:
        """Load the checkpoint, if there is one, and return the losses of the steps that it has seen."""
        import torch

        if not file.exists():
            return []
        stored: dict[str, Any] = read_tree(file, torch.from_numpy)
        self.model.load_state_dict(stored["model"])
        self.optimiser.load_state_dict(stored["optimiser"])
        losses: list[float] = stored["losses"]
        return losses

    def save(self, file: Path, losses: list[float]) -> None:
        """Store a checkpoint. It replaces the one before it at once, so there is always a whole one."""
        state = {"model": self.model.state_dict(), "optimiser": self.optimiser.state_dict(), "losses": losses}
        write_tree(file, state)
