"""Reading a film's sound between two times, exact to the sample."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
from av import AudioFrame
from av.container import InputContainer
from av.error import BlockingIOError as Hungry
from av.error import EOFError as Over
from av.filter import Graph

from systems.features.films import beginning, open_film

RATE = 48_000  # samples a second
LAYOUT = "stereo"
BEFORE = 1.0  # seconds; decoders are exact only after some packets


def sound(file: Path, start: float, end: float) -> Iterator[AudioFrame]:
    """Yield stereo frames of 48,000 samples a second. The first begins at `start` and has time 0.

    A film without sound yields nothing. Silence fills gaps, and the time before the sound begins.
    """
    with open_film(file) as film:
        if stream := film.streams.best("audio"):
            yield from _filtered(film, stream, start, end)


def _filtered(film: InputContainer, stream: Any, start: float, end: float) -> Iterator[AudioFrame]:
    tick, begins = stream.time_base, beginning(film) + start
    graph = _graph(stream, end - start)
    film.seek(max(0, round((begins - BEFORE) * av.time_base)))
    zero = round(begins / tick)
    for frame in film.decode(stream):
        if frame.pts is None:
            continue
        frame.pts -= zero
        if frame.pts * tick > end - start:
            break
        graph.push(frame)
        yield from _ready(graph)
    graph.push(None)
    yield from _ready(graph)


def _graph(stream: Any, seconds: float) -> Graph:
    graph = Graph()
    chain = [
        graph.add_abuffer(template=stream),
        # async=1 fills gaps with silence; first_pts=0 cuts or fills the time before the start.
        graph.add("aresample", f"{RATE}:async=1:first_pts=0"),
        graph.add("aformat", f"sample_fmts=fltp:sample_rates={RATE}:channel_layouts={LAYOUT}"),
        graph.add("atrim", f"end_sample={round(seconds * RATE)}"),
        graph.add("abuffersink"),
    ]
    graph.link_nodes(*chain).configure()
    graph.set_audio_frame_size(1024)
    return graph


def _ready(graph: Graph) -> Iterator[AudioFrame]:
    while True:
        try:
            frame: Any = graph.pull()
        except (Hungry, Over):
            return
        frame.time_base = Fraction(1, RATE)
        yield frame
