"""Cutting the same clips with Reeljudge and with ffmpeg's command line, in turn."""

import random
import shutil
import statistics
import subprocess
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from benchmarks.measuring import in_turn, need
from corpus.clips import cutter

WIDTH, HEIGHT, RATE, SECONDS = 1280, 720, 30, 120
CUTS, SHORTEST, LONGEST = 24, 3.0, 10.0
# What our own clips are: H.264 as "veryfast", at most 480 lines, fast start, no sound.
HOW = "-vf scale=-2:480 -c:v libx264 -preset veryfast -crf 23 -pix_fmt yuv420p -an -movflags +faststart"


def figures() -> Iterator[str]:
    program = shutil.which("ffmpeg")
    need(bool(program), "ffmpeg, the program to compare with")
    with TemporaryDirectory() as name:
        film = _draw(Path(name) / "film.mp4")
        chance = random.Random(3)
        stretches = [_stretch(chance) for _ in range(CUTS)]
        to = Path(name) / "clip.mp4"

        def theirs(stretch: tuple[float, float]) -> None:
            start, end = stretch
            times = f"-ss {start:.3f} -to {end:.3f} -i {film}"
            subprocess.run(f"{program} -v error -y {times} {HOW} {to}".split(), check=True)

        with cutter() as tool:  # the first time includes starting it
            ours, ffmpeg = in_turn([lambda stretch: tool.cut(film, *stretch, to), theirs], stretches)
    length = sum(end - start for start, end in stretches)
    ratio = statistics.median(b / a for a, b in zip(ours, ffmpeg, strict=True))
    yield f"{CUTS} clips of {SHORTEST:g}-{LONGEST:g} s out of {SECONDS} s of {WIDTH}x{HEIGHT}, H.264, {RATE} frames/s"
    yield f"ours: {CUTS / sum(ours):.2f} clips a second, {length / sum(ours):.1f} x real time"
    yield f"ffmpeg: {CUTS / sum(ffmpeg):.2f} clips a second, {length / sum(ffmpeg):.1f} x real time"
    yield f"ours beside ffmpeg, median of the pairs: {ratio:.2f} (promised: at least 0.8)"


def _stretch(chance: random.Random) -> tuple[float, float]:
    start = chance.uniform(0, SECONDS - LONGEST)
    return start, start + chance.uniform(SHORTEST, LONGEST)


def _draw(file: Path) -> Path:
    """Film a textured ground with a moving camera and a moving object, with a key frame every 250 frames."""
    ground = _ground()
    with av.open(str(file), "w") as film:
        options = {"preset": "ultrafast", "crf": "21", "g": "250", "bf": "2"}
        stream: Any = film.add_stream("libx264", rate=RATE, options=options)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for number in range(RATE * SECONDS):
            x, y = round(320 + 300 * np.sin(number / 90)), round(200 + 180 * np.cos(number / 130))
            picture = ground[y : y + HEIGHT, x : x + WIDTH].copy()
            left = 7 * number % (WIDTH - 200)
            picture[200:400, left : left + 200] = ground[:200, :200]
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, RATE)
            film.mux(stream.encode(frame))
        film.mux(stream.encode(None))
    return file


def _ground() -> NDArray[np.uint8]:
    """Return noise at three scales, twice as large as a frame."""
    chance = np.random.default_rng(1)
    size = (2 * WIDTH, 2 * HEIGHT)
    layers = []
    for grain, share in ((64, 2), (8, 4), (3, 4)):
        small = chance.integers(0, 256, (size[1] // grain, size[0] // grain, 3), np.uint8)
        layers.append(np.asarray(Image.fromarray(small).resize(size, Image.Resampling.BICUBIC)) // share)
    whole: NDArray[np.uint8] = layers[0] + layers[1] + layers[2]
    return whole
