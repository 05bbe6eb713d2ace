"""Where networks compute: what is the same on every device, and what a device that is not there says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from systems.data import Data, Videos
from systems.encoders import by_encoder
from systems.errors import BadOption
from systems.interface import System, system
from systems.library import Run
from systems.neural import training
from systems.neural.description import CURVE
from systems.neural.device import choose, device
from systems.neural.training import load
from tests.systems.far_device import WHERE, far_device
from tests.systems.small import SMALL, collection
from tests.systems.test_commands import command, moments, videos_in
from tests.systems.test_commands import files as files
from tests.systems.test_training import Broken, breaking_after

ROOT = Path(__file__).parents[2]
STREAMS = {"iterations": 6, "batch_size": 16, "hidden": 32, "words": 16, "hard_after": 3, "hardest": 4}
ONE = SMALL | {"iterations": 12, "longest": 6}
SYSTEMS: dict[str, dict[str, Any]] = {
    "tef_only": ONE,
    "mcn": ONE,
    "stal_clips": ONE,
    "stal": ONE,
    "two_stage": ONE,
    "xml": STREAMS,
    "reloclnet": STREAMS | {"several": True},
    "conquer": STREAMS | {"first_iterations": 6, "inner": 16, "filters": 16, "clusters": 4},
}
# Sums of the weights, each times a number that is drawn, as they were before there was a device.
BEFORE = {
    "mcn": 74.10972591250551,
    "stal_clips": -57.76529279504968,
    "stal": -19.044944622210092,
    "xml": -38.962136288882526,
    "conquer": 29.682320182492425,
}


@cache
def data_for(name: str) -> Data:
    data = replace(collection().training, validation=None)
    if SYSTEMS[name] is ONE:
        return data
    rows = np.random.default_rng(0).normal(size=(len(data.videos.clips), 8)).astype(np.float32)
    return replace(data, videos=replace(data.videos, subtitles=rows))


def quick(name: str) -> dict[str, Any]:
    """Return options with which a step takes little time, also where every operation is looked at."""
    few = {"dropout": 0.0, "iterations": 2} | ({"first_iterations": 2} if name == "conquer" else {})
    streams = {"batch_size": 4, "hard_after": 1, "hardest": 2}
    return few | (streams if SYSTEMS[name] is not ONE else {})


def made(name: str, folder: Path, **more: Any) -> System:
    return system(name, folder, **SYSTEMS[name] | more)


def ranking(name: str, folder: Path) -> Run:
    """Train a system, which is broken off and goes on, index a few videos, and search them with what was stored."""
    data, options = data_for(name), quick(name)
    with pytest.raises(Broken):
        made(name, folder, **options).train(data, breaking_after(1))
    made(name, folder, **options).train(data)
    made(name, folder, **options).index(few(data.videos))
    return made(name, folder, **options).search([each.query for each in data.examples[:2]], 10)


def few(videos: Videos) -> Videos:
    return Videos.of([videos[number] for number in range(3)], videos.clip_seconds)


def losses(folder: Path) -> list[float]:
    return [loss for file in sorted(folder.rglob(CURVE)) for loss in json.loads(file.read_text())["losses"]]


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Checkpoints are stored in every step, and networks compute on the processor until a test says otherwise."""
    monkeypatch.setattr(training, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    choose("cpu")
    yield
    choose("cpu")


@pytest.mark.parametrize("name", BEFORE)
def test_the_processor_learns_what_it_did(name: str, tmp_path: Path) -> None:
    """To a hundredth, because processors round otherwise; a draw more or less makes a difference of about 1."""
    made(name, tmp_path, dropout=0.1).train(data_for(name))
    weights, random = load(tmp_path)[0], np.random.default_rng(1)
    sums = [
        (weights[each].double().numpy() * random.normal(size=weights[each].shape)).sum() for each in sorted(weights)
    ]
    assert sum(sums) == pytest.approx(BEFORE[name], abs=0.01)


@pytest.mark.filterwarnings("ignore:.*copying from a non-meta parameter")  # such a tensor is copied to
@pytest.mark.parametrize("name", ["mcn", "two_stage", "xml", "conquer"])  # which hold the others
def test_nothing_on_a_device_meets_what_is_on_the_processor(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a device that computes as the processor does, but for rounding."""
    here = ranking(name, tmp_path / "here")
    with monkeypatch.context() as patched, far_device(patched):
        there = ranking(name, tmp_path / "there")
    assert there.scores == pytest.approx(here.scores, rel=1e-3, abs=1e-4)
    assert losses(tmp_path / "there") == pytest.approx(losses(tmp_path / "here"), rel=1e-4)


def test_the_device_of_these_tests_refuses_what_a_gpu_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched, far_device(patched):
        far = torch.ones(3).to(WHERE)
        assert (far + 1).cpu().tolist() == [2, 2, 2]
        with pytest.raises(RuntimeError, match="tensors here and elsewhere"):
            far + torch.ones(3)
        with pytest.raises(TypeError, match="has no array"):
            far.numpy()


@pytest.mark.parametrize("name", ["mcn", "two_stage", "conquer"])
def test_steps_in_bfloat16_lose_about_as_much(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As autocast has it on a GPU; here by that of the processor."""
    made(name, tmp_path / "full", **quick(name)).train(data_for(name))
    mixed: Callable[[], AbstractContextManager[None]] = partial(torch.autocast, "cpu", torch.bfloat16)
    monkeypatch.setattr(training, "mixed", mixed)
    made(name, tmp_path / "mixed", **quick(name)).train(data_for(name))
    assert losses(tmp_path / "mixed") != losses(tmp_path / "full")
    assert losses(tmp_path / "mixed") == pytest.approx(losses(tmp_path / "full"), rel=0.05)


@pytest.mark.parametrize("where", ["cuda", "mps"])
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_gpu_learns_about_what_the_processor_learns(where: str, name: str, tmp_path: Path) -> None:
    must_have(where)
    here = ranking(name, tmp_path / "cpu")
    choose(where)
    there = ranking(name, tmp_path / where)
    assert len(there.start) == len(here.start)
    assert losses(tmp_path / where) == pytest.approx(losses(tmp_path / "cpu"), rel=0.05)
    choose("cpu")  # what was learned there searches here
    again = made(name, tmp_path / where, **quick(name)).search([each.query for each in data_for(name).examples[:2]], 10)
    assert again.scores == pytest.approx(there.scores, rel=1e-2, abs=1e-3)


@pytest.mark.parametrize("where", ["cuda", "mps"])
def test_a_gpu_encodes_words_as_the_processor_does(where: str, simcse: Path) -> None:
    must_have(where)
    from systems import encoders

    found = []
    for each in ("cpu", where):
        choose(each)
        encoders.encoder.cache_clear()
        found.append(by_encoder(str(simcse))(["A woman drinks from a cup."])[0])
    encoders.encoder.cache_clear()
    assert found[1] == pytest.approx(found[0], abs=1e-3)


def must_have(where: str) -> None:
    if not {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}[where]:
        pytest.skip(f"this machine has no {where}")


def absent() -> str:
    """Return a device that this machine does not have."""
    return "mps" if not torch.backends.mps.is_available() else "cuda"


def test_auto_is_a_gpu_if_there_is_one() -> None:
    choose("auto")
    assert device().type == ("cuda" if torch.cuda.is_available() else "cpu")
    with pytest.raises(BadOption, match="device: 'gpu'; expected one of auto, cpu, cuda, mps"):
        choose("gpu")


@pytest.mark.parametrize(
    ("word", "message"),
    [(absent(), f"error: device: '{absent()}', which torch "), ("gpu", "argument --device: invalid choice: 'gpu'")],
)
def test_a_device_that_is_not_there_is_one_line(word: str, message: str, files: Path, tmp_path: Path) -> None:
    known: list[str | Path] = ["--system", "mcn", "--annotations", moments(files), "--device", word]
    queries: list[str | Path] = ["--queries", moments(files), "--out", tmp_path / "run.json", "--device", word]
    for words in (
        ("train", tmp_path / "mcn", *videos_in(files), *known),
        ("index", tmp_path / "mcn", *videos_in(files), "--device", word),
        ("search", tmp_path / "mcn", *queries),
        ("candidates", tmp_path / "mcn", *queries, "--durations", files / "durations.json"),
    ):
        done = command(*words)
        assert (done.code, done.err.count("\n"), message in done.err) == (2, 1, True), done.err
    assert not (tmp_path / "mcn").exists()


@pytest.mark.parametrize(("word", "code"), [("gpu", 1), ("cpu", 0)])
def test_the_setting_names_a_device_of_jobs(word: str, code: int) -> None:
    text = "import django; django.setup(); from systems.neural import device; print(device._chosen)"
    env = os.environ | {"DEVICE": word, "DJANGO_SETTINGS_MODULE": "config.settings"}
    done = subprocess.run([sys.executable, "-c", text], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (code, "" if code else "cpu"), done.stderr
    assert code == 0 or "DEVICE: 'gpu'; expected auto, cpu, cuda or mps" in done.stderr
