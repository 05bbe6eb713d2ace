"""Canaries in films: whatever a source says about itself besides its picture, no clip repeats it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import pytest
from PIL import Image

from corpus.cutting import cut
from tests.numbered import RATE, draw_frames
from tests.telling import CANARY, DATE, check_clip, draw_telling_film


@pytest.mark.parametrize("with_sound", [False, True])
def test_a_clip_repeats_nothing_that_its_film_tells(tmp_path: Path, with_sound: bool) -> None:
    film = draw_telling_film(tmp_path / "canary.mkv")
    with av.open(str(film)) as source:
        sides: Any = next(source.decode(video=0)).side_data
        types = {side.type.name for side in sides}
        assert {"A53_CC", "SEI_UNREGISTERED"} <= types
    clip = tmp_path / "clip.mp4"
    cut(film, 0.5, 1.5, clip, with_sound=with_sound)
    check_clip(clip, 10)


def test_a_clip_repeats_nothing_that_its_frames_tell(tmp_path: Path) -> None:
    folder = draw_frames(tmp_path / "canary", 10, "canary{}.jpg")
    for file in folder.iterdir():
        picture = Image.open(file)
        exif = Image.Exif()
        exif[0x010E], exif[0x0132], exif[0x9286] = "canary", DATE, CANARY  # description, date, comment
        picture.save(file, exif=exif, comment=CANARY)
        assert file.read_bytes().count(CANARY) >= 3
    cut(folder, 0, 1, tmp_path / "clip.mp4", RATE)
    check_clip(tmp_path / "clip.mp4", 10)
