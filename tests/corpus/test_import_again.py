"""What a second import finds: new, changed, unchanged and gone moments; and that it takes nothing away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from corpus.importers.load import Source, load, preview
from corpus.models import Corpus, Moment, Video
from judging.models import Batch
from tests.terminal import printed, refused

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

Row = tuple[float, str]  # the second at which a moment begins, and its description


def write(folder: Path, *rows: Row, name: str = "moments.jsonl", **more: Any) -> Path:
    file = folder / name
    same = {"video": "film", "duration": 60} | more
    lines = [same | {"start": start, "end": start + 2, "description": words} for start, words in rows]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return file


def importing(file: Path, *options: object) -> tuple[object, ...]:
    return "import_corpus", "films", file, "--format", "jsonl", *options


def descriptions() -> list[tuple[float, str]]:
    return list(Moment.objects.order_by("start", "pk").values_list("start", "description"))


FIRST: tuple[Row, ...] = ((1, "She sits."), (1, "A woman sits."), (5, "He stads."), (9, "They leave."))
SECOND: tuple[Row, ...] = ((1, "A woman sits."), (1, "She sits."), (5, "He stands."), (20, "It rains."))


def test_the_four_kinds_are_told_apart(tmp_path: Path) -> None:
    printed(*importing(write(tmp_path, *FIRST)))
    answer = printed(*importing(write(tmp_path, *SECOND)))
    assert "new: 1, changed: 1, unchanged: 2, gone: 1, twice in the file: 0" in answer
    assert "added: 2 moments, 0 videos" in answer
    assert "changed descriptions stand beside the stored ones; --replace" in answer
    assert "gone moments stay stored" in answer
    assert (5, "He stads.") in descriptions()
    assert (5, "He stands.") in descriptions()
    assert (9, "They leave.") in descriptions()


def test_a_changed_description_takes_the_place_of_the_stored_one_on_request(tmp_path: Path) -> None:
    printed(*importing(write(tmp_path, *FIRST)))
    answer = printed(*importing(write(tmp_path, *SECOND), "--replace"))
    assert "new: 1, changed: 1, unchanged: 2, gone: 1" in answer
    assert "changed moments that were replaced: 1" in answer
    assert sorted(descriptions()) == sorted([*SECOND, (9, "They leave.")])
    assert "new: 0, changed: 0, unchanged: 4, gone: 1" in printed(*importing(write(tmp_path, *SECOND)))


def test_as_many_are_changed_as_have_a_counterpart(tmp_path: Path) -> None:
    printed(*importing(write(tmp_path, (1, "a"), (1, "b"), (1, "c"), (2, "d"))))
    report = preview(Source(write(tmp_path, (1, "x"), (1, "c"), (2, "d"), (2, "y"), (3, "z")), "jsonl"), "films")
    assert (report.new, report.changed, report.unchanged, report.gone) == (2, 1, 2, 1)


def test_a_line_that_stands_twice_is_counted(tmp_path: Path) -> None:
    file = write(tmp_path, (1, "a"), (2, "b"), (1, "a"), (1, "a"))
    assert "new: 2, changed: 0, unchanged: 0, gone: 0, twice in the file: 2" in printed(*importing(file))
    assert "new: 0, changed: 0, unchanged: 2, gone: 0, twice in the file: 2" in printed(*importing(file))
    assert Moment.objects.count() == 2


def test_another_caption_is_a_change(tmp_path: Path) -> None:
    printed(*importing(write(tmp_path, (1, "Mara sits."), caption="A woman sits.")))
    file = write(tmp_path, (1, "Mara sits."), caption="A woman sits down.")
    assert "new: 0, changed: 1, unchanged: 0, gone: 0" in printed(*importing(file))
    assert Moment.objects.get().caption == "A woman sits."
    assert "changed moments that were replaced: 1" in printed(*importing(file, "--replace"))
    assert Moment.objects.get().caption == "A woman sits down."


def test_a_caption_that_the_file_does_not_tell_stays(tmp_path: Path) -> None:
    """Names were replaced in it since the first import, perhaps."""
    printed(*importing(write(tmp_path, (1, "Mara sits."))))
    Moment.objects.update(caption="A woman sits.")
    answer = printed(*importing(write(tmp_path, (1, "Mara sits.")), "--replace"))
    assert "new: 0, changed: 0, unchanged: 1, gone: 0" in answer
    assert Moment.objects.get().caption == "A woman sits."


def test_a_moment_that_a_candidate_uses_is_never_replaced(batch: Batch, tmp_path: Path) -> None:
    used = batch.candidates.order_by("rank")[0].moment
    Corpus.objects.update(format="jsonl")
    span = {"video": used.video.name, "start": used.start, "end": used.end}
    file = tmp_path / "moments.jsonl"
    line = span | {"duration": used.video.duration, "description": "Other words."}
    file.write_text(json.dumps(line))
    name = used.video.corpus.name
    answer = printed("import_corpus", name, file, "--format", "jsonl", "--replace")
    assert "changed moments that were replaced: 0; that stay, because something refers to them: 1" in answer
    used.refresh_from_db()
    assert used.description != "Other words."
    file.write_text(json.dumps(line | {"description": used.description, "caption": "Other words."}))
    before = used.caption
    printed("import_corpus", name, file, "--format", "jsonl", "--replace")
    used.refresh_from_db()
    assert used.caption == before


def test_a_second_file_of_the_same_corpus_takes_nothing_away(tmp_path: Path) -> None:
    """Two of ActivityNet's files describe the same videos, sometimes at the same times."""
    one, other = write(tmp_path, (0, "a"), (4, "b"), name="1"), write(tmp_path, (0, "x"), (7, "y"), name="2")
    printed(*importing(one))
    printed(*importing(other))
    apart = descriptions()
    Corpus.objects.all().delete()
    printed("import_corpus", "films", one, other, "--format", "jsonl")
    assert descriptions() == apart == [(0, "a"), (0, "x"), (4, "b"), (7, "y")]


