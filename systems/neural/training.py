"""Training of networks: seeds, validation, early stopping, going on after a stop, and what their systems share."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import nn

from ..data import Data, Validation
from ..errors import SystemsError
from ..exhaustive import Ranker
from ..interface import Progress, Report, silent
from ..library import Evaluator, parse_measure
from ..options import Training
from ..storage import read_json, read_tree, write, write_json, write_tree
from .description import CURVE, MODEL, NETWORK, among_in_words
from .device import device, mixed, own_draws

CHECKPOINT = "checkpoint.npz"
STATE = ("losses", "validations", "best")  # of a training, in its checkpoint
SECONDS_BETWEEN_CHECKPOINTS = 30.0
LARGEST_GRADIENT = 10.0  # its norm, beyond which it is scaled down
REPORTS = 100  # of one training
Lesson = Callable[[Any, int], torch.Tensor]  # returns the loss of a network in the step of a number


@dataclass
class Trainer:
    """A network in training. Its folder keeps a checkpoint while it lasts, and the model when it is done.

    What a step draws follows from the seed and the step's number, so a training that was broken off ends with the
    weights that it would have had without the stop, on the same kind of processor with as many threads.

    loss_of: returns the loss of the step of this number.
    validate: returns the value of the validation's measure, of which high ones are good; None: there is no validation.
    facts, about: what is stored beside the weights, and beside the curves.
    losses, validations: of all steps so far, and each validation as (steps done, value).
    best: the weights of the best validation.
    """

    network: nn.Module
    options: Training
    folder: Path
    loss_of: Callable[[int], torch.Tensor]
    validate: Callable[[Report], float] | None
    facts: dict[str, Any]
    about: dict[str, Any]
    losses: list[float] = field(default_factory=list)
    validations: list[tuple[int, float]] = field(default_factory=list)
    best: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        self.optimiser = optimiser_of(self.network, self.options)

    def run(self, report: Report) -> None:
        """Train to the end, or until the validations get no better, and store the model and its curves."""
        self._resume()
        saved, every = time.monotonic(), max(1, self.options.iterations // REPORTS)
        with own_draws():
            for step in range(len(self.losses), self.options.iterations):
                if 0 < self.options.patience <= self._worse_since():
                    break
                self.losses.append(self._step(step))
                value = self._validated(step + 1, report)
                if value is not None or (step + 1) % every == 0:
                    loss = float(np.mean(self.losses[-every:]))
                    report(replace(self._progress(step + 1), loss=loss, validation=value))
                if time.monotonic() - saved >= SECONDS_BETWEEN_CHECKPOINTS:
                    self._save_checkpoint()
                    report(self._progress(step + 1))  # a worker whose job is silent for long loses it
                    saved = time.monotonic()
        self._finish()

    def _worse_since(self) -> int:
        """Return how many validations came after the best one."""
        values = [value for _, value in self.validations]
        return len(values) - 1 - int(np.argmax(values)) if values else 0

    def _step(self, number: int) -> float:
        self.network.train()
        seed = np.random.default_rng([self.options.seed, 0, number]).integers(2**63)
        torch.manual_seed(int(seed))
        for group in self.optimiser.param_groups:
            group["lr"] = self.options.rate(number)
        with mixed():
            loss = self.loss_of(number)
        value = float(loss.item())
        if not math.isfinite(value):
            right = "a lower learning_rate" if number else "smaller features, because nothing was learned yet"
            raise SystemsError(f"step {number + 1}: the loss is {value}; expected a number. Try {right}")
        self.optimiser.zero_grad()
        loss.backward()
        if not isinstance(self.optimiser, BertAdam):
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), LARGEST_GRADIENT)
        self.optimiser.step()
        return value

    def _validated(self, done: int, report: Report) -> float | None:
        """Validate if it is time, and keep the weights if they are the best so far."""
        due = done % self.options.validate_every == 0 or done == self.options.iterations
        if self.validate is None or not due:
            return None
        self.network.eval()
        with torch.inference_mode():
            value = self.validate(lambda _: report(self._progress(done - 1)))  # this step is not over yet
        if value > max((value for _, value in self.validations), default=-math.inf):
            self.best = {name: each.clone() for name, each in self.network.state_dict().items()}
        self.validations.append((done, value))
        return value

    def _progress(self, done: int) -> Progress:
        text = f"training: {done:,} of {self.options.iterations:,} steps"
        return Progress(done, self.options.iterations, text)

    def _resume(self) -> None:
        file = self.folder / CHECKPOINT
        if not file.exists():
            return
        stored = read_tree(file, torch.from_numpy)
        self.network.load_state_dict(stored["network"])
        self.optimiser.load_state_dict(stored["optimiser"])
        self.losses, self.validations, self.best = (stored[name] for name in STATE)

    def _save_checkpoint(self) -> None:
        content = {"network": self.network.state_dict(), "optimiser": self.optimiser.state_dict()}
        write_tree(self.folder / CHECKPOINT, content | {name: getattr(self, name) for name in STATE})

    def _finish(self) -> None:
        if self.best is not None:
            self.network.load_state_dict(self.best)
        self.network.eval()
        curves = {"losses": self.losses, "validations": self.validations}
        write_json(self.folder / CURVE, curves | self.about | {"device": device().type})
        store(self.folder, self.network, self.facts)
        (self.folder / CHECKPOINT).unlink(missing_ok=True)


def optimiser_of(network: torch.nn.Module, options: Training) -> torch.optim.Optimizer:
    """Return the optimiser that the options name."""
    if options.optimiser == "sgd":
        return torch.optim.SGD(network.parameters(), options.learning_rate, momentum=options.momentum)
    if options.optimiser == "bertadam":
        return BertAdam(network, options.learning_rate)
    return torch.optim.Adam(network.parameters(), options.learning_rate)


class BertAdam(torch.optim.Optimizer):
    """Adam as BERT was trained by it, and XML, ReLoCLNet and CONQUER: the first steps are not corrected, weights decay
    whatever their gradient, and the gradient of each parameter has a norm of 1 at most. Biases and the weights of
    norms, which have one dimension, do not decay.
    """

    BETAS, LEAST, DECAY, LARGEST = (0.9, 0.999), 1e-6, 0.01, 1.0

    def __init__(self, network: torch.nn.Module, learning_rate: float) -> None:
        super().__init__(network.parameters(), {"lr": learning_rate})

    def step(self, closure: Any = None) -> None:
        """Change the parameters by their gradients."""
        with torch.no_grad():
            for group in self.param_groups:
                for each in group["params"]:
                    if each.grad is not None:
                        self._change(each, group["lr"])

    def _change(self, each: torch.Tensor, rate: float) -> None:
        state = self.state[each]
        if not state:
            state |= {"mean": torch.zeros_like(each), "square": torch.zeros_like(each)}
        torch.nn.utils.clip_grad_norm_([each], self.LARGEST)
        assert each.grad is not None
        state["mean"].lerp_(each.grad, 1 - self.BETAS[0])
        state["square"].lerp_(each.grad.square(), 1 - self.BETAS[1])
        change = state["mean"] / (state["square"].sqrt() + self.LEAST)
        decay = self.DECAY if each.ndim > 1 else 0.0
        each.sub_(rate * (change + decay * each))


def store(folder: Path, network: nn.Module, facts: dict[str, Any]) -> None:
    """Store the weights of a network, and beside them the facts that it was made of, such as its vocabulary."""
    weights = save({name: each.detach().cpu().contiguous() for name, each in network.state_dict().items()})
    write_json(folder / NETWORK, facts)
    write(folder / MODEL, lambda out: out.write(weights))


def load(folder: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Return what `store` stored. Raises SystemsError if it is not there or cannot be read."""
    file = folder / MODEL
    if not file.exists():
        raise SystemsError(f"{file}: nothing was learned; train the system first")
    try:
        return load_file(file), read_json(folder / NETWORK)
    except (OSError, SafetensorError) as fault:
        raise SystemsError(f"{file}: cannot be read ({fault}); delete it and train again") from fault


