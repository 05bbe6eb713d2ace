"""Training XML on features of TVR's shape, of which memory holds a few at a time: a twentieth of TVR and a tenth.

TVR has 19,614 videos of 76 s on average, with 3,072 features of a clip of 1.5 s and 768 of its subtitles. Random ones
stand for them, as HDF5 with a data set a video. Each size is trained by a process of its own, whose highest resident
memory is compared. `python -m benchmarks.features FOLDER VIDEOS` is that process.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np

from systems.data import Data, Example, Examples, Query, Validation
from systems.features.reader import read_videos
from systems.interface import system

TVR = 19_614  # videos
SHARES = (20, 10)  # parts of it
CLIPS, CLIP_SECONDS, OF_CLIPS, OF_SUBTITLES = 51, 1.5, 3072, 768
STEPS, QUERIES = 3, 200
EXAMPLES = 400_000  # as many as 10,000 captions have with N = 40
NAMES = ("clips", "subtitles")


def figures() -> Iterator[str]:
    highest = []
    for share in SHARES:
        videos = TVR // share
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            _draw(folder, videos)
            size = sum(file.stat().st_size for file in folder.iterdir()) / 1e9
            found = _measured(folder, videos)
        highest.append(found["resident"])
        yield (
            f"{videos:,} videos, {size:.2f} GB of features: read in {found['read']:.1f} s; a step of XML takes "
            f"{found['step']:.2f} s; {found['resident']:.2f} GB resident at most, and {found['reader']:.2f} GB "
            "in a process that reads"
        )
    yield _of_examples()
    yield f"twice the videos take {highest[1] / highest[0]:.2f} times the resident memory; wanted: at most 1.2"


def _of_examples() -> str:
    """Measure what examples of training hold in memory, as columns and as objects."""
    query = Query("q", "words")
    drawn = (Example(query, f"video-{number % TVR}", number / 7, number / 7 + 4, 0.9) for number in range(EXAMPLES))
    tracemalloc.start()
    columns = Examples.of(drawn)
    held = tracemalloc.get_traced_memory()[0]
    objects = list(columns)
    more = tracemalloc.get_traced_memory()[0] - held
    tracemalloc.stop()
    each = held / len(objects)
    return (
        f"an example of training takes {each:.0f} bytes, as an object {more / held:.1f} times that; wanted: 4 or more"
    )


def _draw(folder: Path, videos: int) -> None:
    random = np.random.default_rng(1)
    for name, width in zip(NAMES, (OF_CLIPS, OF_SUBTITLES), strict=True):
        with h5py.File(folder / f"{name}.h5", "w") as file:
            for number in range(videos):
                file[f"video-{number}"] = random.random((CLIPS, width), np.float32)


def _measured(folder: Path, videos: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.features", str(folder), str(videos)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(folder: Path, count: int) -> None:
    """Read, train, validate, index and search, and print what it took."""
    began = time.perf_counter()
    durations = {f"video-{number}": CLIPS * CLIP_SECONDS for number in range(count)}
    clips, subtitles = (folder / f"{name}.h5" for name in NAMES)
    videos = read_videos(durations, CLIP_SECONDS, clips, subtitles)
    read = time.perf_counter() - began
    examples = []
    for number, name in enumerate(videos.names):
        start = number % 40 * CLIP_SECONDS
        examples.append(Example(Query(f"q{number}", f"word{number % 97}"), name, start, start + 4 * CLIP_SECONDS))
    made = system("xml", folder / "xml", iterations=STEPS, validate_every=STEPS, batch_size=128)
    times = [time.perf_counter()]
    validation = Validation.of(examples[:QUERIES], videos)
    made.train(Data(videos, examples, validation), lambda progress: times.append(time.perf_counter()))
    made.index(videos)
    made.search([example.query for example in examples[:QUERIES]])
    own, reader = (resource.getrusage(who).ru_maxrss / 1e6 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    step = float(np.median(np.diff(times[:STEPS])))
    print(json.dumps({"read": read, "step": step, "resident": own * 1.024, "reader": reader * 1.024}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
