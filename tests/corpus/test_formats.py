"""Each format's example in the documents goes in as the document says, and what is wrong with a file is named."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import av
import pytest

from corpus.importers.formats import FORMATS
from corpus.importers.interface import HOW_TO_LEAVE_OUT
from corpus.importers.recognition import names_in, recognised
from corpus.importers.rows import FIELDS, read_durations
from corpus.models import Corpus, Moment
from tests.numbered import copied_in_part, draw_film
from tests.terminal import ROOT, printed, refused

pytestmark = pytest.mark.django_db

DOCUMENT = ROOT / "docs" / "corpora.md"
EXAMPLES = ROOT / "docs" / "corpora"
KETTLE, FLOWERS = "A woman puts a kettle on the stove.", "A man waters the flowers."
MAPPING = ("video=Film", "start=From", "end=To", "duration=Length", "description=What happens")
# The file, the options beside its format, and its moments: video, start, end, duration, description, caption.
GOES_IN: dict[str, tuple[str, tuple[object, ...], list[tuple[object, ...]]]] = {
    "tvr": (
        "tvr.jsonl",
        (),
        [
            ("garden_02", 75.5, 90.1, 90.1, "Ben waters the flowers.", FLOWERS),
            ("kitchen_01", 3.2, 9.75, 62.5, "Mara puts a kettle on the stove.", None),
        ],
    ),
    "charades": (
        "charades.txt",
        ("--durations", EXAMPLES / "durations.csv"),
        [
            ("GARDN", 25.5, 31.92, 31.92, "a person waters the flowers.", None),
            ("KITCH", 3.2, 9.8, 62.5, "a person puts a kettle on the stove.", None),
            ("KITCH", 20, 31.4, 62.5, "person pours the tea into a cup.", None),
        ],
    ),
    "activitynet": (
        "activitynet.json",
        (),
        [
            ("v_garden", 0, 90.1, 90.1, "A man works in a garden.", None),
            ("v_kitchen", 3.2, 9.75, 62.5, KETTLE, None),
            ("v_kitchen", 20, 31.4, 62.5, "She pours the tea into a cup.", None),
        ],
    ),
    "didemo": (
        "didemo.json",
        (),
        [
            ("garden.mov", 15, 25, 25, "the man turns the water off", None),
            ("kitchen.mp4", 0, 5, 30, "a kettle is put on the stove", None),
        ],
    ),
    "qvhighlights": (
        "qvhighlights.jsonl",
        (),
        [
            ("garden_0.0_150.0", 120, 150, 150, "Flowers in the rain.", None),
            ("kitchen_60.0_210.0", 4, 18, 150, "A woman makes tea in her kitchen.", None),
            ("kitchen_60.0_210.0", 52, 60, 150, "A woman makes tea in her kitchen.", None),
        ],
    ),
    "tacos": (
        "tacos.json",
        (),
        [
            ("s01-d01.avi", 2, 11, 60, "She takes a kettle out of the cupboard.", None),
            ("s01-d01.avi", 12, 40, 60, "She pours the tea.", None),
        ],
    ),
    "csv": (
        "moments.csv",
        (),
        [
            ("garden", 75.5, 90.1, 90.1, "Ben waters the flowers.", FLOWERS),
            (
                "kitchen",
                3.2,
                9.75,
                62.5,
                "Mara puts a kettle on the stove, and waits.",
                "A woman puts a kettle on the stove, and waits.",
            ),
            ("kitchen", 20, 31.4, 62.5, "Mara pours the tea.", None),
        ],
    ),
    "mapped": (
        "mapped.csv",
        ("--columns", *MAPPING),
        [("garden", 75.5, 90, 90.1, FLOWERS, None), ("kitchen", 3.2, 9.75, 62.5, KETTLE, None)],
    ),
    "jsonl": (
        "moments.jsonl",
        (),
        [
            ("garden", 75.5, 90.1, 90.1, "Ben waters the flowers.", None),
            ("kitchen", 3.2, 9.75, 62.5, "Mara puts a kettle on the stove.", KETTLE),
        ],
    ),
}


def importing(file: Path, format: str, *options: object) -> tuple[object, ...]:
    return "import_corpus", "films", file, "--format", format, *options


# Of each format, a usable moment and another that is not.
HALF_USABLE: dict[str, tuple[object, str]] = {
    "charades": ("a 1 2##Sits.\na 8 7##Stands.\n", "they end before they begin: 1"),
    "activitynet": (
        {"a": {"duration": 9, "timestamps": [[1, 2], [3, 4]], "sentences": ["Sits.", ""]}},
        "their line or entry is not valid: 1",
    ),
    "qvhighlights": (
        {"vid": "a", "query": "Sits.", "duration": 9, "relevant_windows": [[1], [1, 2]]},
        "their line or entry is not valid: 1",
    ),
    "didemo": (
        [
            {"video": "a", "description": "Sits.", "num_segments": 6, "times": [[0, 1]]},
            {"video": "a", "description": "Stands.", "num_segments": 6, "times": []},
        ],
        "their list of moments is empty: 1",
    ),
    "tacos": (
        {"a": {"fps": 10, "num_frames": 90, "timestamps": [[0, 20], [95, 99]], "sentences": ["Sits.", "Stands."]}},
        "they begin after the end of their video: 1",
    ),
    "csv": ("video,start,end,description,duration\na,1,2,Sits.,9\na,x,2,Sits.,9\n", "line or entry is not valid: 1"),
}


@pytest.mark.parametrize("format", HALF_USABLE)
def test_what_cannot_be_used_is_left_out_of_every_format(format: str, tmp_path: Path) -> None:
    content, reason = HALF_USABLE[format]
    file, lengths = tmp_path / "file", tmp_path / "lengths.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    lengths.write_text('{"a": 9}')
    answer = printed(*importing(file, format, "--durations", lengths, "--leave-out-unusable"))
    assert "films: 1 moments" in answer
    assert reason in answer


@pytest.mark.parametrize("name", GOES_IN)
def test_the_example_of_the_document_goes_in(name: str) -> None:
    file, options, expected = GOES_IN[name]
    format = "csv" if name == "mapped" else name
    printed(*importing(EXAMPLES / file, format, *options))
    fields = ("video__name", "start", "end", "video__duration", "description", "caption")
    found = [tuple(row) for row in Moment.objects.order_by("video__name", "start").values_list(*fields)]
    assert found == [(*rest, description, caption or description) for *rest, description, caption in expected]
    again = printed(*importing(EXAMPLES / file, format, *options))
    assert f"new: 0, changed: 0, unchanged: {len(expected)}, gone: 0" in again


@pytest.mark.parametrize("name", GOES_IN)
def test_a_byte_order_mark_and_line_ends_of_windows_change_nothing(name: str, tmp_path: Path) -> None:
    file, options, expected = GOES_IN[name]
    format = "csv" if name == "mapped" else name
    text = (EXAMPLES / file).read_text()
    (tmp_path / file).write_text(text, encoding="utf-8-sig", newline="\r\n")
    assert f"new: {len(expected)}, changed: 0" in printed(*importing(tmp_path / file, format, *options))
    assert f"unchanged: {len(expected)}, gone: 0" in printed(*importing(EXAMPLES / file, format, *options))


# A file as the authors publish it, with all of the fields, and its last moment.
PUBLISHED: dict[str, tuple[object, tuple[object, ...]]] = {
    "activitynet": (
        {"v_a": {"duration": 82.73, "timestamps": [[0.83, 19.86], [17.37, 83.1]],
                 "sentences": ["A woman walks to a piano.", "  She starts playing it. "]}},
        ("v_a", 17.37, 82.73, 82.73, "She starts playing it."),
    ),
    "didemo": (
        [{"annotation_id": 2, "num_segments": 5, "description": "the dog looks up\n", "video": "1@N00_2_3f.mov",
          "dl_link": "https://www.example.org/1/2", "times": [[4, 4], [4, 4], [3, 4], [4, 4]],
          "reference_description": "the dog looks up", "train_or_test": "train"}],
        ("1@N00_2_3f.mov", 20, 25, 25, "the dog looks up"),
    ),
    "qvhighlights": (
        {"qid": 8737, "query": "A family plays basketball.", "duration": 126, "vid": "bP5KfdFJzC4_660.0_810.0",
         "relevant_windows": [[110, 126.4]], "relevant_clip_ids": [55, 56], "saliency_scores": [[4, 1, 1], [4, 1, 1]]},
        ("bP5KfdFJzC4_660.0_810.0", 110, 126, 126, "A family plays basketball."),
    ),
    "tacos": (
        {"s13-d21.avi": {"timestamps": [[300, 300], [252, 1450]], "num_frames": 1402, "fps": 29.4,
                         "sentences": ["He gets out a knife.", "He cuts the bread."]}},
        ("s13-d21.avi", 252 / 29.4, 1402 / 29.4, 1402 / 29.4, "He cuts the bread."),
    ),
}  # fmt: skip


@pytest.mark.parametrize("format", PUBLISHED)
def test_what_the_authors_publish_goes_in(format: str, tmp_path: Path) -> None:
    """With fields that are not needed, white space, and ends that lie behind the video by rounding."""
    content, expected = PUBLISHED[format]
    (tmp_path / "file").write_text(json.dumps(content))
    printed(*importing(tmp_path / "file", format))
    moment = Moment.objects.select_related("video").latest("start")
    found = (moment.video.name, moment.start, moment.end, moment.video.duration, moment.description)
    assert found == pytest.approx(expected)


def test_a_film_may_have_the_whole_name_of_its_video(tmp_path: Path) -> None:
    """DiDeMo's and TACoS's videos are named with the suffixes of their files."""
    draw_film(tmp_path / "kitchen.mp4", frames=20)
    (tmp_path / "film.json").write_text(json.dumps([DIDEMO | {"video": "kitchen.mp4"}]))
    output = printed(*importing(tmp_path / "film.json", "didemo", "--media", tmp_path))
    assert "videos with media: 1" in output
    assert 1.9 < Moment.objects.get().end < 2.2


def test_every_format_and_every_example_is_in_the_document() -> None:
    document = DOCUMENT.read_text()
    for name in FORMATS:
        assert f"### {name}\n" in document
    for field in FIELDS:
        assert f"`{field}`" in document
    for file in EXAMPLES.iterdir():
        assert f"(corpora/{file.name})" in document
    assert {file for file, _, _ in GOES_IN.values()} == {
        file.name for file in EXAMPLES.iterdir() if not file.name.startswith("durations")
    }


def test_both_examples_of_durations_say_the_same() -> None:
    assert read_durations(EXAMPLES / "durations.csv") == read_durations(EXAMPLES / "durations.json")


TVR = {"vid_name": "a", "duration": 9.0, "ts": [1, 2], "desc": "She sits.", "type": "v", "desc_id": 1}
VIDEO = {"duration": 9.0, "timestamps": [[1, 2]], "sentences": ["She sits."]}
DIDEMO = {"video": "f", "num_segments": 6, "times": [[0, 0]], "description": "d"}
WINDOWS = {"vid": "f", "query": "d", "duration": 150, "relevant_windows": [[0, 2]]}
OWN = {"video": "f", "start": 1, "end": 2, "duration": 9, "description": "d"}
# format, the file's content, and what the answer must hold
WRONG: dict[str, tuple[str, object, str]] = {
    "tvr: a list": ("tvr", [[TVR]], "line 1, entry 1: a JSON list; expected a JSON object"),
    "tvr: three times": ("tvr", TVR | {"ts": [1, 2, 3]}, "line 1: field ts: [1, 2, 3]; expected [start, end]"),
    "tvr: a key twice": (
        "tvr",
        b'{"vid_name": "a", "vid_name": "b"}',
        "line 1: not JSON (broken JSON: key 'vid_name' stands",
    ),
    "tvr: NaN": ("tvr", TVR | {"ts": [float("nan"), 2]}, 'line 1: field ts[0]: "nan"; expected a finite number'),
    "tvr: no such type": ("tvr", TVR | {"type": "x"}, 'line 1: field type: "x"; expected v, t or vt'),
    "tvr: half a pair": ("tvr", TVR | {"desc": "\ud800"}, "line 1: field desc: "),
    "tvr: UTF-16": (
        "tvr",
        json.dumps(TVR).encode("utf-16"),
        "line 1: not JSON (is not UTF-8 text (byte 0)); expected one JSON object",
    ),
    "tvr: gzip": ("tvr", gzip.compress(json.dumps(TVR).encode()), "line 1: not JSON (is not UTF-8 text (byte 1))"),
    "tvr: the file of the test": ("tvr", b'{"desc": "d", "vid_name": "a"}', "line 1: field ts: null; expected [start"),
    "tvr: nothing": ("tvr", b"", "holds no moments"),
    "charades: a comma": ("charades", b"AB 1,5 2##she", "line 1: start is '1,5'; it must be a finite number"),
    "charades: another shape": (
        "charades",
        b"AB 1 2#someone opens",
        "line 1: is 'AB 1 2#someone opens'; it must be VIDEO start end##sentence",
    ),
    "charades: a word for a time": ("charades", b"AB one 2##she", "line 1: start is 'one'; it must be"),
    "charades: nothing said": ("charades", b"AB 1 2##  ", "line 1: field sentence"),
    "charades: not UTF-8": ("charades", b"AB 1 2##caf\xe9", "line 1: not UTF-8 at byte 12"),
    "activitynet: a list": ("activitynet", [VIDEO], "line 1, entry 1: the document is a list; expected an"),
    "activitynet: a line for each video": ("activitynet", b'{"v": {}}\n{"w": {}}', "line 2: there is more after"),
    "activitynet: one span": ("activitynet", {"v": VIDEO | {"timestamps": [1, 2]}}, "timestamps[0] is 1"),
    "activitynet: a negative length": ("activitynet", {"v": VIDEO | {"duration": -1}}, "field duration: -1; expected"),
    "activitynet: no list of sentences": ("activitynet", {"v": VIDEO | {"sentences": "She"}}, "sentences is 'She'"),
    "activitynet: a number": ("activitynet", {"v": 7}, "video 'v': is 7; it must be an object"),
    "activitynet: no sentences": ("activitynet", {"v": {}}, "video 'v': field sentences is missing"),
    "activitynet: more sentences": (
        "activitynet",
        {"v": VIDEO | {"sentences": ["a", "b"]}},
        "video 'v': has 2 sentences; it needs a [start, end] for each",
    ),
    "activitynet: a word for a time": (
        "activitynet",
        {"v": VIDEO | {"timestamps": [["1", 2]]}},
        "timestamps[0] is ['1', 2]",
    ),
    "activitynet: an empty sentence": (
        "activitynet",
        {"v": VIDEO | {"sentences": [" "]}},
        "video 'v': field sentences[0]",
    ),
    "activitynet: no duration": (
        "activitynet",
        {"v": {"timestamps": [[1, 2]], "sentences": ["d"]}},
        "video 'v', sentence 1: field duration: missing",
    ),
    "activitynet: far beyond the end": (
        "activitynet",
        {"v": VIDEO | {"timestamps": [[1, 11]]}},
        "video 'v', sentence 1: field end: 11; expected at most the video's 9",
    ),
    "activitynet: broken": ("activitynet", b'{"v": {"duration": 9,\n}}', "line 2: broken JSON"),
    "activitynet: a key twice": ("activitynet", b'{"v": {}, "v": {}}', "line 1: key 'v' stands twice"),
    "activitynet: half a document": ("activitynet", b'{"v": {}', "broken JSON: the end of the file where ','"),
    "activitynet: more after it": ("activitynet", b"{} {}", "there is more after the document's end"),
    "activitynet: a text": ("activitynet", b'"v"', "expected a JSON list or object"),
    "activitynet: not UTF-8": ("activitynet", b'{"caf\xe9": 1}', "is not UTF-8 text"),
    "activitynet: a bomb": ("activitynet", b'{"v":' + b"[" * 100_000, "nested too deeply"),
    "tacos: no rate": (
        "tacos",
        {"v": {"timestamps": [[1, 2]], "sentences": ["d"], "num_frames": 9}},
        "field fps is missing",
    ),
    "tacos: a rate of zero": (
        "tacos",
        {"v": VIDEO | {"fps": 0, "num_frames": 9}},
        "fps is 0; it must be a number of frames a second",
    ),
    "tacos: a rate that is a text": (
        "tacos",
        {"v": VIDEO | {"fps": "25", "num_frames": 9}},
        "fps is '25'; it must be a number",
    ),
    "tacos: null for a rate": ("tacos", {"v": VIDEO | {"fps": None}}, "video 'v': fps is None; it must be a number"),
    "tacos: too small a rate": ("tacos", {"v": VIDEO | {"fps": 1e-320}}, "fps is 1e-320; it must be a number"),
    "tacos: frames as a text": ("tacos", {"v": VIDEO | {"fps": 25, "num_frames": "9"}}, "field num_frames"),
    "didemo: an object": ("didemo", {"v": 1}, "video 'v': the document is an object; expected a list"),
    "didemo: a list in a list": ("didemo", [[DIDEMO]], "line 1, entry 1: a JSON list; expected an object"),
    "didemo: no segment": ("didemo", [DIDEMO | {"times": [[-1, 0]]}], "field times[0]: is [-1, 0]; it must be"),
    "didemo: no times": ("didemo", [DIDEMO | {"times": []}], "line 1, entry 1: field times: []; expected"),
    "didemo: segments the wrong way": ("didemo", [DIDEMO | {"times": [[2, 1]]}], "field times[0]: is [2, 1]"),
    "didemo: no whole segments": ("didemo", [DIDEMO | {"num_segments": 5.5}], "field num_segments: 5.5"),
    "didemo: beyond the last segment": ("didemo", [DIDEMO | {"times": [[7, 8]]}], "entry 1: field end: 45"),
    "qvhighlights: the test file": (
        "qvhighlights",
        b'{"qid": 1, "query": "d", "vid": "f", "duration": 150}',
        "line 1: field relevant_windows: null; expected a list of",
    ),
    "qvhighlights: half a window": (
        "qvhighlights",
        WINDOWS | {"relevant_windows": [[0, 2], [4]]},
        "line 1: field relevant_windows[1]: [4]",
    ),
    "qvhighlights: one window": ("qvhighlights", WINDOWS | {"relevant_windows": [0, 2]}, "relevant_windows[0]: 0;"),
    "qvhighlights: too late": ("qvhighlights", WINDOWS | {"relevant_windows": [[0, 152]]}, "field end: 152; expected"),
    "qvhighlights: a number for a video": ("qvhighlights", WINDOWS | {"vid": 7}, "line 1: field vid: 7; expected"),
    "qvhighlights: a word": (
        "qvhighlights",
        WINDOWS | {"relevant_windows": [[0, "2"]]},
        'field relevant_windows[0][1]: "2"; expected a number of seconds',
    ),
    "jsonl: no description": ("jsonl", OWN | {"description": None}, "line 1: field description: null"),
    "jsonl: a time as a text": ("jsonl", OWN | {"start": "1"}, 'line 1: field start: "1"; expected a number'),
    "csv: no header": ("csv", b"1,2,3\n", "line 1: no column video, for the field video; there are: 1, 2, 3"),
    "csv: nothing": ("csv", b"\n", "line 1: has no names of columns"),
    "csv: a column twice": ("csv", b"video,start,end,description,start\n", "column 'start' stands twice"),
    "csv: too few columns": ("csv", b"video,start,end,description,duration\nf,1,2\n", "line 2: has 3 columns"),
    "csv: a word": ("csv", b"video,start,end,description,duration\nf,one,2,d,9\n", 'line 2: field start: "one"'),
    "csv: NaN": ("csv", b"video,start,end,description,duration\nf,nan,2,d,9\n", 'field start: "nan"'),
    "csv: 1e400": ("csv", b"video,start,end,description,duration\nf,1,1e400,d,9\n", "field end"),
    "csv: 70 minutes in an hour": ("csv", b"video,start,end,description\nf,0:70:00,2,d\n", "field start"),
    "csv: a quote is open": ("csv", b'video,start,end,description\nf,1,2,"d\n', "line 2: is no CSV"),
    "csv: NUL": ("csv", b"video,start,end,description,duration\nf,1,2,a\0b,9\n", "line 2: field description"),
    "csv: not UTF-8": ("csv", b"video,start,end,description\nf,1,2,caf\xe9\n", "line 2: is not UTF-8"),
    "csv: a very long line": ("csv", b"video,start,end,description\n" + b"f" * 1_000_001, "line 2: longer than"),
    "csv: lines of an old Mac": ("csv", b"video,start\rf,1\r", "line 1: lines end with a carriage return alone"),
    "csv: UTF-16": ("csv", "video,start".encode("utf-16"), "line 1: is not UTF-8 text; expected a CSV in UTF-8"),
    "csv: a workbook": ("csv", b"PK\x03\x04\x14\x00\x80\x81", "line 1: is not UTF-8 text"),
    "csv: a length of zero": (
        "csv",
        b"video,start,end,description,duration\nf,1,2,d,0\n",
        "line 2: field duration: 0; expected more than 0 seconds",
    ),
    "csv: no moments": ("csv", b"video,start,end,description\n", "holds no moments"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_and_nothing_is_stored(name: str, tmp_path: Path) -> None:
    format, content, message = WRONG[name]
    file = tmp_path / "wrong"
    file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    answer = refused(*importing(file, format))
    assert answer.startswith(f"{file}: ")
    assert message in answer
    assert "nothing was imported" in answer
    assert not Corpus.objects.exists()


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["film=Film"], "field film: unknown; expected one of video, start"),
        (["video"], "--columns video: expected FIELD=COLUMN"),
        (["video=Movie"], "no column Movie, for the field video; there are: Film, From"),
        ([*MAPPING, "caption=Words"], "no column Words, for the field caption"),
    ],
)
def test_a_mapping_that_does_not_fit_is_refused(pairs: list[str], message: str) -> None:
    assert message in refused(*importing(EXAMPLES / "mapped.csv", "csv", "--columns", *pairs))
    assert not Corpus.objects.exists()


def test_what_a_format_does_not_have_cannot_be_chosen() -> None:
    answer = refused(*importing(EXAMPLES / "tvr.jsonl", "tvr", "--columns", "video=v"))
    assert answer == "columns: TVR has its own; only csv, jsonl can be mapped"
    answer = refused(*importing(EXAMPLES / "charades.txt", "charades", "--type", "v"))
    assert answer.startswith("type: 'v'; expected, for Charades-STA, none")


def test_the_keys_of_a_jsonl_can_be_mapped(tmp_path: Path) -> None:
    file = tmp_path / "told.jsonl"
    file.write_text(json.dumps({"v": "f", "from": 1, "to": 2, "s": 9, "words": "She sits."}))
    pairs = ("video=v", "start=from", "end=to", "duration=s", "description=words")
    assert "films: 1 moments in 1 videos" in printed(*importing(file, "jsonl", "--columns", *pairs))


def test_a_quoted_cell_may_hold_line_ends(tmp_path: Path) -> None:
    file = tmp_path / "moments.csv"
    file.write_text('video,start,end,duration,description\nf,1,2,9,"She\nsits."\n\nf,3,2,9,d\n')
    assert refused(*importing(file, "csv")).splitlines()[1].startswith("line 5: field times: start 3 is not")


def test_the_films_tell_the_durations(tmp_path: Path) -> None:
    """A film of Charades-STA lasts two seconds; the other has no film."""
    draw_film(tmp_path / "KITCH.mp4", frames=20)
    file = tmp_path / "charades.txt"
    file.write_text("KITCH 0.5 1.5##she sits.\nKITCH 1 2.9##she stands.\n")
    printed(*importing(file, "charades", "--media", tmp_path))
    assert Moment.objects.get(start=1).end == Moment.objects.get(start=1).video.duration
    assert 1.9 < Moment.objects.get(start=1).end < 2.2
    file.write_text("GARDN 0.5 1.5##she sits.\n")
    assert "line 1: field duration: missing" in refused(*importing(file, "charades", "--media", tmp_path))


def test_a_film_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "KITCH.mp4").write_bytes(b"no film")
    file = tmp_path / "charades.txt"
    file.write_text("KITCH 0.5 1.5##she sits.\n")
    answer = refused(*importing(file, "charades", "--media", tmp_path))
    assert "line 1: field duration: missing, and its film does not tell it: KITCH.mp4: cannot be read" in answer


def test_films_that_do_not_fit_are_told(tmp_path: Path) -> None:
    for name, frames in {"fits": 20, "longer": 50, "shorter": 20}.items():
        draw_film(tmp_path / f"{name}.mp4", frames)
    (tmp_path / "broken.mp4").write_bytes(b"no film")
    lengths = {"fits": 2.5, "longer": 2, "shorter": 9, "broken": 2, "missing": 2}
    file = tmp_path / "moments.csv"
    rows = "".join(f"{name},0,1,{length},d\n" for name, length in lengths.items())
    file.write_text(f"video,start,end,duration,description\n{rows}")
    answer = printed(*importing(file, "csv", "--media", tmp_path, "--check-films"))
    assert "videos with media: 4" in answer
    lines = answer.splitlines()
    assert lines[-5] == "  films that do not fit: 4 of 5"
    assert re.fullmatch(r"    video longer: its film is longer \(5\.\d\d s\) than the corpus says \(2 s\)", lines[-4])
    assert re.fullmatch(r"    video shorter: its film is shorter \(2\.\d\d s\) than the corpus says \(9 s\)", lines[-3])
    assert lines[-2].startswith("    video broken: broken.mp4: cannot be read")
    assert lines[-1] == "    video missing: no film has its name"


def checked_films(tmp_path: Path, *rows: str) -> str:
    """The answer to an import of moments with the films in a folder."""
    file = tmp_path / "moments.csv"
    file.write_text("video,start,end,duration,description\n" + "".join(f"{row}\n" for row in rows))
    return printed(*importing(file, "csv", "--media", tmp_path / "media", "--check-films"))


def test_a_film_that_was_copied_in_part_does_not_fit(tmp_path: Path) -> None:
    (tmp_path / "media").mkdir()
    copied_in_part(draw_film(tmp_path / "media" / "part.mp4", 40, fast_start=True))
    answer = checked_films(tmp_path, "part,1,2,4,d")
    assert "films that do not fit: 1 of 1" in answer
    assert "part.mp4: its last second is missing, of 4.00 s" in answer or "part.mp4: cannot be read" in answer


def test_a_film_without_a_length_in_its_header_lasts_until_its_last_packet(tmp_path: Path) -> None:
    (tmp_path / "media").mkdir()
    whole = draw_film(tmp_path / "whole.mkv", 40)
    with (
        av.open(str(whole)) as film,
        (tmp_path / "media" / "live.mkv").open("wb") as target,
        av.open(Pipe(target), "w", format="matroska") as live,
    ):
        stream = live.add_stream_from_template(film.streams.video[0])
        for packet in film.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                live.mux(packet)
    assert "films that do not fit: 0 of 1" in checked_films(tmp_path, "live,1,2,,d")
    assert Moment.objects.get().video.duration == pytest.approx(4, abs=0.11)  # a frame


class Pipe:
    """A target in which nobody can seek, as that of a live recording."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def write(self, data: bytes) -> Any:
        return self.file.write(data)