class Learned(Ranker):
    """A system with a network, which is made of the options and of facts of its training data."""

    network_class: ClassVar[Callable[..., Any]]
    options: Training
    _network: Any = None

    @abstractmethod
    def facts(self, data: Data) -> dict[str, Any]:
        """Return what of the training data the network's shape depends on; it is stored beside the weights."""

    @abstractmethod
    def lesson(self, data: Data) -> Lesson:
        """Check the training data, and return what is learned from them. Raises SystemsError if they lack something."""

    def train(self, data: Data, report: Report = silent) -> None:
        self.keep_card()
        if (self.folder / MODEL).exists():
            return report(Progress(1, 1, "the training was done before"))
        lesson, facts = self.lesson(data), self.facts(data)
        with own_draws():
            torch.manual_seed(self.options.seed)
            network = self.network_class(self.options, **facts).to(device())  # drawn on the processor, so the same
        self._network = network
        validate, about = None, {"measure": "", "videos": [0, 0]}
        if data.validation is not None:
            valid = data.validation.among(self.options.validation_videos, self.options.seed)
            ranked = len(valid.videos), len(data.validation.videos)
            if valid is not data.validation:
                report(Progress(0, self.options.iterations, f"validations rank {among_in_words(ranked)}"))
            validate, about = partial(self.validated, valid), {"measure": valid.measure, "videos": ranked}
        learn = partial(lesson, network)
        return Trainer(network, self.options, self.folder, learn, validate, facts, about).run(report)

    @property
    def network(self) -> Any:
        """The network in training, or the one that was stored."""
        if self._network is None:
            weights, facts = load(self.folder)
            try:
                made: nn.Module = self.network_class(self.options, **facts)
                made.load_state_dict(weights)
                made.to(device())
            except (KeyError, TypeError, RuntimeError) as fault:
                raise SystemsError(f"{self.folder / MODEL}: is not of this system; train it again") from fault
            made.eval()
            self._network = made
        return self._network

    def validated(self, validation: Validation, report: Report = silent) -> float:
        """Return the value of a validation set's measure."""
        depth = parse_measure(validation.measure).cutoff or 100
        run = self.search_in(self.look_at(validation.videos, report), validation.queries, depth, report)
        scores = Evaluator([validation.measure], validation.qrels).calc(run)
        value = next(iter(scores.aggregate().values()))
        return -math.inf if value is None else float(value)
