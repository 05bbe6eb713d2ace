"""The pairs of a step: which clips a moment has, which videos are positive, and what CONQUER reads beside them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from systems.data import Data, Example
from systems.options import Conquer, Streams
from systems.streams.conquer import NOBODY, Others
from systems.streams.inputs import Pairs, Reading
from tests.systems.streams.noise import CLIP_SECONDS, noise

SEVERAL = 3  # moments of each query
READING = Reading(128, False, (True, True), False, False)


def pseudo() -> Data:
    """Twelve queries with three moments each, in thirty videos, whose weights fall."""
    data = noise(36, videos=30)
    examples = [
        replace(example, query=data.examples[row // SEVERAL].query, weight=1 - row % SEVERAL / 4)
        for row, example in enumerate(data.examples)
    ]
    return Data(data.videos, examples)


def answers_of(examples: list[Example], query: str) -> set[str]:
    return {each.video for each in examples if each.query.id == query}


def test_the_mask_has_all_videos_of_a_query_in_the_step() -> None:
    data = pseudo()
    pairs = Pairs(data, Streams(batch_size=20, several=True), READING)
    several = 0
    for step in range(4):
        batch = pairs.batch(step)
        queries = pairs.queries_of(batch)
        names = [data.videos.names[number] for number in batch.video]
        slow = [[name in answers_of(list(data.examples), query.id) for name in names] for query in queries]
        assert batch.positives.tolist() == slow
        assert batch.positives.diagonal().all()
        several += int((batch.positives.sum(1) > 1).sum())
    assert several > 10


def test_a_pairs_clips_are_those_that_its_moment_touches() -> None:
    data = pseudo()
    pairs = Pairs(data, Streams(batch_size=36, closed=True), READING)
    batch = pairs.batch(0)
    seen = zip(
        pairs.queries_of(batch), batch.video, batch.first.tolist(), batch.last.tolist(), batch.weights, strict=True
    )
    found = {
        (query.id, data.videos.names[number], first, last, float(weight)) for query, number, first, last, weight in seen
    }
    expected = {
        (each.query.id, each.video, int(each.start // CLIP_SECONDS), int(each.end // CLIP_SECONDS), each.weight)
        for each in data.examples
    }
    assert found == expected


def test_in_the_authors_code_an_end_is_the_clip_after_it_and_each_pair_has_one_video() -> None:
    data = pseudo()
    closed, theirs = (Pairs(data, Streams(batch_size=36, closed=each), READING).batch(0) for each in (True, False))
    highest = torch.from_numpy(READING.counts(data.videos)[theirs.video] - 1)
    assert torch.equal(theirs.last, (closed.last + 1).minimum(highest))
    assert torch.equal(theirs.first, closed.first)
    assert torch.equal(theirs.positives, torch.eye(36) > 0)


def test_of_a_long_video_the_first_clips_are_read_or_means_of_equal_parts() -> None:
    data = pseudo()
    assert data.videos.counts.max() > 6
    cut, pooled = (READING._replace(places=6, is_pooled=each) for each in (False, True))
    number = int(data.videos.counts.argmax())
    clips, count = data.videos[number].clips, int(data.videos.counts[number])
    assert cut.clips(clips).tolist() == clips[:6].tolist()
    assert pooled.clips(clips).shape == (6, clips.shape[1])
    assert pooled.seconds(data.videos)[number] == pytest.approx(CLIP_SECONDS * count / 6)
    assert cut.seconds(data.videos)[number] == CLIP_SECONDS
    pairs = Pairs(data, Streams(batch_size=36), pooled)
    assert (pairs.last < 6).all()
    assert (pairs.first <= pairs.last).all()


def test_each_pair_is_seen_once_before_one_is_seen_again() -> None:
    pairs = Pairs(pseudo(), Streams(batch_size=9), READING)
    seen = [(query, video) for step in range(4) for query, video in zip(*pairs.batch(step)[:2], strict=True)]
    assert len(set(seen)) == 36


def test_others_are_of_the_pool_once_each_and_no_answers() -> None:
    pairs = Pairs(pseudo(), Streams(batch_size=20), READING)
    pool = np.arange(24).reshape(12, 2)
    pool[3] = NOBODY
    others = Others(pool, Conquer(others=3))
    batch = pairs.batch(0)
    numbers, are_there = others.draw(batch, 0)
    assert numbers.shape == are_there.shape == (20, 2)
    for query, row, there in zip(batch.query, numbers, are_there, strict=True):
        assert sorted(row[there]) == sorted(each for each in pool[query] if each != NOBODY)
    again, _ = others.draw(batch, 0)
    assert (again == numbers).all()
    assert any((others.draw(batch, step)[0] != numbers).any() for step in range(1, 5))


@pytest.mark.parametrize("step", [0, 49, 99, 100, 550, 999])
def test_the_learning_rate_rises_and_falls(step: int) -> None:
    options = Streams(learning_rate=0.5, warmup=100, iterations=1000)
    expected = 0.5 * (step + 1) / 100 if step < 100 else 0.5 * (1000 - step) / 900
    assert options.rate(step) == pytest.approx(expected)