def test_films_are_found_behind_links_and_by_rare_endings(tmp_path: Path) -> None:
    shelf, media = tmp_path / "shelf", tmp_path / "media"
    for folder in (shelf, media):
        folder.mkdir()
    draw_film(shelf / "linked.mp4", 20)
    for name in ("b.3g2", "c."):
        (media / name).write_bytes((shelf / "linked.mp4").read_bytes())
    (media / "shelf").symlink_to(shelf)
    (shelf / "round").symlink_to(media)
    answer = checked_films(tmp_path, "linked,0,1,2,d", "b.3g2,0,1,2,d", "c.,0,1,2,d")
    assert "videos with media: 3" in answer
    assert "films that do not fit: 0 of 3" in answer


@pytest.mark.parametrize("indent", [None, 1])
def test_one_list_is_read_as_an_object_a_line_is(tmp_path: Path, indent: int | None) -> None:
    file = tmp_path / "list.json"
    moment = {"video": "a", "start": 1, "end": 2, "description": "Sits.", "duration": 9}
    file.write_text(json.dumps([moment, 7, moment | {"start": 3}], indent=indent))
    assert (recognised(file), names_in(file, "jsonl")) == ("jsonl", list(moment))
    _, *wrong = refused(*importing(file, "jsonl")).splitlines()
    places = ("line 1, entry 2", "line 1, entry 3") if indent is None else ("line 9, entry 2", "line 10, entry 3")
    assert [line.partition(": ")[0] for line in wrong[:2]] == list(places)
    assert "a JSON int; expected a JSON object" in wrong[0]
    assert "films: 1 moments" in printed(*importing(file, "jsonl", "--leave-out-unusable"))


def document(videos: int) -> dict[str, Any]:
    return {f"v{number}": VIDEO for number in range(videos)}


def test_a_document_is_read_entry_by_entry_whatever_its_line_ends(tmp_path: Path) -> None:
    """One that is longer than a part, on one line and on many, with a byte order mark."""
    for indent in (None, 2):
        file = tmp_path / f"{indent}.json"
        file.write_text(json.dumps(document(3000), indent=indent), encoding="utf-8-sig")
        answer = printed("import_corpus", f"films {indent}", file, "--format", "activitynet")
        assert "3,000 moments in 3,000 videos" in answer


def test_good_entries_after_a_wrong_one_are_checked_too(tmp_path: Path) -> None:
    file = tmp_path / "videos.json"
    file.write_text(json.dumps(document(2) | {"a": 7} | {"z": VIDEO, "b": VIDEO | {"timestamps": [[-1, 2]]}}))
    assert refused(*importing(file, "activitynet")).splitlines()[1:] == [
        "video 'a': is 7; it must be an object",
        "video 'b', sentence 1: field start: -1; expected a start of at least 0 seconds",
        HOW_TO_LEAVE_OUT,
    ]
