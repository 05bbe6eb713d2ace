"""Cast lists are read from CSV and JSON; what is wrong is named, and nothing is stored then."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest

from base.errors import ReeljudgeError
from corpus.models import Corpus
from retrieval.models import CastName
from retrieval.rewriting.cast_file import read_cast, store_cast, write_cast
from tests.terminal import ROOT


def file(folder: Path, content: str | bytes, name: str = "cast.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_list_of_ones_own_is_confirmed(tmp_path: Path) -> None:
    content = "name,phrase,same_as,stays\nOlga,woman,,\nOlga Nemec,,Olga,\nPrague,,,yes\n"
    olga, full, prague = read_cast(file(tmp_path, content))
    assert (olga.name, olga.phrase, olga.confirmed) == ("Olga", "woman", True)
    assert (full.phrase, full.same_as, full.confirmed) == ("woman", "Olga", True)
    assert (prague.stays, prague.confirmed) == (True, True)


def test_the_list_of_tvr_is_whole() -> None:
    entries = {entry.name: entry for entry in read_cast(ROOT / "docs" / "casts" / "tvr.csv")}
    assert all(entry.confirmed for entry in entries.values())
    assert (entries["House"].phrase, entries["Pheobe"].phrase, entries["Marcel"].phrase) == (
        "man", "woman", "monkey"
    )  # fmt: skip
    assert entries["Central Perk"].stays


def test_a_draft_is_confirmed_line_by_line(tmp_path: Path) -> None:
    content = "name,phrase,confirmed,count\nOlga,woman,yes,7\nKarel,man,,5\nVera,,no,3\n"
    assert [entry.confirmed for entry in read_cast(file(tmp_path, content))] == [True, False, False]


@pytest.mark.parametrize(
    "content",
    [
        '{"Olga": "woman", "Karel": "man"}',
        '[{"name": "Olga", "phrase": "woman"}, {"name": "Karel", "phrase": "man", "stays": false}]',
        '\ufeffname,phrase\r\n"Olga",woman\r\n\r\nKarel , man\r\n',
        "phrase,name\nwoman,Olga\nman,Karel",
    ],
)
def test_csv_and_json_are_read(tmp_path: Path, content: str) -> None:
    assert [(entry.name, entry.phrase) for entry in read_cast(file(tmp_path, content))] == [
        ("Olga", "woman"),
        ("Karel", "man"),
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "expected name, phrase"),
        ("name;phrase\nOlga;woman", "expected name, phrase"),
        ("name,phrase\n", "holds no names"),
        ("name,phrase\nOlga,", 'line 2: field phrase: ""; expected a noun phrase'),
        ("name,phrase\n,woman", "line 2: field name"),
        ("name,phrase\nOlga,woman\nOlga,girl", 'line 3: field name: "Olga" stands there twice'),
        ("name,phrase\nOlga,old Olga", "expected words without the name itself"),
        ("name,phrase,stays\nOlga,woman,perhaps", 'field stays: "perhaps"; expected yes or no'),
        ("name,phrase,same_as\nOlga,,Ola", 'field same_as: "Ola"; expected the name of another entry'),
        ("name,phrase,same_as\nOlga,,Ola\nOla,,Olga", "expected the name of another entry"),
        (f"name,phrase\n{'x' * 101},woman", "expected a text of at most 100 characters"),
        ("name,phrase\nOl\x00ga,woman", "field name"),
        ('name,phrase\n"Olga,woman', "not CSV"),
        (b"name,phrase\n\xff,woman", "not UTF-8 at byte 13"),
        ("[1, 2]", "entry 1: field name"),
        ('{"Olga": 7}', "entry 1: field phrase: 7"),
        ("[{]", "not JSON"),
        ("[" * 10_000, "not JSON"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, content: str | bytes, problem: str) -> None:
    with pytest.raises(ReeljudgeError) as fault:
        read_cast(file(tmp_path, content))
    assert problem in str(fault.value)


def test_the_first_hundred_problems_are_named_and_all_are_counted(tmp_path: Path) -> None:
    with pytest.raises(ReeljudgeError) as fault:
        read_cast(file(tmp_path, "name,phrase\n" + "".join(f"N{number},\n" for number in range(250))))
    lines = str(fault.value).splitlines()
    assert len(lines) == 102
    assert "250 problems; nothing was stored" in lines[0]
    assert lines[-1] == "… and 150 more"


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ReeljudgeError, match="cannot be read"):
        read_cast(tmp_path / "nowhere.csv")


@pytest.mark.django_db
def test_a_draft_that_was_written_is_read_again(tmp_path: Path, corpus: Corpus) -> None:
    entries = [CastName(name="Olga", phrase="woman", count=3, contexts=["Olga waves.", "=Olga"], confirmed=True)]
    out = StringIO()
    write_cast(entries, out)
    assert "'=Olga" in out.getvalue()  # no spreadsheet takes it for a formula
    store_cast(corpus, read_cast(file(tmp_path, out.getvalue())))
    store_cast(corpus, read_cast(file(tmp_path, "name,phrase\nOlga,old woman")))
    assert CastName.objects.get().phrase == "old woman"
