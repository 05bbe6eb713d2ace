"""A film for tests: each second has a colour of its own."""

import json
from pathlib import Path

import av
import numpy as np

SECONDS = 44
RATE = 12
SIZE = (90, 160)  # lines, columns


def write_film(folder: Path) -> Path:
    """Write `media/film.mp4` and the file of its moments, one a second; returns the latter."""
    (folder / "media").mkdir(parents=True)
    with av.open(str(folder / "media" / "film.mp4"), "w") as film:
        stream = film.add_stream("libx264", rate=RATE, options={"preset": "ultrafast"})
        stream.height, stream.width, stream.pix_fmt = *SIZE, "yuv420p"
        for number in range(SECONDS * RATE):
            film.mux(stream.encode(av.VideoFrame.from_ndarray(picture(number), format="rgb24")))
        film.mux(stream.encode(None))
    moments = folder / "moments.jsonl"
    moments.write_text("".join(f"{json.dumps(moment(second))}\n" for second in range(SECONDS)))
    return moments


def picture(frame: int) -> np.ndarray:
    """A ground by the second, and a bar that moves with the frame."""
    second = frame // RATE
    lines, columns = SIZE
    drawn = np.full((lines, columns, 3), (5 * second, 255 - 5 * second, 90), np.uint8)
    left = (frame % RATE) * columns // RATE
    drawn[:, left : left + 12] = 255
    return drawn


def moment(second: int) -> dict[str, object]:
    return {
        "vid_name": "film",
        "duration": float(SECONDS),
        "ts": [float(second), second + 1.0],
        "desc": f"A person sits down on chair number {second}.",
        "type": "v",
        "desc_id": second,
    }
