"""Write the demo's files: films, moments, queries, worked examples and the true grade of every pair.

The same files come out of every run, byte for byte (on one machine's build of x264): nothing is random,
each film is encoded by one thread with the bit-exact flags.
"""

from __future__ import annotations

import csv
import json
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.codec.context import Flags
from PIL import Image

from .acts import FPS
from .brush import HEIGHT, WIDTH
from .frames import Painter, blinking
from .grades import EXAMPLES, QUERIES, true_grade
from .scripts import Film, films, moments

# x264's macroblock tree reads memory it has not written: with it, one film in forty differs from run to run.
X264 = {
    "preset": "veryslow",
    "tune": "animation",
    "crf": "30",
    "g": "120",
    "bf": "3",
    "x264-params": "threads=1:lookahead-threads=1:bframes=3:mbtree=0:rc-lookahead=0",
}


def write_demo(folder: Path) -> None:
    """Write the tables and ``films/*.mp4`` into a folder.

    The folder is made when it is missing; files of an earlier run are replaced.
    """
    write_tables(folder)
    (folder / "films").mkdir(exist_ok=True)
    paths = [folder / "films" / f"{film.name}.mp4" for film in films()]
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        list(pool.map(write_film, films(), paths))


def write_tables(folder: Path) -> None:
    """Write ``moments.jsonl``, ``queries.json``, ``examples.json`` and ``truth.csv`` into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "moments.jsonl").write_text("".join(_moment_lines()), encoding="utf-8")
    _write_json(folder / "queries.json", [{"query_id": query.query_id, "query": query.text} for query in QUERIES])
    _write_json(folder / "examples.json", [example._asdict() for example in EXAMPLES])
    with (folder / "truth.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("query_id", "video", "start", "end", "grade"))
        for query, moment in product(QUERIES, moments()):
            key = (moment.video, moment.start, moment.end)
            rows.writerow((query.query_id, *key, true_grade(query.text, key)))


def _write_json(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def write_film(film: Film, path: Path) -> None:
    """Draw and encode one film: H.264, yuv420p, 480 by 270 pixels, 12 frames a second, no sound."""
    options = {"fflags": "+bitexact", "movflags": "+faststart"}
    with av.open(str(path), "w", format="mp4", options=options) as container:
        stream = container.add_stream("libx264", rate=FPS, options=X264)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.thread_count = 1
        stream.codec_context.flags |= Flags.bitexact
        for picture in _pictures(film):
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))


def _pictures(film: Film) -> Iterator[av.VideoFrame]:
    """Paint the frames in order; where nothing moves, the frame before is taken again."""
    painter = Painter(film.shots[0].world)
    for shot in film.shots:
        seen: dict[frozenset[str], Image.Image] = {}
        for number in range(shot.first, shot.last):
            blink = blinking(shot.world, number)
            if shot.beats or blink not in seen:
                seen[blink] = painter.paint(shot.at(number), blink)
            picture = av.VideoFrame.from_ndarray(np.asarray(seen[blink]), format="rgb24")
            picture.pts = number
            yield picture


def _moment_lines() -> Iterator[str]:
    """Each moment as a line of TVR's JSON."""
    durations = {film.name: film.duration for film in films()}
    for number, moment in enumerate(moments(), 1):
        row = {
            "vid_name": moment.video,
            "duration": durations[moment.video],
            "ts": [moment.start, moment.end],
            "desc": moment.description,
            "type": "v",
            "desc_id": number,
        }
        yield json.dumps(row) + "\n"
