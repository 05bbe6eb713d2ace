"""A corpus file goes in whole or not at all, and what is wrong with it is named by line and field."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.db import connection

from corpus.clips import Cutter
from corpus.errors import Problem
from corpus.films import media_at
from corpus.importers import load as loading
from corpus.importers.formats import rows_of_tvr
from corpus.importers.interface import HOW_TO_LEAVE_OUT, Choice, Source
from corpus.importers.load import load, staged
from corpus.importers.rows import LONGEST_NAME, LONGEST_TEXT
from corpus.models import Corpus, Moment, Video
from tests.films import SECONDS, write_film
from tests.terminal import manage, printed, refused

pytestmark = pytest.mark.django_db


def entry(**changes: Any) -> dict[str, Any]:
    """A good line, changed; a change to None takes the field away."""
    line = {"vid_name": "film-1", "duration": 60.0, "ts": [1.5, 4.25], "desc": "She sits.", "type": "v"}
    return {name: value for name, value in (line | changes).items() if value is not None}


def write(folder: Path, *lines: object, name: str = "moments.jsonl") -> Path:
    """A file of lines: objects as JSON, bytes as they are."""
    file = folder / name
    written = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    file.write_bytes(b"\n".join(written) + b"\n" if written else b"")
    return file


def importing(file: Path, *options: object) -> tuple[object, ...]:
    return "import_corpus", "films", file, "--format", "tvr", *options


def nothing_is_stored() -> bool:
    return not (Corpus.objects.exists() or Video.objects.exists() or Moment.objects.exists())


def test_a_good_file_becomes_videos_and_moments(tmp_path: Path) -> None:
    lines = [entry(), entry(ts=[10, 20], desc="He stands."), entry(vid_name="film-2", caption="A person sits.")]
    answer = printed(*importing(write(tmp_path, *lines)))
    assert "films: 3 moments in 2 videos read" in answer
    assert "added: 3 moments, 2 videos" in answer
    moment = Moment.objects.get(video__name="film-2")
    assert (moment.start, moment.end, moment.video.duration) == (1.5, 4.25, 60.0)
    assert (moment.description, moment.caption) == ("She sits.", "A person sits.")
    assert Moment.objects.filter(caption="He stands.", description="He stands.").count() == 1


def test_the_longest_texts_are_kept_whole(tmp_path: Path) -> None:
    """Texts of chance, which an index cannot compress."""
    name, text = Random(1).randbytes(LONGEST_NAME // 2).hex(), Random(1).randbytes(LONGEST_TEXT // 2).hex()
    printed(*importing(write(tmp_path, entry(vid_name=name, desc=text))))
    moment = Moment.objects.get()
    assert (moment.video.name, moment.description) == (name, text)


def test_blank_lines_windows_ends_and_a_byte_order_mark_do_no_harm(tmp_path: Path) -> None:
    file = write(tmp_path, b"\xef\xbb\xbf" + json.dumps(entry()).encode() + b"\r", b"", entry(ts=[2, 3]))
    assert "films: 2 moments" in printed(*importing(file))


def test_importing_again_adds_nothing(tmp_path: Path) -> None:
    file = write(tmp_path, entry(), entry(ts=[59, 60.5]), entry(vid_name="film-2"))
    printed(*importing(file))
    before = list(Moment.objects.order_by("pk").values())
    answer = printed(*importing(file))
    assert "added: 0 moments, 0 videos" in answer
    assert "new: 0, changed: 0, unchanged: 3, gone: 0, twice in the file: 0" in answer
    assert list(Moment.objects.order_by("pk").values()) == before
    assert (Corpus.objects.count(), Video.objects.count()) == (1, 2)


def test_a_longer_file_adds_what_is_new(tmp_path: Path) -> None:
    printed(*importing(write(tmp_path, entry())))
    longer = write(tmp_path, entry(), entry(ts=[5, 6]), entry(vid_name="film-2"))
    assert "added: 2 moments, 1 videos" in printed(*importing(longer))


def test_a_wrong_line_near_the_end_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "CHUNK", 100)  # nine chunks are in the database when the line comes
    lines = [entry(vid_name=f"film-{number}") for number in range(1200)]
    lines[998] = entry(ts=[9, 8])
    assert "line 999: field ts: start 9 is not before end 8" in refused(*importing(write(tmp_path, *lines)))
    assert nothing_is_stored()


def test_a_wrong_line_leaves_what_was_there(tmp_path: Path) -> None:
    printed(*importing(write(tmp_path, entry())))
    refused(*importing(write(tmp_path, entry(ts=[5, 6]), entry(ts=[9, 8]))))
    assert Moment.objects.get().start == 1.5


WRONG: dict[str, tuple[object, str]] = {
    "not JSON": (b'{"vid_name": "film-1", ', "not JSON"),
    "two objects": (b"{} {}", "not JSON"),
    "not UTF-8": (b'{"vid_name": "caf\xe9"}', "not UTF-8"),
    "a list": ([1, 2], "a JSON list; expected a JSON object"),
    "a number": (7, "a JSON int; expected a JSON object"),
    "a bomb": (b"[" * 100_000, "not JSON"),
    "a bomb of objects": (b'{"ts":' * 100_000, "not JSON"),
    "a raw NUL": (b'{"vid_name": "film\x00"}', "not JSON"),
    "no video": (entry(vid_name=None), "field vid_name: null; expected a text"),
    "a video that is a number": (entry(vid_name=7), "field vid_name: 7; expected a text"),
    "an empty video": (entry(vid_name="  "), "field vid_name"),
    "a video with NUL": (entry(vid_name="film\0"), "field vid_name"),
    "a video with half a character": (entry(vid_name="film\ud800"), "field vid_name"),
    "a very long video": (entry(vid_name="é" * 151), "field vid_name"),
    "no description": (entry(desc=None), "field desc: null; expected a text"),
    "a description that is a list": (entry(desc=["She sits."]), "field desc"),
    "a description with NUL": (entry(desc="She\0sits."), "field desc"),
    "a description with half a character": (entry(desc="She sits. \udc00"), "field desc"),
    "half a character in bytes": (
        b'{"vid_name": "f", "desc": "\xed\xa0\x80", "ts": [1, 2]}',
        "not UTF-8 text (byte 27)",
    ),
    "a very long description": (entry(desc="é" * LONGEST_TEXT), "field desc"),
    "a caption that is empty": (entry(caption=""), "field caption"),
    "no times": (entry(ts=None), "field ts: null; expected [start, end] in seconds"),
    "one time": (entry(ts=[1]), "field ts: [1]; expected"),
    "three times": (entry(ts=[1, 2, 3]), "field ts"),
    "times as a text": (entry(ts="1-2"), "field ts"),
    "a start that is a text": (entry(ts=["1.5", 4]), 'field ts[0]: "1.5"; expected a number of seconds'),
    "an end that is a text": (entry(ts=[1.5, "4"]), 'field ts[1]: "4"; expected a number of seconds'),
    "a start that is true": (entry(ts=[True, 4]), "field ts[0]: true; expected a number of seconds"),
    "an end that is null": (entry(ts=[1, None]), "field ts[1]: null"),
    "NaN": (entry(ts=[float("nan"), 4]), 'field ts[0]: "nan"; expected a finite number'),
    "Infinity": (entry(ts=[1, float("inf")]), 'field ts[1]: "inf"; expected a finite number'),
    "1e400": (b'{"vid_name": "f", "desc": "d", "duration": 9, "ts": [1, 1e400]}', "field ts[1]"),
    "a number of 400 digits": (entry(ts=[1, 10**400]), "field ts[1]"),
    "a number of 5000 digits": (b'{"ts": [1, ' + b"1" * 5000 + b"]}", "not JSON"),
    "a negative start": (entry(ts=[-0.5, 4]), "field ts[0]: -0.5; expected a start of at least 0"),
    "start is end": (entry(ts=[4, 4]), "field ts: start 4 is not before end 4"),
    "start after end": (entry(ts=[5, 4]), "field ts: start 5 is not before end 4"),
    "an end far beyond the video's": (entry(ts=[1, 61.5]), "field ts[1]: 61.5; expected at most the video's 60"),
    "a start beyond the video's end": (entry(ts=[60.2, 60.7]), "field ts[0]: 60.2; expected less than the video's 60"),
    "no duration": (entry(duration=None), "missing; expected seconds here, the video in a file of durations, or"),
    "no length": (entry(duration=0), "field duration: 0; expected more than 0"),
    "a negative length": (entry(duration=-3), "field duration: -3"),
    "a length that is a text": (entry(duration="60"), 'field duration: "60"'),
    "a length that is NaN": (entry(duration=float("nan")), "field duration"),
    "another length than before": (entry(duration=70), "field duration: 70; so far video film-1 had 60"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_line_is_named(tmp_path: Path, name: str) -> None:
    line, message = WRONG[name]
    file = write(tmp_path, entry(), line, entry(ts=[7, 8]))
    answer = refused(*importing(file)).splitlines()
    assert answer[0] == f"{file}: nothing was imported."
    assert answer[2:] == [HOW_TO_LEAVE_OUT]
    assert answer[1].startswith("line 2: ")
    assert message in answer[1]
    assert len(answer[1]) < 300
    assert nothing_is_stored()


def test_a_line_of_more_than_a_megabyte_is_named(tmp_path: Path) -> None:
    file = write(tmp_path, entry(), entry(desc="s" * 1_000_001))
    assert f"{file}: line 2: longer than 1,000,000 bytes" in refused(*importing(file))
    assert nothing_is_stored()


def test_no_depth_of_nesting_is_too_much_for_the_message(tmp_path: Path) -> None:
    depths = range(1, 1100)
    lines = [b'{"vid_name": "f", "desc": "d", "ts": ' + b"[" * depth + b"]" * depth + b"}" for depth in depths]
    rows = list(rows_of_tvr(write(tmp_path, *lines), Choice()))
    assert len(rows) == len(depths)
    assert all(isinstance(row, Problem) and str(row).startswith("line ") for row in rows)


def test_all_wrong_lines_are_named_up_to_a_hundred_and_counted(tmp_path: Path) -> None:
    file = write(tmp_path, entry(ts=[2, 1]), entry(), entry(desc=7))
    assert refused(*importing(file)).splitlines()[1:] == [
        "line 1: field ts: start 2 is not before end 1; expected start < end",
        "line 3: field desc: 7; expected a text that is not empty",
        HOW_TO_LEAVE_OUT,
    ]
    many = refused(*importing(write(tmp_path, *[entry(ts=[2, 1])] * 130))).splitlines()
    assert len(many) == 102
    assert many[-2:] == ["line 100: field ts: start 2 is not before end 1; expected start < end", "… and 30 more"]


def test_a_small_overhang_is_cut_off_and_reported(tmp_path: Path) -> None:
    answer = printed(*importing(write(tmp_path, entry(ts=[50, 60.9]), entry(ts=[50, 60]))))
    assert "cut off at the video's end: 1" in answer
    assert "added: 1 moments" in answer  # with its end cut off it is the other
    assert Moment.objects.get().end == 60


LEFT_OUT: dict[str, tuple[list[object], str]] = {
    "reversed": ([entry(ts=[38, 13])], "they end before they begin: 1"),
    "empty": ([entry(ts=[4, 4])], "they begin and end in the same instant: 1"),
    "early": ([entry(ts=[-1, 4])], "they begin before 0 seconds: 1"),
    "late": ([entry(ts=[60, 62])], "they begin after the end of their video: 1"),
    "no length": ([entry(vid_name="film-2", duration=None)] * 2, "the length of their video is unknown: 2"),
    "another length": ([entry(duration=70)], "an earlier line has another length of their video: 1"),
    "not valid": ([b"{", entry(desc="")], "their line or entry is not valid: 2"),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_unusable_moments_are_left_out_and_counted_by_reason(tmp_path: Path, name: str) -> None:
    lines, reason = LEFT_OUT[name]
    answer = printed(*importing(write(tmp_path, entry(), *lines, entry(ts=[7, 8])), "--leave-out-unusable"))
    assert "films: 2 moments in 1 videos" in answer
    assert f"  left out, because {reason}\n" in answer


def test_with_the_option_late_ends_are_cut_off_in_every_format(tmp_path: Path) -> None:
    answer = printed(*importing(write(tmp_path, entry(ts=[50, 79.9])), "--leave-out-unusable"))
    assert "cut off at the video's end: 1" in answer
    assert Moment.objects.get().end == 60


def test_a_file_without_any_usable_moment_is_refused_with_the_option_too(tmp_path: Path) -> None:
    answer = refused(*importing(write(tmp_path, entry(ts=[9, 8])), "--leave-out-unusable"))
    assert "holds no moments that can be used; left out, because they end before they begin: 1" in answer


def test_no_moment_outlasts_its_video_when_lines_tell_its_length_differently(tmp_path: Path) -> None:
    answer = printed(*importing(write(tmp_path, entry(), entry(duration=60.8, ts=[50, 60.8]))))
    assert "cut off at the video's end: 1" in answer
    last = Moment.objects.get(start=50)
    assert (last.end, last.video.duration) == (60, 60)


def test_a_later_import_keeps_to_the_lengths_that_are_known(tmp_path: Path) -> None:
    printed(*importing(write(tmp_path, entry())))
    answer = refused(*importing(write(tmp_path, entry(duration=80, ts=[70, 75]))))
    assert "field duration: 80; so far video film-1 had 60 seconds" in answer


@pytest.mark.parametrize(
    "durations", [{"film-1": [60.0, 0]}, {"film-1": 60}, {"val": {"film-1": [60.0, 0]}, "test": {"film-2": [9, 1]}}]
)
def test_durations_come_from_a_file_of_either_shape(tmp_path: Path, durations: object) -> None:
    side = write(tmp_path, durations, name="durations.json")
    printed(*importing(write(tmp_path, entry(duration=None, ts=[50, 60.5])), "--durations", side))
    assert Video.objects.get().duration == 60
    assert Moment.objects.get().end == 60


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[60]", "a JSON list; expected an object by video"),
        (b'{"film-1": "60"}', 'field film-1: "60"; expected a number of seconds'),
        (b'{"film-1": []}', "field film-1: []"),
        (b'{"film-1": [NaN, 0]}', "field film-1"),
        (b'{"film-1": 1e400}', "field film-1"),
    ],
)
def test_wrong_durations_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    side = write(tmp_path, content, name="durations.json")
    answer = refused(*importing(write(tmp_path, entry()), "--durations", side))
    assert answer.startswith(f"--durations {side}: ")
    assert message in answer
    assert nothing_is_stored()


def test_a_type_picks_its_descriptions(tmp_path: Path) -> None:
    lines = [entry(), entry(ts=[2, 3], type="t"), entry(ts=[4, 5], type="vt")]
    assert "films: 1 moments" in printed(*importing(write(tmp_path, *lines), "--type", "v"))
    assert Moment.objects.get().start == 1.5


def test_a_type_that_no_line_has_is_told(tmp_path: Path) -> None:
    answer = refused(*importing(write(tmp_path, entry()), "--type", "t"))
    assert "holds no moments of type t; nothing was imported" in answer
    assert nothing_is_stored()


@pytest.mark.parametrize("kind", ["x", 5, ["v"], ""])
def test_an_unknown_type_is_named(tmp_path: Path, kind: object) -> None:
    answer = refused(*importing(write(tmp_path, entry(), entry(type=kind)), "--type", "v"))
    assert f"line 2: field type: {json.dumps(kind)}; expected v, t or vt" in answer


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    empty, blank = write(tmp_path, name="empty.jsonl"), write(tmp_path, b"", b"  ", name="blank.jsonl")
    for file, message in {
        empty: "holds no moments; nothing was imported",
        blank: "holds no moments; nothing was imported",
        tmp_path / "nowhere.jsonl": "cannot be read (No such file or directory)",
        tmp_path: "cannot be read (Is a directory)",
    }.items():
        assert f"{file}: {message}" in refused(*importing(file))
    assert nothing_is_stored()


@pytest.mark.parametrize("name", ["", " ", "f" * 101, "films\0"])
def test_a_corpus_has_a_name_that_can_be_kept(tmp_path: Path, name: str) -> None:
    file = write(tmp_path, entry())
    assert refused("import_corpus", name, file, "--format", "tvr").startswith("name: ")


def test_a_folder_of_video_files_is_found_at_any_depth(tmp_path: Path) -> None:
    media = tmp_path / "media"
    (media / "season").mkdir(parents=True)
    (media / "season" / "film-1.mp4").write_bytes(b"")
    (media / "film-2.txt").write_bytes(b"")
    lines = [entry(), entry(vid_name="film-2")]
    assert "videos with media: 1" in printed(*importing(write(tmp_path, *lines), "--media", media))
    assert dict(Video.objects.values_list("name", "media")) == {"film-1": "season/film-1.mp4", "film-2": ""}
    assert Video.objects.get(name="film-1").media == "season/film-1.mp4"


def test_folders_of_frames_need_their_rate(tmp_path: Path) -> None:
    frames = tmp_path / "media" / "film-1"
    frames.mkdir(parents=True)
    (frames / "0001.jpg").write_bytes(b"")
    file, media = write(tmp_path, entry()), tmp_path / "media"
    assert refused(*importing(file, "--media", media)) == f"{frames}: a folder of frames; tell their rate with --fps"
    assert nothing_is_stored()
    assert "videos with media: 1" in printed(*importing(file, "--media", media, "--fps", "3"))
    assert Video.objects.get().media == "film-1"
    assert Corpus.objects.get().frame_rate == 3


def test_media_may_come_later(tmp_path: Path) -> None:
    file, media = write(tmp_path, entry()), tmp_path / "media"
    printed(*importing(file))
    media.mkdir()
    (media / "film-1.webm").write_bytes(b"")
    printed(*importing(file, "--media", media))
    assert Video.objects.get().media == "film-1.webm"
    printed(*importing(file))
    assert Video.objects.get().media == "film-1.webm"


@pytest.mark.parametrize("rate", ["0", "-1", "nan", "inf", "1001"])
def test_a_rate_that_is_none_is_refused(tmp_path: Path, rate: str) -> None:
    answer = refused(*importing(write(tmp_path, entry()), "--media", tmp_path, f"--fps={rate}"))
    assert answer.startswith(f"--fps {rate}: expected frames a second")


def test_a_media_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    file, bare = write(tmp_path, entry()), tmp_path / "bare"
    bare.mkdir()
    assert "not a folder" in refused(*importing(file, "--media", tmp_path / "nowhere"))
    assert "not a folder" in refused(*importing(file, "--media", file))
    assert "no videos" in refused(*importing(file, "--media", bare))


@pytest.mark.any_database
@pytest.mark.django_db(transaction=True)
def test_a_person_reads_one_message_and_gets_exit_code_2(tmp_path: Path) -> None:
    bad = manage(*importing(write(tmp_path, entry(), entry(desc="She sits. \ud800"))))
    assert (bad.returncode, bad.stdout) == (2, "")
    assert "line 2: field desc" in bad.stderr
    assert "Traceback" not in bad.stderr
    assert "\n" not in refused(*importing(tmp_path / "nowhere.jsonl"))
    assert nothing_is_stored()


def test_tvr_validation_is_imported(shared: Path) -> None:
    durations = shared / "tvr" / "tvr_video2dur_idx.json"
    file = shared / "tvr" / "tvr_val_release.jsonl"
    answer = printed("import_corpus", "tvr", file, "--format", "tvr", "--type", "v", "--durations", durations)
    assert "tvr: 8,097 moments in 2,1" in answer
    assert Moment.objects.count() == int(answer.split("added: ")[1].split(" ")[0].replace(",", ""))


@pytest.mark.django_db(transaction=True)
def test_films_are_measured_before_anything_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_film(tmp_path / "drawn")
    (media := tmp_path / "media").mkdir()
    for name in ("one", "two"):
        shutil.copy(tmp_path / "drawn" / "media" / "film.mp4", media / f"{name}.mp4")
    file = tmp_path / "moments.jsonl"
    rows = [{"video": name, "start": 1, "end": 2, "description": "She sits."} for name in ("one", "two", "one")]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    measured: list[tuple[str, bool]] = []
    look = Cutter.length

    def length(cutter: Cutter, film: Path, sign: Callable[[], None]) -> float:
        measured.append((film.stem, connection.in_atomic_block))
        return look(cutter, film, sign)

    monkeypatch.setattr(Cutter, "length", length)
    load("measured", Source(file, "jsonl", media=media_at(str(media))))
    assert measured == [("one", False), ("two", False)]
    assert list(Video.objects.values_list("duration", flat=True)) == [pytest.approx(SECONDS, abs=0.1)] * 2
    signs: list[int] = []
    with staged("key", Source(file, "jsonl", media=media_at(str(media))), signs.append) as corpus:
        assert corpus.videos.exclude(media="").count() == 2
        assert not connection.in_atomic_block
    assert measured[2:] == [("one", False), ("two", False)]
    assert len(signs) >= 2  # the lease of the job is renewed with each film
