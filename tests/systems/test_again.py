"""A run is made again from its description alone, and a trained system is given away as one file."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from pathlib import Path

import pytest

from systems.neural.description import CURVE, MODEL, README, beside
from systems.storage import digest
from tests.systems.test_commands import SMALL, command, moments, videos_in
from tests.systems.test_commands import files as files

TRAINING = {
    "mcn": [*SMALL, "longest=6"],
    "two_stage": [*SMALL, "longest=6", "clips=20"],
    "xml": ["iterations=6", "hidden=16", "batch_size=16", "words=8", "validate_every=3"],
    "prior": ["longest=6"],
}


def trained(files: Path, folder: Path, name: str, *more: str | Path) -> None:
    """Train and index a system."""
    options = [word for option in TRAINING[name] for word in ("--option", option)]
    known = ["--annotations", moments(files), "--validation", moments(files), *options, *more]
    done = command("train", folder, "--system", name, *videos_in(files), *known)
    assert done.code == 0, done.err
    done = command("index", folder, *videos_in(files))
    assert done.code == 0, done.err


def searched(files: Path, folder: Path, out: Path) -> None:
    done = command("search", folder, "--queries", moments(files), "--depth", "9", "--out", out)
    assert done.code == 0, done.err


@pytest.mark.parametrize("name", TRAINING)
def test_a_run_is_made_again_from_its_description_alone(name: str, files: Path, tmp_path: Path) -> None:
    trained(files, tmp_path / "one", name)
    searched(files, tmp_path / "one", tmp_path / "run.json")
    run, about = (tmp_path / "run.json").read_bytes(), json.loads(beside(tmp_path / "run.json").read_text())
    assert about["system"] == name
    assert about["options"]["seed"] == 1
    assert about["features"]["train"][0]["sha256"] == digest(files / "clips.npz")
    assert all(sha == digest(tmp_path / "one" / file) for file, sha in about["weights"].items())
    assert len(about["weights"]) == (2 if name == "two_stage" else 1)
    assert about["trained_on"] == (None if name == "prior" else "cpu")
    assert about["run"] == digest(tmp_path / "run.json")
    shutil.rmtree(tmp_path / "one")
    (tmp_path / "run.json").unlink()
    done = command("again", tmp_path / "run.description.json", tmp_path / "two", "--out", tmp_path / "again.json")
    assert (done.code, done.err) == (0, "")
    assert "is the run of the description" in done.out
    assert (tmp_path / "again.json").read_bytes() == run
    assert {**json.loads(beside(tmp_path / "again.json").read_text()), "commands": 0} == about | {"commands": 0}


@pytest.fixture(scope="module")
def described(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of MCN with its description, beside the files from which it was made."""
    folder = tmp_path_factory.mktemp("described")
    shutil.copytree(files, folder / "data")
    trained(folder / "data", folder / "mcn", "mcn")
    searched(folder / "data", folder / "mcn", folder / "run.json")
    return folder


def test_files_that_were_moved_are_found_by_their_names(described: Path, tmp_path: Path) -> None:
    shutil.copytree(described / "data", tmp_path / "moved")
    about = beside(described / "run.json").read_text().replace(str(described / "data"), str(tmp_path / "gone"))
    (tmp_path / "d.json").write_text(about)
    words: list[str | Path] = ["again", tmp_path / "d.json", tmp_path / "mcn", "--out", tmp_path / "run.json"]
    lost = command(*words)
    assert (lost.code, "there is no such file" in lost.err or "cannot be read" in lost.err) == (2, True), lost.err
    done = command(*words, "--data", tmp_path / "moved")
    assert (done.code, done.err) == (0, "")
    assert (tmp_path / "run.json").read_bytes() == (described / "run.json").read_bytes()
    own = json.loads((tmp_path / "mcn" / "commands.json").read_text())["train"]
    assert str(tmp_path / "moved" / "durations.json") in own["words"]
    assert set(own["files"]) == {str(tmp_path / "moved" / name) for name in ("durations.json", "moments.jsonl")}


def test_other_files_than_those_of_the_description_are_named(described: Path, tmp_path: Path) -> None:
    for name, message in (("moments.jsonl", "is another file"), ("clips.npz", "clips.npz: has SHA-256")):
        data = tmp_path / name
        shutil.copytree(described / "data", data)
        about = beside(described / "run.json").read_text().replace(str(described / "data"), str(data))
        (data / "d.json").write_text(about)
        if name == "moments.jsonl":
            (data / name).write_text((data / name).read_text() + "\n")
        else:
            with zipfile.ZipFile(data / name, "a") as stored:
                stored.writestr("other.npy", stored.read(stored.namelist()[0]))
        done = command("again", data / "d.json", data / "mcn", "--out", data / "run.json")
        assert (done.code, message in done.err, done.err.count("\n")) == (2, True, 1), done.err


