"""Sound, where a campaign wants it: it begins and ends with the picture, to the sample."""

from __future__ import annotations

from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from corpus.cutting import cut
from tests.numbered import RATE, draw_film, draw_frames, numbered, seen

SAMPLES = 48_000  # a second
SECONDS = 6
Samples = NDArray[np.float32]
CODECS = {
    "mp4": ("libx264", "aac"),
    "mov": ("libx264", "pcm_s16le"),
    "mkv": ("libx264", "flac"),
    "webm": ("libvpx", "libopus"),
}


def hiss() -> Samples:
    """Six seconds of noise, in which no stretch sounds like another."""
    noise = np.random.default_rng(5).standard_normal(SECONDS * SAMPLES)
    return (0.3 * np.convolve(noise, np.hanning(9) / 4, "same")).astype(np.float32)


def draw_hissing_film(file: Path, begins: int = 0, **title: str) -> Path:
    """A numbered film that hisses from its frame `begins` on."""
    picture_codec, sound_codec = CODECS[file.suffix[1:]]
    with av.open(str(file), "w") as film:
        film.metadata.update(title)
        picture: Any = film.add_stream(picture_codec, rate=RATE, options={"g": "7"})
        picture.width, picture.height, picture.pix_fmt = 128, 64, "yuv420p"
        tone: Any = film.add_stream(sound_codec, rate=SAMPLES, layout="mono")
        for number, part in enumerate(np.split(hiss(), SECONDS * RATE)):
            frame = av.VideoFrame.from_ndarray(numbered(number, 128, 64), format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, RATE)
            film.mux(picture.encode(frame))
            if number >= begins:
                film.mux(tone.encode(_heard(part, number * len(part))))
        film.mux(picture.encode(None))
        film.mux(tone.encode(None))
    return file


def _heard(samples: Samples, begins: int) -> av.AudioFrame:
    frame = av.AudioFrame.from_ndarray(samples[None], format="fltp", layout="mono")
    frame.sample_rate, frame.pts, frame.time_base = SAMPLES, begins, Fraction(1, SAMPLES)
    return frame


def sound_of(clip: Path) -> tuple[Samples, float]:
    """What is heard on the left, and how many seconds of it the container plays."""
    with av.open(str(clip)) as film:
        stream = film.streams.audio[0]
        assert (stream.codec_context.name, stream.rate, stream.layout.name) == ("aac", SAMPLES, "stereo")
        samples = np.concatenate([frame.to_ndarray()[0] for frame in film.decode(stream)])
        return samples, float((stream.duration or 0) * (stream.time_base or 0))


def shift(heard: Samples, expected: Samples) -> int:
    """By how many samples the one comes later than the other, where they are most alike."""
    length = min(len(heard), len(expected))
    alike = np.fft.ifft(np.fft.fft(heard[:length]) * np.conj(np.fft.fft(expected[:length]))).real
    best = int(alike.argmax())
    return best if best < length // 2 else best - length


@pytest.mark.parametrize("ending", CODECS)
@pytest.mark.parametrize(("start", "end"), [(0, 2), (1.23, 3.91), (4, 6)])
def test_sound_is_cut_with_the_picture(tmp_path: Path, ending: str, start: float, end: float) -> None:
    clip = tmp_path / "clip.mp4"
    cut(draw_hissing_film(tmp_path / f"film.{ending}"), start, end, clip, with_sound=True)
    assert seen(clip)[0] == (0, floor(start * RATE))
    heard, seconds = sound_of(clip)
    expected = hiss()[round(start * SAMPLES) : round(end * SAMPLES)]
    assert seconds == pytest.approx(end - start, abs=0.0011)
    assert abs(shift(heard, expected)) <= (50 if ending == "webm" else 0)  # its times are whole milliseconds
    assert np.abs(heard[len(expected) + 100 :]).max(initial=0) < 0.1  # what fills the last packet is no sound


def test_where_a_films_sound_begins_later_there_is_silence(tmp_path: Path) -> None:
    film = draw_hissing_film(tmp_path / "film.mkv", begins=20)
    cut(film, 1, 4, tmp_path / "clip.mp4", with_sound=True)
    heard, _ = sound_of(tmp_path / "clip.mp4")
    assert np.abs(heard[: SAMPLES - 1500]).max() < 0.01
    assert abs(shift(heard[SAMPLES:], hiss()[2 * SAMPLES : 4 * SAMPLES])) == 0


def test_sound_is_left_out_unless_it_is_wanted(tmp_path: Path) -> None:
    cut(draw_hissing_film(tmp_path / "film.mp4"), 1, 2, tmp_path / "clip.mp4")
    with av.open(str(tmp_path / "clip.mp4")) as clip:
        assert [stream.type for stream in clip.streams] == ["video"]


def test_a_film_without_sound_is_cut_all_the_same(tmp_path: Path) -> None:
    for source in (draw_film(tmp_path / "film.mp4", 20), draw_frames(tmp_path / "frames", 20)):
        cut(source, 1, 2, tmp_path / "clip.mp4", RATE, with_sound=True)
        with av.open(str(tmp_path / "clip.mp4")) as clip:
            assert [stream.type for stream in clip.streams] == ["video"]
