"""Systems whose network is trained by contrast: a moment's cost for its query beside those of negative moments."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, cast

import torch
from torch import nn

from metrics import Evaluator, parse_measure
from retrieval.systems.data import Data, Query, Validation, Videos
from retrieval.systems.errors import SystemsError
from retrieval.systems.exhaustive import Exhaustive
from retrieval.systems.interface import Progress, Report, silent
from retrieval.systems.neural.layers import words_and_width
from retrieval.systems.neural.losses import contrast
from retrieval.systems.neural.training import MODEL, Trainer, load
from retrieval.systems.options import Contrastive
from retrieval.systems.sampling import Sampler
from retrieval.systems.windows import Windows

WINDOWS_AT_A_TIME = 4096  # that are represented together
QUERIES_AT_A_TIME = 64


class Network(nn.Module):
    """A network that says what moments cost for queries, made of options and of the facts of its training data."""

    def costs(self, queries: Sequence[Query], videos: Videos, windows: Windows) -> torch.Tensor:
        """Return what each query's moments cost, of which as many belong to each: (queries, moments of each)."""
        raise NotImplementedError


class Contrasted(Exhaustive):
    """What the trained systems of STAL's tables share: training, and the network that was stored."""

    network_class: ClassVar[type[Network]]
    _network: Network | None = None

    @abstractmethod
    def facts_of(self, data: Data) -> dict[str, Any]:
        """Return what of the training data the network's shape depends on, besides words."""

    def train(self, data: Data, report: Report = silent) -> None:
        options = cast(Contrastive, self.options)
        self.keep_card()
        if (self.folder / MODEL).exists():
            return report(Progress(1, 1, "the training was done before"))
        sampler = Sampler(data, options)
        facts = self._facts(data)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(options.seed)
            self._network = network = self.network_class(options, **facts)

        def loss_of(step: int) -> torch.Tensor:
            examples, windows = sampler.step(step)
            costs = network.costs([example.query for example in examples], data.videos, windows)
            weights = torch.tensor([example.weight for example in examples])
            return contrast(costs, weights, options.loss, options.margin)

        valid = data.validation
        validate = None if valid is None else lambda: self.validated(valid)
        Trainer(network, options, self.folder, loss_of, validate, facts).run(report)
        return None

    def _facts(self, data: Data) -> dict[str, Any]:
        names = data.videos.objects.names if data.videos.objects else ()
        queries = list({example.query.id: example.query for example in data.examples}.values())
        facts = self.facts_of(data)
        return facts | words_and_width(cast(Contrastive, self.options), queries, names)

    @property
    def network(self) -> Network:
        """The network in training, or the one that was stored."""
        if self._network is None:
            stored = load(self.folder / MODEL)
            try:
                made = self.network_class(self.options, **stored["facts"])
                made.load_state_dict(stored["network"])
            except (KeyError, TypeError, RuntimeError) as fault:
                raise SystemsError(f"{self.folder / MODEL}: is not of this system; train it again") from fault
            made.eval()
            self._network = made
        return self._network

    def validated(self, validation: Validation) -> float:
        """Return the value of a validation set's measure."""
        depth = parse_measure(validation.measure).cutoff or 100
        run = self.search_in(self.look_at(validation.videos), validation.queries, depth)
        scores = Evaluator([validation.measure], validation.qrels).scores(run)[0]
        value = next(iter(scores.aggregate().values()))
        return -math.inf if value is None else float(value)


def check_width(videos: Videos, width: int) -> None:
    """Raise SystemsError if videos do not have features of the width that a network was trained on."""
    if videos.clips.shape[1] != width:
        raise SystemsError(
            f"the clips have {videos.clips.shape[1]} features; expected {width}, as in training"
        )
