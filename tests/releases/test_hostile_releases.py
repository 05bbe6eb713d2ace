"""Somebody else's file that calls itself a release: refused or found broken in plain words, in little memory."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from copy import copy
from hashlib import sha256
from io import StringIO
from pathlib import Path
from secrets import token_bytes, token_hex
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from metrics import MeasureError, load_release
from tests.installation import ROOT

Files = dict[str, bytes]
PAIRS = "pair_id,query_id,moment_id,rank,similarity,outcome,grade,rule\n"
JUDGEMENT = {"pair_id": 1, "worker": 1, "round": 1, "grade": 2, "counts": True}
TEXTS = ("qrels.txt", "qrels.jsonl", "adjudicated.txt", "adjudicated.jsonl")
NUMBERS = ("queries", "judged_queries", "judgements", "annotators", "one_worker_twice")
MOST_MEMORY = 400  # MiB; Python with Django needs 60


def files(**changed: bytes | str) -> Files:
    """The files of a small release that is whole, with some of them changed (`_` stands for the dot)."""
    made: Files = dict.fromkeys(TEXTS, b"") | {"qrels.nested.json": b"{}\n"}
    made["judgements.jsonl"] = b""
    made["pairs.csv"] = PAIRS.encode()
    made["ratings.csv"] = b"pair_id,worker,relevance,outcome\n"
    for name, content in changed.items():
        right = next(each for each in made if each.replace(".", "_") == name)
        made[right] = content if isinstance(content, bytes) else content.encode()
    return made


def packed(file: Path, content: Files, **manifest: Any) -> Path:
    """A release of these files, with a manifest that fits unless it is changed; None leaves a field out."""
    listed = {name: {"sha256": sha256(each).hexdigest(), "bytes": len(each)} for name, each in content.items()}
    whole = {"format": "reeljudge-release/1", "campaign": "films", "version": 1, "imported": False}
    whole |= {
        "consensus": {"rule": "tvr-ranking/1", "tolerance": 1},
        "counts": dict.fromkeys(NUMBERS, 0) | {"pairs": {}, "grades": {}},
        "files": listed,
        "unfinished": {"held": False, "queries": []},
    }
    whole = {name: value for name, value in (whole | manifest).items() if value is not None}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        for name, each in content.items():
            out.writestr(name, each)
        out.writestr("MANIFEST.json", json.dumps(whole))
    return file


def run(*arguments: object) -> tuple[int, str]:
    """The exit code of a command and what it printed; any other error than its own is a traceback."""
    out = StringIO()
    try:
        call_command(*map(str, arguments), stdout=out)
    except CommandError as fault:
        return fault.returncode, f"{out.getvalue()}{fault}"
    return 0, out.getvalue()


def checked(file: Path) -> tuple[int, str]:
    code, output = run("verify_release", file)
    assert not {"\x1b", "\x9b", "\r", "\u202e"} & set(output)
    return code, output


def test_the_small_release_is_whole(tmp_path: Path) -> None:
    assert checked(packed(tmp_path / "small.zip", files()))[0] == 0


@pytest.mark.parametrize(
    "stated",
    [
        {"agreement": "0.9"},
        {"agreement": {"alpha": 0.9}},
        {"agreement": {"alpha": None, "round_one": {"alpha": None}, "pairs": 0, "same_percent": None}},
        {"cost": {"hours": "5000"}},
        {"protocol": {"batch_size": 0, "batches": 2, "depth": 0}},
        {"protocol": [20]},
        {"counts": {"pairs": {}, "one_worker_twice": 0}},
    ],
)
def test_no_statement_is_a_traceback(tmp_path: Path, stated: dict[str, Any]) -> None:
    judgement = json.dumps(JUDGEMENT | {"seconds": 1.0, "guideline": 0}) + "\n"
    code, output = checked(packed(tmp_path / "hostile.zip", files(judgements_jsonl=judgement), **stated))
    assert (code, "Traceback" in output) == (1, False)


@pytest.mark.parametrize(
    "content",
    [
        files(judgements_jsonl="[" * 100_000 + "\n"),
        files(qrels_nested_json="[" * 100_000),
        files(judgements_jsonl='{"a":' * 50_000),
        files(pairs_csv=PAIRS + "x" * 200_000 + "\n"),
        files(pairs_csv=PAIRS + "1,1,1,,,settled,x,\n"),
        files(judgements_jsonl=json.dumps(JUDGEMENT | {"round": 9}) + "\n"),
        files(judgements_jsonl=json.dumps(JUDGEMENT | {"grade": [2]}) + "\n"),
        files(judgements_jsonl=json.dumps(JUDGEMENT | {"pair_id": {}}) + "\n"),
        files(judgements_jsonl='{"grade": 1e999, "counts": true, "pair_id": 1, "worker": 1, "round": 1}\n'),
        files(judgements_jsonl="7" * 5000 + "\n"),
        files(qrels_txt="1 0 v@0-1 many\n"),
        files(qrels_txt=b"\xff\xfe\n"),
        files(qrels_txt=token_hex(2**20)),
    ],
    ids=range(13),
)  # fmt: skip
def test_no_content_is_a_traceback(tmp_path: Path, content: Files) -> None:
    code, output = checked(packed(tmp_path / "hostile.zip", content))
    assert (code, "cannot be read" in output or "is stored as" in output) == (1, True)


@pytest.mark.parametrize(
    "manifest",
    [
        {"campaign": None}, {"campaign": ["films"]}, {"version": "1"}, {"version": True}, {"files": []},
        {"consensus": None}, {"counts": 7}, {"imported": 0},
    ],
)  # fmt: skip
def test_a_manifest_without_a_field_is_refused(tmp_path: Path, manifest: dict[str, Any]) -> None:
    code, output = checked(packed(tmp_path / "hostile.zip", files(), **manifest))
    assert (code, f"MANIFEST.json: {next(iter(manifest))}: " in output) == (2, True)


@pytest.mark.parametrize(
    "manifest",
    [
        {"consensus": {}},
        {"counts": {}},
        {"counts": {"pairs": [1]}},
        {"files": {"qrels.txt": 7}},
        {"unfinished": None},
        {"unfinished": {}},
        {"unfinished": {"held": True, "queries": 7}},
    ],
)
def test_a_manifest_with_strange_values_is_broken(tmp_path: Path, manifest: dict[str, Any]) -> None:
    assert checked(packed(tmp_path / "hostile.zip", files(), **manifest))[0] == 1


def test_a_manifest_that_is_too_deep_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "deep.zip", "w") as out:
        out.writestr("MANIFEST.json", "[" * 100_000)
    assert checked(tmp_path / "deep.zip")[0] == 2


def test_nothing_in_the_file_reaches_the_terminal_as_a_command(tmp_path: Path) -> None:
    red = "\x1b[31m\x9b2J\r\n\u202eok"
    strange = packed(tmp_path / "a.zip", files() | {red: b""}, campaign=red, files={red: 7})
    assert "\\x1b[31m\\x9b2J\\r\\n\\u202eok" in checked(strange)[1]
    judged = json.dumps(JUDGEMENT | {"pair_id": red})
    checked(packed(tmp_path / "b.zip", files(judgements_jsonl=f"{judged}\n{judged}\n")))
    graded = packed(tmp_path / "c.zip", files(qrels_txt=f"{red.split()[0]} 0 v@0-1 2\n"))
    code, output = run("diff_releases", packed(tmp_path / "d.zip", files()), graded)
    assert (code, "\x1b" in output, "\\x1b[31m" in output) == (0, False, True)


@pytest.mark.parametrize(
    "content",
    [
        files(pairs_csv=PAIRS + "".join(f"{n},{n},{n},,,settled,1,\n" for n in range(330_000))),
        # As much as is allowed, beside noise that allows for it.
        files(qrels_nested_json="[]," * (13 << 20)) | {"noise": token_bytes(2**20)},
    ],
    ids=["rows", "nested"],
)
def test_a_small_zip_needs_little_memory(tmp_path: Path, content: Files) -> None:
    file = packed(tmp_path / "large.zip", content)
    assert 0.9 * 2**20 < file.stat().st_size < 1.5 * 2**20
    code = (
        "import resource, subprocess, sys; "
        "subprocess.run([sys.executable, 'manage.py', 'verify_release', sys.argv[1]], stdout=subprocess.DEVNULL); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)], cwd=ROOT, env=os.environ, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < MOST_MEMORY


def bomb(file: Path) -> Path:
    return packed(file, files(qrels_jsonl=b"\n" * (50 << 20)))


def entries_that_share_bytes(file: Path) -> Path:
    """A zip whose directory names one megabyte of noise sixty times."""
    with zipfile.ZipFile(packed(file, files() | {"noise": token_bytes(2**20)}), "a") as out:
        noise = out.getinfo("noise")
        for number in range(60):
            again = copy(noise)
            again.filename = f"noise{number}"
            out.filelist.append(again)
            out.NameToInfo[again.filename] = again
        out.writestr("spare", b"")  # so that the directory is written again
    return file


@pytest.mark.parametrize("build", [bomb, entries_that_share_bytes], ids=lambda build: build.__name__)
def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, build: Callable[[Path], Path]) -> None:
    file = build(tmp_path / "bomb.zip")
    code, output = checked(file)
    assert (code, "expected at most" in output) == (2, True)
    with pytest.raises(MeasureError, match=r"unpacks to [\d,]+ bytes; expected at most"):
        load_release(file)


def test_a_directory_that_lies_about_a_size_limits_what_is_read(tmp_path: Path) -> None:
    file = bomb(tmp_path / "bomb.zip")
    size, content = struct.pack("<L", 50 << 20), file.read_bytes()
    directory = content.rindex(size)
    file.write_bytes(content[:directory] + struct.pack("<L", 1000) + content[directory + 4 :])
    with pytest.raises(MeasureError, match=r"qrels.jsonl: (cannot be read|SHA-256 is)"):
        load_release(file).read("qrels.jsonl")


def test_a_file_of_a_folder_that_never_ends_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(packed(tmp_path / "a.zip", files())) as archive:
        archive.extractall(tmp_path / "a")
    (tmp_path / "a" / "qrels.jsonl").unlink()
    (tmp_path / "a" / "qrels.jsonl").symlink_to("/dev/zero")
    with pytest.raises(MeasureError, match=r"qrels.jsonl: cannot be read \(not a regular file\)"):
        load_release(tmp_path / "a").read("qrels.jsonl")
