"""Finished ratings are settled by the consensus, what their process let through is counted, and wrong lines named."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from tests.terminal import manage, printed, refused

HEADER = "pair_id,worker,relevance"


def write(folder: Path, *lines: str, header: str = HEADER) -> Path:
    file = folder / "ratings.csv"
    file.write_text("\n".join([header, *lines]) + "\n")
    return file


def settling(file: Path) -> tuple[object, ...]:
    return "settle_ratings", file, "--out", file.with_name("final.csv")


def test_ratings_are_settled_and_defects_counted(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        *["a,1,2", "a,2,3"],  # settled, halves up
        *["b,1,0", "b,2,4", "b,3,1", "b,4,1"],  # settled by four
        *["c,1,0", "c,2,4", "c,3,0", "c,4,4"],  # discarded
        *["d,1,1", "d,2,3"],  # stopped while contested
        *["e,1,2", "e,2,2", "e,3,2", "e,4,3"],  # escalated without need
        *["f,1,2", "f,1,2"],  # one worker twice
        *["g,1,2", "g,1,3"],  # … with different grades
        *["h,1,2", "h,2,2", "h,3,2"],  # three
        "",
        "i,1,2",  # one
    )
    answer = printed(*settling(file))
    for line in (
        "pairs 9",
        "settled 5",
        "discarded 4",
        "  one worker twice 2",
        "  one worker twice, with different grades 1",
        "  escalated although all within one 1",
        "  stopped while still contested 1",
        "  neither two nor four ratings 2",
        "consensus tvr-ranking/1",
    ):
        assert f"\n{line}" in f"\n{answer}"
    assert (tmp_path / "final.csv").read_text().splitlines() == [
        "pair_id,n_ratings,final_score",
        *["a,2,3", "b,4,1", "c,4,", "d,2,", "e,4,2", "f,2,2", "g,2,3", "h,3,", "i,1,"],
    ]


def test_the_paper_s_ratings_come_out_as_published(shared: Path, tmp_path: Path) -> None:
    final = tmp_path / "final.csv"
    answer = printed("settle_ratings", shared / "tvr_ranking" / "raw_annotation.csv", "--out", final)
    for line in (
        "pairs 96483",
        "settled 94442",
        "discarded 2041",
        "one worker twice 11682",
        "one worker twice, with different grades 6188",
        "escalated although all within one 1440",
        "stopped while still contested 2",
        "neither two nor four ratings 0",
    ):
        assert line in answer
    assert final.read_bytes() == (shared / "reference_eval" / "tvrr_final_scores.csv").read_bytes()
    with final.open() as rows:
        grades = Counter(row["final_score"] for row in csv.DictReader(rows))
    assert grades == {"": 2041, "0": 5929, "1": 19245, "2": 30056, "3": 24439, "4": 14773}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a,1", "has 2 columns; it needs 3: pair_id, worker, relevance"),
        ("a,1,2,3", "has 4 columns"),
        (",1,2", "field pair_id: ''; expected an id"),
        ("a, ,2", "field worker: ''; expected an id"),
        *[
            (f"a,1,{grade}", f"field relevance: {grade!r}; expected an integer from 0 to 4")
            for grade in ("", "5", "-1", "2.5", "nan", "1e0", "x", "+2", "02", "٣", "True")
        ],
        ('a,1,"2', "is no CSV: unexpected end of data"),
        ("b,5,2", "a fifth rating of pair b; expected at most four"),
        ("a,1," + "9" * 200_000, "is no CSV: field larger than field limit"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    file = write(tmp_path, "b,1,0", "b,2,4", "b,3,1", "b,4,1", line)
    answer = refused(*settling(file))
    assert answer.startswith(f"{file}: line 6: {message}")
    assert len(answer) < 300
    assert not (tmp_path / "final.csv").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"pair,worker,grade\n", "line 1: column pair_id is missing; it needs pair_id, worker, relevance"),
        (HEADER.encode() + b"\n", "holds no ratings"),
        (HEADER.encode() + b"\na,1,2\na,caf\xe9,2\n", "line 3: is not UTF-8 text"),
        (b"caf\xe9\n", "line 1: is not UTF-8 text"),
    ],
)
def test_a_file_that_is_none_of_ratings_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "ratings.csv"
    file.write_bytes(content)
    answer = refused(*settling(file))
    assert answer.startswith(f"{file}: ")
    assert message in answer


def test_a_spreadsheet_s_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "ratings.csv"
    file.write_bytes(b'\xef\xbb\xbfpair_id,worker,relevance\r\n"a","1","2"\r\na,2,2\r\n')
    assert "settled 1" in printed(*settling(file))


def test_files_that_cannot_be_read_or_written_are_named(tmp_path: Path) -> None:
    for file, message in {tmp_path / "nowhere.csv": "there is no such file", tmp_path: "is a directory"}.items():
        assert f"{file}: {message}" in refused("settle_ratings", file, "--out", tmp_path / "final.csv")
    out = tmp_path / "nowhere" / "final.csv"
    answer = refused("settle_ratings", write(tmp_path, "a,1,2"), "--out", out)
    assert answer == f"--out {out}: cannot be written (No such file or directory)"


@pytest.mark.django_db
def test_a_person_reads_one_message_and_gets_exit_code_2(tmp_path: Path) -> None:
    done = manage(*settling(write(tmp_path, "a,1,2", "a,2,five")))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("ratings.csv: line 3: field relevance: 'five'; expected an integer from 0 to 4\n")
    assert done.stderr.count("\n") == 1
