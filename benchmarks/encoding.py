"""Encoding captions, beside a plain call of sentence-transformers, in turns; and whether the ranked lists stay."""

import json
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.measuring import SHARED, need
from retrieval.embedding import Vectors, encode
from retrieval.encoders import encoder, encoder_in_bfloat16
from retrieval.nearest import nearest
from retrieval.simcse.comparing import overlap
from systems.encoders import BUNDLED

CAPTIONS = int(os.environ.get("ENCODING_CAPTIONS", "4000"))  # of each corpus
TURNS = int(os.environ.get("ENCODING_TURNS", "3"))
DEPTH = 40


def figures() -> Iterator[str]:
    need(SHARED.is_dir())
    for name, captions in (("TVR", _tvr()), ("ActivityNet", _activitynet()), ("Charades", _charades())):
        yield from _figures_of(name, random.Random(1).sample(captions, min(CAPTIONS, len(captions))))


def _figures_of(name: str, captions: list[str]) -> Iterator[str]:
    model = encoder(BUNDLED)
    distinct = sorted(set(captions), key=lambda text: (len(text), text))
    steps: dict[str, Callable[[], Vectors]] = {
        "plain encode(texts)": lambda: _plain(captions),
        "distinct captions, by the library": lambda: _plain(distinct),
        "distinct captions, without padding": lambda: encode(model, distinct),
        "the same in bfloat16": lambda: encode(encoder_in_bfloat16(BUNDLED), distinct),
    }
    seconds: dict[str, list[float]] = {step: [] for step in steps}
    vectors = {}
    for _ in range(TURNS):
        for step, run in steps.items():
            began = time.perf_counter()
            vectors[step] = run()
            seconds[step].append(time.perf_counter() - began)
    plain, *ours = seconds
    yield f"{name}: {len(captions):,} captions, {len(distinct):,} distinct"
    for step, took in seconds.items():
        ratio = statistics.median(a / b for a, b in zip(seconds[plain], took, strict=True))
        yield f"  {step}: {statistics.median(took):.2f} s, ratio {ratio:.2f}"
    theirs = vectors[plain][[captions.index(caption) for caption in distinct]]
    for step in ours[1:]:
        same = overlap(_lists(theirs), _lists(vectors[step]))
        yield f"  {step}: overlap@{DEPTH} {same:.5f} (promised: at least 0.99); " + _rounding(theirs, vectors[step])


def _plain(texts: list[str]) -> Vectors:
    return np.asarray(encoder(BUNDLED).encode(texts, show_progress_bar=False), np.float32)


def _lists(vectors: Vectors) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    return nearest(vectors, vectors, DEPTH).indices


def _rounding(theirs: Vectors, ours: Vectors) -> str:
    few = np.random.default_rng(1).choice(len(ours), min(500, len(ours)), replace=False)
    difference = np.abs(theirs[few] @ theirs.T - ours[few] @ ours.T).max()
    return f"largest difference of a similarity {difference:.1e}"


def _tvr() -> list[str]:
    lines = (SHARED / "tvr" / "tvr_val_release.jsonl").read_text().splitlines()
    return [json.loads(line)["desc"].strip() for line in lines]


def _activitynet() -> list[str]:
    videos = json.loads((SHARED / "activitynet_captions" / "train.json").read_bytes())
    return [sentence.strip() for video in videos.values() for sentence in video["sentences"]]


def _charades() -> list[str]:
    files = [SHARED / "charades_sta" / f"charades_sta_{part}.txt" for part in ("train", "test")]
    lines = [line for file in files for line in file.read_text().splitlines()]
    return [line.partition("##")[2].strip() for line in lines if "##" in line]
