"""Write the demo: films, moments, queries and the truth about every pair of them.

The same files come out of every run, byte for byte (on one machine's build of x264): nothing is random,
each film is encoded by one thread with the bit-exact flags.
"""

from __future__ import annotations

import csv
import io
import json
import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import av
import numpy as np
from av.codec.context import Flags
from PIL import Image

from .acts import FPS
from .brush import HEIGHT, WIDTH
from .frames import Painter, blinking
from .grades import QUERIES, true_grade
from .scripts import Film, films, moments

Progress = Callable[[int, int], None]
FIRST_DESC_ID = 1


def write_demo(folder: Path, progress: Progress | None = None) -> None:
    """Write ``films/*.mp4``, ``moments.jsonl``, ``queries.json`` and ``truth.csv`` into a folder.

    Parameters
    ----------
    folder : Path
        Made when missing; files of an earlier run are replaced.
    progress : callable, optional
        Called with (films written, films in all) after each film.
    """
    write_tables(folder)
    write_films(folder / "films", progress)


def write_tables(folder: Path) -> None:
    """Write the demo without its films: ``moments.jsonl``, ``queries.json`` and ``truth.csv``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "moments.jsonl").write_text("".join(_moment_lines()), encoding="utf-8")
    queries = [{"query_id": query.query_id, "query": query.text} for query in QUERIES]
    (folder / "queries.json").write_text(json.dumps(queries, indent=1) + "\n", encoding="utf-8")
    (folder / "truth.csv").write_text(_truth(), encoding="utf-8", newline="")


def write_films(folder: Path, progress: Progress | None = None) -> None:
    """Write every film as ``<name>.mp4``: H.264, yuv420p, 480 by 270 pixels, 12 frames a second, no sound.

    Parameters
    ----------
    folder : Path
        Made when missing.
    progress : callable, optional
        Called with (films written, films in all) after each film.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for done, _ in enumerate(_written(folder), 1):
        if progress:
            progress(done, len(films()))


def write_film(film: Film, path: Path) -> None:
    """Draw and encode one film."""
    options = {"fflags": "+bitexact", "movflags": "+faststart"}
    with av.open(str(path), "w", format="mp4", options=options) as container:
        stream = container.add_stream("libx264", rate=FPS, options=X264)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.thread_count = 1
        stream.codec_context.flags |= Flags.bitexact
        for picture in _pictures(film):
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))


# x264's macroblock tree reads memory it has not written: with it, one film in forty differs from run to run.
X264 = {
    "preset": "veryfast",
    "tune": "animation",
    "crf": "27",
    "g": "48",
    "bf": "0",
    "x264-params": "threads=1:lookahead-threads=1:bframes=0:mbtree=0:rc-lookahead=0",
}


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


def _written(folder: Path) -> Iterator[str]:
    """Write every film, on all cores where this process may have children, and name each when it is done."""
    names = [film.name for film in films()]
    workers = min(len(names), os.cpu_count() or 1)
    if workers == 1 or multiprocessing.current_process().daemon:
        for name in names:
            yield _write_named(name, folder)
        return
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        for future in as_completed([pool.submit(_write_named, name, folder) for name in names]):
            yield future.result()


def _write_named(name: str, folder: Path) -> str:
    film = next(film for film in films() if film.name == name)
    write_film(film, folder / f"{name}.mp4")
    return name


def _moment_lines() -> Iterator[str]:
    """Each moment as a line of TVR's JSON."""
    durations = {film.name: film.duration for film in films()}
    for number, moment in enumerate(moments(), FIRST_DESC_ID):
        row = {
            "vid_name": moment.video,
            "duration": durations[moment.video],
            "ts": [moment.start, moment.end],
            "desc": moment.caption,
            "type": "v",
            "desc_id": number,
        }
        yield json.dumps(row) + "\n"


def _truth() -> str:
    """The true grade of every query and moment, as CSV."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(("query_id", "video", "start", "end", "grade"))
    for query in QUERIES:
        for moment in moments():
            key = (moment.video, moment.start, moment.end)
            rows.writerow((query.query_id, *key, true_grade(query.text, key)))
    return out.getvalue()
