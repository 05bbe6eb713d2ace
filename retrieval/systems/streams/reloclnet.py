"""ReLoCLNet: one vector for each clip and stream, contrasted with videos and with clips (Zhang et al. 2021)."""

from __future__ import annotations

from retrieval.systems.streams.two_streams import TwoStreams


class Reloclnet(TwoStreams):
    """Retrieval and localisation by contrastive learning, with TVR-Ranking's losses (appendix C.1)."""

    name = "reloclnet"
    two_levels = False
