"""A collection with planted answers, to check implementations of systems; it says nothing about real videos.

A clip shows its concept with the right sign or, more rarely, with the opposite one, which hurts systems that average
clips before they compare. Queries begin early in their videos, which a prior can learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from systems.data import Data, Example, Floats, Ints, Objects, Query, Rows, Validation, Video, Videos

FEATURES, SYNONYMS, FILLERS = 64, 3, 6
POSITIVE = 0.8  # share of clips that show their concept with the right sign
OFFSET = 0.5  # standard deviation of what all clips of a video share; that of noise is 1
TWO_EVENTS = 0.7  # share of queries
STEEPNESS = 4.0  # of the fall of starts over a video
CLIP_SECONDS = 3.0
# Share of clips in which a detector names what they show; another object is always named beside it.
RIGHT = 0.8


@dataclass(frozen=True)
class Planted:
    """A training set, and a test collection with the queries whose answers are in it."""

    training: Data
    test: Videos
    examples: list[Example]


def planted(
    seed: int, training: int = 1600, test: int = 250, concepts: int = 80, empty: float | None = None
) -> Planted:
    """Draw a collection of so many training and test videos, with two queries each.

    Parameters
    ----------
    empty
        Share of clips in which nothing is detected; None for a collection without objects.
    """
    random = np.random.default_rng([seed, 90])  # whose first numbers are the prototypes, see `with_vectors`
    detector = None if empty is None else Detector(np.random.default_rng([seed, 91]), concepts, empty)
    prototypes = random.normal(size=(concepts, FEATURES))
    videos, examples = _videos("training", training, prototypes, random, detector)
    valid, valid_examples = _videos("validation", max(10, test // 5), prototypes, random, detector)
    searched, queries = _videos("test", test, prototypes, random, detector)
    data = Data(videos, examples, Validation.of(valid_examples, valid))
    return Planted(data, searched, queries)


def with_vectors(queries: Sequence[Query], seed: int, concepts: int = 80) -> list[Query]:
    """Return queries of a collection with the vectors that a model without faults would give: the mean of the
    prototypes that they name.
    """
    prototypes = np.random.default_rng([seed, 90]).normal(size=(concepts, FEATURES))
    named = [[int(word[4:].split("x")[0]) for word in query.text.split() if word[:4] == "word"] for query in queries]
    return [
        replace(query, tokens=prototypes[each].mean(0)[None].astype(np.float32))
        for query, each in zip(queries, named, strict=True)
    ]


@dataclass(frozen=True)
class Detector:
    """Names two objects a clip, one of which is mostly that of its concept, but none in a share of the clips."""

    random: np.random.Generator
    concepts: int
    empty: float

    def objects(self, visible: Ints) -> Objects:
        """Return what is detected in clips that show these concepts."""
        names = self.random.integers(self.concepts, size=(len(visible), 2))
        names[:, 0] = np.where(self.random.random(len(visible)) < RIGHT, visible, names[:, 0])
        is_there = np.repeat(self.random.random(len(visible)) >= self.empty, 2)
        clip = np.repeat(np.arange(len(visible)), 2)[is_there]
        box = np.tile(np.array([0.5, 0.5, 0.2, 0.2], np.float32), (len(clip), 1))
        known = tuple(f"object{number}" for number in range(self.concepts)) if len(clip) else ()
        return Objects(clip, names.ravel()[is_there], box, known)


def _videos(
    name: str, count: int, prototypes: Floats, random: np.random.Generator, detector: Detector | None
) -> tuple[Videos, list[Example]]:
    videos, examples, visible = [], [], []
    for number in range(count):
        sizes = _sizes(int(random.integers(8, 13)), random)
        concepts = random.choice(len(prototypes), len(sizes), replace=False)
        video = Video(f"{name}-{number}", sum(sizes) * CLIP_SECONDS, _clips(sizes, concepts, prototypes, random))
        videos.append(video)
        visible.append(np.repeat(concepts, sizes))
        examples += [_example(f"{video.name}-{turn}", video, sizes, concepts, random) for turn in range(2)]
    objects = detector.objects(np.concatenate(visible)) if detector else None
    return Videos.of(videos, CLIP_SECONDS, objects), examples


def _sizes(clips: int, random: np.random.Generator) -> list[int]:
    """Split clips into events of two or three."""
    sizes: list[int] = []
    while (left := clips - sum(sizes)) > 0:
        sizes.append(left if left in (2, 3) else 2 if left == 4 else int(random.integers(2, 4)))
    return sizes


def _clips(sizes: list[int], concepts: Ints, prototypes: Floats, random: np.random.Generator) -> Rows:
    visible = np.repeat(concepts, sizes)
    sign = np.where(random.random(len(visible)) < POSITIVE, 1.0, -1.0)
    offset = random.normal(0, OFFSET, FEATURES)
    noise = random.normal(size=(len(visible), FEATURES))
    clips: Rows = (sign[:, None] * prototypes[visible] + offset + noise).astype(np.float32)
    return clips


def _example(id: str, video: Video, sizes: list[int], concepts: Ints, random: np.random.Generator) -> Example:
    """Ask for one event, or for two that follow each other."""
    events = 2 if random.random() < TWO_EVENTS else 1
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    starts = bounds[: len(sizes) - events + 1]
    chances = np.exp(-STEEPNESS * starts / bounds[-1])
    event = int(random.choice(len(starts), p=chances / chances.sum()))
    words = [word for concept in concepts[event : event + events] for word in _words(int(concept), random)]
    start, end = bounds[event] * CLIP_SECONDS, bounds[event + events] * CLIP_SECONDS
    return Example(Query(id, " ".join(words)), video.name, float(start), float(end))


def _words(concept: int, random: np.random.Generator) -> list[str]:
    return [f"filler{random.integers(FILLERS)}", f"word{concept}x{random.integers(SYNONYMS)}"]