WRONG = {
    "{}": "does not say by which commands the run was made",
    "[]": "does not say by which commands the run was made",
    "{": "cannot be read",
    '{"commands": {"index": {"words": [1], "files": {}, "device": "cpu"}}, "features": {}, "run": ""}': "does not say",
}


@pytest.mark.parametrize("content", WRONG)
def test_what_is_no_description_is_one_line(content: str, tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text(content)
    done = command("again", tmp_path / "d.json", tmp_path / "new", "--out", tmp_path / "run.json")
    assert (done.code, WRONG[content] in done.err, done.err.count("\n")) == (2, True, 1), done.err
    assert not (tmp_path / "new").exists()


def test_a_description_names_commands_of_systems_alone(described: Path, tmp_path: Path) -> None:
    about = json.loads(beside(described / "run.json").read_text())
    about["commands"]["train"]["words"] = ["export", str(described / "mcn"), str(tmp_path / "x.zip")]
    (tmp_path / "d.json").write_text(json.dumps(about))
    words: list[str | Path] = ["again", tmp_path / "d.json", tmp_path / "new", "--out", tmp_path / "run.json"]
    assert command(*words).code == 2
    assert os.listdir(tmp_path) == ["d.json"]
    (tmp_path / "new").mkdir()
    done = command(*words)
    assert (done.code, "expected a new folder" in done.err) == (2, True)


@pytest.mark.parametrize("name", ["mcn", "two_stage", "prior"])
def test_a_system_that_is_given_away_searches_as_it_did(name: str, files: Path, tmp_path: Path) -> None:
    trained(files, tmp_path / "own", name)
    searched(files, tmp_path / "own", tmp_path / "run.json")
    done = command("export", tmp_path / "own", tmp_path / "own.zip")
    assert (done.code, done.err) == (0, "")
    with zipfile.ZipFile(tmp_path / "own.zip") as zipped:
        names = set(zipped.namelist())
        zipped.extractall(tmp_path / "theirs")
    assert "commands.json" not in names  # which names folders of this machine
    assert names >= {"system.json", "features.json", README}
    shutil.rmtree(tmp_path / "own")
    assert command("index", tmp_path / "theirs", *videos_in(files)).code == 0
    searched(files, tmp_path / "theirs", tmp_path / "their.json")
    assert (tmp_path / "their.json").read_bytes() == (tmp_path / "run.json").read_bytes()
    refused = command("again", beside(tmp_path / "their.json"), tmp_path / "x", "--out", tmp_path / "y.json")
    assert (refused.code, "because it came from elsewhere" in refused.err) == (2, True), refused.err


def test_equal_systems_are_equal_files(files: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        trained(files, tmp_path / name, "mcn")
        assert command("export", tmp_path / name, tmp_path / f"{name}.zip").code == 0
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_what_was_not_trained_is_not_given_away(files: Path, tmp_path: Path) -> None:
    for folder, message in ((files, "holds no system"), (tmp_path / "chance", "nothing was learned")):
        if folder.name == "chance":
            known: list[str | Path] = ["--annotations", moments(files)]
            assert command("train", folder, "--system", "chance", *videos_in(files), *known).code == 0
        done = command("export", folder, tmp_path / "x.zip")
        assert (done.code, message in done.err) == (2, True), done.err


def test_the_model_card_says_what_the_system_was_made_of(described: Path) -> None:
    card = (described / "mcn" / README).read_text()
    best = max(value for _, value in json.loads((described / "mcn" / CURVE).read_text())["validations"])
    for words in (
        "# MCN",
        "- Seed: 1",
        "- Trained on: cpu",
        f"- Validation: nDCG_IoU(iou=0.5)@20 = {best:.4f}",
        f"- clips.npz: SHA-256 {digest(described / 'data' / 'clips.npz')}, 40 videos",
        "- hidden: 16",
        f"- `{MODEL}`: {digest(described / 'mcn' / MODEL)}",
        "reeljudge systems search FOLDER",
    ):
        assert words in card


def test_training_again_with_other_files_does_not_change_what_is_known(described: Path, tmp_path: Path) -> None:
    """Because a training that is done is not done again."""
    folder = tmp_path / "mcn"
    shutil.copytree(described / "mcn", folder)
    (tmp_path / "other.jsonl").write_text((described / "data" / "moments.jsonl").read_text().splitlines()[0])
    options = [word for option in TRAINING["mcn"] for word in ("--option", option)]
    words: list[str | Path] = ["train", folder, "--system", "mcn", *videos_in(described / "data"), *options]
    done = command(*words, "--annotations", tmp_path / "other.jsonl")
    assert (done.code, "the training was done before" in done.out) == (0, True), done.err
    assert (folder / "commands.json").read_bytes() == (described / "mcn" / "commands.json").read_bytes()
