"""The corpora of the field go in with the counts that they are known by."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corpus.models import Moment, Video
from tests.terminal import printed, refused

pytestmark = pytest.mark.django_db

CAPTIONS = ("train.json", "val_1.json", "val_2.json")


def imported() -> tuple[int, int]:
    return Moment.objects.count(), Video.objects.count()


def test_tvr_validation_of_all_types(shared: Path) -> None:
    file = shared / "tvr" / "tvr_val_release.jsonl"
    answer = printed("import_corpus", "tvr", file, "--format", "tvr", "--type", "all")
    assert "tvr: 10,895 moments in 2,179 videos" in answer
    assert "new: 10,879, changed: 0, unchanged: 0, gone: 0, twice in the file: 16" in answer
    assert imported() == (10_879, 2_179)


def test_tvr_validation_of_what_is_seen_by_default(shared: Path) -> None:
    durations = shared / "tvr" / "tvr_video2dur_idx.json"
    file = shared / "tvr" / "tvr_val_release.jsonl"
    answer = printed("import_corpus", "tvr", file, "--format", "tvr", "--durations", durations)
    assert "tvr: 8,097 moments in 2,1" in answer


def test_activitynet_from_three_files(shared: Path) -> None:
    """Two of the 71,957 sentences have no length."""
    files = [shared / "activitynet_captions" / name for name in CAPTIONS]
    answer = printed("import_corpus", "captions", *files, "--format", "activitynet")
    assert "left out, because they begin and end in the same instant: 2" in answer
    assert "captions: 71,955 moments in 14,926 videos" in answer
    assert imported() == (71_955 - int(answer.split("twice in the file: ")[1].split("\n")[0]), 14_926)


@pytest.fixture
def charades(shared: Path) -> list[Path]:
    return [shared / "charades_sta" / f"charades_sta_{part}.txt" for part in ("train", "test")]


@pytest.fixture
def lengths(charades: list[Path], tmp_path: Path) -> Path:
    """The lengths of Charades are not among the data: here each film ends with its last moment."""
    ends: dict[str, float] = {}
    for file in charades:
        for line in file.read_text().splitlines():
            video, _, end = line.partition("##")[0].split()
            ends[video] = max(ends.get(video, 0), float(end))
    made = tmp_path / "durations.json"
    made.write_text(json.dumps(ends))
    return made


def test_charades_with_durations(charades: list[Path], lengths: Path) -> None:
    answer = printed("import_corpus", "charades", *charades, "--format", "charades", "--durations", lengths)
    assert "charades: 16,128 moments in 6,672 videos" in answer
    assert imported()[0] == 16_128 - int(answer.split("twice in the file: ")[1].split("\n")[0])


def test_odd_lines_of_charades_are_left_out(charades: list[Path], lengths: Path) -> None:
    """As of four lines of the published file, whose moments begin after their films end or end before they begin."""
    known = json.loads(lengths.read_text())
    starts = (line.split()[:2] for line in charades[0].read_text().splitlines())
    video, start = next((video, float(start)) for video, start in starts if float(start) > 0)
    lengths.write_text(json.dumps(known | {video: start}))
    options = ("--format", "charades", "--durations", lengths, "--leave-out-unusable")
    answer = printed("import_corpus", "charades", *charades, *options)
    assert "left out, because they begin after the end of their video: 2" in answer


def test_charades_without_durations(charades: list[Path]) -> None:
    answer = refused("import_corpus", "charades", *charades, "--format", "charades").splitlines()
    assert answer[0] == "nothing was imported."
    assert answer[1].startswith(f"{charades[0]}: line 1: field duration: missing")
    assert answer[101] == "… and 6,572 more"
    assert answer[102].startswith("6,672 videos have no duration; give them in a file (--durations")
    assert imported() == (0, 0)


def test_charades_again_needs_no_durations(charades: list[Path], lengths: Path) -> None:
    printed("import_corpus", "charades", *charades, "--format", "charades", "--durations", lengths)
    answer = printed("import_corpus", "charades", charades[0], "--format", "charades", "--dry-run")
    assert "new: 0, changed: 0" in answer
    assert "nothing was stored" in answer
