"""The two-stream networks: padding changes nothing, and boundaries, moments and comparisons are those of loops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from systems.data import Videos
from systems.interface import system
from systems.streams.conquer import Conquer
from systems.streams.inputs import Reading
from systems.streams.losses import NEVER
from systems.streams.network import ConvSE, cosines, products, spans
from systems.streams.two_streams import TwoStreams
from systems.windows import counts_in
from tests.systems.streams.noise import noise

LENGTHS = [5, 3, 7]


def lengths() -> torch.Tensor:
    return torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]


def test_convse_is_a_loop_over_its_filters() -> None:
    torch.manual_seed(1)
    convse = ConvSE(5)
    similar = torch.randn(3, 7)
    found = convse(similar, lengths())
    filters = torch.stack([side.weight.detach()[0, 0] for side in (convse.start, convse.end)])
    for video, count in enumerate(LENGTHS):
        for clip in range(7):
            for side, logits in enumerate((found.starts, found.ends)):
                near = [(tap, clip + tap - 2) for tap in range(5) if 0 <= clip + tap - 2 < 7]
                slow = sum((filters[side, tap] * similar[video, place]).item() for tap, place in near)
                expected = slow if clip < count else NEVER
                assert logits[video, clip].item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize(("shortest", "longest"), [(1, 1), (2, 4), (4, 9)])
def test_moments_are_those_of_a_loop(shortest: int, longest: int, after: int) -> None:
    starts, ends = torch.randn(3, 7), torch.randn(3, 7)
    scores, is_one = spans(starts, ends, torch.tensor(LENGTHS), shortest, longest, after)
    found = {
        (video, first, first + length): scores[video, first, length].item()
        for video, first, length in is_one.nonzero().tolist()
    }
    slow = {
        (video, first, last): (starts[video, first] + ends[video, min(last + after, count - 1)]).item()
        for video, count in enumerate(LENGTHS)
        for first in range(count)
        for last in range(first, count)
        if min(shortest, count) <= last - first + 1 <= longest and (last + after < count or shortest >= count)
    }
    assert found == pytest.approx(slow)


def test_comparisons_are_those_of_a_loop() -> None:
    torch.manual_seed(2)
    vectors, seen = torch.randn(3, 2, 4), torch.randn(3, 2, 7, 4)
    found, highest = cosines(vectors, seen, lengths()), products(vectors, seen, lengths())
    for query in range(3):
        for video, count in enumerate(LENGTHS):
            dots = [[vectors[query, s] @ seen[video, s, clip] for clip in range(count)] for s in range(2)]
            each = [
                max(dots[s][clip] / vectors[query, s].norm() / seen[video, s, clip].norm() for clip in range(count))
                for s in range(2)
            ]
            assert found[query, video].item() == pytest.approx(sum(each).item() / 2, abs=1e-6)
            best = sum(max(each) for each in dots).item() / 2
            assert highest[query, video].item() == pytest.approx(best, abs=1e-5)


def networks(name: str, folder: Path, subtitles: bool) -> tuple[Any, Videos, Reading]:
    """A network with drawn weights, videos of different lengths, and how they are read."""
    data = noise(6, subtitles=subtitles)
    made = system(name, folder / name, hidden=16, tef=True)
    assert isinstance(made, TwoStreams | Conquer)
    torch.manual_seed(3)
    kind: Any = made.network_class
    return kind(made.options, **made.facts(data)).eval(), data.videos, made.reading


@pytest.mark.parametrize("subtitles", [True, False], ids=["two streams", "one stream"])
@pytest.mark.parametrize("name", ["xml", "reloclnet", "conquer"])
def test_a_video_looks_the_same_beside_longer_ones(name: str, subtitles: bool, tmp_path: Path) -> None:
    network, videos, reading = networks(name, tmp_path, subtitles)
    counts = counts_in(videos)
    assert len(set(counts.tolist())) > 1

    def look(numbers: list[int]) -> list[torch.Tensor]:
        seen = network.look(*reading.read(videos, np.array(numbers)))
        return [seen] if isinstance(seen, torch.Tensor) else list(seen[:2])

    together = look(list(range(6)))
    for number in range(6):
        for alone, beside in zip(look([number]), together, strict=True):
            assert torch.allclose(alone[0], beside[number, :, : counts[number]], atol=1e-5)


def test_conquer_judges_a_query_and_a_candidate_the_same_beside_others(tmp_path: Path) -> None:
    network, videos, reading = networks("conquer", tmp_path, subtitles=True)
    queries = [example.query for example in noise(6).examples]

    def judge(vectors: list[int], numbers: list[list[int]], are_there: list[list[bool]]) -> Any:
        streams, clips = reading.read(videos, np.array(numbers).ravel())
        seen = network.look(streams, clips)
        return network.judge(network.ask([queries[n] for n in vectors]), seen, clips, torch.tensor(are_there))

    both = judge([4, 1], [[0, 3], [5, 2]], [[True, True], [True, False]])
    alone = judge([4], [[3]], [[True]])
    clips = alone.starts.shape[2]
    assert torch.allclose(both.starts[0, 1, :clips], alone.starts[0, 0], atol=1e-5)
    assert torch.allclose(both.ends[0, 1, :clips], alone.ends[0, 0], atol=1e-5)
    assert both.videos is alone.videos is None
    assert (both.starts[1, 1] == NEVER).all()


def test_xml_finds_videos_by_clips_that_have_not_seen_the_other_stream(tmp_path: Path) -> None:
    for name, changes in (("xml", False), ("reloclnet", True)):
        network, videos, reading = networks(name, tmp_path, subtitles=True)
        (seen, words), are_there = reading.read(videos, np.arange(6))
        before, after = network.look([seen, words], are_there), network.look([seen, -words], are_there)
        assert torch.equal(before.for_videos[:, 0], after.for_videos[:, 0]) is not changes
        assert not torch.equal(before.for_moments[:, 0], after.for_moments[:, 0])