@pytest.mark.any_database
def test_a_wrong_line_in_one_of_several_files_is_told_with_its_file(tmp_path: Path) -> None:
    one, other = write(tmp_path, (0, "a"), name="1"), write(tmp_path, (59, "x"), (70, "y"), name="2")
    answer = refused("import_corpus", "films", one, other, "--format", "jsonl").splitlines()
    assert answer[0] == "nothing was imported."
    assert answer[1].startswith(f"{other}: line 2: field end: 72; expected at most the video's 60")
    assert not Corpus.objects.exists()


@pytest.mark.any_database
def test_a_preview_tells_the_same_and_stores_nothing(tmp_path: Path) -> None:
    printed(*importing(write(tmp_path, *FIRST)))
    source = Source(write(tmp_path, *SECOND), "jsonl")
    with CaptureQueriesContext(connection) as queries:
        foreseen = preview(source, "films")
    assert all(query["sql"].startswith(("SELECT", "DECLARE", "FETCH", "CLOSE")) for query in queries)
    assert foreseen.is_fine
    assert [row.description for row in foreseen.first] == ["A woman sits.", "She sits.", "He stands.", "It rains."]
    assert len(descriptions()) == 4
    done = load("films", source)
    counts = ("rows", "videos", "new", "changed", "unchanged", "gone", "repeated", "clipped")
    assert [getattr(foreseen, name) for name in counts] == [getattr(done, name) for name in counts]


@pytest.mark.any_database
def test_a_preview_of_what_is_wrong_raises_nothing(tmp_path: Path) -> None:
    lines = [(float(second), "a") for second in range(300)]
    report = preview(Source(write(tmp_path, *lines, name="long"), "jsonl"))
    assert not report.is_fine
    assert (len(report.problems), report.wrong, report.rows) == (100, 240, 60)
    first = report.problems[0]
    assert (first.file.name, first.where) == ("long", "line 61")
    assert str(first) == "line 61: field end: 62; expected at most the video's 60 seconds"
    for source in (
        Source(tmp_path / "nowhere", "jsonl"),
        Source(tmp_path / "long", "xml"),
        Source(tmp_path / "long", "jsonl", kind="v"),
        Source(tmp_path / "long", "jsonl", columns={"film": "video"}),
    ):
        report = preview(source)
        assert (report.is_fine, report.wrong) == (False, 1)
    assert not Video.objects.exists()


@pytest.mark.any_database
def test_a_preview_knows_that_the_corpus_has_another_format(tmp_path: Path) -> None:
    Corpus.objects.create(name="films", format="tvr")
    report = preview(Source(write(tmp_path, *FIRST), "jsonl"), "films")
    assert "corpus films was imported as tvr; choose another name" in str(report.problems[0])


@pytest.mark.any_database
def test_a_dry_run_tells_what_would_happen(tmp_path: Path) -> None:
    answer = printed(*importing(write(tmp_path, *FIRST), "--dry-run"))
    assert "films: 4 moments in 1 videos read" in answer
    assert "new: 4, changed: 0" in answer
    assert "nothing was stored" in answer
    assert "line 1: field end" in refused(*importing(write(tmp_path, (60, "a")), "--dry-run"))
    assert not Corpus.objects.exists()
