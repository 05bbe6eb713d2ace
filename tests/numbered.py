"""Films whose frames tell their own number, made by PyAV and Pillow."""

from __future__ import annotations

from collections.abc import Container, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image

BITS = 8
RATE = 10  # frames a second
CODECS = {
    ".avi": ("mpeg4", "0"),
    ".webm": ("libvpx", "0"),
    ".ogv": ("libvpx", "0"),
    ".flv": ("flv", "0"),
    ".wmv": ("wmv2", "0"),
    ".mpg": ("mpeg2video", "2"),
}


def numbered(number: int, width: int, height: int) -> NDArray[np.uint8]:
    """A picture of eight bars: the bits of its number, white for one."""
    bars = [255 * (number >> bit & 1) for bit in range(BITS)]
    line = np.repeat(np.array(bars, np.uint8), width // BITS)
    return np.broadcast_to(line[None, :, None], (height, width, 3)).copy()


def number_in(grey: NDArray[Any]) -> int:
    bars = np.array_split(grey.astype(float), BITS, axis=1)
    return sum(int(bar.mean() > 127) << bit for bit, bar in enumerate(bars))


def draw_film(
    file: Path,
    frames: int,
    size: tuple[int, int] = (128, 64),
    begins: int = 0,
    sound: bool = False,
    codec: tuple[str, str] | None = None,
    pixels: Fraction | None = None,
    only: Container[int] | None = None,
    marked: bool = False,
    fast_start: bool = False,
    **title: str,
) -> Path:
    """A film of numbered frames, ten a second, a key frame every seventh; the first at `begins` frames.

    `codec` is the encoder, and how many B-frames it may make; `pixels` are wider than high by that; of the frames,
    there are `only` some; `marked` ones are white in their first lines; with `fast_start`, the index is the beginning.
    """
    with av.open(str(file), "w", options={"movflags": "+faststart"} if fast_start else {}) as film:
        film.metadata.update(title)
        encoder, b_frames = codec or CODECS.get(file.suffix, ("libx264", "2"))
        picture: Any = film.add_stream(encoder, rate=RATE, options={"g": "7", "bf": b_frames})
        picture.width, picture.height = size
        picture.pix_fmt = "yuv420p"
        if pixels:
            picture.codec_context.sample_aspect_ratio = pixels
        tone = film.add_stream("aac", rate=8000) if sound else None
        for number in range(frames):
            if only and number not in only:
                continue
            picture_of = numbered(number, *size)
            if marked:
                picture_of[: size[1] // 4] = 255
            frame = av.VideoFrame.from_ndarray(picture_of, format="rgb24")
            frame.pts, frame.time_base = begins + number, Fraction(1, RATE)
            film.mux(picture.encode(frame))
        film.mux(picture.encode(None))
        if tone:
            film.mux(tone.encode(_silence(8000 * frames // RATE)))
            film.mux(tone.encode(None))
    return file


def copied_in_part(film: Path) -> Path:
    """The film, whose index is its beginning, without the second half of its pictures."""
    content = film.read_bytes()
    film.write_bytes(content[: (content.index(b"mdat") + len(content)) // 2])
    return film


def draw_sound(file: Path) -> Path:
    """A second of silence, and no picture."""
    with av.open(str(file), "w") as film:
        tone = film.add_stream("aac", rate=8000)
        film.mux(tone.encode(_silence(8000)))
        film.mux(tone.encode(None))
    return file


def _silence(samples: int) -> av.AudioFrame:
    frame = av.AudioFrame.from_ndarray(np.zeros((1, samples), np.float32), format="fltp", layout="mono")
    frame.sample_rate = 8000
    return frame


def draw_frames(folder: Path, frames: int, name: str = "{:05}.png", size: tuple[int, int] = (128, 64)) -> Path:
    """A folder of numbered pictures."""
    folder.mkdir(parents=True)
    for number in range(frames):
        Image.fromarray(numbered(number, *size)).save(folder / name.format(number))
    return folder


def seen(file: Path) -> list[tuple[float, int]]:
    """Each frame's time in seconds and number."""
    return list(_seen(file))


def _seen(file: Path) -> Iterator[tuple[float, int]]:
    with av.open(str(file)) as film:
        for frame in film.decode(video=0):
            assert frame.time is not None
            yield round(frame.time, 3), number_in(frame.to_ndarray(format="gray"))


def described(file: Path) -> dict[str, Any]:
    """What a container says about itself."""
    with av.open(str(file)) as film:
        (stream,) = film.streams
        context: Any = stream.codec_context
        return {
            "codec": context.name,
            "pixels": context.pix_fmt,
            "size": (context.width, context.height),
            "seconds": (film.duration or 0) / av.time_base,
            "metadata": {**film.metadata, **stream.metadata},
        }
