"""Systems that train a network: what they share of training, of validation, and of the network that was stored."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, cast

import torch
from torch import nn

from metrics import Evaluator, Run, parse_measure
from retrieval.systems.data import Data, Validation
from retrieval.systems.errors import SystemsError
from retrieval.systems.interface import Progress, Report, System, silent
from retrieval.systems.neural.training import MODEL, Trainer, load
from retrieval.systems.options import Training

Lesson = Callable[[Any, int], torch.Tensor]  # returns the loss of a network in the step of a number


class Learned(System):
    """A system with a network, which is made of the options and of facts of its training data."""

    network_class: ClassVar[Callable[..., Any]]
    _network: Any = None

    @abstractmethod
    def facts(self, data: Data) -> dict[str, Any]:
        """Return what of the training data the network's shape depends on; it is stored beside the weights."""

    @abstractmethod
    def lesson(self, data: Data) -> Lesson:
        """Check the training data, and return what is learned from them.

        Raises
        ------
        SystemsError
            If they lack what the system needs.
        """

    @abstractmethod
    def search_among(self, validation: Validation, depth: int, report: Report = silent) -> Run:
        """Return the ranking of a validation set's videos, of which no index is stored."""

    def train(self, data: Data, report: Report = silent) -> None:
        options = cast(Training, self.options)
        self.keep_card()
        if (self.folder / MODEL).exists():
            return report(Progress(1, 1, "the training was done before"))
        lesson, facts = self.lesson(data), self.facts(data)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(options.seed)
            network = self.network_class(options, **facts)
        self._network = network
        valid = data.validation
        validate = None if valid is None else partial(self.validated, valid)
        Trainer(network, options, self.folder, lambda step: lesson(network, step), validate, facts).run(
            report
        )
        return None

    @property
    def network(self) -> Any:
        """The network in training, or the one that was stored."""
        if self._network is None:
            stored = load(self.folder / MODEL)
            try:
                made: nn.Module = self.network_class(self.options, **stored["facts"])
                made.load_state_dict(stored["network"])
            except (KeyError, TypeError, RuntimeError) as fault:
                raise SystemsError(f"{self.folder / MODEL}: is not of this system; train it again") from fault
            made.eval()
            self._network = made
        return self._network

    def validated(self, validation: Validation, report: Report = silent) -> float:
        """Return the value of a validation set's measure."""
        run = self.search_among(validation, parse_measure(validation.measure).cutoff or 100, report)
        scores = Evaluator([validation.measure], validation.qrels).scores(run)[0]
        value = next(iter(scores.aggregate().values()))
        return -math.inf if value is None else float(value)
