"""XML: videos by clips that saw one stream alone, moments by clips that saw both streams (Lei et al. 2020)."""

from __future__ import annotations

from retrieval.systems.streams.two_streams import TwoStreams


class Xml(TwoStreams):
    """Cross-modal moment localisation, with TVR-Ranking's losses (appendix C.1)."""

    name = "xml"
    two_levels = True
