"""Systems whose network is trained by contrast: a moment's cost for its query beside those of negative moments."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, cast

import torch
from torch import nn

from metrics import Run
from retrieval.systems.data import Data, Query, Validation, Videos
from retrieval.systems.errors import SystemsError
from retrieval.systems.exhaustive import Exhaustive
from retrieval.systems.interface import Report, silent
from retrieval.systems.neural.layers import words_and_width
from retrieval.systems.neural.learned import Learned, Lesson
from retrieval.systems.neural.losses import contrast
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


class Contrasted(Learned, Exhaustive):
    """What the trained systems of STAL's tables share: training by contrast, over all candidate moments."""

    network_class: ClassVar[type[Network]]

    @abstractmethod
    def facts_of(self, data: Data) -> dict[str, Any]:
        """Return what of the training data the network's shape depends on, besides words."""

    def facts(self, data: Data) -> dict[str, Any]:
        names = data.videos.objects.names if data.videos.objects else ()
        queries = list({example.query.id: example.query for example in data.examples}.values())
        facts = self.facts_of(data)
        return facts | words_and_width(cast(Contrastive, self.options), queries, names)

    def lesson(self, data: Data) -> Lesson:
        options = cast(Contrastive, self.options)
        sampler = Sampler(data, options)

        def loss_of(network: Network, step: int) -> torch.Tensor:
            examples, windows = sampler.step(step)
            costs = network.costs([example.query for example in examples], data.videos, windows)
            weights = torch.tensor([example.weight for example in examples])
            return contrast(costs, weights, options.loss, options.margin)

        return loss_of

    def search_among(self, validation: Validation, depth: int, report: Report = silent) -> Run:
        return self.search_in(self.look_at(validation.videos, report), validation.queries, depth, report)


def check_width(videos: Videos, width: int) -> None:
    """Raise SystemsError if videos do not have features of the width that a network was trained on."""
    if videos.clips.shape[1] != width:
        raise SystemsError(
            f"the clips have {videos.clips.shape[1]} features; expected {width}, as in training"
        )
