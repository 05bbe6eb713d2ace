"""The extra `systems` in an empty virtual environment, whose command trains systems from another folder."""

from __future__ import annotations

import json
import sys
import venv
from pathlib import Path

import numpy as np
import pytest

from systems.data import Example, Videos
from tests.metrics.packaged import run, wheel
from tests.metrics.shared import ROOT
from tests.systems.planted import CLIP_SECONDS, planted

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]
MEASURE = "nDCG_IoU(iou=0.5)@20"
OPTIONS: dict[str, tuple[str, ...]] = {
    "chance": (),
    "prior": (),
    "mcn": ("iterations=300", "learning_rate=0.002", "hidden=64", "words=32", "language=64", "embedding=32"),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of the wheel, which pip has installed with its extra, in the versions of this checkout."""
    place = tmp_path_factory.mktemp("empty")
    venv.create(place, with_pip=False, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--python", place / "bin" / "python", "--disable-pip-version-check"]
    versions = ["--constraint", ROOT / "requirements.txt"]
    run(*pip, "install", "-q", *versions, f"{wheel()}[systems]", folder=place)
    return place / "bin" / "reeljudge"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of a planted collection, whose queries have their answers in other videos than those of training."""
    drawn = planted(seed=3, training=300, test=40, concepts=20)
    write(tmp_path / "training", drawn.training.videos, list(drawn.training.examples))
    write(tmp_path / "test", drawn.test, drawn.examples)
    return tmp_path


def write(folder: Path, videos: Videos, examples: list[Example]) -> None:
    """Write features, durations and moments as the commands read them."""
    folder.mkdir()
    clips = {name: videos[n].clips for n, name in enumerate(videos.names)}
    np.savez(folder / "clips.npz", **clips)  # type: ignore[arg-type]
    durations = {name: [float(videos.duration[n]), n] for n, name in enumerate(videos.names)}
    (folder / "durations.json").write_text(json.dumps(durations))
    lines = [
        {
            "pair_id": n,
            "query_id": example.query.id,
            "query": example.query.text,
            "video_name": example.video,
            "timestamp": [example.start, example.end],
            "relevance": 1,
        }
        for n, example in enumerate(examples)
    ]
    (folder / "moments.jsonl").write_text("\n".join(map(json.dumps, lines)))


def features_of(part: str) -> list[str]:
    """The options of a command that name the features of a part of the collection."""
    files = ["--clips", f"{part}/clips.npz", "--durations", f"{part}/durations.json"]
    return [*files, "--clip-seconds", f"{CLIP_SECONDS:g}"]


def test_the_installed_library_trains_indexes_and_searches(program: Path, folder: Path) -> None:
    values_of = {}
    for name, values in OPTIONS.items():
        options = [word for value in (*values, "longest=6") for word in ("--option", value)]
        examples = ["--annotations", "training/moments.jsonl"]
        train = [program, "systems", "train", name, "--system", name, *features_of("training"), *examples]
        run(*train, *options, folder=folder)
        run(program, "systems", "index", name, *features_of("test"), folder=folder)
        queries = ["--queries", "test/moments.jsonl", "--out", f"{name}.json"]
        run(program, "systems", "search", name, *queries, folder=folder)
        scored = ["--qrels", "test/moments.jsonl", "--run", f"{name}.json", "--measures", "nDCG_IoU(iou=0.5)@20"]
        printed = run(program, "evaluate", *scored, "--format", "json", folder=folder)
        values_of[name] = json.loads(printed)["measures"][MEASURE]
    assert values_of["chance"] < values_of["prior"] < values_of["mcn"], values_of
